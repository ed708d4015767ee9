// SPDX-License-Identifier: GPL-2.0
/* Requests for a dump of perf record -M, and their answers; see dump-requests.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/timerfd.h>
#include <linux/types.h>
#include "dump-requests.h"
#include "evlist.h"

/* A request that is to be answered */
struct request {
	struct list_head	node;
	char			label[];
};

static int make_wakeup(struct dump_requests *requests)
{
	int i;

	if (pipe(requests->wakeup))
		return -errno;
	for (i = 0; i < 2; i++) {
		fcntl(requests->wakeup[i], F_SETFL, O_NONBLOCK);
		fcntl(requests->wakeup[i], F_SETFD, FD_CLOEXEC);
	}
	return 0;
}

int dump_requests__init(struct dump_requests *requests, unsigned int interval)
{
	int err;

	*requests = (struct dump_requests) {
		.wakeup = { -1, -1 }, .interval = interval, .timer = -1,
	};
	INIT_LIST_HEAD(&requests->acks);
	INIT_LIST_HEAD(&requests->running);
	err = make_wakeup(requests);
	if (err || !interval)
		return err;
	requests->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return requests->timer < 0 ? -errno : 0;
}

static void free_requests(struct list_head *list)
{
	struct request *request, *tmp;

	list_for_each_entry_safe(request, tmp, list, node) {
		list_del_init(&request->node);
		free(request);
	}
}

void dump_requests__exit(struct dump_requests *requests)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (requests->wakeup[i] >= 0)
			close(requests->wakeup[i]);
	}
	if (requests->timer >= 0)
		close(requests->timer);
	free_requests(&requests->acks);
	free_requests(&requests->running);
}

void dump_requests__wake_up(struct dump_requests *requests)
{
	int orig_errno = errno;

	/* A full pipe wakes up the reader, too */
	if (write(requests->wakeup[1], "", 1) < 0)
		errno = orig_errno;
	__atomic_store_n(&requests->woken, true, __ATOMIC_RELEASE);
}

static void check_timer(struct dump_requests *requests)
{
	u64 expirations;

	if (requests->too_early)
		requests->too_early = read(requests->timer, &expirations, sizeof(expirations)) < 0;
}

void dump_requests__woken_up(struct dump_requests *requests)
{
	char buf[64];

	check_timer(requests);
	if (!__atomic_exchange_n(&requests->woken, false, __ATOMIC_ACQUIRE))
		return;
	while (read(requests->wakeup[0], buf, sizeof(buf)) > 0)
		;
}

void dump_requests__add(struct dump_requests *requests)
{
	__atomic_store_n(&requests->requested, true, __ATOMIC_RELEASE);
	dump_requests__wake_up(requests);
}

void dump_requests__add_ack(struct dump_requests *requests, struct evlist *evlist,
			    const char *label)
{
	size_t size = strlen(label) + 1;
	struct request *request = malloc(sizeof(*request) + size);

	if (!request) {
		evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_NACK_TAG, strerror(ENOMEM));
		return;
	}
	memcpy(request->label, label, size);
	list_add_tail(&request->node, &requests->acks);
	dump_requests__add(requests);
}

bool dump_requests__any(const struct dump_requests *requests)
{
	return __atomic_load_n(&requests->requested, __ATOMIC_ACQUIRE);
}

void dump_requests__take(struct dump_requests *requests)
{
	requests->requested = false;
	list_splice_tail_init(&requests->acks, &requests->running);
}

void dump_requests__begin(struct dump_requests *requests)
{
	struct itimerspec until = { .it_value.tv_sec = requests->interval };

	if (requests->timer >= 0)
		requests->too_early = !timerfd_settime(requests->timer, 0, &until, NULL);
}

const char *dump_requests__label(const struct dump_requests *requests)
{
	struct request *request;

	list_for_each_entry(request, &requests->running, node) {
		if (*request->label)
			return request->label;
	}
	return NULL;
}

void dump_requests__answer(struct dump_requests *requests, struct evlist *evlist,
			   const char *file, const char *reason)
{
	char text[PATH_MAX + EVLIST_CTL_CMD_MAX_LEN];
	struct request *request;

	list_for_each_entry(request, &requests->running, node) {
		if (reason) {
			evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_NACK_TAG, reason);
			continue;
		}
		snprintf(text, sizeof(text), "%s%s%s", file, *request->label ? " " : "",
			 request->label);
		evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_ACK_TAG, text);
	}
	free_requests(&requests->running);
}

void dump_requests__refuse(struct dump_requests *requests, struct evlist *evlist)
{
	struct request *request;

	list_for_each_entry(request, &requests->acks, node)
		evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_NACK_TAG, "recording has ended");
	free_requests(&requests->acks);
}
