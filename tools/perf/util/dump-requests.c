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
#include <linux/sizes.h>
#include <linux/types.h>
#include "dump-requests.h"
#include "time-utils.h"

/* The header has at most this many bytes of reasons for dumps, and one line more */
#define LINES_MAX	((size_t)SZ_64K)

/*
 * @request.label points into @strings, and @request.why behind it. It is the @nr_label-th of
 * its label in the list, of those that want no answer; @more of them were only counted.
 * @tries: dumps for it that have failed.
 */
struct named {
	struct list_head	node;
	struct dump_request	request;
	unsigned int		nr_label;
	unsigned int		more;
	unsigned int		tries;
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
	INIT_LIST_HEAD(&requests->failed);
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
	free_requests(&requests->failed);
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
	named->nr_label = 0;
	named->more = 0;
	named->tries = 0;
	named->request.label = memcpy(named->strings, request->label, label);
	named->request.why = memcpy(named->strings + label, request->why, why);
	return named;
}

static void set_nr_named(struct dump_requests *requests, unsigned int nr)
{
	__atomic_store_n(&requests->nr_named, nr, __ATOMIC_RELEASE);
}

/* The last one of that label in @list; in a storm of requests it is one of the last of all */
static struct named *last_of(struct list_head *list, const char *label)
{
	struct named *named;

	list_for_each_entry_reverse(named, list, node) {
		if (!named->request.answer && !strcmp(named->request.label, label))
			return named;
	}
	return NULL;
}

/* If @list has enough of its label, return the last one of them, which counts it */
static struct named *counted_by(struct list_head *list, const struct dump_request *request)
{
	struct named *last = request->answer ? NULL : last_of(list, request->label);

	return last && last->nr_label >= DUMP_REQUESTS_MAX ? last : NULL;
}

static void append(struct list_head *list, struct named *named)
{
	struct named *last = NULL;

	if (!named->request.answer)
		last = last_of(list, named->request.label);
	named->nr_label = last ? last->nr_label + 1 : 1;
	list_add_tail(&named->node, list);
}

void dump_requests__add_named(struct dump_requests *requests,
			      const struct dump_request *request)
{
	static const struct dump_outcome no_memory = { .failure = "not enough memory" };
	struct named *last = counted_by(&requests->named, request);
	struct named *named = last ? NULL : copy_request(request);

	if (last)
		last->more++;
	else if (named)
		append(&requests->named, named);
	else if (request->answer)
		request->answer(request->arg, request, &no_memory);
	set_nr_named(requests, requests->nr_named + 1);
	dump_requests__wake_up(requests);
}

bool dump_requests__any(const struct dump_requests *requests)
{
	return __atomic_load_n(&requests->signalled, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&requests->nr_named, __ATOMIC_ACQUIRE) ||
	       (requests->retry_at && rdclock() >= requests->retry_at);
}

/* Move all requests of a list */
static void move_all(struct list_head *to, struct list_head *from)
{
	struct named *named, *last, *tmp;

	list_for_each_entry_safe(named, tmp, from, node) {
		list_del_init(&named->node);
		last = counted_by(to, &named->request);
		if (last) {
			last->more += 1 + named->more;
			free(named);
		} else {
			append(to, named);
		}
	}
}

void dump_requests__take(struct dump_requests *requests)
{
	requests->by_signal = __atomic_exchange_n(&requests->signalled, false, __ATOMIC_ACQUIRE);
	move_all(&requests->running, &requests->failed);
	requests->nr_running = requests->nr_failed;
	requests->nr_failed = 0;
	requests->retry_at = 0;
	dump_requests__take_more(requests);
}

void dump_requests__take_more(struct dump_requests *requests)
{
	move_all(&requests->running, &requests->named);
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
static int say_more(unsigned int nr, const char *label,
		    int (*say)(void *arg, const char *why), void *arg)
{
	char *text;
	int err;

	if (!nr)
		return 0;
	if (asprintf(&text, "%u more%s%s", nr, *label ? " of " : "", label) < 0)
		return -ENOMEM;
	err = say(arg, text);
	free(text);
	return err;
}

static int say_one(const struct named *named, int (*say)(void *arg, const char *why), void *arg)
{
	char *text;
	int err;

	if (!named->tries)
		return say(arg, named->request.why);
	if (asprintf(&text, "%s (try %u)", named->request.why, named->tries + 1) < 0)
		return -ENOMEM;
	err = say(arg, text);
	free(text);
	return err;
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
		err = err ?: say_one(named, say, arg);
		err = err ?: say_more(named->more, named->request.label, say, arg);
		said += 1 + named->more;
	}
	/* There was no memory for these */
	return err ?: say_more(requests->nr_running - said, "", say, arg);
}

/* The newest of them, as many as there is room for. They begin with a whole line. */
static const char *newest_lines(const char *text)
{
	size_t len = strlen(text);
	const char *line;

	if (len <= LINES_MAX)
		return text;
	line = strchr(text + len - LINES_MAX, '\n');
	return line ? line + 1 : "";
}

int dump_requests__add_line(char **text, const char *line)
{
	char *longer;

	if (asprintf(&longer, "%s%s\n", *text ? newest_lines(*text) : "", line) < 0)
		return -ENOMEM;
	free(*text);
	*text = longer;
	return 0;
}

static void answer(const struct named *named, const struct dump_outcome *outcome)
{
	if (named->request.answer)
		named->request.answer(named->request.arg, &named->request, outcome);
}

void dump_requests__answer(struct dump_requests *requests, const struct dump_outcome *outcome)
{
	struct named *named;

	list_for_each_entry(named, &requests->running, node)
		answer(named, outcome);
	free_requests(&requests->running);
	requests->nr_running = 0;
	requests->by_signal = false;
}

void dump_requests__fail(struct dump_requests *requests, const struct dump_outcome *outcome)
{
	struct named *named, *tmp;

	list_for_each_entry_safe(named, tmp, &requests->running, node) {
		if (!named->request.answer)
			continue;
		answer(named, outcome);
		list_del_init(&named->node);
		free(named);
		requests->nr_running--;
	}
	requests->by_signal = false;
}

void dump_requests__keep(struct dump_requests *requests, bool retry)
{
	bool again = retry && dump_requests__retries(requests);
	struct named *named;

	list_for_each_entry(named, &requests->running, node)
		named->tries++;
	move_all(&requests->failed, &requests->running);
	requests->nr_failed = requests->nr_running;
	requests->nr_running = 0;
	requests->retry_at = again ? rdclock() + DUMP_RETRY_NS : 0;
}

bool dump_requests__retries(const struct dump_requests *requests)
{
	struct named *named;

	list_for_each_entry(named, &requests->running, node) {
		if (!named->request.answer && named->tries + 1 < DUMP_TRIES)
			return true;
	}
	return false;
}

bool dump_requests__kept(const struct dump_requests *requests)
{
	return !list_empty(&requests->failed);
}

void dump_requests__retry_now(struct dump_requests *requests)
{
	if (dump_requests__kept(requests))
		requests->retry_at = 1;
}

void dump_requests__refuse(struct dump_requests *requests)
{
	static const struct dump_outcome ended = { .failure = "recording has ended" };

	dump_requests__take_more(requests);
	dump_requests__answer(requests, &ended);
}
