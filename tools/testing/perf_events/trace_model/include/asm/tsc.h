/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_ASM_TSC_H
#define _PERF_EVENTS_ASM_TSC_H

#include <linux/types.h>

/* The test's. */
u64 rdtsc_ordered(void);

#endif
