/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_FILES_H
#define __PERF_RECORD_FILES_H 1

/*
 * The files that the dumps of perf record -M go to
 *
 * Others use the same names: a perf record in the same directory moves perf.data
 * away and makes its own, and users remove what they have looked at. So a file is
 * written under a name that nobody else has, and gets its own when it is complete,
 * if no other file has that. And before a dump is appended to a file, that has to
 * be there.
 *
 * All functions that return an int return 0 or -errno, unless they say otherwise.
 */
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct data_append;
struct perf_data;

/**
 * struct record_files - The files of dumps
 * @each:	each dump has one of its own
 * @base:	what their names begin with: the name that the user gave
 * @path:	of the file that is open, or was last; what perf_data has as path
 * @temp:	the name of a file that isn't complete
 * @has_temp:	there is such a file
 * @beginning:	what each file begins with
 * @names:	of those that are there, the next to be removed at @next
 * @no_link:	it was said that there can't be a link to the latest
 */
struct record_files {
	bool	each;
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
 * record_files__prepare - Before the session opens its file
 * @each: that file is none of a dump. Make one with a temporary name.
 */
int record_files__prepare(struct record_files *files, struct perf_data *data, bool each);

/* The file that is open has what all begin with. From now on it may be any thread. */
int record_files__init(struct record_files *files, struct data_append *app, int max_files);
void record_files__exit(struct record_files *files);

/* Is the file that was written last there, under its name? */
bool record_files__are_there(const struct perf_data *data);

/**
 * record_files__begin - Have a file open for a dump
 *
 * Return 1 if it is a new one, 0 if it has the dumps so far, or -errno: -ESTALE if
 * it is gone and there can't be a new one.
 */
int record_files__begin(struct record_files *files, struct data_append *app);

/* The dump is complete: name its file, if that is new. @label, or NULL, is a part of it. */
int record_files__finish(struct record_files *files, struct data_append *app,
			 const char *label);

/* The dump has failed: remove its file, if that is new */
void record_files__abort(struct record_files *files, struct data_append *app);

/* Remove a file that isn't complete, while another thread can be writing it */
void record_files__give_up(const struct record_files *files);

/* Add the time to the name of the file that is open */
int record_files__add_time(struct record_files *files, struct data_append *app);

#endif /* __PERF_RECORD_FILES_H */
