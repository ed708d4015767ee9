// SPDX-License-Identifier: GPL-2.0
/* A file that has its name when it is complete; see new-file.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/stat.h>
#include "new-file.h"
#include "rename-new.h"

static void free_names(struct new_file *file)
{
	zfree(&file->path);
	zfree(&file->temp);
}

static void remove_temp(const struct new_file *file)
{
	if (file->temp)
		unlink(file->temp);
}

/* 0: there is no such file */
static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode;
}

static bool holds_data(mode_t mode)
{
	return S_ISREG(mode) || S_ISBLK(mode);
}

/* A link to a file stays one: /dev/stdout may be. A pipe or a device has no temporary name. */
static int copy_names(struct new_file *file, const char *path, mode_t mode)
{
	file->path = S_ISREG(mode) ? realpath(path, NULL) : strdup(path);
	if (!file->path)
		return -errno;
	if (mode && !S_ISREG(mode))
		return 0;
	if (asprintf(&file->temp, "%s.%d.part", file->path, getpid()) < 0) {
		file->temp = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int create(struct new_file *file)
{
	int fd = file->temp ? open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) :
			      open(file->path, O_WRONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	err = -errno;
	close(fd);
	remove_temp(file);
	return err;
}

int new_file__open(struct new_file *file, const char *path, bool replace)
{
	mode_t mode = mode_of(path);
	int err;

	memset(file, 0, sizeof(*file));
	file->replace = replace;
	/* Say it now, not after the work. finish looks again. */
	if (!replace && holds_data(mode))
		return -EEXIST;
	err = copy_names(file, path, mode);
	if (!err)
		err = create(file);
	if (err)
		free_names(file);
	return err;
}

static int give_name(struct new_file *file)
{
	if (!file->temp)
		return 0;
	if (!file->replace)
		return rename_new(file->temp, file->path);
	return rename(file->temp, file->path) ? -errno : 0;
}

static int failed(bool is)
{
	return is ? -(errno ?: EIO) : 0;
}

int new_file__finish(struct new_file *file, int err)
{
	int closed;

	if (!err)
		err = failed(fflush(file->out) || (file->temp && fsync(fileno(file->out))));
	closed = failed(fclose(file->out));
	if (!err)
		err = closed;
	if (!err)
		err = give_name(file);
	if (err)
		remove_temp(file);
	free_names(file);
	return err;
}

void new_file__abort(struct new_file *file)
{
	fclose(file->out);
	remove_temp(file);
	free_names(file);
}
