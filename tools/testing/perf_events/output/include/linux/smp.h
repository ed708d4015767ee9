/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_SMP_H
#define _OUTPUT_LINUX_SMP_H

#include <linux/percpu.h>
#include <linux/types.h>

#define smp_processor_id()	current_cpu()

/* The test's: on the thread of each CPU, between any two of its accesses */
void on_each_cpu_cond(bool (*condition)(int cpu, void *info), void (*call)(void *info),
		      void *info, bool wait);

#endif
