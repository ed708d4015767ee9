// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: AUX areas as of a kernel that doesn't count what is written to them.
 * There the control page has no capability for the total, and there are no ioctls to pause
 * an event and to keep only its long windows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAP_AUX_TOTAL	(1ULL << 62)
#define IOC_PAUSE_AUX	_IOW('$', 0xf0, unsigned int)
#define IOC_KEEP_AUX	_IOW('$', 0xf1, unsigned long long)

static int is_event(int fd)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

	return readlink(path, target, sizeof(target) - 1) > 0 &&
	       !strcmp(target, "anon_inode:[perf_event]");
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
	struct perf_event_mmap_page *page = real(addr, len, prot, flags, fd, offset);

	if (page != MAP_FAILED && !offset && prot & PROT_WRITE && is_event(fd))
		page->capabilities &= ~CAP_AUX_TOTAL;

	return page;
}

/* The name that perf uses */
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);

	if (request == IOC_PAUSE_AUX || request == IOC_KEEP_AUX) {
		errno = ENOTTY;
		return -1;
	}

	return real(fd, request, arg);
}
