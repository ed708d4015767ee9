/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_FILES_H
#define __PERF_DUMP_FILES_H 1

/*
 * Who may read the files of dumps, and how much room they may have together:
 * --dump-files [space=SIZE][,group=GROUP]
 *
 * All files count whose name is that of the output and a time stamp, so those of earlier
 * runs do, too. When a dump is complete, the oldest are removed until the others are no
 * larger than SIZE. The newest one is always kept.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct dump_files_opts - What the user wants
 * @set:   the option is there
 * @space: bytes of all files, 0: no limit
 * @gid:   their group, which may read them; -1: only the user may
 */
struct dump_files_opts {
	bool	set;
	u64	space;
	gid_t	gid;
};

/* Return 0, or -EINVAL after a message */
int dump_files_opts__parse(struct dump_files_opts *opts, const char *str);

/* Let the group read a new file. Return 0 or -errno. */
int dump_files__share(const struct dump_files_opts *opts, int fd);

/**
 * dump_files__trim - Remove the oldest files
 * @base: what the user calls the output
 * @newest: the path of the file to be kept
 *
 * Return the number of files that were removed, or -errno.
 */
int dump_files__trim(const struct dump_files_opts *opts, const char *base, const char *newest);

#endif /* __PERF_DUMP_FILES_H */
