// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: counters, and their interrupt.
 *
 * Counters advance with the TSC while they are enabled: an event has a rate, not a
 * meaning. Nothing happens while they do; an overflow is noticed when the model is
 * looked at. For those that are to interrupt, a timer on another CPU has this one
 * look, by an NMI: so the interrupt can hit anything, as the real one does.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/smp.h>

#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/perf_event.h>
#include <asm/tsc.h>

#include "trace_model.h"

#define TM_NEVER		U64_MAX
#define TM_SHORTEST_NS		(10 * NSEC_PER_USEC)
#define TM_LONGEST_NS		(10 * NSEC_PER_MSEC)

/**
 * struct tm_watch - the timer that looks after one CPU, from another one
 * @deadline: TSC at which the CPU must look at its counters, or TM_NEVER; written by
 *	      the CPU
 * @planned: TSC at which the timer looks at @deadline; written by the timer
 * @poked: an NMI to look is on its way
 * @in_poke: its handler runs
 * @owed: the NMI that came last is the interrupt: a driver has to claim it
 * @stray: an NMI is on its way whose purpose another one has served
 * @arm: on the CPU, to reach another one
 * @start: there, to start @timer
 * @timer: the timer
 * @cpu: the CPU
 */
struct tm_watch {
	u64		deadline;
	u64		planned;
	bool		poked;
	bool		in_poke;
	bool		owed;
	bool		stray;
	struct irq_work	arm;
	struct irq_work	start;
	struct hrtimer	timer;
	unsigned int	cpu;
};

static DEFINE_PER_CPU(struct tm_watch, tm_watch);
static bool tm_pmi_masked;
static bool tm_watch_ready __ro_after_init;

/*
 * Counting
 */

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

/* False if counter @i doesn't count; otherwise its rate, and if it may interrupt. */
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

/* Do its overflows lead to records, not to interrupts? */
static bool tm_has_pebs(const struct tm_cpu *cpu, unsigned int i)
{
	return i < TM_GP && cpu->pebs_enable & BIT_ULL(i);
}

/* True if the counter has overflowed. With PEBS, it goes on from there in the next look. */
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

static void tm_overflow(struct tm_cpu *cpu, unsigned int i, bool irq)
{
	cpu->global_status |= BIT_ULL(tm_status_bit(i));
	if (irq)
		cpu->pmi |= TM_PMI_STATUS;
}

/*
 * Each overflow has its record, however late it is noticed. Not so behind the last one:
 * if it interrupts, the handler would have stopped the counter.
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
 * @regs: interrupted for that, or NULL
 *
 * Before anything that they depend on is read or changed.
 *
 * Return: true if more overflows of a counter with PEBS may wait for the next look.
 */
bool tm_counters_update(struct tm_cpu *cpu, const struct pt_regs *regs)
{
	u64 now = rdtsc_ordered();
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
			tm_overflow(cpu, i, irq);
	}
	return tm_pebs(cpu, pebs, now, regs);
}

/**
 * tm_counters_deadline() - when the counters must be looked at
 * @cpu: model
 *
 * Return: TSC of the first overflow that interrupts or has a record; 0 if an interrupt waits for
 * the local APIC; TM_NEVER if there is nothing to wait for, or tm_pmi_mask() tells
 * when the waiting is over.
 */
