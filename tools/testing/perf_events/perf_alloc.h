/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_EVENTS_PERF_ALLOC_H
#define PERF_EVENTS_PERF_ALLOC_H

/*
 * perf's files are compiled with FAIL_ALLOCATIONS, and with this before anything else:
 * their allocations fail when the test wants them to, and it knows how much is mapped.
 */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* So many allocations succeed, then one fails; negative: none does */
extern long fail_allocation;
extern size_t mapped;

void *malloc_or_fail(size_t size);
void *calloc_or_fail(size_t nr, size_t size);
void *realloc_or_fail(void *old, size_t size);
void *mmap_or_fail(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int count_munmap(void *at, size_t size);

#ifdef FAIL_ALLOCATIONS
#define malloc(size)			malloc_or_fail(size)
#define calloc(nr, size)		calloc_or_fail(nr, size)
#define realloc(old, size)		realloc_or_fail(old, size)
#define mmap(at, size, prot, flags, fd, offset) \
	mmap_or_fail(at, size, prot, flags, fd, offset)
#define munmap(at, size)		count_munmap(at, size)
#endif

#endif
