/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _BENCH_LINUX_SMP_H
#define _BENCH_LINUX_SMP_H

#include <linux/preempt.h>
#include <linux/types.h>

void on_each_cpu_cond(bool (*condition)(int cpu, void *info), void (*function)(void *info),
		      void *info, bool wait);

#endif
