// SPDX-License-Identifier: GPL-2.0
/*
 * Stop and start an event without an update, from user space.
 *
 * The throttling of a group calls ->stop() without PERF_EF_UPDATE for each of its
 * members, and in some kernels for an AUX area event. This kernel doesn't do the
 * latter, but a driver has to cope with it. So the perf selftests do it:
 *
 *	/sys/kernel/debug/test_perf_restart
 *
 * A write of an event's file descriptor stops the event and starts it again on
 * the CPU on which it is active. The write fails with EAGAIN if it isn't active
 * at that moment.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/init.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

struct test_restart {
	struct perf_event	*event;
	int			ret;
};

/* Interrupts are disabled, so the event isn't scheduled out meanwhile. */
static void test_restart_on_cpu(void *data)
{
	struct test_restart *restart = data;
	struct perf_event *event = restart->event;

	restart->ret = -EAGAIN;
	if (READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE ||
	    READ_ONCE(event->oncpu) != smp_processor_id())
		return;

	perf_pmu_disable(event->pmu);
	event->pmu->stop(event, 0);
	event->pmu->start(event, 0);
	perf_pmu_enable(event->pmu);
	restart->ret = 0;
}

static int test_restart_event(struct perf_event *event)
{
	struct test_restart restart = { .event = event, .ret = -EAGAIN };
	int cpu = READ_ONCE(event->oncpu);

	if (cpu >= 0 &&
	    smp_call_function_single(cpu, test_restart_on_cpu, &restart, 1))
		return -EAGAIN;

	return restart.ret;
}

static int test_restart_set(void *data, u64 fd)
{
	struct file *file = perf_event_get(fd);
	int ret;

	if (IS_ERR(file))
		return PTR_ERR(file);

	ret = test_restart_event(file->private_data);
	fput(file);

	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_restart_fops, NULL, test_restart_set, "%llu\n");

static int __init test_restart_init(void)
{
	debugfs_create_file_unsafe("test_perf_restart", 0200, NULL, NULL,
				   &test_restart_fops);

	return 0;
}
late_initcall(test_restart_init);
