/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __DATA_CONVERT_TRACE_EVENTS_H
#define __DATA_CONVERT_TRACE_EVENTS_H 1

/*
 * perf data convert --to-trace-events: a picture of a recording for viewers of the Trace
 * Event format. --to-folded: the calls of its trace as folded stacks, for flame graphs.
 */
#include <stdbool.h>
#include <linux/types.h>

struct option;

/**
 * struct trace_events_opts - Options
 * @path:     of the file that is made
 * @folded:   ditto, if it has folded stacks; one of the two is NULL
 * @force:    it may replace a file; perf.data may be another user's
 * @times:    as of perf script --time, or NULL: all
 * @cpus:     likewise --cpu
 * @max_size: of the file, in bytes
 */
struct trace_events_opts {
	const char	*path;
	const char	*folded;
	bool		force;
	const char	*times;
	const char	*cpus;
	u64		max_size;
};

/* More than this makes viewers slow, or more than they can read */
#define TRACE_EVENTS_MAX_SIZE	(500ULL << 20)

/* The argument of an option into a u64: 1G and the like */
int trace_events__parse_size(const struct option *opt, const char *str, int unset);

/* Any of them, or of the filters of symbol_conf that they are used with? */
bool trace_events__are_given(const struct trace_events_opts *opts);

/* Return 0, or -1 after a message: there is no file then. */
int trace_events__convert(const char *input, const struct trace_events_opts *opts);

#endif /* __DATA_CONVERT_TRACE_EVENTS_H */
