/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_SMP_H
#define _PERF_EVENTS_LINUX_SMP_H

/* Threads are CPUs, or a test says on which one it goes on. */
extern __thread int this_cpu;

#define smp_processor_id()	READ_ONCE(this_cpu)

#endif
