/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_ONE_BUFFER_H
#define __PERF_ONE_BUFFER_H 1

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct evlist;
struct record_opts;

/* Does the kernel let all CPUs and tasks write to one buffer? */
enum one_buffer_support {
	ONE_BUFFER_SUPPORTED,
	ONE_BUFFER_NO_KERNEL_SUPPORT,
	/* the probe failed for another reason; opening the real events will show it */
	ONE_BUFFER_UNKNOWN,
};

/**
 * struct one_buffer_rounds - rounds of reading one buffer
 * @last: when one was last marked as finished, in ns
 * @due: the present one may be
 */
struct one_buffer_rounds {
	u64	last;
	bool	due;
};

/* The resources that an evlist uses */
struct buffer_use {
	int	descriptors;
	int	buffers;
	int	aux_areas;
	size_t	bytes;
};

/*
 * Interpret the results of two probes, 0 or -errno each: opening an event with a
 * shared buffer, and one without.
 */
enum one_buffer_support one_buffer__probe_result(int shared, int alone);

/* Probe the kernel */
enum one_buffer_support one_buffer__kernel_support(void);

/*
 * The size without -m: @usual pages, that is what a user may lock for each CPU, or more on
 * machines where that isn't enough for @possible_cpus. No more than half of what a user may
 * lock for @online_cpus. A power of two.
 */
unsigned int one_buffer__default_pages(unsigned int usual, unsigned int possible_cpus,
				       unsigned int online_cpus);

/*
 * Set up --one-buffer. Call it before the events get their CPUs and threads. If
 * the kernel has no support, warn and fall back to separate buffers. Return 0, or
 * -EINVAL after a message if another option excludes it.
 */
int evlist__prepare_one_buffer(struct evlist *evlist, struct record_opts *opts);

/*
 * A round of reading begins at @now. If it is due to be marked at its end, or has to be
 * @complete, let the kernel publish all that was written to the one buffer before.
 * evlist__end_round() says whether to mark the round, which ends at @now. Always true if
 * @evlist has more than one buffer.
 */
void evlist__begin_round(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 now,
			 bool complete);
bool evlist__end_round(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 now);

/* Count the resources of the opened and mapped events of @evlist */
void evlist__buffer_use(struct evlist *evlist, struct buffer_use *use);

/* With -v: print them, and that opening took @elapsed ns */
void evlist__report_buffer_use(struct evlist *evlist, u64 elapsed);

/* After EPERM: print how much memory was needed, and how to get by with less */
void evlist__hint_buffer_limit(struct evlist *evlist);

#endif /* __PERF_ONE_BUFFER_H */
