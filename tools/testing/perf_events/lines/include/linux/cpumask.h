/* SPDX-License-Identifier: GPL-2.0 */
/* As many CPUs as are simulated */
#include_next <linux/cpumask.h>

#include <linux/percpu.h>

#undef nr_cpu_ids
#define nr_cpu_ids	simulated_cpus
