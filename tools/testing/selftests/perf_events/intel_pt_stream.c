// SPDX-License-Identifier: GPL-2.0
/*
 * A checker of the Intel PT stream. See intel_pt_stream.h.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "intel_pt_packets.h"
#include "intel_pt_stream.h"
#include "intel_stream.h"

static struct pt_segment *pt_new_segment(struct pt_trace *trace, __u64 tsc)
{
	if (!(trace->nr & (trace->nr - 1))) {
		size_t room = trace->nr ? trace->nr * 2 : 1;
		void *seg = realloc(trace->seg, room * sizeof(*trace->seg));

		if (!seg)
			return NULL;
		trace->seg = seg;
	}
	memset(&trace->seg[trace->nr], 0, sizeof(*trace->seg));
	trace->seg[trace->nr].tsc = tsc;

	return &trace->seg[trace->nr++];
}

static int walk_error(struct pt_trace *trace, const char *text)
{
	return stream_error(trace, "byte %zu: %s", trace->done, text);
}

static int pt_take_tsc(struct pt_trace *trace, const unsigned char *p)
{
	if (!pt_new_segment(trace, pt_tsc(p)))
		return walk_error(trace, "out of memory");

	return 0;
}

/* The segment that counts packets: of the newest TSC, or before the first */
static struct pt_segment *pt_segment(struct pt_trace *trace)
{
	return trace->nr ? &trace->seg[trace->nr - 1] : &trace->ahead;
}

/*
 * "PSB+": it has a FUP if tracing is on, PacketEn=1. One that setting TraceEn causes has
 * it as well, and the TIP.PGE may stand behind it instead of before it: erratum BDM70,
 * which most processors have (SKD024, SKL021, KBL021). Until that TIP.PGE, tracing is off;
 * where the trace begins, it can't be told.
 */
static int pt_take_psbend(struct pt_trace *trace)
{
	if (!trace->in_psb)
		return walk_error(trace, "PSBEND without PSB");
	if (trace->level == PT_ON && !trace->psb_fup)
		return walk_error(trace, "PSB+ without FUP where tracing is on");

	trace->in_psb = false;
	trace->starts = trace->psb_fup && trace->level != PT_ON;
	/* The TIP.PGE of a start may stand before PSB+, and so before its TSC. */
	pt_segment(trace)->on += trace->psb_fup;
	if (trace->level == PT_UNKNOWN)
		trace->level = trace->psb_fup ? PT_ON : PT_OFF;

	return 0;
}

static void pt_take_address(struct pt_trace *trace, const unsigned char *p)
{
	if (!pt_has_ip(p))
		return;

	trace->ip = pt_ip(p, trace->ip);
	trace->ips++;
	trace->kernel_ips += trace->ip >> 63;
}

/* "PSB+": status only */
static int pt_take_ip_in_psb(struct pt_trace *trace, enum pt_packet what)
{
	if (what != PT_FUP)
		return walk_error(trace, "a branch in PSB+");

	trace->psb_fup = true;
	trace->psb_ip = trace->ip;

	return 0;
}

static int pt_take_pge(struct pt_trace *trace)
{
	if (trace->level == PT_ON && !trace->starts)
		return walk_error(trace, "TIP.PGE where tracing is on");
	if (trace->starts && trace->ip != trace->psb_ip)
		return walk_error(trace, "TIP.PGE elsewhere than the PSB+ before it");

	trace->level = PT_ON;
	trace->starts = false;
	trace->ovf_pge += trace->overflowed;
	trace->overflowed = false;
	pt_segment(trace)->on++;

	return 0;
}

/*
 * Where the level is unknown, a FUP doesn't tell it: OVF has one if ContextEn=1, although
 * an address filter may have switched tracing off (erratum APL12).
 */
static int pt_take_ip(struct pt_trace *trace, enum pt_packet what,
		      const unsigned char *p)
{
	pt_take_address(trace, p);
	if (trace->in_psb)
		return pt_take_ip_in_psb(trace, what);
	if (what == PT_PGE)
		return pt_take_pge(trace);
	if (trace->level == PT_OFF)
		return walk_error(trace, "a branch where tracing is off");

	trace->starts = false;
	trace->ovf_fup += trace->overflowed && what == PT_FUP;
	trace->overflowed = false;
	if (what != PT_FUP)
		trace->level = what == PT_PGD ? PT_OFF : PT_ON;

	return 0;
}

static int pt_take_tnt(struct pt_trace *trace, const unsigned char *p)
{
	if (trace->level == PT_OFF || trace->in_psb)
		return walk_error(trace, "TNT where tracing is off");

	trace->level = PT_ON;
	trace->starts = false;
	pt_segment(trace)->tnt += pt_tnt_bits(p);
	trace->tnt += pt_tnt_bits(p);

	return 0;
}

/* An overflow ends PSB+, too: "Internal Buffer Overflow". */
static void pt_lose_level(struct pt_trace *trace)
{
	trace->in_psb = false;
	trace->starts = false;
	trace->level = PT_UNKNOWN;
}

