/* SPDX-License-Identifier: GPL-2.0 */
/* Other addresses than those of physical memory aren't readable. */
#ifndef _PERF_EVENTS_LINUX_UACCESS_H
#define _PERF_EVENTS_LINUX_UACCESS_H

#include <linux/mm.h>

#define __get_kernel_nofault(dst, src, type, label)				\
do {										\
	const unsigned char *_from = (const void *)(src);			\
										\
	if (_from < memory || _from + sizeof(type) > memory + sizeof(memory))	\
		goto label;							\
	*(type *)(dst) = *(const type *)_from;					\
} while (0)

#endif
