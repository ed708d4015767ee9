// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: executed instructions become packets of
 * PT and records of BTS.
 */
#include <linux/bits.h>

#include <asm/msr-index.h>
#include <asm/processor-flags.h>

#include "flow.h"
#include "trace_model.h"

/* RTIT_CTL.ADDRn_CFG */
#define TM_RANGE_FILTER	1
#define TM_RANGE_STOP	2

static unsigned int tm_range_use(const struct tm_cpu *cpu, unsigned int range)
{
	return cpu->ctl >> (RTIT_CTL_ADDR0_OFFSET + 4 * range) & 0xf;
}

static bool tm_in_range(const struct tm_cpu *cpu, unsigned int range, u64 ip)
{
	return ip >= cpu->addr[2 * range] && ip <= cpu->addr[2 * range + 1];
}

/* Is ip in one of the ranges with this use? @none if no range has this use. */
static bool tm_in_ranges(const struct tm_cpu *cpu, unsigned int use, u64 ip, bool none)
{
	unsigned int range;
	bool in = none;

	for (range = 0; range < tm_config.filters; range++) {
		if (tm_range_use(cpu, range) != use)
			continue;
		if (tm_in_range(cpu, range, ip))
			return true;
		in = false;
	}
	return in;
}

/**
 * tm_filter_en() - FilterEn: do the address ranges allow tracing?
 * @cpu: model
 * @ip: address of the code
 */
bool tm_filter_en(const struct tm_cpu *cpu, u64 ip)
{
	return tm_in_ranges(cpu, TM_RANGE_FILTER, ip, true);
}

/**
 * tm_context_en() - ContextEn except for the privilege level
 * @cpu: model
 */
bool tm_context_en(const struct tm_cpu *cpu)
{
	if (!(cpu->status & RTIT_STATUS_TRIGGEREN))
		return false;

	return !(cpu->ctl & RTIT_CTL_CR3EN) ||
	       (tm_pt_cr3() & CR3_ADDR_MASK) == (cpu->cr3_match & CR3_ADDR_MASK);
}

/* Code at @ip ends the trace. */
static bool tm_branch_stop(struct tm_cpu *cpu, u64 ip)
{
	if (!tm_in_ranges(cpu, TM_RANGE_STOP, ip, false))
		return false;

	if (cpu->pt.packet_en)
		tm_pt_disable_to(cpu, ip);
	tm_pt_tracestop(cpu);
	return true;
}

/**
 * tm_branch_enable() - code begins to run that is traced if the filters allow it
 * @cpu: model, not tracing code
 * @ip: address of the code
 * @mode: TM_MODE_64 or TM_MODE_32
 */
void tm_branch_enable(struct tm_cpu *cpu, u64 ip, u8 mode)
{
	if (tm_branch_stop(cpu, ip))
		return;
	if (tm_filter_en(cpu, ip))
		tm_pt_enable(cpu, ip, mode);
}

/* PacketEn for code of the kernel at @ip */
static bool tm_kernel_en(const struct tm_cpu *cpu, u64 ip)
{
	return (cpu->ctl & RTIT_CTL_OS) && tm_context_en(cpu) && tm_filter_en(cpu, ip);
}

/**
 * tm_branch_start() - WRMSR sets TraceEn
 * @cpu: model; ctl is the new one
 * @ip: address of the instruction after it
 *
 * "Packet Generation under Different Enable Conditions", 2a to 2e. What the kernel executes
 * next isn't followed, so the trace ends there at once.
 */
void tm_branch_start(struct tm_cpu *cpu, u64 ip)
{
	if (tm_kernel_en(cpu, ip)) {
		tm_pt_start_at(cpu, ip, TM_MODE_64);
		tm_pt_disable_at(cpu, ip);
	} else {
		tm_pt_start(cpu);
	}
}

/**
 * tm_branch_end() - WRMSR clears TraceEn
 * @cpu: model; ctl is the old one
 * @ip: address of the WRMSR
 *
 * The same table, 3b: FUP with the address of the WRMSR, and TIP.PGD. What was executed
 * before it wasn't followed, so the trace begins there.
 */
void tm_branch_end(struct tm_cpu *cpu, u64 ip)
{
	if (!tm_kernel_en(cpu, ip))
		return;
	if (cpu->pt.packet_en)
		tm_pt_left(cpu);
	tm_pt_seen(cpu, ip);
}

