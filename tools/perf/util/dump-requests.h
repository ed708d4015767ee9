/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_REQUESTS_H
#define __PERF_DUMP_REQUESTS_H 1

/*
 * Requests for a dump of perf record -M, and their answers
 *
 * A request comes as a signal, by an event or on the control descriptor. Those that come
 * while a dump is made, or earlier than they may, are served by the next one together.
 * Who asked on the control descriptor gets an answer when it is known what came of it.
 */
#include <linux/list.h>
#include <stdbool.h>

struct evlist;

/**
 * struct dump_requests - What was asked for
 * @wakeup:	a pipe: what says that there is something to be done. A byte each.
 * @woken:	there are some. Set after the write: who sees it finds them.
 * @requested:	a dump is due
 * @acks:	answers that are due for it
 * @running:	likewise for the one that is being made
 * @interval:	from the beginning of a dump to that of the next, in seconds, 0: none
 * @timer:	until that is over, -1: there is none
 * @too_early:	it runs
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

/* Return 0 or -errno. dump_requests__exit() is due even then. */
int dump_requests__init(struct dump_requests *requests, unsigned int interval);
void dump_requests__exit(struct dump_requests *requests);

/* Make who polls for it look. From any thread, signal handlers included. */
void dump_requests__wake_up(struct dump_requests *requests);
/* It has woken up, and looks: at the timer, too */
void dump_requests__woken_up(struct dump_requests *requests);

/* Ask for a dump. Likewise from anywhere. */
void dump_requests__add(struct dump_requests *requests);
/* The same with an answer. @label: what the request is called, can be "". */
void dump_requests__add_ack(struct dump_requests *requests, struct evlist *evlist,
			    const char *label);

/* Is a dump due, be it too early for it? */
bool dump_requests__any(const struct dump_requests *requests);
/* What is asked for from now on is another dump */
void dump_requests__take(struct dump_requests *requests);
/* It begins: how soon may the next one? */
void dump_requests__begin(struct dump_requests *requests);

/* The first of the requests taken that is called something; NULL: none */
const char *dump_requests__label(const struct dump_requests *requests);
/* Answer those taken: "ack FILE LABEL", or "nack REASON" if @reason isn't NULL */
void dump_requests__answer(struct dump_requests *requests, struct evlist *evlist,
			   const char *file, const char *reason);
/* There won't be a dump for those that have come since */
void dump_requests__refuse(struct dump_requests *requests, struct evlist *evlist);

#endif /* __PERF_DUMP_REQUESTS_H */
