/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_ASM_PROCESSOR_H
#define _PERF_EVENTS_ASM_PROCESSOR_H

/* The test's. */
extern struct cpuinfo {
	unsigned int x86_phys_bits;
} boot_cpu_data;

#endif
