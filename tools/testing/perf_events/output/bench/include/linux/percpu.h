/* SPDX-License-Identifier: GPL-2.0 */
/* As in a kernel, a CPU has a copy of everything at one distance from the first CPU's. */
#ifndef _BENCH_LINUX_PERCPU_H
#define _BENCH_LINUX_PERCPU_H

#include <linux/slab.h>

#define __percpu
#define CPUS_MAX		8
#define PERCPU_UNIT		PAGE_SIZE

extern unsigned int possible_cpus;
extern __thread unsigned long this_cpu_off __attribute__((tls_model("local-exec")));

#define num_possible_cpus()	possible_cpus
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < possible_cpus; (cpu)++)
#define alloc_percpu_gfp(type, flags)	((type *)kzalloc(possible_cpus * PERCPU_UNIT, flags))
#define free_percpu(p)		kfree(p)
#define percpu_at(p, offset)	((__typeof__(p))((char *)(p) + (offset)))
#define per_cpu_ptr(p, cpu)	percpu_at(p, (cpu) * PERCPU_UNIT)
#define this_cpu_ptr(p)		percpu_at(p, this_cpu_off)

#endif
