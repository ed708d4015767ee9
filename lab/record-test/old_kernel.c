// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: perf_event_open(2) as of a kernel without this series. There the bits
 * of aux_action, the bit for a shared buffer and the flags for a shared pause state and
 * for windows of threads are reserved, and a reserved bit gives EINVAL. With
 * OLD_KERNEL_HAS_GATES in the environment it knows aux_action.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* The word after aux_sample_size, which older uapi headers name differently. */
#define ATTR_AUX_ACTION	(offsetof(struct perf_event_attr, aux_sample_size) + 4)
#define FLAGS_FD_AUX	(1UL << 30 | 1UL << 29)
/* The word of flags after read_format, whose last bit is for shared buffers. */
#define ATTR_FLAGS	(offsetof(struct perf_event_attr, read_format) + 8)

static int has_reserved_bit(const char *attr)
{
	uint32_t action;
	uint64_t flags;

	memcpy(&action, attr + ATTR_AUX_ACTION, sizeof(action));
	memcpy(&flags, attr + ATTR_FLAGS, sizeof(flags));
	return (action && !getenv("OLD_KERNEL_HAS_GATES")) || flags >> 63;
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long args[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);

	if (number == SYS_perf_event_open &&
	    (args[4] & FLAGS_FD_AUX || has_reserved_bit((const char *)args[0]))) {
		errno = EINVAL;
		return -1;
	}

	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
