// SPDX-License-Identifier: GPL-2.0
/* Allocations of perf's files in a test */
#include <stdbool.h>

#include "perf_alloc.h"

long fail_allocation = -1;
size_t mapped;

static bool allocation_fails(void)
{
	return fail_allocation >= 0 && !fail_allocation--;
}

void *malloc_or_fail(size_t size)
{
	return allocation_fails() ? NULL : malloc(size);
}

void *calloc_or_fail(size_t nr, size_t size)
{
	return allocation_fails() ? NULL : calloc(nr, size);
}

void *realloc_or_fail(void *old, size_t size)
{
	return allocation_fails() ? NULL : realloc(old, size);
}

void *mmap_or_fail(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *memory = MAP_FAILED;

	if (!allocation_fails())
		memory = mmap(at, size, prot, flags, fd, offset);
	if (memory != MAP_FAILED)
		mapped += size;
	return memory;
}

int count_munmap(void *at, size_t size)
{
	int err = munmap(at, size);

	if (!err)
		mapped -= size;
	return err;
}
