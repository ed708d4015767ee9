// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of the overflow of an event without an aux action. The same file
 * is built for a kernel with the series and for one without it, and the figures
 * are compared.
 *
 * Three paths lead to the overflow handling: a counter's interrupt, a tracepoint
 * and a breakpoint. For the first two the kernel's function is called for a fake
 * event; the breakpoint is a real one, and the whole exception is counted.
 *
 * Output: /sys/kernel/debug/overflow_bench, lines "name, min, max".
 */
#include <linux/debugfs.h>
#include <linux/hw_breakpoint.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "instructions.h"

static unsigned long overflow_address;
module_param_named(perf_event_overflow, overflow_address, ulong, 0);

static int (*overflow)(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs);

static unsigned long samples;
static struct perf_event *event;
static struct perf_sample_data data;
static struct pt_regs regs;

static void count_sample(struct perf_event *sampled, struct perf_sample_data *sample,
			 struct pt_regs *sample_regs)
{
	samples++;
}

static noinline void no_code(void)
{
	barrier();
}

/* ---- a counter's interrupt */

static noinline int no_overflow(struct perf_event *overflown,
				struct perf_sample_data *sample,
				struct pt_regs *sample_regs)
{
	barrier();
	return 0;
}

static void counter_overflow(void)
{
	overflow(event, &data, &regs);
}

/* Avoids throttling. */
static void forget_interrupts(void)
{
	event->hw.interrupts = 0;
}

/* Each run must have made a sample, or something else was measured. */
static int show_if_sampled(struct seq_file *m, const char *name,
			   struct instructions n, struct instructions nothing)
{
	if (samples != ALL_RUNS) {
		pr_err("overflow_bench: %s: %lu samples in %d runs\n", name,
		       samples, ALL_RUNS);
		return -EPROTO;
	}

	show_instructions(m, name, n, nothing);
	return 0;
}

static int show_counter(struct seq_file *m)
{
	struct instructions n, nothing;

	samples = 0;
	overflow = (void *)overflow_address;
	n = count_instructions(forget_interrupts, counter_overflow);
	overflow = no_overflow;
	nothing = count_instructions(NULL, counter_overflow);

	return show_if_sampled(m, "counter", n, nothing);
}

/* ---- a tracepoint */

static struct hlist_head listeners;
static struct trace_entry entry;

static void tracepoint_overflow(void)
{
	perf_tp_event(TRACE_EVENT_TYPE_MAX, 1, &entry, sizeof(entry), &regs,
		      &listeners, perf_swevent_get_recursion_context(), NULL);
}

static int show_tracepoint(struct seq_file *m)
{
	struct instructions n;

	samples = 0;
	n = count_instructions(NULL, tracepoint_overflow);

	return show_if_sampled(m, "tracepoint", n, count_instructions(NULL, no_code));
}

/* ---- a breakpoint */

static u64 watched, unwatched;
static u64 *target;

static void write_target(void)
{
	WRITE_ONCE(*target, 1);
}

static struct perf_event *new_breakpoint(int cpu)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;

	return perf_event_create_kernel_counter(&attr, cpu, NULL, count_sample, NULL);
}

static int show_breakpoint(struct seq_file *m)
{
	struct instructions n, nothing;
	struct perf_event *breakpoint = new_breakpoint(raw_smp_processor_id());

	if (IS_ERR(breakpoint))
		return PTR_ERR(breakpoint);

	samples = 0;
	target = &watched;
	n = count_instructions(NULL, write_target);
	target = &unwatched;
	nothing = count_instructions(NULL, write_target);
	perf_event_release_kernel(breakpoint);

	return show_if_sampled(m, "breakpoint", n, nothing);
}

/* There is only one CPU, see lab/bench/host: the events are on this one. */
static int overflow_bench_show(struct seq_file *m, void *unused)
{
	show_calibration(m);

	return show_counter(m) ?: show_tracepoint(m) ?: show_breakpoint(m);
}
DEFINE_SHOW_ATTRIBUTE(overflow_bench);

static struct dentry *file;

static int __init overflow_bench_init(void)
{
	if (!overflow_address)
		return -EINVAL;

	event = kzalloc(sizeof(*event), GFP_KERNEL);
	if (!event)
		return -ENOMEM;

	event->state = PERF_EVENT_STATE_ACTIVE;
	event->attr.sample_period = 1;
	event->hw.sample_period = 1;
	event->overflow_handler = count_sample;
	hlist_add_head_rcu(&event->hlist_entry, &listeners);
	file = debugfs_create_file("overflow_bench", 0400, NULL, NULL,
				   &overflow_bench_fops);

	return 0;
}

static void __exit overflow_bench_exit(void)
{
	debugfs_remove(file);
	kfree(event);
}

module_init(overflow_bench_init);
module_exit(overflow_bench_exit);
MODULE_DESCRIPTION("Instructions of an overflow without an aux action");
MODULE_LICENSE("GPL");
