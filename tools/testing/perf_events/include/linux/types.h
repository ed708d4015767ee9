/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_TYPES_H
#define _PERF_EVENTS_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __aligned(n)	__attribute((__aligned__(n)))

typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

struct hlist_node {
	struct hlist_node *next, **pprev;
};

#endif
