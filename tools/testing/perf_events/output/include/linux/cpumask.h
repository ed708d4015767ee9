/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_CPUMASK_H
#define _OUTPUT_LINUX_CPUMASK_H

#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/types.h>

#define nr_cpu_ids	64U

/* The test's. Weak: in other programs all CPUs are online. */
extern bool cpu_offline __weak;
#define cpu_online(cpu)	((void)(cpu), !&cpu_offline || !cpu_offline)

#define for_each_online_cpu(cpu)					\
	for_each_possible_cpu(cpu)					\
		if (!cpu_online(cpu)) {					\
		} else

#endif
