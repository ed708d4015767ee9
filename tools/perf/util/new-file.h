/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_NEW_FILE_H
#define __PERF_NEW_FILE_H 1

/*
 * A file that has its name when it is complete, and replaces another only if it may. A pipe
 * or a device that has the name, as /dev/stdout may, is written to.
 */
#include <stdbool.h>
#include <stdio.h>

/**
 * struct new_file - A file that is being written
 * @path:    its name when it is complete
 * @temp:    its name until then, NULL for a pipe or a device
 * @replace: a file that has the name may be replaced
 */
struct new_file {
	FILE	*out;
	char	*path;
	char	*temp;
	bool	replace;
};

/* Return 0, or -EEXIST, or another -errno. Then there is nothing to finish or abort. */
int new_file__open(struct new_file *file, const char *path, bool replace);

/**
 * new_file__finish - Give it its name
 * @err: what has gone wrong before, 0: nothing
 *
 * Return 0, or @err, or another -errno: then there is no file. -EEXIST: another file has got
 * the name meanwhile.
 */
int new_file__finish(struct new_file *file, int err);

/* Instead of finish: there will be no file */
void new_file__abort(struct new_file *file);

#endif /* __PERF_NEW_FILE_H */
