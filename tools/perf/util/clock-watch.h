/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_CLOCK_WATCH_H
#define __PERF_CLOCK_WATCH_H 1

/* Notice that the clock that events have their times from was set back */
#include <linux/types.h>
#include <stdbool.h>
#include <time.h>

/**
 * struct clock_watch - A clock, as it was last seen
 * @clockid: the clock
 * @fd:      readable when it was set; -1: it can't be
 * @ahead:   of CLOCK_MONOTONIC, by so many nanoseconds
 * @seen:    when, by CLOCK_MONOTONIC
 */
struct clock_watch {
	clockid_t	clockid;
	int		fd;
	s64		ahead;
	u64		seen;
};

/**
 * struct clock_step - How the clock was set back
 * @by:   so many nanoseconds, 0: it wasn't
 * @from: what it tells now of the time when it was last seen to be right
 * @to:   what it tells now
 *
 * A time between these was taken after the clock was set, or as long before as it was
 * set back by.
 */
struct clock_step {
	u64	by;
	u64	from;
	u64	to;
};

/* Return 0, also if @clockid can't be set, or -errno */
int clock_watch__init(struct clock_watch *watch, clockid_t clockid);
void clock_watch__exit(struct clock_watch *watch);
/* Look at the clock, and add to @step what is found. Steps of a millisecond are none. */
void clock_watch__look(struct clock_watch *watch, struct clock_step *step);

#endif /* __PERF_CLOCK_WATCH_H */
