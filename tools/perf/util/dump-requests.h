/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_REQUESTS_H
#define __PERF_DUMP_REQUESTS_H 1

/*
 * Requests for a dump of perf record -M, and their answers
 *
 * A request comes by a signal, by an event or on the control descriptor. The next dump
 * serves all requests that came during the current dump, or before the interval was
 * over. A request on the control descriptor is answered when the dump has succeeded or
 * failed.
 */
#include <linux/list.h>
#include <stdbool.h>

struct evlist;

/**
 * struct dump_requests - Requests for dumps
 * @wakeup:	a pipe with a byte for each wakeup
 * @woken:	the pipe is not empty. Set after the write, so that a reader finds the byte.
 * @requested:	a dump is requested
 * @acks:	requests to answer after that dump
 * @running:	requests to answer after the dump that is being made
 * @interval:	minimum time between the beginnings of two dumps in seconds, 0: none
 * @timer:	fd, expires when the interval is over, -1: there is none
 * @too_early:	the timer is running
 */
struct dump_requests {
	int			wakeup[2];
	bool			woken;
	bool			requested;
	struct list_head	acks;
	struct list_head	running;
	unsigned int		interval;
	int			timer;
	bool			too_early;
};

/* Return 0 or -errno. Call dump_requests__exit() even after an error. */
int dump_requests__init(struct dump_requests *requests, unsigned int interval);
void dump_requests__exit(struct dump_requests *requests);

/* Wake up the thread that polls the pipe. From any thread, signal handlers included. */
void dump_requests__wake_up(struct dump_requests *requests);
/* Call this after a wakeup: drain the pipe, and check the timer */
void dump_requests__woken_up(struct dump_requests *requests);

/* Request a dump. From any thread, signal handlers included. */
void dump_requests__add(struct dump_requests *requests);
/* Request a dump and an answer. Main thread only. @label: name of the request, can be "". */
void dump_requests__add_ack(struct dump_requests *requests, struct evlist *evlist,
			    const char *label);

/* Is a dump requested? It may still be too early for it. */
bool dump_requests__any(const struct dump_requests *requests);
/* Take the requests for a dump. Later ones are for the next dump. */
void dump_requests__take(struct dump_requests *requests);
/* The dump begins: start the timer of the interval */
void dump_requests__begin(struct dump_requests *requests);

/* The first non-empty label of the requests taken, NULL if none has one */
const char *dump_requests__label(const struct dump_requests *requests);
/* Answer the requests taken: "ack FILE LABEL", or "nack REASON" if @reason isn't NULL */
void dump_requests__answer(struct dump_requests *requests, struct evlist *evlist,
			   const char *file, const char *reason);
/* Answer all requests not taken with "nack": there won't be a dump for them */
void dump_requests__refuse(struct dump_requests *requests, struct evlist *evlist);

#endif /* __PERF_DUMP_REQUESTS_H */