static bool tm_taken(const struct tm_step *step)
{
	return step->insn.kind > TM_INSN_SHADOW && step->insn.kind < TM_INSN_SYSCALL &&
	       step->to != step->from + step->insn.length;
}

static bool tm_wrong_target(const struct tm_step *step)
{
	u64 next = step->from + step->insn.length;
	u64 target = next + step->insn.distance;

	if (!step->mode64)
		target = (u32)target;

	switch (step->insn.kind) {
	case TM_INSN_UNKNOWN:
		return true;
	case TM_INSN_COND:
		return step->to != next && step->to != target;
	case TM_INSN_JUMP:
	case TM_INSN_CALL:
		return step->to != target;
	case TM_INSN_REP:
		return step->to != next && step->to != step->from;
	case TM_INSN_JUMP_INDIRECT:
	case TM_INSN_CALL_INDIRECT:
	case TM_INSN_RET:
	case TM_INSN_FAR:
		return false;
	default:
		return step->to != next;
	}
}

static void tm_pt_step(struct tm_cpu *cpu, const struct tm_step *step)
{
	u64 next = step->from + step->insn.length;

	/* A call of the next instruction is how code gets its own address. */
	if (step->insn.kind == TM_INSN_CALL_INDIRECT ||
	    (step->insn.kind == TM_INSN_CALL && step->to != next))
		tm_pt_call(cpu, next);

	switch (step->insn.kind) {
	case TM_INSN_COND:
		tm_pt_cond(cpu, tm_taken(step), step->to);
		break;
	case TM_INSN_JUMP_INDIRECT:
	case TM_INSN_CALL_INDIRECT:
	case TM_INSN_FAR:
		tm_pt_indirect(cpu, step->to);
		break;
	case TM_INSN_RET:
		tm_pt_ret(cpu, step->to);
		break;
	default:
		tm_pt_direct(cpu, step->to);
	}
}

/*
 * A trace that leaves its range has the destination, but not the branch that led
 * there. A branch that comes back from there, or execution that enters a range
 * without a branch, starts the trace anew.
 *
 * The same goes for an instruction that was executed although packets say that the code
 * was interrupted before it: by an NMI on the way from the trap to here.
 */
static void tm_pt_walk(struct tm_cpu *cpu, const struct tm_step *step)
{
	u8 mode = step->mode64 ? TM_MODE_64 : TM_MODE_32;

	if (!cpu->pt.packet_en && tm_filter_en(cpu, step->from))
		tm_branch_enable(cpu, step->from, mode);

	if (!cpu->pt.packet_en)
		tm_branch_enable(cpu, step->to, mode);
	else if (tm_branch_stop(cpu, step->to))
		return;
	else if (tm_wrong_target(step))
		tm_pt_overflow(cpu, step->to);
	else if (!tm_filter_en(cpu, step->to))
		tm_pt_disable_to(cpu, step->to);
	else
		tm_pt_step(cpu, step);
}

/**
 * tm_op_step() - operation: a user instruction was executed
 * @cpu: model
 * @arg: struct tm_step
 *
 * Return: cpu->pt.era
 */
u64 tm_op_step(struct tm_cpu *cpu, void *arg)
{
	const struct tm_step *step = arg;

	if (tm_taken(step) && (cpu->debugctl & DEBUGCTLMSR_BTS) &&
	    !(cpu->debugctl & DEBUGCTLMSR_BTS_OFF_USR))
		tm_bts_record(cpu, step->from, step->to);

	if ((cpu->ctl & RTIT_CTL_USR) && tm_context_en(cpu))
		tm_pt_walk(cpu, step);

	return cpu->pt.era;
}

/**
 * tm_branch_call() - a function of the kernel was called
 * @cpu: model, not tracing code
 * @call: caller and callee
 */
void tm_branch_call(struct tm_cpu *cpu, const struct tm_call *call)
{
	u64 site = call->ret - call->length;
	bool site_en = call->length && tm_filter_en(cpu, site);
	bool callee_en = tm_filter_en(cpu, call->callee);

	if (tm_branch_stop(cpu, call->callee))
		return;

	if (site_en && callee_en) {
		tm_pt_call_seen(cpu, site, call->callee, call->indirect, call->ret);
	} else if (site_en) {
		tm_pt_enable(cpu, site, TM_MODE_64);
		tm_pt_disable_to(cpu, call->callee);
	} else if (callee_en) {
		tm_pt_seen(cpu, call->callee);
	}
}
