/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A checker of the Intel PT stream: is it what the hardware may write, and what is in each
 * window?
 *
 * What it may write is in the Software Developer's Manual, volume 3, chapter on Intel
 * Processor Trace. Names of its sections are in quotes. Where errata change it, these are
 * named. Two things that it doesn't promise:
 *
 *   - a PSB at each start. "Enabling and Disabling Packet Generation with TraceEn": PSB+ if
 *     IA32_RTIT_STATUS.PacketByteCnt is 0, else TSC, TMA and CBR;
 *   - the order of TIP.PGE and the PSB+ that come together: "Packet Generation under
 *     Different Enable Conditions", 2e, has TIP.PGE first.
 */
#ifndef _INTEL_PT_STREAM_H
#define _INTEL_PT_STREAM_H

#include "aux_records.h"
#include "intel_windows.h"

/* Counts from a TSC packet to the next one */
struct pt_segment {
	__u64		tsc;
	__u64		tnt;	/* conditional branches, compressed returns */
	unsigned int	on;	/* packets that say so: TIP.PGE, PSB+ with FUP */
};

/* attr.config: with TSC packets */
#define PT_CONFIG_TSC	0x400

/* Is tracing on, as far as the packets show? */
enum pt_level {
	PT_UNKNOWN,
	PT_OFF,
	PT_ON,
};

struct pt_trace {
	unsigned char		*bytes;
	size_t			nr_bytes;
	size_t			done;	/* bytes checked */
	bool			synced;	/* no PSB needed to go on */
	bool			in_psb, psb_fup;
	bool			starts;	/* a TIP.PGE at ->psb_ip may follow */
	enum pt_level		level;
	struct pt_segment	*seg;
	size_t			nr;
	struct pt_segment	ahead;	/* before the first TSC */
	__u64			tnt;
	unsigned long		psb, ovf, records, truncated;
	unsigned long		ovf_fup, ovf_pge;	/* how OVF resolved */
	bool			overflowed;		/* not resolved yet */
	unsigned long		pip;
	unsigned long		cbr;
	unsigned int		ratio;	/* of the last CBR */
	__u64			ip;	/* last IP, 0 at PSB */
	__u64			psb_ip;	/* of the FUP in PSB+ */
	unsigned long		ips, kernel_ips;
	char			error[200];
};

/* Check ->bytes from ->done on: up to the end, or to an incomplete packet. */
int pt_trace_check(struct pt_trace *trace);
/*
 * Add the data of the AUX records in @records and check it: valid packets only,
 * TIP.PGE and TIP.PGD in turn, nothing traced outside of them. @pos is the first
 * record that isn't added yet. Data after a truncated record begins in mid-stream:
 * the check goes on at the next PSB.
 */
int pt_trace_read(struct pt_trace *trace, const struct perf_records *records,
		  size_t *pos, struct aux_group *group);
/* The same for an overwritten area: from its oldest PSB to its newest packet. */
int pt_trace_read_overwrite(struct pt_trace *trace, struct aux_group *group);
/* For a disabled event: does the trace end as it should? */
bool pt_trace_complete(const struct pt_trace *trace);
void pt_trace_free(struct pt_trace *trace);

/*
 * Is every TSC packet in a window? With @exact, does each window have exactly its
 * number of conditional branches? -1 with ->error set, or the number of windows
 * with data.
 */
int pt_trace_match(struct pt_trace *trace, const struct window_log *log,
		   size_t nr, bool exact);

#endif /* _INTEL_PT_STREAM_H */
