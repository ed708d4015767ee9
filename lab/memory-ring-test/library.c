// SPDX-License-Identifier: GPL-2.0
/*
 * A library of the load: compiled twice, under two names and with the same size, so that
 * the second is mapped where the first was.
 */
#include <stdint.h>
#include <time.h>

static inline uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

#include "work.h"

void entry(unsigned int us);
void entry(unsigned int us)
{
	MINE(work)(us);
}
