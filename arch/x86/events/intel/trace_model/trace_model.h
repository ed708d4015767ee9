/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Software model of Intel's trace hardware: what its parts share.
 *
 * The model of one CPU is a value, struct tm_cpu. Whatever changes it, such as a
 * register access or a branch, is an operation. tm_run() and tm_try() execute it on a
 * copy and publish the result as a whole; core.c explains how and why.
 */
#ifndef _TRACE_MODEL_H
#define _TRACE_MODEL_H

#include <linux/bits.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/msr-index.h>
#include <asm/perf_event.h>

#include "host.h"
#include "pt_packets.h"

struct debug_store;
struct seq_file;

#define TM_GP		4	/* general counters */
#define TM_FIXED	3
#define TM_COUNTERS	(TM_GP + TM_FIXED)
#define TM_CNT_BITS	48

/* The TSC advances by TM_ART_NUM for each tick of the always running timer. */
#define TM_ART_NUM	128
#define TM_ART_DEN	1

/* CPUID leaf 0x14, subleaf 1: bit maps of the values that fields of RTIT_CTL can have */
#define TM_MTC_PERIODS		0x0249U
#define TM_CYC_THRESHOLDS	0x3fffU
#define TM_PSB_PERIODS		0x003fU

/* Bits of RTIT_OUTPUT_BASE that are zero, and of RTIT_OUTPUT_MASK_PTRS that are one. */
#define TM_OUTPUT_LOW		0x7fULL

#define TM_COUNTER_MASK		(GENMASK_ULL(TM_GP - 1, 0) | \
				 GENMASK_ULL(INTEL_PMC_IDX_FIXED + TM_FIXED - 1, \
					     INTEL_PMC_IDX_FIXED))
/* GLOBAL_OVF_CTRL: counters, ToPA, PEBS, and CondChgd, which nothing sets here */
#define TM_STATUS_MASK		(TM_COUNTER_MASK | GLOBAL_STATUS_TRACE_TOPAPMI | \
				 GLOBAL_STATUS_BUFFER_OVF | GLOBAL_STATUS_COND_CHG)

#define TM_NO_ICOUNT	(~0U)

#define TM_MAX_STORES	16	/* of one operation */
#define TM_MAX_BYTES	320

/**
 * struct tm_config - what the modelled CPU can do; constant after boot, unless noted
 * @on: the model is enabled, its hooks are installed
 * @single_entry: no ToPA table of more than one entry
 * @single_range: output to one contiguous range
 * @mtc: MTC packets
 * @cyc: cycle-accurate mode, PSB frequency
 * @ptwrite: PTWRITE packets
 * @cr3_filter: RTIT_CR3_MATCH
 * @pebs: processor event based sampling
 * @tsx: MODE.TSX packets
 * @long_tnt: TNT packets of up to 47 outcomes, not 6
 * @whole_ip: addresses have 8 bytes and aren't compressed, "IP Compression"
 * @hybrid: CPUs with odd numbers are small cores
 * @step: instructions of user mode are single-stepped where a counter counts only these;
 *	  may be changed at any time
 * @icount: the emulator's clock counts instructions, one in 2^@icount ticks of the TSC;
 *	    TM_NO_ICOUNT: it doesn't
 * @filters: number of address ranges
 * @overflow: bytes of packets after which the internal buffer overflows, 0: never; may be
 *	      changed at any time
 * @ack: when the interrupt is acknowledged, as set at boot
 */
struct tm_config {
	bool		on;
	bool		single_entry;
	bool		single_range;
	bool		mtc;
	bool		cyc;
	bool		ptwrite;
	bool		cr3_filter;
	bool		pebs;
	bool		tsx;
	bool		long_tnt;
	bool		whole_ip;
	bool		hybrid;
	bool		step;
	u32		icount;
	unsigned int	filters;
	unsigned int	overflow;
	enum tm_ack	ack;
};

extern struct tm_config tm_config;

/**
 * struct tm_delivery - how the interrupt is delivered; can be changed at any time
 * @skid: most operations that come between a request and the local APIC
 * @seed: which of them come, see tm_skid()
 * @lost: a request that finds LVTPC masked is lost
 * @until: the interrupt doesn't come before this function is entered, by its address for the
 *	   function tracer; 0: it doesn't wait
 */
struct tm_delivery {
	u32	skid;
	u32	seed;
	bool	lost;
	unsigned long until;
};

extern struct tm_delivery tm_delivery;

