// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: registers, and their rules.
 *
 * A write that hardware answers with #GP changes nothing here, and counts as a
 * violation unless the caller asked for the error (wrmsr_safe()).
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <asm/msr-index.h>
#include <asm/perf_event.h>
#include <asm/processor.h>
#include <asm/text-patching.h>

#include "flow.h"
#include "registers.h"
#include "trace_model.h"

/* Argument of an operation, which may be executed more than once. */
struct tm_access {
	unsigned int	msr;
	u64		val;
	u64		ip;	/* of the instruction after the write */
	bool		safe;
};

#define TM_FAULT	1

/* IA32_PERF_CAPABILITIES: the general counters' second names write all bits. */
#define TM_FULL_WIDTH_WRITE	BIT_ULL(13)
/* the same for PEBS: trap-like, all registers, record format 3 */
#define TM_PEBS_CAPS		(BIT_ULL(6) | BIT_ULL(7) | 3ULL << 8)

/* IA32_PEBS_ENABLE: the counters, and load latency, an event that never happens here */
#define TM_PEBS_MASK		(GENMASK_ULL(TM_GP - 1, 0) | GENMASK_ULL(TM_GP + 31, 32))

/* Big cores of a hybrid CPU: the kernel enables these, and nothing here counts with them. */
#define TM_TOPDOWN		(BIT_ULL(INTEL_PMC_IDX_FIXED_SLOTS) |		\
				 BIT_ULL(GLOBAL_CTRL_EN_PERF_METRICS))

static u64 tm_fault(struct tm_cpu *cpu, const struct tm_access *access,
		    enum tm_violation violation)
{
	if (!access->safe)
		tm_violation(cpu, violation);
	return TM_FAULT;
}

static bool tm_is_physical(u64 addr)
{
	return !(addr >> boot_cpu_data.x86_phys_bits);
}

static bool tm_is_canonical(u64 addr)
{
	return (u64)((s64)(addr << 16) >> 16) == addr;
}

/*
 * RTIT_CTL
 */

static u64 tm_ctl_bits(void)
{
	u64 bits = RTIT_CTL_TRACEEN | RTIT_CTL_OS | RTIT_CTL_USR | RTIT_CTL_TOPA |
		   RTIT_CTL_TSC_EN | RTIT_CTL_DISRETC | RTIT_CTL_BRANCH_EN;

	if (tm_config.cyc)
		bits |= RTIT_CTL_CYCLEACC | RTIT_CTL_CYC_THRESH | RTIT_CTL_PSB_FREQ;
	if (tm_config.mtc)
		bits |= RTIT_CTL_MTC_EN | RTIT_CTL_MTC_RANGE;
	if (tm_config.ptwrite)
		bits |= RTIT_CTL_PTW_EN | RTIT_CTL_FUP_ON_PTW;
	if (tm_config.cr3_filter)
		bits |= RTIT_CTL_CR3EN;
	if (tm_config.filters)
		bits |= GENMASK_ULL(RTIT_CTL_ADDR0_OFFSET + 4 * tm_config.filters - 1,
				    RTIT_CTL_ADDR0_OFFSET);
	return bits;
}

static bool tm_ctl_field_valid(u64 ctl, u64 field, unsigned int shift, u32 allowed)
{
	u64 val = (ctl & field) >> shift;

	return !val || allowed & BIT(val);
}

static bool tm_ctl_valid(u64 ctl)
{
	unsigned int i;

	if (ctl & ~tm_ctl_bits())
		return false;
	if (!(ctl & RTIT_CTL_TOPA) && (ctl & RTIT_CTL_TRACEEN) && !tm_config.single_range)
		return false;
	for (i = 0; i < tm_config.filters; i++) {
		if ((ctl >> (RTIT_CTL_ADDR0_OFFSET + 4 * i) & 0xf) > 2)
			return false;
	}

	return tm_ctl_field_valid(ctl, RTIT_CTL_MTC_RANGE, RTIT_CTL_MTC_RANGE_OFFSET,
				  TM_MTC_PERIODS) &&
	       tm_ctl_field_valid(ctl, RTIT_CTL_CYC_THRESH, RTIT_CTL_CYC_THRESH_OFFSET,
				  TM_CYC_THRESHOLDS) &&
	       tm_ctl_field_valid(ctl, RTIT_CTL_PSB_FREQ, RTIT_CTL_PSB_FREQ_OFFSET,
				  TM_PSB_PERIODS);
}

