// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: violations of its rules by software.
 */
#define pr_fmt(fmt) "trace_model: " fmt

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>

#include "trace_model.h"

#define TM_STACK_DEPTH		24

static const char * const tm_violation_names[TM_NR_VIOLATIONS] = {
	[TM_VIOLATION_LIVE_WRITE]	= "live_write",
	[TM_VIOLATION_LIVE_CTL]	= "live_ctl",
	[TM_VIOLATION_RESERVED]	= "reserved",
	[TM_VIOLATION_STATUS]	= "status",
	[TM_VIOLATION_VMX]		= "vmx",
	[TM_VIOLATION_OUTPUT]	= "output",
	[TM_VIOLATION_TOPA]	= "topa",
	[TM_VIOLATION_TOPA_LIVE]	= "topa_live",
	[TM_VIOLATION_DEBUGCTL]	= "debugctl",
	[TM_VIOLATION_DS]		= "ds",
	[TM_VIOLATION_BTS_INDEX]	= "bts_index",
	[TM_VIOLATION_COUNTER]	= "counter",
	[TM_VIOLATION_UNCLAIMED]	= "unclaimed",
};

static DEFINE_PER_CPU(unsigned long[TM_NR_VIOLATIONS], tm_violations);

/* The first violation of each kind, printed outside of NMI. */
static struct tm_violation_report {
	atomic_t	claimed;
	unsigned int	cpu;
	u32		msr;
	u64		msr_val;
	u64		unclaimed;
	unsigned int	depth;
	unsigned long	stack[TM_STACK_DEPTH];
	struct irq_work	work;
} tm_reports[TM_NR_VIOLATIONS];

/* Who raised the interrupt that nobody has claimed */
static void tm_print_causes(u64 causes)
{
	char counters[32] = "";

	if (causes & TM_COUNTER_MASK)
		snprintf(counters, sizeof(counters), " counters 0x%llx",
			 causes & TM_COUNTER_MASK);
	pr_warn("raised by:%s%s%s%s\n",
		causes & GLOBAL_STATUS_TRACE_TOPAPMI ? " Intel PT" : "",
		causes & TM_PMI_BTS ? " Intel BTS" : "",
		causes & GLOBAL_STATUS_BUFFER_OVF ? " PEBS" : "", counters);
}

static void tm_print_report(struct irq_work *work)
{
	struct tm_violation_report *report = container_of(work, struct tm_violation_report, work);

	/* Searches of the log for trouble find this word. */
	pr_warn("WARNING: violation of the hardware's protocol on CPU %u: %s\n", report->cpu,
		tm_violation_names[report - tm_reports]);
	if (report->msr)
		pr_warn("write of 0x%llx to MSR 0x%x\n", report->msr_val, report->msr);
	if (report->unclaimed)
		tm_print_causes(report->unclaimed);
	stack_trace_print(report->stack, report->depth, 1);
}

static void tm_report_first(struct tm_violation_report *report, const struct tm_cpu *cpu)
{
	if (atomic_xchg(&report->claimed, 1))
		return;

	report->cpu = smp_processor_id();
	report->msr = cpu->msr;
	report->msr_val = cpu->msr_val;
	report->unclaimed = cpu->unclaimed;
	report->depth = stack_trace_save(report->stack, TM_STACK_DEPTH, 1);
	init_irq_work(&report->work, tm_print_report);
	irq_work_queue(&report->work);
}

/**
 * tm_report_violations() - count violations, print the first of each kind
 * @cpu: model, with the outcome of an operation
 *
 * Context: any, interrupts disabled
 */
void tm_report_violations(const struct tm_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < TM_NR_VIOLATIONS; i++) {
		if (!(cpu->violations & BIT(i)))
			continue;
		this_cpu_inc(tm_violations[i]);
		tm_report_first(&tm_reports[i], cpu);
	}
}

/* The number of violations of each kind, for debugfs */
int tm_violations_show(struct seq_file *m, void *v)
{
	unsigned long sum, total = 0;
	unsigned int i, cpu;

	for (i = 0; i < TM_NR_VIOLATIONS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(tm_violations, cpu)[i]);
		seq_printf(m, "%s %lu\n", tm_violation_names[i], sum);
		total += sum;
	}
	seq_printf(m, "total %lu\n", total);
	return 0;
}
