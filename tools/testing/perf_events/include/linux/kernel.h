/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_KERNEL_H
#define _PERF_EVENTS_LINUX_KERNEL_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

#define IS_ALIGNED(x, to)	(!((x) & ((__typeof__(x))(to) - 1)))
#define round_down(x, to)	((x) & ~((__typeof__(x))(to) - 1))
#define min_t(type, a, b)							\
	({									\
		type a_ = (a), b_ = (b);					\
										\
		a_ < b_ ? a_ : b_;						\
	})

static inline bool is_power_of_2(u64 n)
{
	return n && !(n & (n - 1));
}

#endif