/* The tables must not change from now on, until TraceEn is clear. */
static void tm_topa_freeze(struct tm_cpu *cpu)
{
	cpu->topa_base = cpu->output_base;
	cpu->topa_sum = tm_topa_sum(cpu->topa_base);
}

static void tm_topa_thaw(struct tm_cpu *cpu)
{
	if (cpu->topa_sum != tm_topa_sum(cpu->topa_base))
		tm_violation(cpu, TM_VIOLATION_TOPA_LIVE);
}

static void tm_trace_on(struct tm_cpu *cpu, const struct tm_access *access)
{
	cpu->ctl = access->val;
	if (access->val & RTIT_CTL_TOPA)
		tm_topa_freeze(cpu);
	if (cpu->status & (RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED)) {
		tm_violation(cpu, TM_VIOLATION_STATUS);
		return;
	}
	if (!tm_output_check(cpu))
		return;

	cpu->status |= RTIT_STATUS_TRIGGEREN;
	tm_branch_start(cpu, access->ip);
}

/**
 * tm_trace_off() - clear TraceEn
 * @cpu: model
 * @ctl: new RTIT_CTL
 */
void tm_trace_off(struct tm_cpu *cpu, u64 ctl)
{
	if (cpu->status & RTIT_STATUS_TRIGGEREN)
		tm_pt_stop(cpu);
	if (cpu->ctl & RTIT_CTL_TOPA)
		tm_topa_thaw(cpu);

	cpu->ctl = ctl;
	cpu->status &= ~RTIT_STATUS_TRIGGEREN;
}

static u64 tm_write_ctl(struct tm_cpu *cpu, const struct tm_access *access)
{
	bool was = cpu->ctl & RTIT_CTL_TRACEEN;
	u64 val = access->val;

	/* Clearing TraceEn faults as well, although it is clear: appendix A.6 in volume 3D. */
	if (cpu->vmx)
		return tm_fault(cpu, access, TM_VIOLATION_VMX);
	if (!tm_ctl_valid(val))
		return tm_fault(cpu, access, TM_VIOLATION_RESERVED);

	if (!(val & RTIT_CTL_TRACEEN)) {
		/* The paravirt call in the place of the WRMSR */
		if (was)
			tm_branch_end(cpu, access->ip - CALL_INSN_SIZE);
		tm_trace_off(cpu, val);
		return 0;
	}

	if (was)
		return val == cpu->ctl ? 0 : tm_fault(cpu, access, TM_VIOLATION_LIVE_CTL);

	tm_trace_on(cpu, access);
	return 0;
}

/*
 * The other trace MSRs
 */

static u64 tm_write_status(struct tm_cpu *cpu, const struct tm_access *access)
{
	const u64 read_only = RTIT_STATUS_FILTEREN | RTIT_STATUS_CONTEXTEN |
			      RTIT_STATUS_TRIGGEREN;
	u64 bits = read_only | RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED;

	if (tm_config.cyc)
		bits |= RTIT_STATUS_BYTECNT;
	if (access->val & ~bits)
		return tm_fault(cpu, access, TM_VIOLATION_RESERVED);

	cpu->status = access->val & ~(read_only | RTIT_STATUS_BYTECNT);
	cpu->pt.since_psb = (access->val & RTIT_STATUS_BYTECNT) >> RTIT_STATUS_BYTECNT_OFFSET;
	return 0;
}

static u64 tm_write_addr(struct tm_cpu *cpu, const struct tm_access *access)
{
	unsigned int i = access->msr - MSR_IA32_RTIT_ADDR0_A;

	if (i / 2 >= tm_config.filters || !tm_is_canonical(access->val))
		return tm_fault(cpu, access, TM_VIOLATION_RESERVED);

	cpu->addr[i] = access->val;
	return 0;
}

