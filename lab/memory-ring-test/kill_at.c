// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into perf record: kills it, as kill -9 does, when the file whose name ends
 * in $KILL_FILE has $KILL_AT bytes, if necessary in the middle of a write().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* How many of @size bytes at @position may still be written. */
static ssize_t allowed(int fd, off_t position, ssize_t size)
{
	const char *name = getenv("KILL_FILE"), *at = getenv("KILL_AT");
	char link[64], path[PATH_MAX];
	ssize_t length;
	off_t end;

	if (!name || !at)
		return size;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	if (length < (ssize_t)strlen(name) ||
	    memcmp(path + length - strlen(name), name, strlen(name)))
		return size;
	end = atoll(at);
	if (position < 0)
		position = lseek(fd, 0, SEEK_CUR);
	return position + size <= end ? size : position < end ? end - position : 0;
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int fd, const void *data, size_t size);
	ssize_t some = allowed(fd, -1, size);

	if (!real)
		real = dlsym(RTLD_NEXT, "write");
	if (some == (ssize_t)size)
		return real(fd, data, size);
	real(fd, data, some);
	kill(getpid(), SIGKILL);
	return -1;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t position)
{
	static ssize_t (*real)(int fd, const void *data, size_t size, off_t position);
	ssize_t some = allowed(fd, position, size);

	if (!real)
		real = dlsym(RTLD_NEXT, "pwrite");
	if (some == (ssize_t)size)
		return real(fd, data, size, position);
	real(fd, data, some, position);
	kill(getpid(), SIGKILL);
	return -1;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t position)
{
	return pwrite(fd, data, size, position);
}

ssize_t writev(int fd, const struct iovec *part, int parts)
{
	ssize_t all = 0;
	int i;

	for (i = 0; i < parts; i++) {
		ssize_t size = write(fd, part[i].iov_base, part[i].iov_len);

		if (size < 0)
			return all ? all : size;
		all += size;
		if ((size_t)size < part[i].iov_len)
			break;
	}
	return all;
}
