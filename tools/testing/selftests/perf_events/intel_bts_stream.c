// SPDX-License-Identifier: GPL-2.0
/*
 * The records of Intel BTS. See intel_bts_stream.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "intel_bts_stream.h"
#include "intel_stream.h"

static int bts_append(struct bts_trace *trace, const struct aux_group *group,
		      __u64 from, size_t size)
{
	size_t bytes = trace->nr * sizeof(*trace->rec), i, first = trace->nr;

	if (size % sizeof(*trace->rec))
		return stream_error(trace, "%zu bytes: part of a record", size);
	if (area_append((void **)&trace->rec, &bytes, group, from, size))
		return stream_error(trace, "out of memory");

	trace->nr = bytes / sizeof(*trace->rec);
	for (i = first; i < trace->nr; i++) {
		if (!trace->rec[i].from || !trace->rec[i].to)
			return stream_error(trace, "record %zu is empty", i);
	}

	return 0;
}

int bts_trace_read(struct bts_trace *trace, const struct perf_records *records,
		   size_t *pos, struct aux_group *group)
{
	for (; *pos < records->nr; ++*pos) {
		const struct perf_record *rec = &records->rec[*pos];

		if (rec->type != PERF_RECORD_AUX)
			continue;
		if (bts_append(trace, group, rec->offset, rec->size))
			return -1;
		area_consumed(group, rec);

		trace->records++;
		trace->truncated += !!(rec->flags & PERF_AUX_FLAG_TRUNCATED);
	}

	return 0;
}

/* Records fill the area from its start. The rest is too small for one more. */
int bts_trace_read_overwrite(struct bts_trace *trace, struct aux_group *group)
{
	const struct bts_record *rec = (const void *)group->area;
	size_t room = group->area_size / sizeof(*rec), end = room;
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);

	if (head > room * sizeof(*rec))
		return stream_error(trace, "aux_head %llu is past the last record",
				   head);
	/*
	 * Has wrapped: the oldest records follow the newest. A driver that counts laps
	 * leaves the end empty.
	 */
	while (end * sizeof(*rec) > head && !rec[end - 1].from)
		end--;
	if (end * sizeof(*rec) > head &&
	    bts_append(trace, group, head, end * sizeof(*rec) - head))
		return -1;

	return bts_append(trace, group, 0, head);
}

void bts_trace_free(struct bts_trace *trace)
{
	free(trace->rec);
	memset(trace, 0, sizeof(*trace));
}

/* For a taken loop branch in a window: 1 or 2, the copy of the code; otherwise 0 */
static int bts_copy(const struct bts_record *rec, enum window_kind kind)
{
	int copy;

	for (copy = 0; copy < 2; copy++) {
		if (rec->from == (uintptr_t)window_code(kind, copy)->branch)
			return copy + 1;
	}

	return 0;
}

size_t bts_branches(const struct bts_trace *trace, enum window_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < trace->nr; i++)
		n += !!bts_copy(&trace->rec[i], kind);

	return n;
}

/*
 * Counts the records of one copy's loop that end before record @*end: up to @most, and up to
 * one of the other copy.
 */
static __u64 bts_run(const struct bts_trace *trace, enum window_kind kind,
		     size_t *end, int copy, __u64 most)
{
	__u64 run = 0;
	int found;

	for (; *end && run < most; --*end) {
		found = bts_copy(&trace->rec[*end - 1], kind);
		if (found && found != copy)
			break;
		run += !!found;
	}

	return run;
}

/* From the newest back to the oldest. Consecutive windows ran different copies of the code. */
int bts_trace_match(struct bts_trace *trace, enum window_kind kind,
		    const struct window_log *log, size_t nr, bool newest)
{
	size_t end = trace->nr, i;
	__u64 run, taken;
	int found = 0;

	for (i = nr; i; i--, found++) {
		/* None if the window wasn't opened */
		taken = log[i - 1].loops ? log[i - 1].loops - 1 : 0;
		run = bts_run(trace, kind, &end, 2 - (i & 1), taken);
		if (run == taken)
			continue;
		/* The oldest window may be partly overwritten. */
		if (newest && !end)
			return found;
		return stream_error(trace, "window %zu: %llu records, not %llu",
				   i - 1, run, taken);
	}
	bts_run(trace, kind, &end, 0, trace->nr);
	if (end)
		return stream_error(trace, "%zu records before the first window",
				   end);

	return found;
}
