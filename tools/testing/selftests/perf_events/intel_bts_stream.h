/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The records of Intel BTS: finds those of the loops in windows, and compares them with
 * the loops that were executed.
 */
#ifndef _INTEL_BTS_STREAM_H
#define _INTEL_BTS_STREAM_H

#include "aux_records.h"
#include "intel_windows.h"

struct bts_record {
	__u64 from, to, flags;
};

struct bts_trace {
	struct bts_record	*rec;
	size_t			nr;
	unsigned long		records, truncated;
	char			error[200];
};

int bts_trace_read(struct bts_trace *trace, const struct perf_records *records,
		   size_t *pos, struct aux_group *group);
int bts_trace_read_overwrite(struct bts_trace *trace, struct aux_group *group);
void bts_trace_free(struct bts_trace *trace);

/* Counts the records of loops in windows of this kind. */
size_t bts_branches(const struct bts_trace *trace, enum window_kind kind);
/*
 * Do the records of the loops match the windows in order, from the first on or, with
 * @newest, up to the last? -1 with ->error set, or the number of windows found.
 */
int bts_trace_match(struct bts_trace *trace, enum window_kind kind,
		    const struct window_log *log, size_t nr, bool newest);

#endif /* _INTEL_BTS_STREAM_H */
