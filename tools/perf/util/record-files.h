/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_FILES_H
#define __PERF_RECORD_FILES_H 1

/*
 * Output files for the dumps of perf record -M
 *
 * Others use the same names: another perf record in the directory renames perf.data
 * and creates its own, and users remove files that they have read. So a new file is
 * written under a unique temporary name, and gets its final name when it is complete,
 * unless another file has that name by then. And before a dump is appended to a file,
 * the file has to be still there.
 *
 * All functions that return an int return 0 or -errno, unless they say otherwise.
 */
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct data_append;
struct dump_files_opts;
struct perf_data;

/**
 * struct record_files - Output files for dumps
 * @each:	each dump has a file of its own
 * @opts:	who may read these, and how much room they have
 * @base:	the name that the user gave; all names begin with it
 * @path:	path of the last file, which perf_data has as path, too
 * @temp:	temporary name of the file that isn't complete
 * @has_temp:	there is such a file
 * @beginning:	records that each file begins with
 * @names:	names of the newest files; the oldest is at @next, and is removed next
 * @no_link:	the warning that there is no link to the latest file was printed
 */
struct record_files {
	bool	each;
	const struct dump_files_opts *opts;
	char	*base;
	char	*path;
	char	temp[PATH_MAX];
	bool	has_temp;
	void	*beginning;
	size_t	beginning_size;
	char	**names;
	int	nr_names;
	int	next;
	bool	no_link;
};

/**
 * record_files__prepare - Call it before the session opens its file
 * @each: each dump gets a file of its own. Let the session open a temporary file.
 * @opts: is used by later calls
 */
int record_files__prepare(struct record_files *files, struct perf_data *data, bool each,
			  const struct dump_files_opts *opts);

/* Keep the records of the open file: each file begins with them. Later calls: any thread. */
int record_files__init(struct record_files *files, struct data_append *app, int max_files);
void record_files__exit(struct record_files *files);

/* Does the file that was written last still exist, under its name? */
bool record_files__exists(const struct perf_data *data);

/**
 * record_files__begin - Open a file for a dump
 *
 * Return 1 if it is a new one, 0 if it has the dumps so far, or -errno: -ESTALE if
 * it is gone and can't be replaced by a new one.
 */
int record_files__begin(struct record_files *files, struct data_append *app);

/* The dump is complete: name its file, if it is new. The name includes @label, can be NULL. */
int record_files__finish(struct record_files *files, struct data_append *app,
			 const char *label);

/* The dump has failed: remove its file, if it is new */
void record_files__abort(struct record_files *files, struct data_append *app);

/* Remove a file that isn't complete, even if another thread is still writing it */
void record_files__give_up(const struct record_files *files);

/* Add the time to the name of the file that is open */
int record_files__add_time(struct record_files *files, struct data_append *app);

#endif /* __PERF_RECORD_FILES_H */
