/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_CLOCK_WATCH_H
#define __PERF_CLOCK_WATCH_H 1

/* Detect that the clock of the events' time stamps was set back */
#include <linux/types.h>
#include <stdbool.h>
#include <time.h>

/**
 * struct clock_watch - State of a clock at the last check
 * @clockid: the clock
 * @fd:      readable after the clock was set; -1: the clock can't be set
 * @ahead:   nanoseconds by which it was ahead of CLOCK_MONOTONIC
 * @checked: CLOCK_MONOTONIC at the last check
 */
struct clock_watch {
	clockid_t	clockid;
	int		fd;
	s64		ahead;
	u64		checked;
};

/**
 * struct clock_step - By how much the clock was set back
 * @by:   in nanoseconds, 0: it wasn't set back
 * @from: time of the last check before the step, by the clock as it is now
 * @to:   time of the check that found the step, by the clock as it is now
 *
 * A time stamp from @from to @to was taken after the step, or up to @by before it.
 */
struct clock_step {
	u64	by;
	u64	from;
	u64	to;
};

/* Return 0, also if @clockid can't be set, or -errno */
int clock_watch__init(struct clock_watch *watch, clockid_t clockid);
void clock_watch__exit(struct clock_watch *watch);
/* Check the clock, and add a step back to @step. Steps of up to 1 ms are ignored. */
void clock_watch__check(struct clock_watch *watch, struct clock_step *step);

#endif /* __PERF_CLOCK_WATCH_H */
