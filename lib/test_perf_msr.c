// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt accesses of an MSR by an NMI.
 *
 * A driver accesses its hardware by MSRs, and between two accesses an NMI may access
 * the same hardware. The perf selftests select the place:
 *
 *	/sys/kernel/debug/test_perf_msr
 *
 * "read MSR TAG" or "write MSR TAG", with the MSR's number in hexadecimal, makes an NMI
 * interrupt the CPU of the writer after each read or write of that MSR, before it does
 * anything else; accesses in NMI context are excepted. With a number behind the tag, it is
 * only that access, the first one being 1. The events of the PMU test_nmi
 * that have this tag count the NMI, and the handler of the counters' interrupt runs as
 * with every NMI. "off" ends it. The file reads as the number of NMIs since the
 * beginning.
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#include <asm/msr-trace.h>

#include "test_perf_nmi.h"

/**
 * struct test_msr_place - place that NMIs hit
 * @on: the probe of the tracepoint is registered
 * @write: the tracepoint is the one for writes
 * @cpu: CPU to interrupt
 * @msr: MSR whose accesses are interrupted
 * @tag: tag of the NMI
 * @nth: only this access is interrupted; 0: each one
 * @passed: number of accesses so far if @nth is set, counted by @cpu
 * @fired: number of NMIs so far, written by @cpu
 *
 * Changed under test_msr_mutex, and only while no probe is registered.
 */
struct test_msr_place {
	bool		on;
	bool		write;
	int		cpu;
	unsigned int	msr;
	u8		tag;
	unsigned int	nth;
	unsigned int	passed;
	unsigned long	fired;
};

static struct test_msr_place test_msr_place;
static DEFINE_MUTEX(test_msr_mutex);

static bool test_msr_is_due(struct test_msr_place *place)
{
	return !place->nth || (!in_nmi() && ++place->passed == place->nth);
}

NOKPROBE_SYMBOL(test_msr_is_due);

static void test_msr_probe(void *data, unsigned int msr, u64 val, int failed)
{
	struct test_msr_place *place = data;
	unsigned long flags;

	if (msr != place->msr)
		return;

	local_irq_save(flags);
	if (smp_processor_id() == place->cpu && test_msr_is_due(place) &&
	    test_perf_nmi_fire(place->tag))
		place->fired++;
	local_irq_restore(flags);
}

NOKPROBE_SYMBOL(test_msr_probe);

static void test_msr_off(struct test_msr_place *place)
{
	if (!place->on)
		return;

	if (place->write)
		unregister_trace_write_msr(test_msr_probe, place);
	else
		unregister_trace_read_msr(test_msr_probe, place);
	tracepoint_synchronize_unregister();
	place->on = false;
}

static int test_msr_on(struct test_msr_place *place)
{
	int ret = place->write ? register_trace_write_msr(test_msr_probe, place) :
				 register_trace_read_msr(test_msr_probe, place);

	place->on = !ret;

	return ret;
}

static int test_msr_parse(struct test_msr_place *place, const char *text)
{
	char what[8];

	place->nth = 0;
	if (sscanf(text, "%7s %x %hhu %u", what, &place->msr, &place->tag, &place->nth) < 3)
		return -EINVAL;
	if (strcmp(what, "read") && strcmp(what, "write"))
		return -EINVAL;

	place->write = what[0] == 'w';
	place->cpu = raw_smp_processor_id();
	place->passed = 0;
	place->fired = 0;

	return 0;
}

static int test_msr_set(struct test_msr_place *place, const char *text)
{
	int ret;

	test_msr_off(place);
	if (sysfs_streq(text, "off"))
		return 0;

	ret = test_msr_parse(place, text);

	return ret ?: test_msr_on(place);
}

static ssize_t test_msr_file_write(struct file *file, const char __user *ubuf,
				   size_t len, loff_t *ppos)
{
	char text[32] = "";
	int ret;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, ubuf, len))
		return -EFAULT;

	mutex_lock(&test_msr_mutex);
	ret = test_msr_set(&test_msr_place, text);
	mutex_unlock(&test_msr_mutex);

	return ret ?: len;
}

static ssize_t test_msr_file_read(struct file *file, char __user *ubuf, size_t len,
				  loff_t *ppos)
{
	char text[32];
	int n = scnprintf(text, sizeof(text), "%lu\n", READ_ONCE(test_msr_place.fired));

	return simple_read_from_buffer(ubuf, len, ppos, text, n);
}

static const struct file_operations test_msr_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= test_msr_file_read,
	.write	= test_msr_file_write,
	.llseek	= default_llseek,
};

static struct dentry *test_msr_file;

static int __init test_msr_init(void)
{
	test_msr_file = debugfs_create_file("test_perf_msr", 0600, NULL, NULL,
					    &test_msr_fops);

	return 0;
}

static void __exit test_msr_exit(void)
{
	debugfs_remove(test_msr_file);
	test_msr_off(&test_msr_place);
}

module_init(test_msr_init);
module_exit(test_msr_exit);
MODULE_DESCRIPTION("NMIs at accesses of MSRs, for the perf selftests");
MODULE_LICENSE("GPL");
