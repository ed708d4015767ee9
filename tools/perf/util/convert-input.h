/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_CONVERT_INPUT_H
#define __PERF_CONVERT_INPUT_H 1

/* The perf.data of a conversion: its session, what of it is wanted, and how far one is */
#include <stdbool.h>
#include <linux/bitmap.h>
#include <linux/types.h>
#include "../perf.h"
#include "auxtrace.h"
#include "data.h"

struct perf_session;
struct perf_time_interval;
struct perf_tool;

/**
 * struct convert_input - A perf.data that is converted
 * @itrace:      what the decoder of a trace makes: to be set before records are processed
 * @ranges:      only what has these times is wanted; NULL: all. @nr_ranges: so many
 * @wanted_cpus: only what has happened on these; NULL: all. Threads: see symbol_conf.
 * @calls:       of convert_input__progress(), since the clock was read
 * @progress:    when progress was shown last; 0: it isn't shown
 * @shown:       there is a line of progress
 */
struct convert_input {
	struct perf_data		data;
	struct perf_session		*session;
	struct itrace_synth_opts	itrace;
	struct perf_time_interval	*ranges;
	int				ranges_size;
	int				nr_ranges;
	const unsigned long		*wanted_cpus;
	unsigned int			calls;
	u64				progress;
	bool				shown;
	DECLARE_BITMAP(cpus, MAX_NR_CPUS);
};

/**
 * convert_input__open - Open a zeroed input
 * @path:  NULL: perf.data
 * @force: it may be another user's
 *
 * From then on SIGINT and SIGTERM end its processing; see convert_input__interrupted().
 * Return 0, or -errno after a message; then there is nothing to close.
 */
int convert_input__open(struct convert_input *input, const char *path, bool force,
			struct perf_tool *tool);
void convert_input__close(struct convert_input *input);

/*
 * What is wanted, as perf script --time and --cpu have it; NULL: all. Return 0, or -errno
 * after a message.
 */
int convert_input__filter(struct convert_input *input, const char *times, const char *cpus);

/* Is not all wanted, with such arguments or by symbol_conf? */
bool convert_input__is_filtered(const char *times, const char *cpus);

const char *convert_input__name(const struct convert_input *input);

/* Has a signal come? */
bool convert_input__interrupted(void);

/*
 * Show on a terminal how far one is, now and then: the times of the first record and of
 * this one, and how many bytes were made; 0: that isn't known.
 */
void convert_input__progress(struct convert_input *input, u64 first, u64 now, u64 size);
/* Remove that line */
void convert_input__end_progress(struct convert_input *input);

#endif /* __PERF_CONVERT_INPUT_H */
