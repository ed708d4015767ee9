/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_TYPES_H
#define _OUTPUT_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;
typedef unsigned long pgoff_t;

#endif
