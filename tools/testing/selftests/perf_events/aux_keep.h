/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows of an AUX area event that are kept only if they lasted long enough.
 */
#ifndef _AUX_KEEP_H
#define _AUX_KEEP_H

#include <errno.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "perf_common.h"

#define FOREVER		1000000000000ULL	/* ns: no window is as long */

/* @longer: in ns; 0: all are kept. Returns 0, or what is in errno. */
static inline int keep_longer(int fd, __u64 longer)
{
	return ioctl(fd, PERF_EVENT_IOC_KEEP_AUX, &longer) ? errno : 0;
}

static inline int count_windows(int fd, struct perf_event_aux_windows *windows)
{
	return ioctl(fd, PERF_EVENT_IOC_AUX_WINDOWS, windows);
}

static inline __u64 all_windows(const struct perf_event_aux_windows *windows)
{
	return windows->kept + windows->partial + windows->discarded;
}

/* NULL, or why a test can't run that needs it, with this PMU */
static inline const char *lacks_keep(const char *pmu)
{
	struct perf_event_attr attr;
	const char *missing = NULL;
	int fd;

	attr_init(&attr, pmu_type(pmu));
	fd = perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		return "no AUX area event";
	if (keep_longer(fd, 0) == ENOTTY)
		missing = "the kernel has no PERF_EVENT_IOC_KEEP_AUX";
	close(fd);

	return missing;
}

#endif /* _AUX_KEEP_H */
