// SPDX-License-Identifier: GPL-2.0
/* Rename a file without replacing another; see rename-new.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "rename-new.h"

/* Without RENAME_NOREPLACE: use link(), or reserve the name with an empty file */
static int rename_otherwise(const char *from, const char *to)
{
	int fd, err;

	if (!link(from, to)) {
		unlink(from);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	fd = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	if (!rename(from, to))
		return 0;
	err = -errno;
	unlink(to);
	return err;
}

int rename_new(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	return errno == EINVAL ? rename_otherwise(from, to) : -errno;
}
