/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DURATION_H
#define __PERF_DURATION_H 1

/* Lengths of time as users write them: a whole number and a unit, as in 10ms */
#include <linux/types.h>

/* The units that there are, for messages */
#define DURATION_UNITS	"ns, us, ms, s, m or h"

/**
 * duration__parse - Parse a length of time
 * @end: what follows it, untouched on error
 * @ns:  the time in nanoseconds, untouched on error
 *
 * Return 0, or -EINVAL if @str doesn't begin with a number and a unit, or -ERANGE if
 * that is 0 or too large.
 */
int duration__parse(const char *str, const char **end, u64 *ns);

#endif /* __PERF_DURATION_H */
