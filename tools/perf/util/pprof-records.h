/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PPROF_RECORDS_H
#define __PERF_PPROF_RECORDS_H 1

/* What each sample of a perf.data adds to a profile for pprof */
#include <linux/types.h>
#include "pprof.h"
#include "tool.h"

struct perf_session;
struct perf_time_interval;

/**
 * struct pprof_records - A perf.data that becomes a profile
 * @tool:      its callbacks, for perf_session__new()
 * @session:   to be set before records are processed
 * @cpus:      only samples on these; NULL: all. Threads: see symbol_conf.
 * @ranges:    only samples of these times; NULL: all. @nr_ranges: so many
 * @functions: of a location, the innermost one first; there is room for @max_functions
 * @locations: of a stack; there is room for @max_locations
 * @first:     the time of the first sample, 0: none has one; @last: the latest one
 * @samples:   so many are in the profile
 * @progress:  called with each sample
 */
struct pprof_records {
	struct perf_tool		tool;
	struct perf_session		*session;
	struct pprof			profile;
	const unsigned long		*cpus;
	struct perf_time_interval	*ranges;
	int				nr_ranges;
	int				*functions;
	size_t				max_functions;
	int				*locations;
	size_t				max_locations;
	u64				first;
	u64				last;
	u64				samples;
	void				(*progress)(struct pprof_records *records);
};

/* Return 0, or -ENOMEM. Either way, exit frees all. */
int pprof_records__init(struct pprof_records *records);
void pprof_records__exit(struct pprof_records *records);

/* Before records are processed: what events there are. Return 0, or -ENOMEM. */
int pprof_records__add_events(struct pprof_records *records);

#endif /* __PERF_PPROF_RECORDS_H */
