/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_SMP_H
#define _PERF_EVENTS_LINUX_SMP_H

/* All contexts of a test are contexts of one CPU. */
#define smp_processor_id()	0

#endif
