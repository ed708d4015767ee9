/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_MAPPED_FILE_H
#define __PERF_MAPPED_FILE_H 1

/* Find the file that a process has mapped. Another file may have its name by now. */
#include <stdbool.h>
#include <sys/types.h>

struct build_id;
struct dso_id;

/**
 * mapped_file__read_build_id - Read the build-id of a mapped file
 * @pid:  the process that has mapped it
 * @name: its path, as @pid sees it
 * @id:   device and inode from the kernel's record of the mapping. Zeros or NULL:
 *	  not known
 *
 * The file is looked up as @pid sees it, in its mount namespace and below its root,
 * then, e.g. if @pid has ended, as the caller sees it. A file with another device or
 * inode is ignored, even if it has the right name. Any thread may call this: it
 * doesn't change the caller's namespaces.
 *
 * Return true if the file was found and has a build-id.
 */
bool mapped_file__read_build_id(pid_t pid, const char *name, const struct dso_id *id,
				struct build_id *bid);

#endif /* __PERF_MAPPED_FILE_H */