static u64 tm_write_trace(struct tm_cpu *cpu, const struct tm_access *access)
{
	u64 val = access->val;

	if (cpu->ctl & RTIT_CTL_TRACEEN)
		return tm_fault(cpu, access, TM_VIOLATION_LIVE_WRITE);

	switch (access->msr) {
	case MSR_IA32_RTIT_STATUS:
		return tm_write_status(cpu, access);
	case MSR_IA32_RTIT_OUTPUT_BASE:
		if (!tm_is_physical(val) || val & TM_OUTPUT_LOW)
			return tm_fault(cpu, access, TM_VIOLATION_RESERVED);
		cpu->output_base = val;
		return 0;
	case MSR_IA32_RTIT_OUTPUT_MASK:
		cpu->output_mask = val | TM_OUTPUT_LOW;
		return 0;
	case MSR_IA32_RTIT_CR3_MATCH:
		if (!tm_config.cr3_filter || val & GENMASK(4, 0))
			return tm_fault(cpu, access, TM_VIOLATION_RESERVED);
		cpu->cr3_match = val;
		return 0;
	default:
		return tm_write_addr(cpu, access);
	}
}

/*
 * Branch trace store
 */

static u64 tm_write_debugctl(struct tm_cpu *cpu, const struct tm_access *access)
{
	const u64 bits = DEBUGCTLMSR_LBR | DEBUGCTLMSR_BTF | DEBUGCTLMSR_TR |
			 DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT | DEBUGCTLMSR_BTS_OFF_OS |
			 DEBUGCTLMSR_BTS_OFF_USR | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
			 DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI;
	bool was = tm_bts_on(cpu);

	if (access->val & ~bits)
		return tm_fault(cpu, access, TM_VIOLATION_DEBUGCTL);

	cpu->debugctl = access->val;
	if (!was && tm_bts_on(cpu))
		tm_bts_start(cpu);
	else if (was && !tm_bts_on(cpu))
		tm_bts_stop(cpu);
	return 0;
}

static u64 tm_write_ds_area(struct tm_cpu *cpu, const struct tm_access *access)
{
	if (!tm_is_canonical(access->val))
		return tm_fault(cpu, access, TM_VIOLATION_DS);
	if (tm_bts_on(cpu) && access->val != cpu->ds_area)
		tm_violation(cpu, TM_VIOLATION_DS);

	cpu->ds_area = access->val;
	return 0;
}

/*
 * Counters
 */

static u64 *tm_counter_config(struct tm_cpu *cpu, unsigned int msr, u64 *bits)
{
	switch (msr) {
	case MSR_CORE_PERF_GLOBAL_CTRL:
		*bits = TM_COUNTER_MASK | (tm_config.hybrid ? TM_TOPDOWN : 0);
		return &cpu->global_ctrl;
	case MSR_IA32_PEBS_ENABLE:
		*bits = tm_config.pebs ? TM_PEBS_MASK : 0;
		return &cpu->pebs_enable;
	case MSR_ARCH_PERFMON_FIXED_CTR_CTRL:
		*bits = GENMASK_ULL(4 * TM_FIXED - 1, 0);
		return &cpu->fixed_ctrl;
	case MSR_ARCH_PERFMON_EVENTSEL0 ... MSR_ARCH_PERFMON_EVENTSEL0 + TM_GP - 1:
		*bits = GENMASK_ULL(31, 0);
		return &cpu->evtsel[msr - MSR_ARCH_PERFMON_EVENTSEL0];
	default:
		return NULL;
	}
}

