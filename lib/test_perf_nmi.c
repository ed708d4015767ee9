// SPDX-License-Identifier: GPL-2.0
/*
 * test_nmi: a PMU whose events overflow in real NMI context.
 *
 * Perf code that an NMI may enter can't be tested without one, and a virtual
 * machine often has no hardware counter. This PMU needs only a local APIC: it
 * sends the CPU on which it runs an IPI with NMI delivery mode, and its events
 * count these NMIs. They come
 *
 *   - from a timer, for an event with a non-zero interval, or
 *   - on request, for events without interval: by a write to debugfs, or by
 *     test_perf_nmi_fire(), with which a driver under test interrupts itself
 *     at a place of its choice.
 *
 * A requested NMI carries a tag that selects the events that count it.
 *
 * The function that raises an NMI returns after the NMI was handled. So at most one is
 * on its way on a CPU, each is counted exactly once, and no two of them merge.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/nmi.h>

#include "test_perf_nmi.h"

#define TEST_NMI_INTERVAL	GENMASK_ULL(31, 0)
#define TEST_NMI_TAG		GENMASK_ULL(39, 32)

#define TEST_NMI_INTERVAL_MIN	2000	/* ns */
#define TEST_NMI_TIMEOUT	1000000	/* microseconds */
#define TEST_NMI_SLOTS		16

/**
 * struct test_nmi_slot - place for one event on a CPU
 * @event: the event, between ->add() and ->del()
 * @on: it is started
 * @due: the NMI on its way is for this event
 * @timer: raises NMIs for it
 */
struct test_nmi_slot {
	struct perf_event	*event;
	bool			on;
	bool			due;
	struct hrtimer		timer;
};

enum test_nmi_stat {
	TEST_NMI_RAISED,
	TEST_NMI_HANDLED,
	TEST_NMI_OVERFLOWS,
	TEST_NMI_THROTTLED,
	TEST_NMI_LOST,
	TEST_NMI_NR_STATS
};

static const char * const test_nmi_stat_names[] = {
	[TEST_NMI_RAISED]	= "raised",
	[TEST_NMI_HANDLED]	= "handled",
	[TEST_NMI_OVERFLOWS]	= "overflows",
	[TEST_NMI_THROTTLED]	= "throttled",
	[TEST_NMI_LOST]		= "lost",
};

/**
 * struct test_nmi_cpu - state of one CPU
 * @pending: an NMI was sent and its handler hasn't run yet
 * @slot: the events
 * @stat: counters for debugfs
 *
 * Only accessed by its own CPU, with interrupts disabled or in the NMI handler.
 * The handler runs only while @pending is set, and the context that has set it waits: so
 * the handler never sees a slot that is half changed.
 */
struct test_nmi_cpu {
	bool			pending;
	struct test_nmi_slot	slot[TEST_NMI_SLOTS];
	unsigned long		stat[TEST_NMI_NR_STATS];
};

static DEFINE_PER_CPU(struct test_nmi_cpu, test_nmi_cpus);

static u64 test_nmi_interval(const struct perf_event *event)
{
	return FIELD_GET(TEST_NMI_INTERVAL, event->attr.config);
}

/*
 * The NMI
 */

static void test_nmi_overflow(struct test_nmi_cpu *cpu, struct test_nmi_slot *slot,
			      struct pt_regs *regs)
{
	struct perf_event *event = slot->event;
	struct hw_perf_event *hwc = &event->hw;
	struct perf_sample_data data;

	hwc->last_period = hwc->sample_period;
	local64_set(&hwc->period_left, hwc->sample_period);
	perf_sample_data_init(&data, 0, hwc->last_period);
	cpu->stat[TEST_NMI_OVERFLOWS]++;

	/* Stays off until the core unthrottles or enables it with ->start(). */
	if (perf_event_overflow(event, &data, regs)) {
		slot->on = false;
		cpu->stat[TEST_NMI_THROTTLED]++;
	}
}

static void test_nmi_count(struct test_nmi_cpu *cpu, struct test_nmi_slot *slot,
			   struct pt_regs *regs)
{
	struct perf_event *event = slot->event;

