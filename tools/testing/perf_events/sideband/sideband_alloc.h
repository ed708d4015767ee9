/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIDEBAND_ALLOC_H
#define SIDEBAND_ALLOC_H

/*
 * Included before anything else when perf's files are compiled for the tests:
 * their allocations fail when the test wants them to.
 */
#include <stdlib.h>

extern long fail_allocation;

static inline void *malloc_or_fail(size_t size)
{
	return fail_allocation >= 0 && !fail_allocation-- ? NULL : malloc(size);
}

#define malloc(size)	malloc_or_fail(size)

#endif
