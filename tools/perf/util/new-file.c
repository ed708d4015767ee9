// SPDX-License-Identifier: GPL-2.0
/* A file that has its name when it is complete; see new-file.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "new-file.h"

static void free_names(struct new_file *file)
{
	zfree(&file->path);
	zfree(&file->temp);
}

static int copy_names(struct new_file *file, const char *path)
{
	file->path = strdup(path);
	if (asprintf(&file->temp, "%s.%d.part", path, getpid()) < 0)
		file->temp = NULL;
	return file->path && file->temp ? 0 : -ENOMEM;
}

static int create(struct new_file *file)
{
	int fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int err;

	if (fd < 0)
		return -errno;
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	err = -errno;
	close(fd);
	unlink(file->temp);
	return err;
}

int new_file__open(struct new_file *file, const char *path, bool replace)
{
	int err;

	memset(file, 0, sizeof(*file));
	file->replace = replace;
	/* Say it now, not after the work. finish looks again. */
	if (!replace && !access(path, F_OK))
		return -EEXIST;
	err = copy_names(file, path);
	if (!err)
		err = create(file);
	if (err)
		free_names(file);
	return err;
}

/* link() doesn't replace a file, rename() does */
static int give_name(struct new_file *file)
{
	if (file->replace)
		return rename(file->temp, file->path) ? -errno : 0;
	if (link(file->temp, file->path))
		return -errno;
	unlink(file->temp);
	return 0;
}

static int failed(bool is)
{
	return is ? -(errno ?: EIO) : 0;
}

int new_file__finish(struct new_file *file, int err)
{
	int closed;

	if (!err)
		err = failed(fflush(file->out) || fsync(fileno(file->out)));
	closed = failed(fclose(file->out));
	if (!err)
		err = closed;
	if (!err)
		err = give_name(file);
	if (err)
		unlink(file->temp);
	free_names(file);
	return err;
}

void new_file__abort(struct new_file *file)
{
	fclose(file->out);
	unlink(file->temp);
	free_names(file);
}
