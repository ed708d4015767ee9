// SPDX-License-Identifier: GPL-2.0
/*
 * The stream that the test PMU writes into the AUX area. See aux_trace.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aux_trace.h"

#define trace_error(trace, fmt, ...)					\
	(snprintf((trace)->error, sizeof((trace)->error), fmt, ##__VA_ARGS__), -1)

static struct aux_window *last_window(struct aux_trace *trace)
{
	return &trace->win[trace->nr - 1];
}

static struct aux_window *append_window(struct aux_trace *trace)
{
	if (!(trace->nr & (trace->nr - 1))) {
		size_t room = trace->nr ? trace->nr * 2 : 1;
		void *win = realloc(trace->win, room * sizeof(*trace->win));

		if (!win)
			return NULL;
		trace->win = win;
	}
	memset(&trace->win[trace->nr], 0, sizeof(*trace->win));

	return &trace->win[trace->nr++];
}

static bool continues(const struct test_perf_aux_packet *start,
		      struct aux_trace *trace)
{
	return trace->nr && !trace->pieces && last_window(trace)->closed_by == start->why &&
	       (start->why == TEST_PERF_AUX_BY_TICK ||
		start->why == TEST_PERF_AUX_BY_SNAPSHOT);
}

static int take_start(struct aux_trace *trace,
		      const struct test_perf_aux_packet *p, __u64 period)
{
	struct aux_window *win;

	if (trace->open)
		return trace_error(trace, "packet %llu: START in a window",
				   (unsigned long long)p->seq);

	if (trace->nr && p->time < last_window(trace)->stop)
		return trace_error(trace, "packet %llu: time goes back",
				   (unsigned long long)p->seq);

	trace->open = true;
	trace->expect = p->time + period;
	if (continues(p, trace))
		return 0;

	win = append_window(trace);
	if (!win)
		return trace_error(trace, "out of memory");

	win->start = p->time;
	win->stop = -1ULL;
	win->tid = p->tid;
	win->cpu = p->cpu;
	win->opened_by = p->why;

	return 0;
}

static int take_data(struct aux_trace *trace,
		     const struct test_perf_aux_packet *p, __u64 period)
{
	if (p->time != trace->expect)
		return trace_error(trace, "packet %llu: time %llu, not %llu",
				   (unsigned long long)p->seq,
				   (unsigned long long)p->time,
				   (unsigned long long)trace->expect);

	trace->expect += period;
	last_window(trace)->packets++;

	return 0;
}

static int take_stop(struct aux_trace *trace,
		     const struct test_perf_aux_packet *p, __u64 period)
{
	struct aux_window *win = last_window(trace);
	/* STOP comes before the next DATA is due, or there is no room for that DATA. */
	__u64 limit = trace->expect + (p->why == TEST_PERF_AUX_BY_FULL);

	if (p->time >= limit || p->time + period < trace->expect)
		return trace_error(trace,
				   "packet %llu: STOP at %llu, DATA due at %llu",
				   (unsigned long long)p->seq,
				   (unsigned long long)p->time,
				   (unsigned long long)trace->expect);

	trace->open = false;
	win->stop = p->time;
	win->closed_by = p->why;

	return 0;
}

static int take_packet(struct aux_trace *trace,
		       const struct test_perf_aux_packet *p, __u64 period)
{
	if (p->magic != TEST_PERF_AUX_MAGIC || p->check != test_perf_aux_check(p))
		return trace_error(trace, "packet %llu is damaged",
				   (unsigned long long)trace->next_seq);

	if (trace->resync && !trace->packets)
		trace->next_seq = p->seq;
	if (p->seq != trace->next_seq)
		return trace_error(trace, "packet %llu where %llu was due",
				   (unsigned long long)p->seq,
				   (unsigned long long)trace->next_seq);
	trace->next_seq++;
	trace->packets++;

	if (p->type == TEST_PERF_AUX_START) {
		trace->resync = false;
		return take_start(trace, p, period);
	}
	if (trace->resync || (!trace->open && p->type == TEST_PERF_AUX_PAD))
		return 0;
	if (trace->open && p->type == TEST_PERF_AUX_DATA)
		return take_data(trace, p, period);
	if (trace->open && p->type == TEST_PERF_AUX_STOP)
		return take_stop(trace, p, period);

	return trace_error(trace, "packet %llu: type %u %s a window",
			   (unsigned long long)p->seq, p->type,
			   trace->open ? "in" : "outside");
}