	local64_inc(&event->count);
	if (is_sampling_event(event) &&
	    local64_sub_return(1, &event->hw.period_left) <= 0)
		test_nmi_overflow(cpu, slot, regs);
}

/*
 * Another NMI may get here first while pending is set, and our own one then finds it
 * clear. Two handlers claim the other NMI in this case, which makes the NMI code
 * expect and drop one that no handler claims.
 */
static int test_nmi_handler(unsigned int cmd, struct pt_regs *regs)
{
	struct test_nmi_cpu *cpu = this_cpu_ptr(&test_nmi_cpus);
	struct test_nmi_slot *slot;

	if (!cpu->pending)
		return NMI_DONE;

	for (slot = cpu->slot; slot < cpu->slot + TEST_NMI_SLOTS; slot++) {
		if (!slot->due)
			continue;
		slot->due = false;
		test_nmi_count(cpu, slot, regs);
	}

	cpu->stat[TEST_NMI_HANDLED]++;
	/* Last: the context that raised the NMI continues when it sees this. */
	WRITE_ONCE(cpu->pending, false);

	return NMI_HANDLED;
}

NOKPROBE_SYMBOL(test_nmi_handler);

/*
 * Only called with interrupts disabled and outside NMIs, so it doesn't nest.
 *
 * The self shorthand can't be combined with NMI delivery, so the CPU is addressed by
 * its mask.
 *
 * An NMI that doesn't arrive is a fault of the machine, not of the kernel: no WARN. It was
 * seen once in some three million NMIs under QEMU's TCG with a thread for each CPU.
 */
static bool test_nmi_raise(struct test_nmi_cpu *cpu)
{
	unsigned int waited;

	cpu->stat[TEST_NMI_RAISED]++;
	WRITE_ONCE(cpu->pending, true);
	apic->send_IPI_mask(cpumask_of(smp_processor_id()), NMI_VECTOR);

	for (waited = 0; READ_ONCE(cpu->pending); waited++) {
		if (waited == TEST_NMI_TIMEOUT) {
			cpu->stat[TEST_NMI_LOST]++;
			pr_warn_once("NMI to the own CPU not delivered\n");
			return false;
		}
		udelay(1);
	}

	return true;
}

/**
 * test_perf_nmi_fire - interrupt this CPU by an NMI, right here
 * @tag: zero, or the tag of the events that are to count the NMI
 *
 * On return the NMI was handled: started events with interval 0 whose tag is
 * @tag, or all of them if it is zero, have counted it and overflowed if their
 * period was over.
 *
 * Context: interrupts disabled.
 * Return: true; false if it is impossible, because this is an NMI already or because
 * the NMI didn't arrive.
 */
bool test_perf_nmi_fire(u8 tag)
{
	struct test_nmi_cpu *cpu = this_cpu_ptr(&test_nmi_cpus);
	struct test_nmi_slot *slot;

	if (in_nmi() || WARN_ON_ONCE(!irqs_disabled()))
		return false;

	for (slot = cpu->slot; slot < cpu->slot + TEST_NMI_SLOTS; slot++) {
		if (!slot->on || test_nmi_interval(slot->event))
			continue;
		slot->due = !tag ||
			tag == FIELD_GET(TEST_NMI_TAG, slot->event->attr.config);
	}

	return test_nmi_raise(cpu);
}
EXPORT_SYMBOL_GPL(test_perf_nmi_fire);

NOKPROBE_SYMBOL(test_perf_nmi_fire);

/*
 * The next NMI waits at least as long as this one took. That leaves half of the
 * CPU to others, however short the interval is and whatever the overflow does.
 */
static enum hrtimer_restart test_nmi_timer(struct hrtimer *timer)
{
	struct test_nmi_slot *slot = container_of(timer, struct test_nmi_slot, timer);
	ktime_t begin = ktime_get(), end;
	u64 interval;

	if (!slot->on)
		return HRTIMER_NORESTART;