static int pt_take_packet(struct pt_trace *trace, enum pt_packet what,
			  const unsigned char *p)
{
	switch (what) {
	case PT_PSB:
		trace->in_psb = true;
		trace->psb_fup = false;
		trace->psb++;
		trace->ip = 0;
		return 0;
	case PT_PSBEND:
		return pt_take_psbend(trace);
	case PT_OVF:
		pt_lose_level(trace);
		trace->ovf++;
		trace->overflowed = true;
		return 0;
	case PT_PIP:
		trace->pip++;
		return 0;
	case PT_CBR:
		trace->cbr++;
		trace->ratio = pt_cbr(p);
		return 0;
	case PT_TSC:
		return pt_take_tsc(trace, p);
	case PT_TNT:
		return pt_take_tnt(trace, p);
	case PT_TIP:
	case PT_PGE:
	case PT_PGD:
	case PT_FUP:
		return pt_take_ip(trace, what, p);
	case PT_BAD:
		return walk_error(trace, "no packet begins like this");
	default:
		return 0;
	}
}

static bool pt_sync(struct pt_trace *trace)
{
	const unsigned char *begin = trace->bytes + trace->done, *p;

	p = pt_find_psb(begin, trace->nr_bytes - trace->done);
	if (!p)
		return false;

	trace->done += p - begin;
	trace->synced = true;
	pt_lose_level(trace);

	return true;
}

int pt_trace_check(struct pt_trace *trace)
{
	enum pt_packet what;
	size_t len;

	if (!trace->synced && !pt_sync(trace))
		return 0;

	for (; trace->done < trace->nr_bytes; trace->done += len) {
		const unsigned char *p = trace->bytes + trace->done;

		what = pt_next(p, trace->nr_bytes - trace->done, &len);
		if (what == PT_SHORT)
			break;
		if (pt_take_packet(trace, what, p))
			return -1;
	}

	return 0;
}

static int pt_take_record(struct pt_trace *trace, const struct aux_group *group,
			  const struct perf_record *rec)
{
	if (area_append((void **)&trace->bytes, &trace->nr_bytes, group,
			rec->offset, rec->size))
		return stream_error(trace, "out of memory");

	trace->records++;
	if (pt_trace_check(trace))
		return -1;
	if (rec->flags & PERF_AUX_FLAG_TRUNCATED) {
		trace->truncated++;
		trace->synced = false;
		pt_lose_level(trace);
		trace->done = trace->nr_bytes;
	}

	return 0;
}

int pt_trace_read(struct pt_trace *trace, const struct perf_records *records,
		  size_t *pos, struct aux_group *group)
{
	for (; *pos < records->nr; ++*pos) {
		if (records->rec[*pos].type != PERF_RECORD_AUX)
			continue;
		if (pt_take_record(trace, group, &records->rec[*pos]))
			return -1;
		area_consumed(group, &records->rec[*pos]);
	}

	return 0;
}

bool pt_trace_complete(const struct pt_trace *trace)
{
	return !trace->synced || (trace->done == trace->nr_bytes &&
				  trace->level != PT_ON && !trace->in_psb &&
				  !trace->starts);
}

int pt_trace_read_overwrite(struct pt_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);

	/* Memory that was never written is zero: PAD packets before the first PSB. */
	if (area_append((void **)&trace->bytes, &trace->nr_bytes, group, head,
			group->area_size))
		return stream_error(trace, "out of memory");

	return pt_trace_check(trace);
}

void pt_trace_free(struct pt_trace *trace)
{
	free(trace->bytes);
	free(trace->seg);
	memset(trace, 0, sizeof(*trace));
}

static int pt_match_window(struct pt_trace *trace, size_t *seg,
			   const struct window_log *log, bool exact)
{
	struct pt_segment sum = { };
	size_t first = *seg;

	for (; *seg < trace->nr && trace->seg[*seg].tsc <= log->to; ++*seg) {
		if (trace->seg[*seg].tsc < log->from)
			return stream_error(trace,
					   "TSC %#llx: %lld before the window",
					   trace->seg[*seg].tsc,
					   log->from - trace->seg[*seg].tsc);
		sum.tnt += trace->seg[*seg].tnt;
		sum.on += trace->seg[*seg].on;
	}

	if (exact && log->loops != LOOPS_UNKNOWN && sum.tnt != log->loops)
		return stream_error(trace, "%llu branches in a window, not %llu",
				   sum.tnt, log->loops);

	return *seg > first && sum.on;
}

int pt_trace_match(struct pt_trace *trace, const struct window_log *log,
		   size_t nr, bool exact)
{
	size_t i, seg = 0;
	int found = 0, ret;

	for (i = 0; i < nr; i++) {
		ret = pt_match_window(trace, &seg, &log[i], exact);
		if (ret < 0)
			return ret;
		found += ret;
	}
	if (seg != trace->nr)
		return stream_error(trace, "TSC %#llx: after the last window",
				   trace->seg[seg].tsc);

	return found;
}