/* Actions of software that the hardware forbids, or after which it promises nothing. */
enum tm_violation {
	TM_VIOLATION_LIVE_WRITE,	/* a trace MSR other than RTIT_CTL, while TraceEn */
	TM_VIOLATION_LIVE_CTL,	/* RTIT_CTL, TraceEn stays set, another bit changes */
	TM_VIOLATION_RESERVED,	/* reserved bit or value of a trace MSR */
	TM_VIOLATION_STATUS,	/* TraceEn set with Error or Stopped in RTIT_STATUS */
	TM_VIOLATION_VMX,		/* RTIT_CTL written in VMX operation */
	TM_VIOLATION_OUTPUT,	/* output base, mask or offset */
	TM_VIOLATION_TOPA,		/* ToPA table or entry */
	TM_VIOLATION_TOPA_LIVE,	/* ToPA entry changed while TraceEn */
	TM_VIOLATION_DEBUGCTL,	/* reserved bit of DEBUGCTL */
	TM_VIOLATION_DS,		/* BTS or PEBS with an unusable DS area */
	TM_VIOLATION_BTS_INDEX,	/* bts_index written while BTS is on */
	TM_VIOLATION_COUNTER,	/* reserved bit of a counter's register */
	TM_VIOLATION_UNCLAIMED,	/* an interrupt that no driver claimed */
	TM_NR_VIOLATIONS
};

/* Counted per CPU and shown in debugfs. */
enum tm_stat {
	TM_STAT_WRITE_CTL,
	TM_STAT_WRITE_STATUS,
	TM_STAT_WRITE_OUTPUT_BASE,
	TM_STAT_WRITE_OUTPUT_MASK,
	TM_STAT_WRITE_CR3,
	TM_STAT_WRITE_ADDR,
	TM_STAT_WRITE_DEBUGCTL,
	TM_STAT_WRITE_DS_AREA,
	TM_STAT_WRITE_COUNTER,
	TM_STAT_READ_STATUS,
	TM_STAT_READ_DEBUGCTL,
	TM_STAT_READ_OTHER,
	TM_STAT_OPERATIONS,
	TM_STAT_RETRIES,	/* operations repeated, because an NMI published */
	TM_STAT_SKIPPED,	/* trace data not generated: inside an operation */
	TM_STAT_DRAINED,	/* unfinished stores that an NMI found and finished */
	TM_STAT_MAX_NESTING,
	TM_STAT_PMI_RAISED,
	TM_STAT_PMI_HELD,	/* requests that wait: LVTPC is masked */
	TM_STAT_PMI_LOST,	/* requests while LVTPC was masked that don't */
	TM_STAT_PMI_SKIDS,	/* operations between a request and the local APIC */
	TM_STAT_POKES,		/* NMIs sent to check for an overflow */
	TM_STAT_BYTES,		/* of trace */
	TM_STAT_PSBS,
	TM_STAT_BTS_RECORDS,
	TM_STAT_USER_STEPS,
	TM_STAT_FUNCTIONS,
	TM_NR_STATS
};

/**
 * struct tm_cpu - the model of one CPU
 * @ctl: RTIT_CTL
 * @status: RTIT_STATUS, without PacketByteCnt, which is in @pt
 * @output_base: RTIT_OUTPUT_BASE
 * @output_mask: RTIT_OUTPUT_MASK_PTRS
 * @cr3_match: RTIT_CR3_MATCH
 * @addr: RTIT_ADDRn_A and _B, in turn
 * @topa_base: RTIT_OUTPUT_BASE when TraceEn was set
 * @topa_sum: checksum of the tables there
 * @vmx: in VMX operation
 * @pt: state of the packet generator, owned by pt_packets.c
 * @debugctl: IA32_DEBUGCTL
 * @ds_area: IA32_DS_AREA
 * @bts_index: last bts_index that the model wrote, while BTS is on
 * @pebs_enable: IA32_PEBS_ENABLE
 * @global_ctrl: IA32_PERF_GLOBAL_CTRL
 * @global_status: IA32_PERF_GLOBAL_STATUS
 * @fixed_ctrl: IA32_FIXED_CTR_CTRL
 * @evtsel: IA32_PERFEVTSELx
 * @count: counters as of @since, general ones first
 * @since: TSC
 * @pmi: requests of the interrupt on their way to the local APIC: causes, see tm_pmi_request()
 * @skid: operations that @pmi still waits for
 * @skids: @skid has been chosen for @pmi
 * @choices: number of times that it has been chosen
 * @held: causes of requests that have reached it and wait until it is unmasked
 * @sent: causes of the interrupt on its way, as an NMI that a driver has to claim
 * @stat: how many of a statistic this operation adds; zero at its start
 * @violations: bit mask of enum tm_violation, of this operation; zero at its start
 * @msr: number of the MSR that this operation writes, or zero
 * @msr_val: value written to it
 * @unclaimed: causes of the interrupt that nobody has claimed, or zero
 * @nr_stores: used part of @store; zero at the operation's start
 * @nr_bytes: used part of @bytes
 * @store: writes to memory, executed in order after publication
 * @bytes: what they write
 *
 * The members from @stat on are the outcome of one operation: a copy doesn't inherit them.
 */
