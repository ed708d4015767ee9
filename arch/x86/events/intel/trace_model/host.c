// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: its interrupt, on the host machine.
 *
 * When a counter of a CPU has overflowed, a timer on another CPU sends an NMI that makes
 * the CPU update its counters: so the interrupt can hit any code, as the real one does.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/tsc.h>

#include "host.h"
#include "registers.h"
#include "trace_model.h"

#define TM_SHORTEST_NS		(10 * NSEC_PER_USEC)
#define TM_LONGEST_NS		(10 * NSEC_PER_MSEC)

/**
 * struct tm_watch - timer that watches one CPU from another one
 * @deadline: TSC at which the CPU must update its counters, or TM_NEVER; written by
 *	      the CPU
 * @planned: TSC at which the timer checks @deadline; written by the timer
 * @poked: an NMI that makes the CPU update its counters is on its way
 * @in_poke: its handler runs
 * @owed: causes of the interrupt if the last NMI is it: a driver has to claim it
 * @ip: where the last NMI came
 * @lone: the last NMI has no cause that the model knows
 * @excess: it came back to back with NMIs of which one has no such cause
 * @stray: an NMI is on its way whose cause another one may have handled
 * @arm: runs on the CPU, queues @start on another one
 * @start: runs on the other CPU, starts @timer
 * @timer: the timer
 * @cpu: the CPU
 */
struct tm_watch {
	u64		deadline;
	u64		planned;
	bool		poked;
	bool		in_poke;
	u64		owed;
	unsigned long	ip;
	bool		lone;
	bool		excess;
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
 * The interrupt
 */

/**
 * tm_pmi_allowed() - would the local APIC deliver an interrupt now, as NMI?
 *
 * Return: true if it would.
 */
bool tm_pmi_allowed(void)
{
	u32 lvtpc = apic_read(APIC_LVTPC);

	return !tm_pmi_is_masked() && !(lvtpc & APIC_LVT_MASKED) &&
	       GET_APIC_DELIVERY_MODE(lvtpc) == APIC_MODE_NMI;
}

/**
 * tm_pmi_is_masked() - has tm_pmi_mask() masked the interrupt?
 *
 * Return: true if it has.
 */
bool tm_pmi_is_masked(void)
{
	return READ_ONCE(tm_pmi_masked);
}

/* The interrupt skids until the next look at the latest. */
static u64 tm_look(struct tm_cpu *cpu, void *arg)
{
	tm_skid_end(cpu);
	return tm_counters_update(cpu, arg);
}

static void tm_look_here(void *arg)
{
	tm_run(tm_look, NULL);
}

/**
 * tm_pmi_mask() - mask the interrupt on all CPUs, as if LVTPC was masked
 * @mask: false to unmask it: pending interrupts are delivered
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
 * prepared for an NMI that does the same. The real interrupt of an APIC needs no ICR,
 * so restore it.
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
 * is needed: the counters' driver comes after the model in the list of handlers.
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
	u64 sent = cpu->sent;

	cpu->sent = 0;
	return sent;
}

static u64 tm_end_skid(struct tm_cpu *cpu, void *arg)
{
	tm_skid_end(cpu);
	return 0;
}

/*
 * The first of all handlers. A poke is for the model itself, the interrupt is not:
 * tm_unknown_nmi() checks whether a driver has claimed it. The way into an NMI's handler
 * is longer than any skid: an interrupt that was skidding is latched now, and comes when
 * this NMI is over.
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
	tm_run(tm_end_skid, NULL);
	watch->excess = regs->ip == watch->ip && (watch->excess || watch->lone);
	watch->lone = !poked && !watch->owed;
	watch->ip = regs->ip;

	return poked && !watch->owed ? NMI_HANDLED : NMI_DONE;
}

NOKPROBE_SYMBOL(tm_nmi);

static u64 tm_unclaimed(struct tm_cpu *cpu, void *arg)
{
	cpu->unclaimed = *(u64 *)arg;
	tm_violation(cpu, TM_VIOLATION_UNCLAIMED);
	return 0;
}

/*
 * Nobody has claimed this NMI. If it is the interrupt, that is an error: it would be
 * an unknown NMI on hardware.
 *
 * One case is none. The NMI of a poke that an earlier NMI has done has no cause, and
 * hardware has no such NMI. If the driver's handler finds an overflow in it, the kernel
 * counts one cause for one NMI, and doesn't expect that the interrupt of this overflow has
 * nothing to do. That NMI may find the next overflow, and so on, as long as they come back
 * to back: as for the kernel, that is at the same place.
 *
 * Otherwise another NMI may have come between the decision to send one and the model's
 * own NMI, which then belongs to nobody. Errs towards swallowing one unknown NMI, which
 * is not an interrupt of the model, per NMI that the model has sent.
 */
static int tm_unknown_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct tm_watch *watch = this_cpu_ptr(&tm_watch);

	if (watch->owed) {
		if (!watch->excess)
			tm_run(tm_unclaimed, &watch->owed);
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
		/* A: pairs with B. Either the CPU sees TM_NEVER, or the timer sees its deadline. */
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

/* Any other CPU will do. If there is none, interrupts can delay the timer. */
static void tm_arm_timer(struct irq_work *work)
{
	struct tm_watch *watch = container_of(work, struct tm_watch, arm);
	unsigned int other = cpumask_any_but(cpu_online_mask, watch->cpu);

	irq_work_queue_on(&watch->start, other < nr_cpu_ids ? other : watch->cpu);
}

/**
 * tm_timer_update() - set the time at which this CPU must update its counters
 * @deadline: result of tm_counters_deadline()
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
 * tm_host_reset() - forget NMIs that were on their way to a CPU
 * @cpu: a CPU that doesn't run
 */
void tm_host_reset(unsigned int cpu)
{
	struct tm_watch *watch = &per_cpu(tm_watch, cpu);

	WRITE_ONCE(watch->deadline, TM_NEVER);
	WRITE_ONCE(watch->poked, false);
	watch->owed = 0;
	watch->lone = false;
	watch->stray = false;
}

static int __init tm_host_init(void)
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
early_initcall(tm_host_init);
