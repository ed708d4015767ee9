/* SPDX-License-Identifier: GPL-2.0 */
/* Reports without a stack */
#ifndef _PERF_EVENTS_LINUX_STACKTRACE_H
#define _PERF_EVENTS_LINUX_STACKTRACE_H

#define stack_trace_save(entries, size, skip)	((void)(entries), 0U)
#define stack_trace_print(entries, nr, spaces)	((void)(entries), (void)(nr))

#endif