u64 tm_counters_deadline(const struct tm_cpu *cpu)
{
	u64 deadline = TM_NEVER, left;
	unsigned int i;
	u8 shift;
	bool irq;

	if (cpu->pmi)
		return READ_ONCE(tm_pmi_masked) ? TM_NEVER : 0;
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

/*
 * The interrupt
 */

/**
 * tm_pmi_allowed() - would the local APIC deliver an interrupt now, as NMI
 *
 * Return: true if so
 */
bool tm_pmi_allowed(void)
{
	u32 lvtpc = apic_read(APIC_LVTPC);

	return !READ_ONCE(tm_pmi_masked) && !(lvtpc & APIC_LVT_MASKED) &&
	       GET_APIC_DELIVERY_MODE(lvtpc) == APIC_MODE_NMI;
}

static u64 tm_look(struct tm_cpu *cpu, void *arg)
{
	return tm_counters_update(cpu, arg);
}

static void tm_look_here(void *arg)
{
	tm_run(tm_look, NULL);
}

/**
 * tm_pmi_mask() - mask the interrupt on all CPUs, as if LVTPC was masked
 * @mask: or unmask it: what was held is delivered
 *
 * Context: task
 */
void tm_pmi_mask(bool mask)
{
	WRITE_ONCE(tm_pmi_masked, mask);
	on_each_cpu(tm_look_here, NULL, 1);
}

/*
 * The two halves of the ICR are written one after the other, by code that isn't
 * prepared for an NMI that does the same. An APIC's own interrupt needs no ICR; so
 * leave none of it behind.
 */
static void tm_send_nmi_to_self(void)
{
	u32 dest = 0;

	if (!x2apic_mode)
		dest = apic_read(APIC_ICR2);
	apic->send_IPI_mask(cpumask_of(smp_processor_id()), NMI_VECTOR);
	if (!x2apic_mode)
		apic_write(APIC_ICR2, dest);
}

/**
 * tm_pmi_send() - deliver the interrupt
 *
 * Delivery sets the mask bit. While the NMI of a poke is being handled no other one
 * is needed: the counters' driver is behind the model in the list of handlers.
 */
void tm_pmi_send(void)
{
	struct tm_watch *watch = this_cpu_ptr(&tm_watch);

	tm_count(TM_STAT_PMI_RAISED);
	apic_write(APIC_LVTPC, apic_read(APIC_LVTPC) | APIC_LVT_MASKED);
	if (watch->in_poke)
		return;

	watch->stray = true;
	tm_send_nmi_to_self();
}

static u64 tm_arrive(struct tm_cpu *cpu, void *arg)
{
	u8 sent = cpu->sent;

	cpu->sent = 0;
	return sent;
}

/*
 * The first of all handlers. A poke is the model's own, the interrupt is not: whether
 * a driver claims it is what tm_unknown_nmi() asks.
 */
static int tm_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct tm_watch *watch = this_cpu_ptr(&tm_watch);
	bool poked = READ_ONCE(watch->poked);

	if (poked) {
		WRITE_ONCE(watch->poked, false);
		watch->stray = true;
		watch->in_poke = true;
		while (tm_run(tm_look, regs))
			;
		watch->in_poke = false;
	}

	watch->owed = tm_run(tm_arrive, NULL);

	return poked && !watch->owed ? NMI_HANDLED : NMI_DONE;
}

NOKPROBE_SYMBOL(tm_nmi);

static u64 tm_unclaimed(struct tm_cpu *cpu, void *arg)
{
	tm_breach(cpu, TM_BREACH_UNCLAIMED);
	return 0;
}

/*
 * Nobody has claimed this NMI. If it is the interrupt, that is an error: it would be
 * an unknown NMI on hardware.
 *
 * Otherwise, an NMI of someone else may have come between the decision to send one and
 * the model's own NMI, which then is nobody's. Errs towards swallowing one unknown NMI,
 * which is not an interrupt of the model, per NMI that the model has sent.
 */
static int tm_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct tm_watch *watch = this_cpu_ptr(&tm_watch);

	if (watch->owed) {
		tm_run(tm_unclaimed, NULL);
		return NMI_HANDLED;
	}
	if (!watch->stray)
		return NMI_DONE;

	watch->stray = false;
	return NMI_HANDLED;
}

NOKPROBE_SYMBOL(tm_unknown_nmi);

/*
 * The timer
 */

static u64 tm_ns_to_tsc(u64 ns)
{
	return div_u64(ns * tsc_khz, USEC_PER_SEC);
}

static u64 tm_tsc_to_ns(u64 tsc)
{
	return div_u64(tsc * USEC_PER_SEC, tsc_khz);
}

static void tm_poke(struct tm_watch *watch)
{
	if (READ_ONCE(watch->poked) || !cpu_online(watch->cpu))
		return;

	per_cpu(tm_stats[TM_STAT_POKES], watch->cpu)++;
	WRITE_ONCE(watch->poked, true);
	apic->send_IPI_mask(cpumask_of(watch->cpu), NMI_VECTOR);
}

