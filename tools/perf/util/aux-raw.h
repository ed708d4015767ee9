/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_AUX_RAW_H
#define __PERF_AUX_RAW_H 1

#include <linux/types.h>

struct auxtrace_record;
struct evlist;
struct perf_sample;
struct perf_session;
union perf_event;

/*
 * Record an AUX area event that perf has no decoder for. Return NULL if @evlist
 * has none (*err is 0), or if it cannot be recorded (*err < 0).
 */
struct auxtrace_record *aux_raw_recording_init(struct evlist *evlist, int *err);

/*
 * Read the data of a PERF_RECORD_AUXTRACE that has no decoder, and print it if
 * dumping. Return its size, or -errno.
 */
s64 aux_raw__process_auxtrace(struct perf_session *session, union perf_event *event);

/* Print the AUX area data of a sample */
void aux_raw__dump_sample(struct perf_sample *sample);

#endif /* __PERF_AUX_RAW_H */
