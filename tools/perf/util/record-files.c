// SPDX-License-Identifier: GPL-2.0
/* Output files for the dumps of perf record -M; see record-files.h */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <sys/stat.h>
#include "data.h"
#include "data-append.h"
#include "debug.h"
#include "dump-files.h"
#include "record-files.h"
#include "rename-new.h"
#include "session.h"
#include "time-utils.h"

/* The last part of a path */
static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void remove_temp(struct record_files *files)
{
	if (!files->has_temp)
		return;
	__atomic_store_n(&files->has_temp, false, __ATOMIC_RELEASE);
	unlink(files->temp);
}

/* Create a file with a unique name, in the same directory. Return its descriptor. */
static int make_temp(struct record_files *files)
{
	int dir = name_in(files->base) - files->base, fd, err;

	if (snprintf(files->temp, sizeof(files->temp), "%.*s.%s.XXXXXX", dir, files->base,
		     name_in(files->base)) >= (int)sizeof(files->temp))
		return -ENAMETOOLONG;
	fd = mkostemp(files->temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	__atomic_store_n(&files->has_temp, true, __ATOMIC_RELEASE);
	err = dump_files__share(files->opts, fd);
	if (!err)
		return fd;
	close(fd);
	remove_temp(files);
	return err;
}

void record_files__give_up(const struct record_files *files)
{
	if (__atomic_load_n(&files->has_temp, __ATOMIC_ACQUIRE))
		unlink(files->temp);
}

static bool is_pipe(const struct perf_data *data)
{
	struct stat st;

	if (data->path)
		return !strcmp(data->path, "-");
	return !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode);
}

/* Is it a file, or can one be created? A device would be replaced. */
static bool can_be_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
}

int record_files__prepare(struct record_files *files, struct perf_data *data, bool each,
			  const struct dump_files_opts *opts)
{
	const char *path = data->path ?: "perf.data";
	int fd;

	files->each = each;
	files->opts = opts;
	if (each && is_pipe(data)) {
		pr_err("-M can't be used with --switch-output if the output is a pipe, which can't be renamed\n");
		return -EINVAL;
	}
	if (each && !can_be_file(path)) {
		pr_err("-M can't be used with --switch-output if the output, %s, isn't a file\n",
		       path);
		return -EINVAL;
	}
	files->base = strdup(path);
	if (!files->base)
		return -ENOMEM;
	if (!each)
		return 0;

	fd = make_temp(files);
	if (fd < 0) {
		pr_err("Failed to create a file in the directory of %s: %s\n", path, strerror(-fd));
		return fd;
	}
	close(fd);
	data->path = files->temp;
	return 0;
}

/* Close the open file, and remove it if it has a temporary name */
static void close_file(struct record_files *files, struct data_append *app)
{
	if (app->data->file.fd >= 0)
		close(app->data->file.fd);
	app->data->file.fd = -1;
	remove_temp(files);
}

int record_files__init(struct record_files *files, struct data_append *app, int max_files)
{
	u64 from = app->session->header.data_offset;

	files->beginning_size = app->end - from;
	files->beginning = malloc(files->beginning_size ?: 1);
	files->nr_names = max(max_files, 0);
	files->names = calloc(files->nr_names ?: 1, sizeof(*files->names));
	if (!files->beginning || !files->names)
		return -ENOMEM;
	if (pread(perf_data__fd(app->data), files->beginning, files->beginning_size, from) !=
	    (ssize_t)files->beginning_size)
		return -EIO;
	/* This file has no dump: each dump creates its own */
	if (files->each) {
		close_file(files, app);
		app->data->path = files->base;
	}
	return 0;
}

void record_files__exit(struct record_files *files)
{
	int i;

	remove_temp(files);
	for (i = 0; files->names && i < files->nr_names; i++)
		free(files->names[i]);
	zfree(&files->names);
	zfree(&files->path);
	zfree(&files->base);
	zfree(&files->beginning);
}

