/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_REQUESTS_H
#define __PERF_DUMP_REQUESTS_H 1

/*
 * Requests for a dump of perf record -M, and their answers
 *
 * A request comes as a signal, by an event, on the control descriptor or on a socket. All
 * that come while a dump is made, or before the interval is over, are served by the next
 * dump. Who asks on the control descriptor gets an answer when the dump has succeeded or
 * failed. The dump says why it was made, so a request can bring its reason.
 *
 * Who wants no answer doesn't learn of a failure, and can't ask again. So such requests are
 * kept then: the dump is tried again, DUMP_TRIES times in all, DUMP_RETRY_NS after each
 * other, and every other dump has them, too. Who makes them calls dump_requests__any() at
 * intervals anyway, so there is no timer for that.
 */
#include <linux/list.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <stdbool.h>

/* When so many of a label wait for a dump, those that want no answer are only counted */
#define DUMP_REQUESTS_MAX	64U

/* If the disk is full, somebody may be making room */
#define DUMP_TRIES		5U
#define DUMP_RETRY_NS		(3 * NSEC_PER_SEC)

/**
 * struct dump_outcome - What became of a dump
 * @file:	the file or pipe that has it
 * @failure:	why it has failed, then nothing else is there; NULL: it hasn't
 * @samples:	samples in it
 * @span:	nanoseconds from the first of them to the last
 * @bytes:	size of the records, before they are compressed
 * @lost:	samples that the kernel lost in that time
 */
struct dump_outcome {
	const char	*file;
	const char	*failure;
	u64		samples;
	u64		span;
	u64		bytes;
	u64		lost;
};

struct dump_request;

/* Called once for each request, by the thread that makes the dump or by the main thread */
typedef void (*dump_answer_t)(void *arg, const struct dump_request *request,
			      const struct dump_outcome *outcome);

/**
 * struct dump_request - A request that says more than a signal does
 * @label:	a part of the file's name if each dump has one, can be ""
 * @why:	what the header and the message say
 * @span:	only the newest nanoseconds of what there is, 0: all
 * @answer:	call it when the dump has succeeded or failed; NULL: nobody waits
 * @arg:	for @answer
 */
struct dump_request {
	const char	*label;
	const char	*why;
	u64		span;
	dump_answer_t	answer;
	void		*arg;
};

/**
 * struct dump_requests - Requests for dumps
 * @wakeup:	a pipe with a byte for each wakeup
 * @woken:	the pipe has bytes. Set after the write: a reader of it finds them.
 * @signalled:	a dump is due because of a signal
 * @named:	requests that say more, for the next dump
 * @nr_named:	the number of these, and of those that were only counted
 * @running:	likewise of the dump that is being made
 * @nr_running:	ditto
 * @failed:	those of dumps that have failed; later dumps try them again
 * @nr_failed:	ditto
 * @retry_at:	then a dump is due for these, by rdclock(); 0: only with other requests
 * @by_signal:	a signal has requested that one, too
 * @interval:	minimum from the beginning of a dump to that of the next, in seconds, 0: none
 * @timer:	expires when the interval is over, -1: there is none
 * @too_early:	the timer is running
 */
struct dump_requests {
	int			wakeup[2];
	bool			woken;
	bool			signalled;
	struct list_head	named;
	unsigned int		nr_named;
	struct list_head	running;
	unsigned int		nr_running;
	struct list_head	failed;
	unsigned int		nr_failed;
	u64			retry_at;
	bool			by_signal;
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

/* A signal requests a dump. Likewise from any thread and from signal handlers. */
void dump_requests__add(struct dump_requests *requests);
/* The main thread requests one. The strings are copied. */
void dump_requests__add_named(struct dump_requests *requests,
			      const struct dump_request *request);

/* Is a dump requested? It may still be too early for it. */
bool dump_requests__any(const struct dump_requests *requests);
/* Take the requests for a dump. Later ones are for the next dump. */
void dump_requests__take(struct dump_requests *requests);
/* Take those of the main thread that have come since, too */
void dump_requests__take_more(struct dump_requests *requests);
/* The dump begins: start the timer of the interval */
void dump_requests__begin(struct dump_requests *requests);

/* The number of the requests taken. All signals are one. */
unsigned int dump_requests__nr(const struct dump_requests *requests);
/* The first non-empty label of the requests taken; NULL: none has one */
const char *dump_requests__label(const struct dump_requests *requests);
/* How far back the one of them reaches that wants most, in nanoseconds; 0: as far as possible */
u64 dump_requests__span(const struct dump_requests *requests);
/* Say why: each reason that a request has. Non-zero from @say: stop, and return that. */
int dump_requests__reasons(const struct dump_requests *requests,
			   int (*say)(void *arg, const char *why), void *arg);
/*
 * Add a line to @text, of which there are at most as many bytes as a header has room for:
 * the oldest lines go. Return 0 or -ENOMEM.
 */
int dump_requests__add_line(char **text, const char *line);
/* Answer the requests taken */
void dump_requests__answer(struct dump_requests *requests, const struct dump_outcome *outcome);
/* The dump has failed: answer those of the requests taken that want an answer */
void dump_requests__fail(struct dump_requests *requests, const struct dump_outcome *outcome);
/* Keep the others. @retry: ask for a dump by themselves, unless there were enough tries. */
void dump_requests__keep(struct dump_requests *requests, bool retry);
/* Will dump_requests__keep() ask for another try, if the dump of the requests taken fails? */
bool dump_requests__retries(const struct dump_requests *requests);
/* Are there any kept ones? */
bool dump_requests__kept(const struct dump_requests *requests);
/* There won't be a later dump: try those that are kept now */
void dump_requests__retry_now(struct dump_requests *requests);
/* Answer all requests not taken: there won't be a dump for them */
void dump_requests__refuse(struct dump_requests *requests);

#endif /* __PERF_DUMP_REQUESTS_H */
