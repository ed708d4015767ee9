/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_BITOPS_H
#define _PERF_EVENTS_LINUX_BITOPS_H

#include <linux/bits.h>

#define for_each_set_bit(bit, mask, size)					\
	for ((bit) = 0; (bit) < (size); (bit)++)				\
		if (*(mask) & BIT(bit))

#endif