struct tm_cpu {
	u64		ctl;
	u64		status;
	u64		output_base;
	u64		output_mask;
	u64		cr3_match;
	u64		addr[8];
	u64		topa_base;
	u64		topa_sum;
	bool		vmx;

	struct tm_pt	pt;

	u64		debugctl;
	u64		ds_area;
	u64		bts_index;

	u64		pebs_enable;
	u64		global_ctrl;
	u64		global_status;
	u64		fixed_ctrl;
	u64		evtsel[TM_GP];
	u64		count[TM_COUNTERS];
	u64		since[TM_COUNTERS];
	u64		pmi;
	u32		skid;
	bool		skids;
	u32		choices;
	u64		held;
	u64		sent;

	struct {
		u16	bytes;
		u16	psbs;
		u16	bts_records;
	} stat __aligned(8);
	u32		violations;
	u32		msr;
	u64		msr_val;
	u64		unclaimed;
	u16		nr_stores;
	u16		nr_bytes;
	struct tm_pending {
		void	*dst;
		u16	at;		/* in bytes[] */
		u16	len;
		bool	exchange;	/* bytes[]: expected u64, new u64 */
	} store[TM_MAX_STORES];
	u8		bytes[TM_MAX_BYTES];
};

/**
 * typedef tm_op_t - an operation
 * @cpu: private copy of this CPU's model; the only thing that the operation may
 *	 change, because it may be executed again on another copy
 * @arg: argument of the caller
 */
typedef u64 (*tm_op_t)(struct tm_cpu *cpu, void *arg);

/* core.c */
u64 tm_run(tm_op_t op, void *arg);
bool tm_try(tm_op_t op, void *arg);
void tm_store(struct tm_cpu *cpu, void *dst, const void *src, unsigned int n);
void tm_store_exchange(struct tm_cpu *cpu, u64 *dst, u64 old, u64 new);
void tm_reset(unsigned int cpu);

static inline void tm_violation(struct tm_cpu *cpu, enum tm_violation violation)
{
	cpu->violations |= BIT(violation);
}

/* What is traced on this CPU after the last operation. */
#define TM_PT_USER	BIT(0)
#define TM_PT_KERNEL	BIT(1)
#define TM_BTS_USER	BIT(2)
#define TM_BTS_KERNEL	BIT(3)
#define TM_PT_FILTERS	BIT(4)	/* address filters: each address matters */
#define TM_PT_PACKETS	BIT(5)	/* user code is traced, or was when interrupted */
#define TM_COUNT_USER	BIT(6)	/* counters count instructions of user code, by steps */

DECLARE_PER_CPU(unsigned int, tm_wants);

DECLARE_PER_CPU(unsigned long[TM_NR_STATS], tm_stats);

static __always_inline void tm_count(enum tm_stat stat)
{
	this_cpu_inc(tm_stats[stat]);
}

/* Cause of an interrupt that has no bit in GLOBAL_STATUS: the DS area's threshold */
#define TM_PMI_BTS	BIT_ULL(60)

/*
 * Request the interrupt. @causes: bits of GLOBAL_STATUS, or TM_PMI_BTS. What DEBUGCTL
 * freezes stops at the request, not when the handler runs: "Freezing LBR and Performance
 * Counters on PMI", section 17.4.7 of the manual's volume 3B, for version 2 and 3 of
 * architectural performance monitoring.
 */
static inline void tm_pmi_request(struct tm_cpu *cpu, u64 causes)
{
	cpu->pmi |= causes;
	if (cpu->debugctl & DEBUGCTLMSR_FREEZE_LBRS_ON_PMI)
		cpu->debugctl &= ~DEBUGCTLMSR_LBR;
	if (cpu->debugctl & DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI)
		cpu->global_ctrl = 0;
}

/* What was requested until now comes at the end of this operation, whatever it was to skid. */
static inline void tm_skid_end(struct tm_cpu *cpu)
{
	cpu->skid = 0;
	cpu->skids = cpu->pmi;
}

static inline bool tm_bts_on(const struct tm_cpu *cpu)
{
	const u64 on = DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS;

	return (cpu->debugctl & on) == on;
}

static inline struct debug_store *tm_ds(const struct tm_cpu *cpu)
{
	return (struct debug_store *)(unsigned long)cpu->ds_area;
}

/* violations.c */
void tm_report_violations(const struct tm_cpu *cpu);
int tm_violations_show(struct seq_file *m, void *v);

#endif /* _TRACE_MODEL_H */
