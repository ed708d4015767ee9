// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into perf record: injects the fault that $FAULT names.
 *
 *	full	pwrite() after the file's header finds the disk full while a file "full" exists
 *	slow	pwrite() waits while a file "slow" exists; "waits" says that it does
 *	link	the file system supports neither links nor the flags of renameat2()
 *	other	another perf record takes a name right after perf has found it to be a link
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is(const char *fault)
{
	const char *name = getenv("FAULT");

	return name && !strcmp(name, fault);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static void wait_for_removal(const char *name)
{
	close(open("waits", O_WRONLY | O_CREAT, 0644));
	while (!access(name, F_OK))
		usleep(1000);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t position)
{
	static ssize_t (*real)(int fd, const void *data, size_t size, off_t position);

	if (!real)
		real = dlsym(RTLD_NEXT, "pwrite");
	if (is("full") && position && !access("full", F_OK))
		return fail(ENOSPC);
	if (is("slow") && !access("slow", F_OK))
		wait_for_removal("slow");
	return real(fd, data, size, position);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t position)
{
	return pwrite(fd, data, size, position);
}

int link(const char *from, const char *to)
{
	static int (*real)(const char *from, const char *to);

	if (!real)
		real = dlsym(RTLD_NEXT, "link");
	return is("link") ? fail(EPERM) : real(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	static int (*real)(int from_dir, const char *from, int to_dir, const char *to,
			   unsigned int flags);

	if (!real)
		real = dlsym(RTLD_NEXT, "renameat2");
	return flags && is("link") ? fail(EINVAL) : real(from_dir, from, to_dir, to, flags);
}

ssize_t readlink(const char *path, char *target, size_t size)
{
	static ssize_t (*real)(const char *path, char *target, size_t size);
	ssize_t length;
	FILE *file;

	if (!real)
		real = dlsym(RTLD_NEXT, "readlink");
	length = real(path, target, size);
	if (length < 0 || !is("other") || strcmp(path, "perf.data"))
		return length;
	rename(path, "perf.data.old");
	file = fopen(path, "w");
	fputs("other\n", file);
	fclose(file);
	return length;
}
