/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RING_ALLOC_H
#define RING_ALLOC_H

/*
 * Included before anything else when perf's files are compiled for the test: their
 * allocations fail when the test wants them to, and it knows how much is mapped.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* So many allocations succeed, then one fails; negative: none does */
extern long fail_allocation;
extern size_t mapped;

/* How much of malloc()'s memory is in use: of the sanitizer's run-time library */
size_t __sanitizer_get_current_allocated_bytes(void);

static inline bool allocation_fails(void)
{
	return fail_allocation >= 0 && !fail_allocation--;
}

static inline void *calloc_or_fail(size_t nr, size_t size)
{
	return allocation_fails() ? NULL : calloc(nr, size);
}

static inline void *realloc_or_fail(void *old, size_t size)
{
	return allocation_fails() ? NULL : realloc(old, size);
}

static inline void *mmap_or_fail(void *at, size_t size, int prot, int flags, int fd,
				 off_t offset)
{
	void *memory = MAP_FAILED;

	if (!allocation_fails())
		memory = mmap(at, size, prot, flags, fd, offset);
	if (memory != MAP_FAILED)
		mapped += size;
	return memory;
}

static inline int count_munmap(void *at, size_t size)
{
	int err = munmap(at, size);

	if (!err)
		mapped -= size;
	return err;
}

#define calloc(nr, size)		calloc_or_fail(nr, size)
#define realloc(old, size)		realloc_or_fail(old, size)
#define mmap(at, size, prot, flags, fd, offset) \
	mmap_or_fail(at, size, prot, flags, fd, offset)
#define munmap(at, size)		count_munmap(at, size)

#endif
