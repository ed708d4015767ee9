// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: counters.
 *
 * Counters advance with the TSC while they are enabled: an event has a rate, but no
 * meaning. They are not updated continuously; an overflow is noticed when the counters
 * are next updated. For counters that interrupt, a timer does that: see host.c.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include <asm/perf_event.h>
#include <asm/tsc.h>

#include "host.h"
#include "registers.h"
#include "trace_model.h"

static const struct {
	u16 event;	/* event select and unit mask */
	u8 shift;	/* one event in 2^shift ticks of the TSC */
} tm_rates[] = {
	{ 0x003c, 0 },	/* core cycles */
	{ 0x00c0, 1 },	/* instructions */
	{ 0x01c0, 1 },	/* the same for PEBS: PREC_DIST */
	{ 0x013c, 5 },	/* reference cycles */
	{ 0x00c4, 3 },	/* branches */
	{ 0x00c5, 8 },	/* mispredicted branches */
	{ 0x4f2e, 6 },	/* references to the last level cache */
	{ 0x412e, 10 },	/* misses of it */
};

static const u8 tm_fixed_shift[TM_FIXED] = { 1, 0, 0 };

/* False if counter @i doesn't count; otherwise sets its rate and whether it may interrupt. */
static bool tm_gp_runs(const struct tm_cpu *cpu, unsigned int i, u8 *shift, bool *irq)
{
	u64 sel = cpu->evtsel[i];
	unsigned int r;

	if (!(sel & ARCH_PERFMON_EVENTSEL_ENABLE) ||
	    !(sel & (ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS)))
		return false;

	*irq = sel & ARCH_PERFMON_EVENTSEL_INT;
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
	*shift = tm_fixed_shift[i];
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

/* Do its overflows lead to records instead of interrupts? */
static bool tm_has_pebs(const struct tm_cpu *cpu, unsigned int i)
{
	return i < TM_GP && cpu->pebs_enable & BIT_ULL(i);
}

/* True if the counter has overflowed. With PEBS, the next update goes on from there. */
static bool tm_advance(struct tm_cpu *cpu, unsigned int i, u8 shift, u64 now)
{
	u64 events = (now - cpu->since[i]) >> shift;

	if (tm_has_pebs(cpu, i))
		events = min(events, BIT_ULL(TM_CNT_BITS) - cpu->count[i]);
	cpu->since[i] += events << shift;
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
	u64 now = rdtsc_ordered(), interrupts = 0;
	unsigned long pebs = 0;
	unsigned int i;
	u8 shift;
	bool irq;

	for (i = 0; i < TM_COUNTERS; i++) {
		if (!tm_runs(cpu, i, &shift, &irq))
			cpu->since[i] = now;
		else if (!tm_advance(cpu, i, shift, now))
			continue;
		else if (tm_has_pebs(cpu, i))
			pebs |= BIT(i);
		else
			interrupts |= tm_overflow(cpu, i, irq);
	}
	if (interrupts)
		tm_pmi_request(cpu, interrupts);
	return tm_pebs(cpu, pebs, now, regs);
}

/**
 * tm_counters_deadline() - when the counters must be updated
 * @cpu: model
 *
 * Return: TSC of the first overflow that interrupts or has a record; 0 if an interrupt
 * is pending at the local APIC; TM_NEVER if nothing is pending, or if only
 * tm_pmi_mask() can end the wait.
 */
u64 tm_counters_deadline(const struct tm_cpu *cpu)
{
	u64 deadline = TM_NEVER, left;
	unsigned int i;
	u8 shift;
	bool irq;

	if (cpu->pmi)
		return 0;
	if (cpu->held)
		return tm_pmi_is_masked() ? TM_NEVER : 0;
	if (!cpu->global_ctrl)
		return TM_NEVER;

	for (i = 0; i < TM_COUNTERS; i++) {
		if (!tm_runs(cpu, i, &shift, &irq) || !(irq || tm_has_pebs(cpu, i)))
			continue;
		left = BIT_ULL(TM_CNT_BITS) - cpu->count[i];
		deadline = min(deadline, cpu->since[i] + (left << shift));
	}
	return deadline;
}
