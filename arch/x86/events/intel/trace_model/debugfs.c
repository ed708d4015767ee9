// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: files in debugfs, and VMX operation on request.
 */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/syscore_ops.h>
#include <linux/uaccess.h>

#include <asm/debugctl.h>
#include <asm/debugreg.h>
#include <asm/intel_pt.h>
#include <asm/perf_event.h>

#include "../../perf_event.h"

#include "host.h"
#include "registers.h"
#include "trace_model.h"

#define TM_VMX_LONGEST_US	100000

static const char * const tm_stat_names[TM_NR_STATS] = {
	[TM_STAT_WRITE_CTL]		= "write_ctl",
	[TM_STAT_WRITE_STATUS]		= "write_status",
	[TM_STAT_WRITE_OUTPUT_BASE]	= "write_output_base",
	[TM_STAT_WRITE_OUTPUT_MASK]	= "write_output_mask",
	[TM_STAT_WRITE_CR3]		= "write_cr3_match",
	[TM_STAT_WRITE_ADDR]		= "write_addr",
	[TM_STAT_WRITE_DEBUGCTL]	= "write_debugctl",
	[TM_STAT_WRITE_DS_AREA]		= "write_ds_area",
	[TM_STAT_WRITE_COUNTER]		= "write_counter",
	[TM_STAT_READ_STATUS]		= "read_status",
	[TM_STAT_READ_DEBUGCTL]		= "read_debugctl",
	[TM_STAT_READ_OTHER]		= "read_other",
	[TM_STAT_OPERATIONS]		= "operations",
	[TM_STAT_RETRIES]		= "retries",
	[TM_STAT_SKIPPED]		= "skipped",
	[TM_STAT_DRAINED]		= "drained",
	[TM_STAT_MAX_NESTING]		= "max_nesting",
	[TM_STAT_PMI_RAISED]		= "pmi_raised",
	[TM_STAT_PMI_HELD]		= "pmi_held",
	[TM_STAT_PMI_LOST]		= "pmi_lost",
	[TM_STAT_PMI_SKIDS]		= "pmi_skids",
	[TM_STAT_POKES]			= "pokes",
	[TM_STAT_BYTES]			= "bytes",
	[TM_STAT_PSBS]			= "psbs",
	[TM_STAT_BTS_RECORDS]		= "bts_records",
	[TM_STAT_USER_STEPS]		= "user_steps",
	[TM_STAT_FUNCTIONS]		= "functions",
};

DEFINE_SHOW_ATTRIBUTE(tm_violations);

/*
 * Statistics
 */

static int tm_stats_show(struct seq_file *m, void *v)
{
	unsigned long val, total;
	unsigned int i, cpu;

	for (i = 0; i < TM_NR_STATS; i++) {
		total = 0;
		for_each_possible_cpu(cpu) {
			val = READ_ONCE(per_cpu(tm_stats, cpu)[i]);
			seq_printf(m, "cpu%u.%s %lu\n", cpu, tm_stat_names[i], val);
			total = i == TM_STAT_MAX_NESTING ? max(total, val) : total + val;
		}
		seq_printf(m, "total.%s %lu\n", tm_stat_names[i], total);
	}
	return 0;
}

static int tm_stats_open(struct inode *inode, struct file *file)
{
	return single_open(file, tm_stats_show, NULL);
}

/* Any write resets. Events that are counted meanwhile may survive the reset. */
static ssize_t tm_stats_write(struct file *file, const char __user *ubuf, size_t len,
			      loff_t *ppos)
{
	unsigned int i, cpu;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < TM_NR_STATS; i++)
			WRITE_ONCE(per_cpu(tm_stats, cpu)[i], 0);
	}
	return len;
}

