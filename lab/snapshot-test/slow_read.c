// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into perf record: makes it slow to copy what it reads from a kernel's buffer,
 * so that much happens between reading that of one CPU and that of the next.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Less is copied elsewhere, too, and more is rare: that would be very slow. */
#define READ_MIN	256
#define READ_MAX	65536

/* By the main thread, which is the one that reads, and without a call of memcpy(). */
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	static const struct timespec time = { .tv_nsec = 2000000 };

	if (size >= READ_MIN && size <= READ_MAX && syscall(SYS_gettid) == getpid())
		nanosleep(&time, NULL);
	return memmove(to, from, size);
}