static u64 *tm_counter(struct tm_cpu *cpu, unsigned int msr)
{
	switch (msr) {
	case MSR_ARCH_PERFMON_PERFCTR0 ... MSR_ARCH_PERFMON_PERFCTR0 + TM_GP - 1:
		return &cpu->count[msr - MSR_ARCH_PERFMON_PERFCTR0];
	case MSR_IA32_PMC0 ... MSR_IA32_PMC0 + TM_GP - 1:
		return &cpu->count[msr - MSR_IA32_PMC0];
	case MSR_ARCH_PERFMON_FIXED_CTR0 ... MSR_ARCH_PERFMON_FIXED_CTR0 + TM_FIXED - 1:
		return &cpu->count[TM_GP + msr - MSR_ARCH_PERFMON_FIXED_CTR0];
	default:
		return NULL;
	}
}

/*
 * An interrupt that the local APIC holds back is cancelled if its cause is cleared. One
 * that is on its way, or latched as an NMI, still comes.
 */
static u64 tm_acknowledge(struct tm_cpu *cpu, const struct tm_access *access)
{
	if (access->val & ~TM_STATUS_MASK)
		return tm_fault(cpu, access, TM_VIOLATION_COUNTER);

	cpu->global_status &= ~access->val;
	cpu->held &= ~access->val;
	/* The write is serializing: what was on its way is latched as an NMI. */
	tm_skid_end(cpu);
	return 0;
}

/*
 * The write that stops the counters is serializing, too. A driver stops them before it removes
 * an event: so a counter's interrupt comes while its event is still known.
 */
static void tm_counters_stopped(struct tm_cpu *cpu)
{
	if (cpu->pmi & (TM_COUNTER_MASK | GLOBAL_STATUS_BUFFER_OVF))
		tm_skid_end(cpu);
}

static u64 tm_write_count(struct tm_cpu *cpu, const struct tm_access *access)
{
	const u64 mask = GENMASK_ULL(TM_CNT_BITS - 1, 0);
	u64 val = access->val;

	/* Writes to the old names of the general counters are 32 bits, sign-extended. */
	if (access->msr < MSR_ARCH_PERFMON_EVENTSEL0)
		val = (s64)(s32)val & mask;
	if (val & ~mask)
		return tm_fault(cpu, access, TM_VIOLATION_COUNTER);

	*tm_counter(cpu, access->msr) = val;
	return 0;
}

static u64 tm_write_counter(struct tm_cpu *cpu, const struct tm_access *access)
{
	u64 bits, *config = tm_counter_config(cpu, access->msr, &bits);

	tm_counters_update(cpu, NULL);
	if (access->msr == MSR_CORE_PERF_GLOBAL_OVF_CTRL)
		return tm_acknowledge(cpu, access);
	if (tm_counter(cpu, access->msr))
		return tm_write_count(cpu, access);
	/* GLOBAL_STATUS and PERF_CAPABILITIES are read-only. */
	if (!config || access->val & ~bits)
		return tm_fault(cpu, access, TM_VIOLATION_COUNTER);

	*config = access->val;
	if (!cpu->global_ctrl)
		tm_counters_stopped(cpu);
	return 0;
}

/*
 * All of them
 */

static u64 tm_write_op(struct tm_cpu *cpu, void *arg)
{
	const struct tm_access *access = arg;

	cpu->msr = access->msr;
	cpu->msr_val = access->val;

	switch (access->msr) {
	case MSR_IA32_RTIT_CTL:
		return tm_write_ctl(cpu, access);
	case MSR_IA32_RTIT_OUTPUT_BASE:
	case MSR_IA32_RTIT_OUTPUT_MASK:
	case MSR_IA32_RTIT_STATUS:
	case MSR_IA32_RTIT_CR3_MATCH:
	case MSR_IA32_RTIT_ADDR0_A ... MSR_IA32_RTIT_ADDR3_B:
		return tm_write_trace(cpu, access);
	case MSR_IA32_DEBUGCTLMSR:
		return tm_write_debugctl(cpu, access);
	case MSR_IA32_DS_AREA:
		return tm_write_ds_area(cpu, access);
	default:
		return tm_write_counter(cpu, access);
	}
}

