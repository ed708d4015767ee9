// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: counters.
 *
 * Counters advance with the TSC while they are enabled: an event has a rate, but no
 * meaning. They are not updated continuously; an overflow is noticed when the counters
 * are next updated. For counters that interrupt, a timer does that: see host.c.
 *
 * Instructions can be exact, by two options. With icount=N the TSC counts them. With step
 * those of user mode are counted by step.c, if a counter counts no others.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include <asm/perf_event.h>
#include <asm/tsc.h>

#include "host.h"
#include "registers.h"
#include "trace_model.h"

#define TM_INSTRUCTIONS		0x00c0	/* event select and unit mask */
#define TM_INSTRUCTIONS_PEBS	0x01c0	/* PREC_DIST */

static const struct {
	u16 event;
	u8 shift;	/* one event in 2^shift ticks of the TSC */
} tm_rates[] = {
	{ 0x003c, 0 },	/* core cycles */
	{ 0x013c, 5 },	/* reference cycles */
	{ 0x00c4, 3 },	/* branches */
	{ 0x00c5, 8 },	/* mispredicted branches */
	{ 0x4f2e, 6 },	/* references to the last level cache */
	{ 0x412e, 10 },	/* misses of it */
};

#define TM_CYCLES_SHIFT		0	/* of the other fixed counters */
#define TM_ESTIMATE_SHIFT	1	/* of instructions, where the TSC doesn't count them */

static u8 tm_instructions_shift(void)
{
	return tm_config.icount == TM_NO_ICOUNT ? TM_ESTIMATE_SHIFT : tm_config.icount;
}

static bool tm_is_instructions(u64 sel)
{
	u64 event = sel & INTEL_ARCH_EVENT_MASK;

	return event == TM_INSTRUCTIONS || event == TM_INSTRUCTIONS_PEBS;
}

/* False if counter @i doesn't count; otherwise sets its rate and whether it may interrupt. */
static bool tm_gp_runs(const struct tm_cpu *cpu, unsigned int i, u8 *shift, bool *irq)
{
	u64 sel = cpu->evtsel[i];
	unsigned int r;

	if (!(sel & ARCH_PERFMON_EVENTSEL_ENABLE) ||
	    !(sel & (ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS)))
		return false;

	*irq = sel & ARCH_PERFMON_EVENTSEL_INT;
	if (tm_is_instructions(sel)) {
		*shift = tm_instructions_shift();
		return true;
	}
	for (r = 0; r < ARRAY_SIZE(tm_rates); r++) {
		if ((sel & INTEL_ARCH_EVENT_MASK) == tm_rates[r].event) {
			*shift = tm_rates[r].shift;
			return true;
		}
	}
	return false;
}

static bool tm_fixed_runs(const struct tm_cpu *cpu, unsigned int i, u8 *shift, bool *irq)
{
	unsigned int ctrl = cpu->fixed_ctrl >> (4 * i);

	*irq = ctrl & BIT(3);
	*shift = i ? TM_CYCLES_SHIFT : tm_instructions_shift();
	return ctrl & GENMASK(1, 0);
}

static unsigned int tm_status_bit(unsigned int i)
{
	return i < TM_GP ? i : INTEL_PMC_IDX_FIXED + i - TM_GP;
}

static bool tm_runs(const struct tm_cpu *cpu, unsigned int i, u8 *shift, bool *irq)
{
	if (!(cpu->global_ctrl & BIT_ULL(tm_status_bit(i))))
		return false;

	return i < TM_GP ? tm_gp_runs(cpu, i, shift, irq) :
			   tm_fixed_runs(cpu, i - TM_GP, shift, irq);
}

/* Does counter @i count instructions in user mode, and no others? */
static bool tm_counts_user_instructions(const struct tm_cpu *cpu, unsigned int i)
{
	const u64 rings = ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS;

	if (i == TM_GP)
		return (cpu->fixed_ctrl & GENMASK(1, 0)) == BIT(1);

	return i < TM_GP && tm_is_instructions(cpu->evtsel[i]) &&
	       (cpu->evtsel[i] & rings) == ARCH_PERFMON_EVENTSEL_USR;
}

static bool tm_is_stepped(const struct tm_cpu *cpu, unsigned int i)
{
	return tm_config.step && tm_counts_user_instructions(cpu, i);
}

/**
 * tm_counters_step() - does a counter need that user code is single-stepped?
 * @cpu: model
 *
 * Return: true if so.
 */
bool tm_counters_step(const struct tm_cpu *cpu)
{
	unsigned int i;
	u8 shift;
	bool irq;

	if (!tm_config.step)
		return false;

	for (i = 0; i <= TM_GP; i++) {
		if (tm_runs(cpu, i, &shift, &irq) && tm_is_stepped(cpu, i))
			return true;
	}
	return false;
}