	slot->due = true;
	if (!test_nmi_raise(this_cpu_ptr(&test_nmi_cpus)) || !slot->on)
		return HRTIMER_NORESTART;

	end = ktime_get();
	interval = max_t(u64, test_nmi_interval(slot->event),
			 ktime_to_ns(ktime_sub(end, begin)));
	hrtimer_set_expires(timer, ktime_add_ns(end, interval));

	return HRTIMER_RESTART;
}

/*
 * PMU callbacks, all with interrupts disabled on the CPU of the event
 */

static struct test_nmi_slot *test_nmi_slot(struct perf_event *event)
{
	return this_cpu_ptr(&test_nmi_cpus.slot[event->hw.idx]);
}

static void test_nmi_start(struct perf_event *event, int flags)
{
	struct test_nmi_slot *slot = test_nmi_slot(event);
	u64 interval = test_nmi_interval(event);

	/* Zero after PERF_EVENT_IOC_PERIOD: a whole new period. */
	if (local64_read(&event->hw.period_left) <= 0)
		local64_set(&event->hw.period_left, event->hw.sample_period);

	event->hw.state = 0;
	slot->on = true;
	if (interval)
		hrtimer_start(&slot->timer, ns_to_ktime(interval),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

static void test_nmi_stop(struct perf_event *event, int flags)
{
	struct test_nmi_slot *slot = test_nmi_slot(event);

	slot->on = false;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* The timer is pinned to this CPU, so its callback isn't running. */
	hrtimer_cancel(&slot->timer);
}

static int test_nmi_add(struct perf_event *event, int flags)
{
	struct test_nmi_slot *slot = this_cpu_ptr(test_nmi_cpus.slot);
	int idx;

	for (idx = 0; idx < TEST_NMI_SLOTS; idx++) {
		if (!slot[idx].event)
			break;
	}
	if (idx == TEST_NMI_SLOTS)
		return -EAGAIN;

	event->hw.idx = idx;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	slot[idx].event = event;
	if (flags & PERF_EF_START)
		test_nmi_start(event, flags);
	perf_event_update_userpage(event);

	return 0;
}

static void test_nmi_del(struct perf_event *event, int flags)
{
	test_nmi_stop(event, flags);
	test_nmi_slot(event)->event = NULL;
}

/* The NMI counts in event->count itself. */
static void test_nmi_read(struct perf_event *event)
{
}

/*
 * An NMI source is not for everyone. An inherited child comes from an event that
 * was permitted.
 */
static int test_nmi_event_init(struct perf_event *event)
{
	u64 interval = test_nmi_interval(event);

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	if (!event->parent && !perfmon_capable())
		return -EACCES;

	if (has_branch_stack(event))
		return -EOPNOTSUPP;

	if (event->attr.config & ~(TEST_NMI_INTERVAL | TEST_NMI_TAG))
		return -EINVAL;

	if (interval && interval < TEST_NMI_INTERVAL_MIN)
		return -EINVAL;

	return 0;
}

PMU_FORMAT_ATTR(interval, "config:0-31");
PMU_FORMAT_ATTR(tag, "config:32-39");

static struct attribute *test_nmi_format_attrs[] = {
	&format_attr_interval.attr,
	&format_attr_tag.attr,
	NULL
};

static const struct attribute_group test_nmi_format_group = {
	.name	= "format",
	.attrs	= test_nmi_format_attrs,
};

static const struct attribute_group *test_nmi_attr_groups[] = {
	&test_nmi_format_group,
	NULL
};

/*
 * It has no output that could go to an AUX area. But with the capability and without
 * ->aux_output_match(), an event with aux_output reaches the other checks of the
 * core. So tests can reach these, too.
 */
static struct pmu test_nmi_pmu = {
	.module		= THIS_MODULE,
	.capabilities	= PERF_PMU_CAP_AUX_OUTPUT,
	.task_ctx_nr	= perf_sw_context,
	.attr_groups	= test_nmi_attr_groups,
	.event_init	= test_nmi_event_init,
	.add		= test_nmi_add,
	.del		= test_nmi_del,
	.start		= test_nmi_start,
	.stop		= test_nmi_stop,
	.read		= test_nmi_read,
};

/*
 * debugfs
 */

/* "COUNT [TAG]": raise that many NMIs on the CPU of the writer, one after the other. */
static ssize_t test_nmi_fire_write(struct file *file, const char __user *ubuf,
				   size_t len, loff_t *ppos)
{
	unsigned int count, i;
	char buf[32] = "";
	bool fired;
	u8 tag = 0;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	if (sscanf(buf, "%u %hhu", &count, &tag) < 1)
		return -EINVAL;

	for (i = 0; i < count; i++) {
		local_irq_disable();
		fired = test_perf_nmi_fire(tag);
		local_irq_enable();
		if (!fired)
			return -EIO;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}

	return len;
}

static const struct file_operations test_nmi_fire_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= test_nmi_fire_write,
	.llseek	= noop_llseek,
};

static int test_nmi_stats_show(struct seq_file *m, void *v)
{
	unsigned long value, total;
	int i, cpu;

	for (i = 0; i < TEST_NMI_NR_STATS; i++) {
		total = 0;
		for_each_possible_cpu(cpu) {
			value = READ_ONCE(per_cpu(test_nmi_cpus, cpu).stat[i]);
			seq_printf(m, "cpu%d.%s %lu\n", cpu,
				   test_nmi_stat_names[i], value);
			total += value;
		}
		seq_printf(m, "total.%s %lu\n", test_nmi_stat_names[i], total);
	}

	return 0;
}

/* Any write resets. An NMI in between may preserve its counter. */
static ssize_t test_nmi_stats_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *ppos)
{
	int i, cpu;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < TEST_NMI_NR_STATS; i++)
			WRITE_ONCE(per_cpu(test_nmi_cpus, cpu).stat[i], 0);
	}

	return len;
}

