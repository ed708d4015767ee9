/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PICTURE_RECORDS_H
#define __PERF_PICTURE_RECORDS_H 1

/*
 * What each record of a perf.data, and each branch of its trace, adds to a picture.
 */
#include <stdbool.h>
#include <linux/types.h>
#include "picture.h"
#include "tool.h"

struct perf_session;
struct perf_time_interval;

/**
 * struct picture_records - A perf.data that becomes a picture
 * @tool:     its callbacks, for perf_session__new()
 * @session:  to be set before records are processed
 * @cpus:     only what happens on these is shown; NULL: all. Threads: see symbol_conf.
 * @first:    the time of the first record, 0: none has one; @now: the latest one
 * @branches: so many were shown; likewise the other numbers
 * @timeless: so many samples were not, as they have no time
 * @progress: called now and then
 */
struct picture_records {
	struct perf_tool	tool;
	struct perf_session	*session;
	struct picture		picture;
	const unsigned long	*cpus;
	u64			first;
	u64			now;
	u64			branches;
	u64			samples;
	u64			switches;
	u64			errors;
	u64			timeless;
	void			(*progress)(struct picture_records *records);
};

/*
 * Of times, what the picture's ranges say is shown. At the file's limit, and if session_done
 * is set, processing ends with an error, and with perf being quiet: see verbose.
 */
void picture_records__init(struct picture_records *records);

/* Before records are processed: are there events that pause and resume the trace? */
void picture_records__look_for_gates(struct picture_records *records);

#endif /* __PERF_PICTURE_RECORDS_H */
