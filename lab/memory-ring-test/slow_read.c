// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into perf record: slows down the copying from the kernel's buffers, so that
 * much happens between reading the buffer of one CPU and that of the next.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Smaller copies are made elsewhere, too. Larger ones are rare, and would be very slow. */
#define READ_MIN	256
#define READ_MAX	65536

/* Slow only in the main thread, which does the reading. Must not call memcpy() itself. */
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	static const struct timespec time = { .tv_nsec = 2000000 };

	if (size >= READ_MIN && size <= READ_MAX && syscall(SYS_gettid) == getpid())
		nanosleep(&time, NULL);
	return memmove(to, from, size);
}
