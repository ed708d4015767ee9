// SPDX-License-Identifier: GPL-2.0
/* Detect that a clock was set back; see clock-watch.h */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/timerfd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "clock-watch.h"

/* The two clocks can't be read at once, and perf can be preempted in between */
#define PRECISION	((s64)NSEC_PER_MSEC)
#define TRIES		100

static u64 now(clockid_t clockid)
{
	struct timespec time = { .tv_sec = 0 };

	clock_gettime(clockid, &time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

/* By how much is the clock ahead, and at which CLOCK_MONOTONIC? false: not precise. */
static bool compare_to_monotonic(clockid_t clockid, s64 *ahead, u64 *at)
{
	unsigned int tries;

	for (tries = 0; tries < TRIES; tries++) {
		*at = now(CLOCK_MONOTONIC);
		*ahead = now(clockid) - *at;
		if (now(CLOCK_MONOTONIC) - *at < PRECISION / 2)
			return true;
	}
	return false;
}

int clock_watch__init(struct clock_watch *watch, clockid_t clockid)
{
	/* The timer never expires. It only reports that the clock was set. */
	struct itimerspec never = {
		.it_value.tv_sec = sizeof(time_t) > 4 ? INT64_MAX / NSEC_PER_SEC : INT32_MAX,
	};

	watch->clockid = clockid;
	watch->fd = -1;
	if (clockid != CLOCK_REALTIME && clockid != CLOCK_TAI)
		return 0;
	watch->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (watch->fd < 0 || timerfd_settime(watch->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
					     &never, NULL))
		return -errno;
	compare_to_monotonic(clockid, &watch->ahead, &watch->checked);
	return 0;
}

void clock_watch__exit(struct clock_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
}

void clock_watch__check(struct clock_watch *watch, struct clock_step *step)
{
	u64 at, expirations;
	s64 ahead;

	if (watch->fd < 0)
		return;
	/* Fails with ECANCELED once after each setting of the clock, however small the step */
	if (read(watch->fd, &expirations, sizeof(expirations)) < 0)
		errno = 0;
	if (!compare_to_monotonic(watch->clockid, &ahead, &at))
		return;
	if (ahead < watch->ahead - PRECISION) {
		step->by += watch->ahead - ahead;
		step->from = watch->checked + ahead;
	}
	if (ahead < watch->ahead - PRECISION || ahead > watch->ahead + PRECISION)
		watch->ahead = ahead;
	watch->checked = at;
	step->to = at + ahead;
}
