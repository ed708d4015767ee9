/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RENAME_NEW_H
#define __PERF_RENAME_NEW_H 1

/* Rename a file, on any file system. Return 0, or -EEXIST if there is @to, or another -errno. */
int rename_new(const char *from, const char *to);

#endif /* __PERF_RENAME_NEW_H */
