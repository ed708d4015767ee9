/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TESTS_SIDEBAND_RESOLVE_H
#define __PERF_TESTS_SIDEBAND_RESOLVE_H 1

/*
 * What a sample resolves to after the records of a dump. In perf's test, perf's own machine
 * resolves it. In tools/testing/perf_events/sideband, the same test uses a model of that.
 */
#include <stdbool.h>
#include <linux/types.h>

union perf_event;

void sideband_resolve__init(void);
void sideband_resolve__exit(void);
void sideband_resolve__event(const union perf_event *event, u64 time);

/* The name of a thread, "" if it isn't known */
const char *sideband_resolve__comm(u32 pid, u32 tid);
bool sideband_resolve__has_execed(u32 pid);
/* The file that is mapped at @addr, "" if none is */
const char *sideband_resolve__file(u32 pid, u32 tid, u64 addr);

#endif /* __PERF_TESTS_SIDEBAND_RESOLVE_H */
