/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_ONE_BUFFER_H
#define __PERF_ONE_BUFFER_H 1

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct record_opts;

/* What the kernel can do */
enum one_buffer_support {
	/* let all CPUs and tasks write to one buffer */
	ONE_BUFFER_SUPPORTED,
	/* a buffer is written by one CPU or one task only */
	ONE_BUFFER_NOT_BY_KERNEL,
	/* the trial failed for another reason, the real events will tell */
	ONE_BUFFER_UNKNOWN,
};

/* When the last round of reading was marked as finished, ns */
struct one_buffer_rounds {
	u64	last;
};

/* What an evlist takes from the system */
struct buffer_use {
	int	descriptors;
	int	buffers;
	int	aux_areas;
	size_t	bytes;
};

/*
 * What it means that an event with a shared buffer was answered with @shared, and
 * the same without it with @alone: 0 or -errno each.
 */
enum one_buffer_support one_buffer__answer(int shared, int alone);

/* Ask the kernel, by trying. */
enum one_buffer_support one_buffer__kernel_support(void);

/*
 * For --one-buffer, before the events get their CPUs and threads. Return 0,
 * also if the kernel can't and the usual way has been set up instead, or
 * -EINVAL if other options exclude it. Prints what is wrong.
 */
int evlist__prepare_one_buffer(struct evlist *evlist, struct record_opts *opts);

/*
 * May a round that ends at @now be marked as finished? Notes it if so. Always
 * true for @evlist with more than one buffer.
 */
bool evlist__round_is_due(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 now);

/* Count what the opened and mapped events of @evlist use. */
void evlist__buffer_use(struct evlist *evlist, struct buffer_use *use);

/* Print that and how many ns it took, with -v. */
void evlist__report_buffer_use(struct evlist *evlist, u64 elapsed);

/* After EPERM: say how much memory was asked for, and what would help. */
void evlist__hint_buffer_limit(struct evlist *evlist);

#endif /* __PERF_ONE_BUFFER_H */