static int test_nmi_stats_open(struct inode *inode, struct file *file)
{
	return single_open(file, test_nmi_stats_show, NULL);
}

static const struct file_operations test_nmi_stats_fops = {
	.owner		= THIS_MODULE,
	.open		= test_nmi_stats_open,
	.read		= seq_read,
	.write		= test_nmi_stats_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static struct dentry *test_nmi_dir;

static void __init test_nmi_init_timers(void)
{
	struct test_nmi_cpu *tcpu;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		tcpu = &per_cpu(test_nmi_cpus, cpu);
		for (i = 0; i < TEST_NMI_SLOTS; i++) {
			hrtimer_init(&tcpu->slot[i].timer, CLOCK_MONOTONIC,
				     HRTIMER_MODE_REL_PINNED_HARD);
			tcpu->slot[i].timer.function = test_nmi_timer;
		}
	}
}

static int __init test_nmi_init(void)
{
	int ret;

	if (!boot_cpu_has(X86_FEATURE_APIC))
		return -ENODEV;

	test_nmi_init_timers();
	ret = register_nmi_handler(NMI_LOCAL, test_nmi_handler, 0, "test_perf_nmi");
	if (ret)
		return ret;

	ret = perf_pmu_register(&test_nmi_pmu, "test_nmi", -1);
	if (ret) {
		unregister_nmi_handler(NMI_LOCAL, "test_perf_nmi");
		return ret;
	}

	test_nmi_dir = debugfs_create_dir("test_perf_nmi", NULL);
	debugfs_create_file("fire", 0200, test_nmi_dir, NULL, &test_nmi_fire_fops);
	debugfs_create_file("stats", 0600, test_nmi_dir, NULL, &test_nmi_stats_fops);

	return 0;
}

/* Each event holds a reference to the module, so none is left here. */
static void __exit test_nmi_exit(void)
{
	debugfs_remove_recursive(test_nmi_dir);
	perf_pmu_unregister(&test_nmi_pmu);
	unregister_nmi_handler(NMI_LOCAL, "test_perf_nmi");
}

module_init(test_nmi_init);
module_exit(test_nmi_exit);
MODULE_DESCRIPTION("Test PMU that overflows in NMI context");
MODULE_LICENSE("GPL");
