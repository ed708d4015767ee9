// SPDX-License-Identifier: GPL-2.0
/* Who may read the files of dumps, and how much room they may have; see dump-files.h */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "dump-files.h"
#include "units.h"

/* A time stamp as in the name of a file: year, month, day, time of the day, 10 ms */
#define STAMP_DIGITS	16

/* ---- what the user writes */

static int parse_space(struct dump_files_opts *opts, const char *value)
{
	static struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	size_t digits = strspn(value, "0123456789");
	unsigned long space = 0;

	/* A unit, and nothing behind it */
	if (digits && value[digits] && !value[digits + 1])
		space = parse_tag_value(value, tags);
	if (!space || space == (unsigned long)-1) {
		pr_err("--dump-files: '%s' of space= is not a size above 0 with B, K, M or G\n",
		       value);
		return -EINVAL;
	}
	opts->space = space;
	return 0;
}

static int parse_group(struct dump_files_opts *opts, const char *value)
{
	struct group *group = getgrnam(value);
	char *end = NULL;
	unsigned long gid = isdigit(*value) ? strtoul(value, &end, 10) : 0;

	if (!group && (!end || *end || gid >= (gid_t)-1)) {
		pr_err("--dump-files: there is no group '%s'\n", value);
		return -EINVAL;
	}
	opts->gid = group ? group->gr_gid : (gid_t)gid;
	return 0;
}

static int parse_term(struct dump_files_opts *opts, const char *term)
{
	if (!strncmp(term, "space=", strlen("space=")))
		return parse_space(opts, term + strlen("space="));
	if (!strncmp(term, "group=", strlen("group=")))
		return parse_group(opts, term + strlen("group="));
	pr_err("--dump-files: there is no term '%s': they are space=SIZE and group=GROUP\n", term);
	return -EINVAL;
}

int dump_files_opts__parse(struct dump_files_opts *opts, const char *str)
{
	char *copy = strdup(str), *terms = copy, *term;
	int err = 0;

	*opts = (struct dump_files_opts){ .set = true, .gid = -1 };
	if (!copy) {
		pr_err("Not enough memory for --dump-files\n");
		return -EINVAL;
	}
	while (!err && (term = strsep(&terms, ",")))
		err = parse_term(opts, term);
	free(copy);
	return err;
}

/* ---- the files */

int dump_files__share(const struct dump_files_opts *opts, int fd)
{
	if (!opts->set || opts->gid == (gid_t)-1)
		return 0;
	/* The group first, so that no other one can read it in between */
	return fchown(fd, -1, opts->gid) || fchmod(fd, 0640) ? -errno : 0;
}

struct dump_file {
	char		*name;
	u64		size;
	struct timespec	time;
};

struct dump_dir {
	int			fd;
	struct dump_file	*files;
	size_t			nr;
	u64			sum;
};

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* BASE.STAMP, BASE.STAMP-NR, BASE.STAMP.LABEL: others who have files here give them other names */
static bool is_dump(const char *name, const char *base)
{
	size_t i, len = strlen(base);

	if (strncmp(name, base, len) || name[len] != '.')
		return false;
	name += len + 1;
	for (i = 0; i < STAMP_DIGITS; i++) {
		if (!isdigit(name[i]))
			return false;
	}
	return !name[i] || name[i] == '.' || name[i] == '-';
}

static int add_file(struct dump_dir *dir, const char *name)
{
	struct dump_file *files;
	struct stat st;

	/* It may be gone by now; links and others are not of perf */
	if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	files = realloc(dir->files, (dir->nr + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	dir->files = files;
	files[dir->nr] = (struct dump_file){
		.name = strdup(name), .size = st.st_size, .time = st.st_mtim,
	};
	if (!files[dir->nr].name)
		return -ENOMEM;
	dir->sum += st.st_size;
	dir->nr++;
	return 0;
}

static int list_files(struct dump_dir *dir, DIR *stream, const char *base)
{
	struct dirent *entry;
	int err = 0;

	while (!err && (entry = readdir(stream))) {
		if (is_dump(entry->d_name, base))
			err = add_file(dir, entry->d_name);
	}
	return err;
}

/* The clock of the time stamps in names can be set back, and does so each autumn */
static int compare(const void *a, const void *b)
{
	const struct dump_file *f = a, *g = b;

	if (f->time.tv_sec != g->time.tv_sec)
		return f->time.tv_sec < g->time.tv_sec ? -1 : 1;
	if (f->time.tv_nsec != g->time.tv_nsec)
		return f->time.tv_nsec < g->time.tv_nsec ? -1 : 1;
	return strcmp(f->name, g->name);
}

static int remove_oldest(struct dump_dir *dir, u64 space, const char *newest)
{
	int nr = 0;
	size_t i;

	qsort(dir->files, dir->nr, sizeof(*dir->files), compare);
	for (i = 0; i < dir->nr && dir->sum > space; i++) {
		struct dump_file *file = &dir->files[i];

		if (!strcmp(file->name, newest))
			continue;
		if (unlinkat(dir->fd, file->name, 0) && errno != ENOENT) {
			pr_warning("Failed to remove %s: %m\n", file->name);
			continue;
		}
		pr_debug("Removed %s, to make room for newer dumps\n", file->name);
		dir->sum -= file->size;
		nr++;
	}
	return nr;
}

static DIR *open_dir_of(const char *base)
{
	size_t len = name_in(base) - base;
	char *path = len ? strndup(base, len) : strdup(".");
	DIR *stream = path ? opendir(path) : NULL;

	free(path);
	return stream;
}

int dump_files__trim(const struct dump_files_opts *opts, const char *base, const char *newest)
{
	struct dump_dir dir = { .fd = -1 };
	DIR *stream;
	size_t i;
	int ret;

	if (!opts->set || !opts->space)
		return 0;
	stream = open_dir_of(base);
	if (!stream)
		return -errno;
	dir.fd = dirfd(stream);
	ret = list_files(&dir, stream, name_in(base));
	if (!ret)
		ret = remove_oldest(&dir, opts->space, name_in(newest));
	for (i = 0; i < dir.nr; i++)
		free(dir.files[i].name);
	free(dir.files);
	closedir(stream);
	return ret;
}
