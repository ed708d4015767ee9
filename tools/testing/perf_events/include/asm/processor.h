/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_ASM_PROCESSOR_H
#define _PERF_EVENTS_ASM_PROCESSOR_H

#define X86_VENDOR_INTEL	0

static const struct {
	int	x86_vendor;
} boot_cpu_data = { X86_VENDOR_INTEL };

#endif
