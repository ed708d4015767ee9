/* SPDX-License-Identifier: GPL-2.0 */
/* Windows of a CPU's AUX area event that belong to threads, see aux_thread.c. */
#ifndef _KERNEL_EVENTS_AUX_THREAD_H
#define _KERNEL_EVENTS_AUX_THREAD_H

#include <linux/perf_event.h>

int perf_aux_threads_init(struct perf_event *event, struct perf_event *with);
void perf_aux_threads_exit(struct perf_event *event);
void perf_aux_threads_free(struct perf_event *event);

#endif /* _KERNEL_EVENTS_AUX_THREAD_H */
