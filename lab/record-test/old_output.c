// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: mmap(2) and ioctl(2) of perf events as a kernel has them where one
 * CPU or one task writes to a buffer: EINVAL to whatever would share it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define NR_FDS	65536

static struct {
	bool	is_event;
	bool	inherit;
	int	cpu;
	pid_t	pid;
} events[NR_FDS];

static bool is_event(long fd)
{
	return fd >= 0 && fd < NR_FDS && events[fd].is_event;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))next("syscall");
	const struct perf_event_attr *attr;
	long args[6], ret;
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);

	ret = real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (number == SYS_perf_event_open && ret >= 0 && ret < NR_FDS) {
		attr = (const struct perf_event_attr *)args[0];
		events[ret].is_event = true;
		events[ret].inherit = attr->inherit;
		events[ret].pid = (pid_t)args[1];
		events[ret].cpu = (int)args[2];
	}
	return ret;
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off_t) = next("mmap");

	if (is_event(fd) && events[fd].inherit && events[fd].cpu == -1) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return real(addr, length, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	return mmap(addr, length, prot, flags, fd, offset);
}

static bool would_share(long fd, long target)
{
	if (!is_event(fd) || !is_event(target))
		return false;
	return events[fd].cpu != events[target].cpu ||
	       (events[fd].cpu == -1 && events[fd].pid != events[target].pid);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))next("ioctl");
	va_list ap;
	long arg;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);

	if (request == PERF_EVENT_IOC_SET_OUTPUT && would_share(fd, (int)arg)) {
		errno = EINVAL;
		return -1;
	}
	return real(fd, request, arg);
}
