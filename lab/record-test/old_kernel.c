// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: perf_event_open(2) as a kernel without pause and resume has it.
 * There, the bits of aux_action are reserved, and a reserved bit gives EINVAL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

/* The word behind aux_sample_size, which older uapi headers name differently. */
#define ATTR_AUX_ACTION	(offsetof(struct perf_event_attr, aux_sample_size) + 4)

static int has_reserved_bit(const char *attr)
{
	uint32_t action;

	memcpy(&action, attr + ATTR_AUX_ACTION, sizeof(action));
	return action != 0;
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

	if (number == SYS_perf_event_open && has_reserved_bit((const char *)args[0])) {
		errno = EINVAL;
		return -1;
	}

	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