static int take_range(struct aux_trace *trace, const struct aux_group *group,
		      __u64 from, __u64 to)
{
	const struct test_perf_aux_packet *p;

	for (; from + sizeof(*p) <= to; from += sizeof(*p)) {
		p = (const void *)(group->area + from % group->area_size);
		if (take_packet(trace, p, group->period))
			return -1;
	}

	return from == to ? 0 : trace_error(trace, "part of a packet");
}

int aux_trace_read(struct aux_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);
	int ret = take_range(trace, group, group->page->aux_tail, head);

	__atomic_store_n(&group->page->aux_tail, head, __ATOMIC_RELEASE);

	return ret;
}

int aux_trace_read_overwrite(struct aux_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);
	const struct test_perf_aux_packet *oldest;

	if (head >= group->area_size)
		return trace_error(trace, "aux_head %llu is outside the area",
				   (unsigned long long)head);

	/* Never wrapped: nothing follows the newest packet. */
	oldest = (const void *)(group->area + head);
	if (oldest->magic != TEST_PERF_AUX_MAGIC)
		return take_range(trace, group, 0, head);

	trace->resync = true;

	return take_range(trace, group, head, head + group->area_size);
}

void aux_trace_free(struct aux_trace *trace)
{
	free(trace->win);
	memset(trace, 0, sizeof(*trace));
}

struct aux_region {
	__u64 open, close;
	bool initial, last;
};

/* Find the next region in the samples from *@pos on. */
static bool next_region(const struct perf_records *records,
			const struct aux_group *group, size_t *pos, bool *paused,
			struct aux_region *region)
{
	region->initial = !*pos && !*paused;
	region->open = 0;

	for (; *pos < records->nr; ++*pos) {
		const struct perf_record *rec = &records->rec[*pos];

		if (rec->type != PERF_RECORD_SAMPLE)
			continue;
		if (*paused && rec->id == group->resume_id) {
			*paused = false;
			region->open = rec->time;
		} else if (!*paused && rec->id == group->pause_id) {
			*paused = true;
			region->close = rec->time;
			region->last = false;
			++*pos;
			return true;
		}
	}

	region->close = -1ULL;
	region->last = true;

	return !*paused;
}

/* Count the windows from *@win on that lie in the region. */
static int match_region(struct aux_trace *trace, size_t *win,
			const struct aux_region *region)
{
	size_t first = *win;

	while (*win < trace->nr && trace->win[*win].start >= region->open &&
	       trace->win[*win].stop <= region->close)
		++*win;

	if (*win == first)
		return trace_error(trace, "no window in the region %llu to %llu",
				   (unsigned long long)region->open,
				   (unsigned long long)region->close);

	if (!region->initial &&
	    trace->win[first].opened_by != TEST_PERF_AUX_BY_RESUME)
		return trace_error(trace, "window %zu: opened by %u, no resume",
				   first, trace->win[first].opened_by);

	if (!region->last &&
	    trace->win[*win - 1].closed_by != TEST_PERF_AUX_BY_PAUSE)
		return trace_error(trace, "window %zu: closed by %u, no pause",
				   *win - 1, trace->win[*win - 1].closed_by);

	return 0;
}

long aux_trace_match(struct aux_trace *trace, const struct perf_records *records,
		     const struct aux_group *group, bool paused)
{
	size_t pos = 0, win = 0;
	struct aux_region region;
	long regions = 0;

	if (perf_records_count(records, PERF_RECORD_LOST, 0))
		return trace_error(trace, "samples were lost");

	while (next_region(records, group, &pos, &paused, &region)) {
		if (match_region(trace, &win, &region))
			return -1;
		regions++;
		if (region.last)
			break;
	}

	if (win != trace->nr)
		return trace_error(trace, "window %zu, %llu to %llu: no region",
				   win, (unsigned long long)trace->win[win].start,
				   (unsigned long long)trace->win[win].stop);

	return regions;
}
