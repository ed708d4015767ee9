// SPDX-License-Identifier: GPL-2.0
/*
 * A checker of the Intel PT stream. See intel_pt_stream.h.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../kselftest.h"
#include "intel_pt_stream.h"
#include "intel_stream.h"

static const unsigned char psb[16] = {
	2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
};

/* Packets that matter to the checker; the others are skipped. */
enum pt_packet {
	PT_BAD,			/* no packet begins like this */
	PT_SHORT,		/* the packet isn't complete yet */
	PT_OTHER,
	PT_PSB,
	PT_PSBEND,
	PT_TSC,
	PT_TNT,
	PT_TIP,
	PT_PGE,
	PT_PGD,
	PT_FUP,
	PT_OVF,
};

/* Second bytes of packets that begin with 0x02, and their lengths */
static const struct {
	unsigned char	byte, len;
	enum pt_packet	what;
} pt_ext[] = {
	{ 0x23, 2, PT_PSBEND },
	{ 0x03, 4, PT_OTHER },		/* CBR */
	{ 0x43, 8, PT_OTHER },		/* PIP */
	{ 0x83, 2, PT_OTHER },		/* TraceStop */
	{ 0xa3, 8, PT_TNT },
	{ 0xc8, 7, PT_OTHER },		/* VMCS */
	{ 0x73, 7, PT_OTHER },		/* TMA */
	{ 0xf3, 2, PT_OVF },
	{ 0x62, 2, PT_OTHER },		/* EXSTOP, without and with IP */
	{ 0xe2, 2, PT_OTHER },
	{ 0xc2, 10, PT_OTHER },		/* MWAIT */
	{ 0x22, 4, PT_OTHER },		/* PWRE */
	{ 0xa2, 7, PT_OTHER },		/* PWRX */
	{ 0x13, 4, PT_OTHER },		/* CFE */
	{ 0x53, 11, PT_OTHER },		/* EVD */
};

static enum pt_packet pt_ext_packet(const unsigned char *p, size_t *len)
{
	size_t i;

	if ((p[1] & 0x1f) == 0x12) {	/* PTW of 4 or 8 bytes */
		*len = p[1] & 0x20 ? 10 : 6;
		return p[1] & 0x40 ? PT_BAD : PT_OTHER;
	}

	for (i = 0; i < ARRAY_SIZE(pt_ext); i++) {
		if (pt_ext[i].byte != p[1])
			continue;
		*len = pt_ext[i].len;
		return pt_ext[i].what;
	}

	return PT_BAD;
}

/* TIP, TIP.PGE, TIP.PGD, FUP: the IP's length is in the upper three bits. */
static enum pt_packet pt_ip_packet(unsigned char byte, size_t *len)
{
	static const signed char ip_len[] = { 0, 2, 4, 6, 6, -1, 8, -1 };

	if (ip_len[byte >> 5] < 0)
		return PT_BAD;
	*len = 1 + ip_len[byte >> 5];

	switch (byte & 0x1f) {
	case 0x0d:
		return PT_TIP;
	case 0x11:
		return PT_PGE;
	case 0x01:
		return PT_PGD;
	case 0x1d:
		return PT_FUP;
	default:
		return PT_BAD;
	}
}

/* CYC: bit 2 of the first byte and bit 0 of each further byte mean that one more follows. */
static enum pt_packet pt_cyc_packet(const unsigned char *p, size_t left,
				    size_t *len)
{
	bool more = p[0] & 4;

	for (*len = 1; more && *len < left; ++*len)
		more = p[*len] & 1;

	return more ? PT_SHORT : PT_OTHER;
}

static enum pt_packet pt_any_packet(const unsigned char *p, size_t left,
				    size_t *len)
{
	*len = 1;
	if (p[0] == 0x00)		/* PAD */
		return PT_OTHER;
	if (p[0] == 0x02)
		return left < 2 ? PT_SHORT : pt_ext_packet(p, len);
	if (!(p[0] & 1))
		return PT_TNT;
	if ((p[0] & 3) == 3)
		return pt_cyc_packet(p, left, len);

	switch (p[0]) {
	case 0x19:
		*len = 8;
		return PT_TSC;
	case 0x59:			/* MTC */
	case 0x99:			/* MODE */
		*len = 2;
		return PT_OTHER;
	default:
		return pt_ip_packet(p[0], len);
	}
}

static enum pt_packet pt_next(const unsigned char *p, size_t left, size_t *len)
{
	enum pt_packet what;

	if (left >= sizeof(psb) && !memcmp(p, psb, sizeof(psb))) {
		*len = sizeof(psb);
		return PT_PSB;
	}

	what = pt_any_packet(p, left, len);
	if (what == PT_BAD && left < sizeof(psb) && !memcmp(p, psb, left))
		return PT_SHORT;

	return what != PT_BAD && *len > left ? PT_SHORT : what;
}

