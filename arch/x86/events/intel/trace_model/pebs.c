// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: processor event based sampling.
 *
 * See "Processor Event Based Sampling (PEBS)" and "PEBS Data Format" in the chapter on
 * performance monitoring of Intel's Software Developer's Manual, volume 3: the general
 * counters, with records in format 3, that of Skylake.
 *
 * The counters don't count instructions, so a record isn't precise: its registers are
 * those of the context that the update of the counters has interrupted.
 */
#include <linux/bitops.h>
#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include <asm/intel_ds.h>
#include <asm/perf_event.h>

#include "registers.h"
#include "trace_model.h"

struct tm_pebs {
	u64	flags, ip;
	u64	ax, bx, cx, dx, si, di, bp, sp;
	u64	r8, r9, r10, r11, r12, r13, r14, r15;
	u64	counters;	/* those that have overflowed */
	u64	data_address, data_source, latency;
	u64	event_ip;
	u64	tsx;
	u64	tsc;
};

/* The DS area from pebs_buffer_base on */
struct tm_pebs_area {
	u64	base;
	u64	index;
	u64	maximum;
	u64	threshold;
	u64	reset[TM_GP];
};

static bool tm_pebs_area_read(const struct tm_cpu *cpu, struct tm_pebs_area *area)
{
	if (copy_from_kernel_nofault(area, &tm_ds(cpu)->pebs_buffer_base, sizeof(*area)))
		return false;

	return area->base && area->maximum > area->base &&
	       area->index >= area->base && area->index <= area->maximum &&
	       (area->index - area->base) % sizeof(struct tm_pebs) == 0;
}

/* The interrupted instruction has caused nothing: the eventing IP is a guess. */
static void tm_pebs_set_regs(struct tm_pebs *record, const struct pt_regs *regs)
{
	record->flags = regs->flags;
	record->ip = regs->ip;
	record->event_ip = regs->ip;
	record->ax = regs->ax;
	record->bx = regs->bx;
	record->cx = regs->cx;
	record->dx = regs->dx;
	record->si = regs->si;
	record->di = regs->di;
	record->bp = regs->bp;
	record->sp = regs->sp;
	record->r8 = regs->r8;
	record->r9 = regs->r9;
	record->r10 = regs->r10;
	record->r11 = regs->r11;
	record->r12 = regs->r12;
	record->r13 = regs->r13;
	record->r14 = regs->r14;
	record->r15 = regs->r15;
}

/**
 * tm_pebs_overflow() - counters with PEBS enabled have overflowed
 * @cpu: model
 * @counters: bit mask of the counters
 * @now: TSC
 * @regs: registers of the context that the update of the counters has interrupted, or
 *	  NULL: the registers of the record are zero
 *
 * They share one record, and are reloaded from the DS area. At the threshold there is
 * an interrupt. A record that doesn't fit is lost.
 *
 * Return: true if nothing keeps them from overflowing once more: no interrupt is due,
 * and there was room.
 */
bool tm_pebs_overflow(struct tm_cpu *cpu, unsigned long counters, u64 now,
		      const struct pt_regs *regs)
{
	struct tm_pebs record = { .counters = counters, .tsc = now };
	struct tm_pebs_area area;
	unsigned int i;
	u64 next;

	if (!tm_pebs_area_read(cpu, &area)) {
		tm_violation(cpu, TM_VIOLATION_DS);
		return false;
	}

	for_each_set_bit(i, &counters, TM_GP)
		cpu->count[i] = area.reset[i] & GENMASK_ULL(TM_CNT_BITS - 1, 0);

	next = area.index + sizeof(record);
	if (next > area.maximum) {
		tm_count(TM_STAT_SKIPPED);
		return false;
	}

	if (regs)
		tm_pebs_set_regs(&record, regs);
	tm_store(cpu, (void *)(unsigned long)area.index, &record, sizeof(record));
	tm_store_exchange(cpu, &tm_ds(cpu)->pebs_index, area.index, next);
	if (next < area.threshold)
		return true;

	cpu->global_status |= GLOBAL_STATUS_BUFFER_OVF;
	tm_pmi_request(cpu, GLOBAL_STATUS_BUFFER_OVF);
	return false;
}