static const struct file_operations tm_stats_fops = {
	.owner		= THIS_MODULE,
	.open		= tm_stats_open,
	.read		= seq_read,
	.write		= tm_stats_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/*
 * Enter and leave VMX operation as KVM does: with interrupts on.
 */

static int tm_vmx_set(void *data, u64 us)
{
	if (us > TM_VMX_LONGEST_US)
		return -EINVAL;

	preempt_disable();
	intel_pt_handle_vmx(1);
	tm_set_vmx(true);
	udelay(us);
	tm_set_vmx(false);
	intel_pt_handle_vmx(0);
	preempt_enable();

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_vmx_fops, NULL, tm_vmx_set, "%llu\n");

/*
 * A VM exit as KVM does it: with interrupts off. It restores the value that it read
 * before, and an NMI may come in between.
 */
static int tm_vmexit_set(void *data, u64 val)
{
	unsigned long debugctl, flags;

	local_irq_save(flags);
	debugctl = get_debugctlmsr();
	tm_clear_debugctl();
	debugctl_restore(debugctl);
	local_irq_restore(flags);

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_vmexit_fops, NULL, tm_vmexit_set, "%llu\n");

/*
 * Suspend to RAM: what suspend_enter() does on the last CPU that runs, without the tasks
 * and devices that it has frozen by then. All who have registered for that are called, the
 * drivers of the trace among them; the trace loses its registers.
 */
static int tm_suspend_and_resume(void)
{
	unsigned long flags;
	int ret;

	local_irq_save(flags);
	ret = syscore_suspend();
	if (!ret) {
		tm_lose_power();
		perf_restore_debug_store();
		syscore_resume();
	}
	local_irq_restore(flags);

	return ret;
}

static int tm_suspend_set(void *data, u64 val)
{
	int ret = -EBUSY;

	cpus_read_lock();
	if (num_online_cpus() == 1)
		ret = tm_suspend_and_resume();
	cpus_read_unlock();

	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_suspend_fops, NULL, tm_suspend_set, "%llu\n");

/* The kernel crashes, and this CPU is stopped on the way to another one (kexec). */
static int tm_crash_set(void *data, u64 val)
{
	unsigned long flags;

	local_irq_save(flags);
	cpu_emergency_stop_pt();
	local_irq_restore(flags);

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_crash_fops, NULL, tm_crash_set, "%llu\n");

/*
 * The interrupt: mask it, have it wait, and set when it is acknowledged
 */

static int tm_mask_set(void *data, u64 val)
{
	tm_pmi_mask(val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_mask_fops, NULL, tm_mask_set, "%llu\n");

static int tm_until_set(void *data, u64 val)
{
	unsigned long ip = val ? ftrace_location(val) : 0;

	if (val && !ip)
		return -EINVAL;

	WRITE_ONCE(tm_delivery.until, ip);
	/* If there's no wait any more, all CPUs look. */
	tm_pmi_mask(tm_pmi_is_masked());
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_until_fops, NULL, tm_until_set, "%llu\n");

static int tm_ack_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", tm_ack_word());
	return 0;
}

static int tm_ack_open(struct inode *inode, struct file *file)
{
	return single_open(file, tm_ack_show, NULL);
}

static ssize_t tm_ack_write(struct file *file, const char __user *ubuf, size_t len,
			    loff_t *ppos)
{
	char word[8] = "";
	enum tm_ack ack;

	if (len >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, ubuf, len))
		return -EFAULT;
	if (!tm_ack_parse(word, &ack))
		return -EINVAL;

	tm_ack_set(ack);
	return len;
}

static const struct file_operations tm_ack_fops = {
	.owner		= THIS_MODULE,
	.open		= tm_ack_open,
	.read		= seq_read,
	.write		= tm_ack_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/*
 * Packets: the core:bus ratio, overflows of the internal buffer, and errors of the output
 */

static int tm_ratio_get(void *data, u64 *val)
{
	*val = tm_core_ratio();
	return 0;
}

static int tm_ratio_set(void *data, u64 val)
{
	if (val > U8_MAX)
		return -EINVAL;

	tm_set_ratio(val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_ratio_fops, tm_ratio_get, tm_ratio_set, "%llu\n");

static int tm_error_set(void *data, u64 val)
{
	if (val > 1)
		return -EINVAL;

	tm_output_fail(val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_error_fops, NULL, tm_error_set, "%llu\n");

/*
 * What these files can change, as the kernel's parameter has it
 */

static struct tm_delivery tm_boot_delivery __ro_after_init;
static u32 tm_boot_overflow __ro_after_init;
static bool tm_boot_step __ro_after_init;

static int tm_reset_set(void *data, u64 val)
{
	tm_ack_set(tm_config.ack);
	tm_set_ratio(0);
	tm_config.overflow = tm_boot_overflow;
	tm_config.step = tm_boot_step;
	tm_delivery = tm_boot_delivery;
	tm_output_fail(false);
	tm_pmi_mask(false);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tm_reset_fops, NULL, tm_reset_set, "%llu\n");

static int __init tm_debugfs_init(void)
{
	struct dentry *dir;

	if (!tm_config.on)
		return 0;

	tm_boot_delivery = tm_delivery;
	tm_boot_overflow = tm_config.overflow;
	tm_boot_step = tm_config.step;

	dir = debugfs_create_dir("trace_model", NULL);
	debugfs_create_file("violations", 0400, dir, NULL, &tm_violations_fops);
	debugfs_create_file("stats", 0600, dir, NULL, &tm_stats_fops);
	debugfs_create_file_unsafe("vmx", 0200, dir, NULL, &tm_vmx_fops);
	debugfs_create_file_unsafe("vmexit", 0200, dir, NULL, &tm_vmexit_fops);
	debugfs_create_file_unsafe("suspend", 0200, dir, NULL, &tm_suspend_fops);
	debugfs_create_file_unsafe("crash", 0200, dir, NULL, &tm_crash_fops);
	debugfs_create_file_unsafe("mask", 0200, dir, NULL, &tm_mask_fops);
	debugfs_create_file("ack", 0600, dir, NULL, &tm_ack_fops);
	debugfs_create_file_unsafe("ratio", 0600, dir, NULL, &tm_ratio_fops);
	debugfs_create_u32("overflow", 0600, dir, &tm_config.overflow);
	debugfs_create_file_unsafe("error", 0200, dir, NULL, &tm_error_fops);
	if (tm_config.icount != TM_NO_ICOUNT)
		debugfs_create_u32("icount", 0400, dir, &tm_config.icount);
	debugfs_create_bool("step", 0600, dir, &tm_config.step);
	debugfs_create_bool("lost", 0600, dir, &tm_delivery.lost);
	debugfs_create_u32("skid", 0600, dir, &tm_delivery.skid);
	debugfs_create_u32("seed", 0600, dir, &tm_delivery.seed);
	debugfs_create_file_unsafe("until", 0200, dir, NULL, &tm_until_fops);
	debugfs_create_file_unsafe("reset", 0200, dir, NULL, &tm_reset_fops);
	return 0;
}
fs_initcall(tm_debugfs_init);