/* As software sees it, that is the kernel, at privilege level 0. */
static u64 tm_read_status(const struct tm_cpu *cpu)
{
	u64 status = cpu->status;

	if (status & RTIT_STATUS_TRIGGEREN && cpu->ctl & RTIT_CTL_OS)
		status |= RTIT_STATUS_CONTEXTEN | RTIT_STATUS_FILTEREN;
	if (tm_config.cyc)
		status |= (u64)cpu->pt.since_psb << RTIT_STATUS_BYTECNT_OFFSET &
			  RTIT_STATUS_BYTECNT;
	return status;
}

static u64 tm_read_counter(struct tm_cpu *cpu, struct tm_access *access)
{
	u64 bits, *reg = tm_counter_config(cpu, access->msr, &bits);

	tm_counters_update(cpu, NULL);
	if (!reg)
		reg = tm_counter(cpu, access->msr);
	if (access->msr == MSR_CORE_PERF_GLOBAL_STATUS)
		reg = &cpu->global_status;

	/* GLOBAL_OVF_CTRL reads as zero. */
	access->val = reg ? *reg : 0;
	return 0;
}

static u64 tm_read_op(struct tm_cpu *cpu, void *arg)
{
	struct tm_access *access = arg;

	switch (access->msr) {
	case MSR_IA32_RTIT_CTL:
		access->val = cpu->ctl;
		return 0;
	case MSR_IA32_RTIT_STATUS:
		access->val = tm_read_status(cpu);
		return 0;
	case MSR_IA32_RTIT_OUTPUT_BASE:
		access->val = cpu->output_base;
		return 0;
	case MSR_IA32_RTIT_OUTPUT_MASK:
		access->val = cpu->output_mask | TM_OUTPUT_LOW;
		return 0;
	case MSR_IA32_RTIT_CR3_MATCH:
		access->val = cpu->cr3_match;
		return tm_config.cr3_filter ? 0 : TM_FAULT;
	case MSR_IA32_RTIT_ADDR0_A ... MSR_IA32_RTIT_ADDR3_B:
		access->val = cpu->addr[access->msr - MSR_IA32_RTIT_ADDR0_A];
		return (access->msr - MSR_IA32_RTIT_ADDR0_A) / 2 < tm_config.filters ?
		       0 : TM_FAULT;
	case MSR_IA32_DEBUGCTLMSR:
		access->val = cpu->debugctl;
		return 0;
	case MSR_IA32_DS_AREA:
		access->val = cpu->ds_area;
		return 0;
	case MSR_IA32_PERF_CAPABILITIES:
		access->val = TM_FULL_WIDTH_WRITE | (tm_config.pebs ? TM_PEBS_CAPS : 0);
		return 0;
	default:
		return tm_read_counter(cpu, access);
	}
}

static enum tm_stat tm_write_stat(unsigned int msr)
{
	switch (msr) {
	case MSR_IA32_RTIT_CTL:
		return TM_STAT_WRITE_CTL;
	case MSR_IA32_RTIT_STATUS:
		return TM_STAT_WRITE_STATUS;
	case MSR_IA32_RTIT_OUTPUT_BASE:
		return TM_STAT_WRITE_OUTPUT_BASE;
	case MSR_IA32_RTIT_OUTPUT_MASK:
		return TM_STAT_WRITE_OUTPUT_MASK;
	case MSR_IA32_RTIT_CR3_MATCH:
		return TM_STAT_WRITE_CR3;
	case MSR_IA32_RTIT_ADDR0_A ... MSR_IA32_RTIT_ADDR3_B:
		return TM_STAT_WRITE_ADDR;
	case MSR_IA32_DEBUGCTLMSR:
		return TM_STAT_WRITE_DEBUGCTL;
	case MSR_IA32_DS_AREA:
		return TM_STAT_WRITE_DS_AREA;
	default:
		return TM_STAT_WRITE_COUNTER;
	}
}

static enum tm_stat tm_read_stat(unsigned int msr)
{
	switch (msr) {
	case MSR_IA32_RTIT_STATUS:
		return TM_STAT_READ_STATUS;
	case MSR_IA32_DEBUGCTLMSR:
		return TM_STAT_READ_DEBUGCTL;
	default:
		return TM_STAT_READ_OTHER;
	}
}