bool record_files__exists(const struct perf_data *data)
{
	struct stat there, open;

	return data->file.fd >= 0 && data->file.path &&
	       !stat(data->file.path, &there) && !fstat(data->file.fd, &open) &&
	       there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

/* Dumps go to @path from now on, and messages name it */
static int set_path(struct record_files *files, struct data_append *app, const char *path)
{
	char *new = strdup(path), *file = strdup(path);

	if (!new || !file) {
		free(new);
		free(file);
		return -ENOMEM;
	}
	free(app->data->file.path);
	app->data->file.path = file;
	app->data->path = new;
	free(files->path);
	files->path = new;
	return 0;
}

static int begin_file(struct record_files *files, struct data_append *app)
{
	int err;

	close_file(files, app);
	app->data->file.fd = make_temp(files);
	if (app->data->file.fd < 0)
		return app->data->file.fd;
	err = data_append__reopen(app, files->beginning, files->beginning_size);
	if (err)
		record_files__abort(files, app);
	return err ?: 1;
}

int record_files__begin(struct record_files *files, struct data_append *app)
{
	if (files->each)
		return begin_file(files, app);
	if (record_files__exists(app->data))
		return 0;
	/* Its directory had a copy of the kernel from when recording began */
	if (perf_data__is_dir(app->data))
		return -ESTALE;
	pr_warning("%s was removed, renamed or replaced: creating a new file\n", app->data->path);
	return begin_file(files, app);
}

void record_files__abort(struct record_files *files, struct data_append *app)
{
	if (files->has_temp)
		close_file(files, app);
}

/* Replace characters of the label that don't belong in a file name */
static void append_label(char *name, size_t size, const char *label)
{
	size_t len = strlen(name);

	if (len + 1 < size)
		name[len++] = '.';
	for (; *label && len + 1 < size; label++)
		name[len++] = isalnum(*label) || strchr("-_.+=", *label) ? *label : '_';
	name[len] = '\0';
}

/* The @nr-th name to try. Two dumps can end within the same 10 ms, the time stamp's unit. */
static int make_name(const char *base, const char *label, int nr, char *name, size_t size)
{
	char timestamp[] = "InvalidTimestamp";
	int len;

	if (fetch_current_timestamp(timestamp, sizeof(timestamp)))
		return -EIO;
	if (nr)
		len = snprintf(name, size, "%s.%s-%d", base, timestamp, nr);
	else
		len = snprintf(name, size, "%s.%s", base, timestamp);
	if (len >= (int)size)
		return -ENAMETOOLONG;
	if (label && *label)
		append_label(name, size, label);
	return 0;
}

static int rename_by_time(const char *from, const char *base, const char *label, char *name,
			  size_t size)
{
	int err, nr = 0;

	do {
		err = make_name(base, label, nr++, name, size);
		if (!err)
			err = rename_new(from, name);
	} while (err == -EEXIST);
	return err;
}

static void remove_oldest(struct record_files *files)
{
	char **slot = &files->names[files->next];

	files->next = (files->next + 1) % files->nr_names;
	/* The user may have moved it */
	if (*slot && unlink(*slot) && errno != ENOENT)
		pr_warning("Failed to remove %s: %m\n", *slot);
	free(*slot);
	*slot = strdup(files->path);
}

/* Is @path a link to a file whose name begins with @base? */
static bool is_our_link(const char *path, const char *base)
{
	size_t len = strlen(name_in(base));
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return !strchr(target, '/') && !strncmp(target, name_in(base), len) &&
	       target[len] == '.';
}

/* Replace an older link by @link. If another file is there by now, put that back. */
static int replace_link(const char *link, const char *path)
{
	if (!is_our_link(path, path))
		return -EEXIST;
	if (renameat2(AT_FDCWD, link, AT_FDCWD, path, RENAME_EXCHANGE)) {
		/* The file system does not support RENAME_EXCHANGE */
		if (errno == EINVAL && !rename(link, path))
			return 0;
		return -errno;
	}
	if (is_our_link(link, path)) {
		unlink(link);
		return 0;
	}
	if (renameat2(AT_FDCWD, link, AT_FDCWD, path, RENAME_EXCHANGE))
		return rename_new(link, path) ?: -EEXIST;
	return -EEXIST;
}

/* Link the name that the user gave to the latest dump. @files->temp is free to be used. */
static void link_latest(struct record_files *files)
{
	int err = 0;

	if (symlink(name_in(files->path), files->temp))
		err = -errno;
	if (!err)
		err = rename_new(files->temp, files->base);
	if (err == -EEXIST)
		err = replace_link(files->temp, files->base);
	if (!err)
		return;
	if (is_our_link(files->temp, files->base))
		unlink(files->temp);
	if (!files->no_link)
		pr_warning("No link %s to the latest dump: %s\n", files->base, strerror(-err));
	files->no_link = true;
}

/* Name a file: @base if one file has all dumps and the name is free, else with the time */
static int name_file(struct record_files *files, const char *label, char *name, size_t size)
{
	int err = files->each ? -EEXIST : rename_new(files->temp, files->base);

	if (err == -EEXIST)
		return rename_by_time(files->temp, files->base, label, name, size);
	return snprintf(name, size, "%s", files->base) < (int)size ? err : -ENAMETOOLONG;
}

int record_files__finish(struct record_files *files, struct data_append *app,
			 const char *label)
{
	char name[PATH_MAX];
	int err;

	if (!files->has_temp)
		return 0;
	err = name_file(files, label, name, sizeof(name));
	if (err)
		return err;
	__atomic_store_n(&files->has_temp, false, __ATOMIC_RELEASE);
	err = set_path(files, app, name);
	if (err)
		return err;
	if (!files->each)
		return 0;
	link_latest(files);
	if (files->nr_names)
		remove_oldest(files);
	err = dump_files__trim(files->opts, files->base, files->path);
	/* The dump itself is complete */
	if (err < 0)
		pr_warning("Failed to remove old dumps: %s\n", strerror(-err));
	return 0;
}

int record_files__add_time(struct record_files *files, struct data_append *app)
{
	char name[PATH_MAX];

	if (!record_files__exists(app->data))
		return -ENOENT;
	return rename_by_time(app->data->path, files->base, NULL, name, sizeof(name));
}