/* Do its overflows lead to records instead of interrupts? */
static bool tm_has_pebs(const struct tm_cpu *cpu, unsigned int i)
{
	return i < TM_GP && cpu->pebs_enable & BIT_ULL(i);
}

/* As many events as go by until @now. With PEBS, the next update goes on at the overflow. */
static u64 tm_timed_events(struct tm_cpu *cpu, unsigned int i, u8 shift, u64 now)
{
	u64 events = (now - cpu->since[i]) >> shift;

	if (tm_has_pebs(cpu, i))
		events = min(events, BIT_ULL(TM_CNT_BITS) - cpu->count[i]);
	cpu->since[i] += events << shift;
	return events;
}

/* True if the counter has overflowed. */
static bool tm_advance(struct tm_cpu *cpu, unsigned int i, u64 events)
{
	cpu->count[i] += events;
	if (!(cpu->count[i] >> TM_CNT_BITS))
		return false;

	cpu->count[i] &= GENMASK_ULL(TM_CNT_BITS - 1, 0);
	return true;
}

/* What it sets in GLOBAL_STATUS, if it interrupts */
static u64 tm_overflow(struct tm_cpu *cpu, unsigned int i, bool irq)
{
	u64 bit = BIT_ULL(tm_status_bit(i));

	cpu->global_status |= bit;
	return irq ? bit : 0;
}

/*
 * Each overflow gets its record, however late it is noticed. But none follows the last
 * one: if that one interrupts, the handler would have stopped the counter.
 */
static bool tm_pebs(struct tm_cpu *cpu, unsigned long counters, u64 now,
		    const struct pt_regs *regs)
{
	unsigned int i;

	if (!counters)
		return false;
	if (tm_pebs_overflow(cpu, counters, now, regs))
		return true;

	for_each_set_bit(i, &counters, TM_GP)
		cpu->since[i] = now;
	return false;
}

/* @steps: instructions of user mode that have been stepped since the last update */
static bool tm_update(struct tm_cpu *cpu, u64 steps, const struct pt_regs *regs)
{
	u64 now = rdtsc_ordered(), interrupts = 0, events;
	unsigned long pebs = 0;
	unsigned int i;
	u8 shift;
	bool irq;

	for (i = 0; i < TM_COUNTERS; i++) {
		if (!tm_runs(cpu, i, &shift, &irq)) {
			cpu->since[i] = now;
			continue;
		}
		events = tm_is_stepped(cpu, i) ? steps : tm_timed_events(cpu, i, shift, now);
		if (!tm_advance(cpu, i, events))
			continue;
		if (tm_has_pebs(cpu, i))
			pebs |= BIT(i);
		else
			interrupts |= tm_overflow(cpu, i, irq);
	}
	if (interrupts)
		tm_pmi_request(cpu, interrupts);
	return tm_pebs(cpu, pebs, now, regs);
}

/**
 * tm_counters_update() - bring the counters up to date
 * @cpu: model
 * @regs: registers of the interrupted context, or NULL
 *
 * Must be called before anything that the counters depend on is read or changed.
 *
 * Return: true if the next update may find more overflows of a counter with PEBS.
 */
bool tm_counters_update(struct tm_cpu *cpu, const struct pt_regs *regs)
{
	return tm_update(cpu, 0, regs);
}

/**
 * tm_op_retire() - operation: instructions were executed in user mode
 * @cpu: model
 * @arg: &struct tm_retired
 *
 * Return: 0
 */
u64 tm_op_retire(struct tm_cpu *cpu, void *arg)
{
	const struct tm_retired *retired = arg;

	tm_update(cpu, retired->instructions, retired->regs);
	return 0;
}

/**
 * tm_counters_deadline() - when the counters must be updated
 * @cpu: model
 *
 * Return: TSC of the first overflow that interrupts or has a record; 0 if an interrupt
 * is pending at the local APIC; TM_NEVER if nothing is pending, or if only
 * tm_pmi_mask() or a function can end the wait.
 */
u64 tm_counters_deadline(const struct tm_cpu *cpu)
{
	u64 deadline = TM_NEVER, left;
	unsigned int i;
	u8 shift;
	bool irq;

	/* Nothing but the function ends the wait for it. */
	if (cpu->pmi && !READ_ONCE(tm_delivery.until))
		return 0;
	if (cpu->held)
		return tm_pmi_is_masked() ? TM_NEVER : 0;
	if (!cpu->global_ctrl)
		return TM_NEVER;

	for (i = 0; i < TM_COUNTERS; i++) {
		if (!tm_runs(cpu, i, &shift, &irq) || !(irq || tm_has_pebs(cpu, i)) ||
		    tm_is_stepped(cpu, i))
			continue;
		left = BIT_ULL(TM_CNT_BITS) - cpu->count[i];
		deadline = min(deadline, cpu->since[i] + (left << shift));
	}
	return deadline;
}