/**
 * tm_read_msr() - read one of the model's MSRs
 * @msr: which one
 * @val: its value
 *
 * Return: 0, or -EIO if this CPU doesn't have it.
 */
int tm_read_msr(unsigned int msr, u64 *val)
{
	struct tm_access access = { .msr = msr };
	u64 fault = tm_run(tm_read_op, &access);

	tm_count(tm_read_stat(msr));
	*val = access.val;
	return fault ? -EIO : 0;
}

/**
 * tm_write_msr() - write one of the model's MSRs
 * @msr: which one
 * @val: new value
 * @ip: address of the instruction after the write
 * @safe: the caller handles errors, so they are no violation
 *
 * Return: 0, or -EIO if hardware would raise #GP; then nothing is changed.
 */
int tm_write_msr(unsigned int msr, u64 val, u64 ip, bool safe)
{
	struct tm_access access = { .msr = msr, .val = val, .ip = ip, .safe = safe };
	u64 fault = tm_run(tm_write_op, &access);

	tm_count(tm_write_stat(msr));
	if (msr == MSR_IA32_RTIT_CTL || msr == MSR_IA32_DEBUGCTLMSR)
		tm_flow_update();
	return fault ? -EIO : 0;
}

static u64 tm_pmc_op(struct tm_cpu *cpu, void *arg)
{
	unsigned int counter = *(unsigned int *)arg;

	tm_counters_update(cpu, NULL);
	if (counter & INTEL_PMC_FIXED_RDPMC_BASE)
		counter = TM_GP + (counter & ~INTEL_PMC_FIXED_RDPMC_BASE);
	return counter < TM_COUNTERS ? cpu->count[counter] : 0;
}

/**
 * tm_read_pmc() - the RDPMC instruction
 * @counter: its operand
 *
 * Return: the count
 */
u64 tm_read_pmc(unsigned int counter)
{
	return tm_run(tm_pmc_op, &counter);
}

static u64 tm_vmx_op(struct tm_cpu *cpu, void *arg)
{
	cpu->vmx = *(bool *)arg;
	if (cpu->vmx && cpu->ctl & RTIT_CTL_TRACEEN)
		tm_trace_off(cpu, cpu->ctl & ~(u64)RTIT_CTL_TRACEEN);
	return 0;
}

/**
 * tm_set_vmx() - enter or leave VMX operation on this CPU
 * @on: enter
 *
 * Entering it clears TraceEn, on CPUs that can't trace in VMX operation.
 */
void tm_set_vmx(bool on)
{
	tm_run(tm_vmx_op, &on);
	tm_flow_update();
}

static u64 tm_clear_debugctl_op(struct tm_cpu *cpu, void *arg)
{
	bool was = tm_bts_on(cpu);

	cpu->debugctl = 0;
	if (was)
		tm_bts_stop(cpu);
	return 0;
}

/**
 * tm_clear_debugctl() - clear DEBUGCTL as a VM exit does
 */
void tm_clear_debugctl(void)
{
	tm_run(tm_clear_debugctl_op, NULL);
	tm_flow_update();
}

static u64 tm_lose_power_op(struct tm_cpu *cpu, void *arg)
{
	if (cpu->ctl & RTIT_CTL_TRACEEN)
		tm_trace_off(cpu, 0);

	cpu->ctl = 0;
	cpu->status = 0;
	cpu->pt.since_psb = 0;
	cpu->output_base = 0;
	cpu->output_mask = TM_OUTPUT_LOW;
	cpu->cr3_match = 0;
	memset(cpu->addr, 0, sizeof(cpu->addr));

	tm_clear_debugctl_op(cpu, NULL);
	cpu->ds_area = 0;
	return 0;
}

/**
 * tm_lose_power() - clear the trace's registers as suspend to RAM does
 */
void tm_lose_power(void)
{
	tm_run(tm_lose_power_op, NULL);
	tm_flow_update();
}
