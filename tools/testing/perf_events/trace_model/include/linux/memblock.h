/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_MEMBLOCK_H
#define _PERF_EVENTS_LINUX_MEMBLOCK_H

#include <linux/mm.h>

#define max_pfn		MEMORY_PAGES

#endif
