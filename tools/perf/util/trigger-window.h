/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_WINDOW_H
#define __PERF_TRIGGER_WINDOW_H 1

/*
 * The latest occurrences of an event: were there as many within a time?
 *
 * Each time may stand for many occurrences, as a sample of a counter does. Memory
 * grows to WINDOW_MAX times. Then the oldest is forgotten.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define WINDOW_MAX	((size_t)1 << 20)

struct occurrence {
	u64	time;
	u64	weight;
};

/**
 * struct trigger_window - Occurrences, in order of time
 * @ring:	@size of them, a power of two; @nr in use from @first on
 * @sum:	of their weights
 */
struct trigger_window {
	struct occurrence	*ring;
	size_t			size;
	size_t			first;
	size_t			nr;
	u64			sum;
};

/**
 * trigger_window__add - Add one, and forget those more than @within before it
 * @time: not before that of the one added last
 *
 * Return 0 or -ENOMEM.
 */
int trigger_window__add(struct trigger_window *window, u64 time, u64 weight, u64 within);
/* When the oldest one was. There must be one. */
u64 trigger_window__since(const struct trigger_window *window);
/* Forget all. The memory stays. */
void trigger_window__clear(struct trigger_window *window);
void trigger_window__exit(struct trigger_window *window);

#endif /* __PERF_TRIGGER_WINDOW_H */
