/* SPDX-License-Identifier: GPL-2.0 */
/* Has the kernel reported a problem? */
#ifndef FUZZ_KERNEL_LOG_H
#define FUZZ_KERNEL_LOG_H

#include <stdbool.h>

/* The descriptor to watch: what the kernel says from now on. -1: errno. Needs root. */
int kernel_log_open(void);

/* Reads what the kernel has said since the last call: was there a report among it? */
bool kernel_log_reports(int fd);

#endif
