/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_BITS_H
#define _PERF_EVENTS_LINUX_BITS_H

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(high, low)	(~0UL >> (63 - (high)) & ~0UL << (low))
#define GENMASK_ULL(high, low)	(~0ULL >> (63 - (high)) & ~0ULL << (low))

#endif