static unsigned int pt_tnt_bits(const unsigned char *p)
{
	__u64 payload = 0;

	/* The topmost set bit is a stop bit. In one byte, bit 0 isn't payload. */
	if (p[0] != 0x02)
		return 63 - __builtin_clzll(p[0]) - 1;

	memcpy(&payload, p + 2, 6);

	return payload ? 63 - __builtin_clzll(payload) : 0;
}

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

/* The TSC has 7 bytes here. */
static int pt_take_tsc(struct pt_trace *trace, const unsigned char *p)
{
	__u64 tsc = 0;

	memcpy(&tsc, p + 1, 7);
	if (!pt_new_segment(trace, tsc))
		return walk_error(trace, "out of memory");

	return 0;
}

/* The segment that counts packets: of the newest TSC, or before the first */
static struct pt_segment *pt_segment(struct pt_trace *trace)
{
	return trace->nr ? &trace->seg[trace->nr - 1] : &trace->ahead;
}

/* PSB+ has a FUP if and only if tracing is on. */
static int pt_take_psbend(struct pt_trace *trace)
{
	enum pt_level level = trace->psb_fup ? PT_ON : PT_OFF;

	if (!trace->in_psb)
		return walk_error(trace, "PSBEND without PSB");
	if (trace->level != PT_UNKNOWN && trace->level != level)
		return walk_error(trace, "PSB+ contradicts whether tracing is on");

	trace->in_psb = false;
	trace->level = level;

	return 0;
}

/* Bits that a packet leaves out of its IP are those of the last IP. */
static void pt_take_address(struct pt_trace *trace, const unsigned char *p)
{
	static const unsigned char bits[] = { 0, 16, 32, 48, 48, 0, 64, 0 };
	unsigned int kind = p[0] >> 5;
	__u64 ip = 0, keep;

	if (!bits[kind])
		return;

	memcpy(&ip, p + 1, bits[kind] / 8);
	keep = bits[kind] == 64 ? 0 : ~0ULL << bits[kind];
	if (kind == 3)		/* sign extended */
		trace->ip = ip | (ip >> 47 ? keep : 0);
	else
		trace->ip = ip | (trace->ip & keep);
	trace->ips++;
	trace->kernel_ips += trace->ip >> 63;
}

static int pt_take_ip(struct pt_trace *trace, enum pt_packet what,
		      const unsigned char *p)
{
	pt_take_address(trace, p);
	if (what == PT_FUP && trace->in_psb) {
		trace->psb_fup = true;
		return 0;
	}
	if (what == PT_PGE && trace->level == PT_ON)
		return walk_error(trace, "TIP.PGE where tracing is on");
	if (what != PT_PGE && trace->level == PT_OFF)
		return walk_error(trace, "a branch where tracing is off");

	trace->level = what == PT_PGD ? PT_OFF : PT_ON;
	pt_segment(trace)->pge += what == PT_PGE;

	return 0;
}

static int pt_take_tnt(struct pt_trace *trace, const unsigned char *p)
{
	if (trace->level == PT_OFF || trace->in_psb)
		return walk_error(trace, "TNT where tracing is off");

	pt_segment(trace)->tnt += pt_tnt_bits(p);
	trace->tnt += pt_tnt_bits(p);

	return 0;
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
		trace->in_psb = false;
		trace->level = PT_UNKNOWN;
		trace->ovf++;
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
	case PT_OTHER:
		return 0;
	default:
		return walk_error(trace, "no packet begins like this");
	}
}

static bool pt_sync(struct pt_trace *trace)
{
	const unsigned char *begin = trace->bytes + trace->done, *p;

	p = memmem(begin, trace->nr_bytes - trace->done, psb, sizeof(psb));
	if (!p)
		return false;

	trace->done += p - begin;
	trace->synced = true;
	trace->in_psb = false;
	trace->level = PT_UNKNOWN;

	return true;
}

/* Check up to the end, or to an incomplete packet. */
static int pt_check(struct pt_trace *trace)
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
	if (pt_check(trace))
		return -1;
	if (rec->flags & PERF_AUX_FLAG_TRUNCATED) {
		trace->truncated++;
		trace->synced = false;
		trace->level = PT_UNKNOWN;
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
				  trace->level != PT_ON && !trace->in_psb);
}

int pt_trace_read_overwrite(struct pt_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);

	/* Memory that was never written is zero: PAD packets before the first PSB. */
	if (area_append((void **)&trace->bytes, &trace->nr_bytes, group, head,
			group->area_size))
		return stream_error(trace, "out of memory");

	return pt_check(trace);
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
		sum.pge += trace->seg[*seg].pge;
	}

	if (exact && log->loops != LOOPS_UNKNOWN && sum.tnt != log->loops)
		return stream_error(trace, "%llu branches in a window, not %llu",
				   sum.tnt, log->loops);

	return *seg > first && sum.pge;
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
