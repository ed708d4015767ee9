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
#include <linux/kernel.h>
#include <linux/types.h>
#include "dump-requests.h"
#include "evlist.h"

/* @request.label points into @strings, and @request.why behind it */
struct named {
	struct list_head	node;
	struct dump_request	request;
	char			strings[];
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
	INIT_LIST_HEAD(&requests->named);
	INIT_LIST_HEAD(&requests->running);
	err = make_wakeup(requests);
	if (err || !interval)
		return err;
	requests->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return requests->timer < 0 ? -errno : 0;
}

static void free_requests(struct list_head *list)
{
	struct named *named, *tmp;

	list_for_each_entry_safe(named, tmp, list, node) {
		list_del_init(&named->node);
		free(named);
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
	free_requests(&requests->named);
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
	__atomic_store_n(&requests->signalled, true, __ATOMIC_RELEASE);
	dump_requests__wake_up(requests);
}

static struct named *copy_request(const struct dump_request *request)
{
	size_t label = strlen(request->label) + 1, why = strlen(request->why) + 1;
	struct named *named = malloc(sizeof(*named) + label + why);

	if (!named)
		return NULL;
	named->request = *request;
	named->request.label = memcpy(named->strings, request->label, label);
	named->request.why = memcpy(named->strings + label, request->why, why);
	return named;
}

static void set_nr_named(struct dump_requests *requests, unsigned int nr)
{
	__atomic_store_n(&requests->nr_named, nr, __ATOMIC_RELEASE);
}

void dump_requests__add_named(struct dump_requests *requests, struct evlist *evlist,
			      const struct dump_request *request)
{
	bool keep = request->answer || requests->nr_named < DUMP_REQUESTS_MAX;
	struct named *named = keep ? copy_request(request) : NULL;

	if (named)
		list_add_tail(&named->node, &requests->named);
	else if (request->answer)
		evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_NACK_TAG, strerror(ENOMEM));
	set_nr_named(requests, requests->nr_named + 1);
	dump_requests__wake_up(requests);
}

bool dump_requests__any(const struct dump_requests *requests)
{
	return __atomic_load_n(&requests->signalled, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&requests->nr_named, __ATOMIC_ACQUIRE);
}

void dump_requests__take(struct dump_requests *requests)
{
	requests->by_signal = __atomic_exchange_n(&requests->signalled, false, __ATOMIC_ACQUIRE);
	requests->nr_running = 0;
	dump_requests__take_more(requests);
}

static unsigned int length(const struct list_head *list)
{
	const struct list_head *node;
	unsigned int nr = 0;

	list_for_each(node, list)
		nr++;
	return nr;
}

void dump_requests__take_more(struct dump_requests *requests)
{
	unsigned int nr = length(&requests->running);
	struct named *named, *tmp;

	list_for_each_entry_safe(named, tmp, &requests->named, node) {
		list_del_init(&named->node);
		if (nr++ < DUMP_REQUESTS_MAX || named->request.answer)
			list_add_tail(&named->node, &requests->running);
		else
			free(named);
	}
	requests->nr_running += requests->nr_named;
	set_nr_named(requests, 0);
}

void dump_requests__begin(struct dump_requests *requests)
{
	struct itimerspec until = { .it_value.tv_sec = requests->interval };

	if (requests->timer >= 0)
		requests->too_early = !timerfd_settime(requests->timer, 0, &until, NULL);
}

unsigned int dump_requests__nr(const struct dump_requests *requests)
{
	return requests->nr_running + requests->by_signal;
}

const char *dump_requests__label(const struct dump_requests *requests)
{
	struct named *named;

	list_for_each_entry(named, &requests->running, node) {
		if (*named->request.label)
			return named->request.label;
	}
	return NULL;
}

u64 dump_requests__span(const struct dump_requests *requests)
{
	struct named *named;
	u64 span = 0;

	if (requests->by_signal)
		return 0;
	list_for_each_entry(named, &requests->running, node) {
		if (!named->request.span)
			return 0;
		span = max(span, named->request.span);
	}
	return span;
}

/* Those that were only counted */
static int say_more(const struct dump_requests *requests, unsigned int said,
		    int (*say)(void *arg, const char *why), void *arg)
{
	char text[64];

	if (said == requests->nr_running)
		return 0;
	snprintf(text, sizeof(text), "%u more", requests->nr_running - said);
	return say(arg, text);
}

int dump_requests__reasons(const struct dump_requests *requests,
			   int (*say)(void *arg, const char *why), void *arg)
{
	struct named *named;
	unsigned int said = 0;
	int err = 0;

	if (requests->by_signal)
		err = say(arg, "signal SIGUSR2");
	list_for_each_entry(named, &requests->running, node) {
		if (!err)
			err = say(arg, named->request.why);
		said++;
	}
	return err ?: say_more(requests, said, say, arg);
}

static void answer(struct evlist *evlist, const struct dump_request *request, const char *file,
		   const char *reason)
{
	char text[PATH_MAX + EVLIST_CTL_CMD_MAX_LEN];

	if (!request->answer)
		return;
	if (reason) {
		evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_NACK_TAG, reason);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", file, *request->label ? " " : "", request->label);
	evlist__ctlfd_answer(evlist, EVLIST_CTL_CMD_ACK_TAG, text);
}

void dump_requests__answer(struct dump_requests *requests, struct evlist *evlist,
			   const char *file, const char *reason)
{
	struct named *named;

	list_for_each_entry(named, &requests->running, node)
		answer(evlist, &named->request, file, reason);
	free_requests(&requests->running);
	requests->nr_running = 0;
	requests->by_signal = false;
}

void dump_requests__refuse(struct dump_requests *requests, struct evlist *evlist)
{
	dump_requests__take_more(requests);
	dump_requests__answer(requests, evlist, NULL, "recording has ended");
}
