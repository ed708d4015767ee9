/* SPDX-License-Identifier: GPL-2.0 */
/* Physical memory is an array. */
#ifndef _PERF_EVENTS_LINUX_MM_H
#define _PERF_EVENTS_LINUX_MM_H

#include <linux/bits.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	BIT(PAGE_SHIFT)
#define PAGE_MASK	(~(PAGE_SIZE - 1))
#define PHYS_PFN(addr)	((addr) >> PAGE_SHIFT)

#define MEMORY_PAGES	16

extern unsigned char memory[MEMORY_PAGES * PAGE_SIZE];

#define phys_to_virt(addr)	((void *)(memory + (addr)))

#endif
