/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_CALLS_H
#define __PERF_TRIGGER_CALLS_H 1

/*
 * Calls that have begun and not returned, for triggers of perf record -M
 *
 * A call is of a trigger and a thread. The last one that began is the first to
 * return, so nested and recursive calls have the right times. There are at most
 * CALLS_MAX: then the oldest is forgotten, and its return is ignored.
 */
#include <linux/types.h>
#include <stdbool.h>

struct trigger_calls;

#define CALLS_MAX	65536U

struct trigger_calls *trigger_calls__new(void);
void trigger_calls__delete(struct trigger_calls *calls);

/* A call begins. Return 0 or -ENOMEM. @thread: unique among those that are alive. */
int trigger_calls__enter(struct trigger_calls *calls, unsigned int trigger, u64 thread,
			 u64 time);
/* It returns: true, and when it began in @since. False: the beginning isn't known. */
bool trigger_calls__leave(struct trigger_calls *calls, unsigned int trigger, u64 thread,
			  u64 *since);
/* The thread has ended: its calls never return, and another one can have its id */
void trigger_calls__end_thread(struct trigger_calls *calls, u64 thread);
/* Forget all calls */
void trigger_calls__clear(struct trigger_calls *calls);

/* How many there are, and how many were forgotten for lack of room */
unsigned int trigger_calls__nr(const struct trigger_calls *calls);
u64 trigger_calls__nr_forgotten(const struct trigger_calls *calls);

#endif /* __PERF_TRIGGER_CALLS_H */
