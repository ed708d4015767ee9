/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_BUG_H
#define _PERF_EVENTS_LINUX_BUG_H

/* The test's. */
void warn(const char *what);

#define WARN_ON_ONCE(condition)							\
	({									\
		bool warn_ = (condition);					\
										\
		if (warn_)							\
			warn("WARN_ON_ONCE(" #condition ")");			\
		warn_;								\
	})

#endif
