/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_KERNEL_H
#define _PERF_EVENTS_LINUX_KERNEL_H

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

#endif
