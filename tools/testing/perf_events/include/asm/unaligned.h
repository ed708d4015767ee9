/* SPDX-License-Identifier: GPL-2.0 */
/* For words; one instruction each, on machines that have one. */
#ifndef _PERF_EVENTS_ASM_UNALIGNED_H
#define _PERF_EVENTS_ASM_UNALIGNED_H

#include <linux/types.h>

static inline u64 get_unaligned(const u64 *ptr)
{
	u64 value;

	__builtin_memcpy(&value, ptr, sizeof(value));
	return value;
}

static inline void put_unaligned(u64 value, u64 *ptr)
{
	__builtin_memcpy(ptr, &value, sizeof(value));
}

#endif
