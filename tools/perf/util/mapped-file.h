/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_MAPPED_FILE_H
#define __PERF_MAPPED_FILE_H 1

/* The file that a process has mapped, which need not be what has its name here */
#include <stdbool.h>
#include <sys/types.h>

struct build_id;
struct dso_id;

/**
 * mapped_file__read_build_id - Read the build-id of a file that was mapped
 * @pid:  who has mapped it
 * @name: its path, as @pid sees it
 * @id:   device and inode, as the kernel told them with the mapping. Zeros, or NULL:
 *	  they are not known
 *
 * The file is looked for where @pid sees it, in its mount namespace and below its
 * root, and if @pid has ended here. A file that has another device or inode is not
 * the one, whatever its name is. Changes nothing of the caller: it can be any thread.
 *
 * Return true if the file was found and has a build-id.
 */
bool mapped_file__read_build_id(pid_t pid, const char *name, const struct dso_id *id,
				struct build_id *bid);

#endif /* __PERF_MAPPED_FILE_H */
