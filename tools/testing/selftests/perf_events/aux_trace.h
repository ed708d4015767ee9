/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stream that the test PMU writes into the AUX area: checks each packet, and
 * compares the windows in which tracing was on with the samples of the gates.
 */
#ifndef _AUX_TRACE_H
#define _AUX_TRACE_H

#include "aux_records.h"

/*
 * A time in which tracing was on. The test PMU closes and reopens it to hand out
 * a full buffer or to take a sample: such pieces are joined.
 */
struct aux_window {
	__u64	start, stop;
	__u64	packets;
	__u32	tid;
	__u16	cpu;
	__u8	opened_by, closed_by;	/* TEST_PERF_AUX_BY_* */
};

struct aux_trace {
	struct aux_window	*win;
	size_t			nr;
	__u64			packets;
	__u64			next_seq;
	__u64			expect;		/* due time of the next DATA */
	bool			open;
	bool			resync;		/* the data begins in mid-stream */
	bool			pieces;		/* keep them, instead of joining them */
	char			error[160];
};

/*
 * Append the new packets and check each: intact, no gap, the right time,
 * START, DATA and STOP in the right order. The fault goes into ->error.
 */
int aux_trace_read(struct aux_trace *trace, struct aux_group *group);
/* The same for an overwritten area: from its oldest to its newest packet. */
int aux_trace_read_overwrite(struct aux_trace *trace, struct aux_group *group);
void aux_trace_free(struct aux_trace *trace);

/*
 * A region is the time between the samples of a resume and of the next pause. Is
 * every window in a region, and has each region a window? Gates must not nest
 * here. Returns the number of regions, or -1 with ->error set.
 */
long aux_trace_match(struct aux_trace *trace, const struct perf_records *records,
		     const struct aux_group *group, bool paused);

#endif /* _AUX_TRACE_H */
