/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_PERCPU_H
#define _OUTPUT_LINUX_PERCPU_H

#include <linux/slab.h>

#define __percpu
#define POSSIBLE_CPUS		8

/* The test's: the CPU that the caller is on */
int current_cpu(void);

#define num_possible_cpus()	POSSIBLE_CPUS
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < POSSIBLE_CPUS; (cpu)++)
#define alloc_percpu_gfp(type, flags)	((type *)kzalloc(POSSIBLE_CPUS * sizeof(type), flags))
#define free_percpu(p)		kfree(p)
#define per_cpu_ptr(p, cpu)	(&(p)[cpu])
#define this_cpu_ptr(p)		per_cpu_ptr(p, current_cpu())

#endif
