/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_CALLS_H
#define __PERF_TRIGGER_CALLS_H 1

/*
 * Calls that have begun and not returned, for one trigger of perf record -M
 *
 * The last call of a thread that began is the first to return, so nested and recursive
 * calls have the right times. A call that takes too long is overdue: that is reported
 * once, and not again when it returns. There are at most CALLS_MAX: then one that is overdue,
 * or the oldest, is forgotten, and its return is ignored.
 *
 * By exec a thread becomes the only one of its process, and gets the process's number.
 * Calls of user space that were open are over, without a return. Those of the kernel, such
 * as that of exec itself, go on. So none of them becomes overdue, but returns are seen.
 */
#include <linux/types.h>
#include <stdbool.h>
#include "trigger-occurrence.h"

struct trigger_calls;

#define CALLS_MAX	65536U

struct trigger_calls *trigger_calls__new(void);
void trigger_calls__delete(struct trigger_calls *calls);

/* A call begins. Return 0 or -ENOMEM. */
int trigger_calls__enter(struct trigger_calls *calls, const struct trigger_occurrence *entry);
/*
 * It returns: true, and how it began in @entry. False: the beginning isn't known, or it
 * was overdue.
 */
bool trigger_calls__leave(struct trigger_calls *calls, const struct trigger_occurrence *exit,
			  struct trigger_occurrence *entry);
/* The entry of a call that began before @time and becomes overdue now, or NULL */
const struct trigger_occurrence *trigger_calls__overdue(struct trigger_calls *calls, u64 time);
/* The thread has ended: its calls never return, and another one can have its id */
void trigger_calls__end_thread(struct trigger_calls *calls,
			       const struct trigger_occurrence *end);
/* A process has begun another program. @exec->tid is the number that its thread has now. */
void trigger_calls__exec(struct trigger_calls *calls, const struct trigger_occurrence *exec);
/* Forget all calls */
void trigger_calls__clear(struct trigger_calls *calls);

/*
 * How many may still become overdue, and how many were forgotten for lack of room that could
 * have become so, or could have returned
 */
unsigned int trigger_calls__nr(const struct trigger_calls *calls);
u64 trigger_calls__nr_forgotten(const struct trigger_calls *calls);

#endif /* __PERF_TRIGGER_CALLS_H */