/* How long the timer can sleep, in ns. */
static u64 tm_plan(struct tm_watch *watch, u64 now, u64 deadline)
{
	u64 left = deadline > now ? deadline - now : 0, ns = TM_LONGEST_NS;

	if (left < tm_ns_to_tsc(TM_LONGEST_NS))
		ns = max_t(u64, tm_tsc_to_ns(left), TM_SHORTEST_NS);

	WRITE_ONCE(watch->planned, now + tm_ns_to_tsc(ns));
	return ns;
}

static enum hrtimer_restart tm_timer(struct hrtimer *timer)
{
	struct tm_watch *watch = container_of(timer, struct tm_watch, timer);
	u64 deadline, now = rdtsc_ordered();

	if (READ_ONCE(watch->deadline) == TM_NEVER) {
		WRITE_ONCE(watch->planned, TM_NEVER);
		/* A: pairs with B. Either the CPU sees that, or this sees its deadline. */
		smp_mb();
	}
	deadline = READ_ONCE(watch->deadline);
	if (deadline == TM_NEVER)
		return HRTIMER_NORESTART;

	if (deadline <= now)
		tm_poke(watch);
	hrtimer_set_expires(timer, ktime_add_ns(ktime_get(), tm_plan(watch, now, deadline)));
	return HRTIMER_RESTART;
}

static void tm_start_timer(struct irq_work *work)
{
	struct tm_watch *watch = container_of(work, struct tm_watch, start);
	u64 ns = tm_plan(watch, rdtsc_ordered(), READ_ONCE(watch->deadline));

	hrtimer_start(&watch->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

/* Any other CPU will do. If there is none, interrupts delay the timer here. */
static void tm_arm_timer(struct irq_work *work)
{
	struct tm_watch *watch = container_of(work, struct tm_watch, arm);
	unsigned int other = cpumask_any_but(cpu_online_mask, watch->cpu);

	irq_work_queue_on(&watch->start, other < nr_cpu_ids ? other : watch->cpu);
}

/**
 * tm_timer_update() - tell when this CPU must be looked after
 * @deadline: as tm_counters_deadline() says
 *
 * Context: any, interrupts disabled
 */
void tm_timer_update(u64 deadline)
{
	struct tm_watch *watch = this_cpu_ptr(&tm_watch);

	if (!tm_watch_ready || deadline == watch->deadline)
		return;

	WRITE_ONCE(watch->deadline, deadline);
	/* B: pairs with A. */
	smp_mb();
	if (deadline < READ_ONCE(watch->planned))
		irq_work_queue(&watch->arm);
}

/**
 * tm_counters_reset() - forget what was on its way to a CPU
 * @cpu: a CPU that doesn't run
 */
void tm_counters_reset(unsigned int cpu)
{
	struct tm_watch *watch = &per_cpu(tm_watch, cpu);

	WRITE_ONCE(watch->deadline, TM_NEVER);
	WRITE_ONCE(watch->poked, false);
	watch->owed = false;
	watch->stray = false;
}

static int __init tm_counters_init(void)
{
	struct tm_watch *watch;
	unsigned int cpu;
	int ret;

	if (!tm_config.on)
		return 0;

	for_each_possible_cpu(cpu) {
		watch = &per_cpu(tm_watch, cpu);
		watch->cpu = cpu;
		watch->deadline = TM_NEVER;
		watch->planned = TM_NEVER;
		watch->arm = IRQ_WORK_INIT_HARD(tm_arm_timer);
		watch->start = IRQ_WORK_INIT_HARD(tm_start_timer);
		hrtimer_init(&watch->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		watch->timer.function = tm_timer;
	}

	ret = register_nmi_handler(NMI_LOCAL, tm_nmi, NMI_FLAG_FIRST, "trace_model");
	if (!ret)
		ret = register_nmi_handler(NMI_UNKNOWN, tm_unknown_nmi, 0, "trace_model");
	tm_watch_ready = !ret;
	return ret;
}
early_initcall(tm_counters_init);
