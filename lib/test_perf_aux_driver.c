// SPDX-License-Identifier: GPL-2.0
/*
 * test_aux: PMUs with an AUX area, in software.
 *
 * Three PMUs for the tests of the AUX area code, of pause and resume, and of the
 * tools. They run on any machine:
 *
 *	test_aux		scatter-gather, can be paused
 *	test_aux_contig		only writes to physically contiguous memory at a
 *				time (PERF_PMU_CAP_AUX_NO_SG), can be paused
 *	test_aux_nopause	as test_aux, without PERF_PMU_CAP_AUX_PAUSE
 *
 * The trace is a stream that a test can verify to the last byte, see
 * test_perf_aux_uapi.h.
 *
 * This file is also an example of how a driver supports pause and resume; the rules are
 * in Documentation/trace/perf-aux-action.rst. For this driver, they mean:
 *
 *  1. All code that touches the engine, except for pause and resume, runs between
 *     perf_aux_action_hold() and perf_aux_action_release(). So a pause or resume
 *     always finds driver and engine in a consistent state, even if it comes by
 *     NMI; a request in the section is executed at its end.
 *  2. The section leaves the engine in the state that perf_aux_action_hold() returned.
 *  3. A pause or resume switches the engine only. It doesn't change the AUX
 *     transaction, and does nothing if there is none.
 *  4. A resume that switches the engine on begins a window, a pause that switches it off
 *     ends one. perf_aux_window_end() may ask for the output to be put back to where the
 *     window began.
 *
 * AUX samples are the exception: they may come by NMI at any place, also in a
 * section, a pause or a resume. test_aux_cpu::open and test_aux_engine::busy tell
 * them when to keep off.
 *
 * For the example, ignore what is there for tests: test_aux_point(), where tests can
 * fire an NMI, test_aux_count(), and test_aux_require(): a driver need not check what
 * the core promises.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>

#include "test_perf_aux.h"

#define TEST_AUX_TICK_MIN	(50 * NSEC_PER_USEC)
#define TEST_AUX_TICK_MAX	NSEC_PER_MSEC

struct test_aux_pmu {
	struct pmu			pmu;
	const char			*name;
	struct test_aux_cpu __percpu	*cpu;
};

static struct test_aux_cpu *test_aux_this_cpu(struct perf_event *event)
{
	struct test_aux_pmu *tpmu = container_of(event->pmu, struct test_aux_pmu, pmu);

	return this_cpu_ptr(tpmu->cpu);
}

NOKPROBE_SYMBOL(test_aux_this_cpu);

/*
 * Sections, in which there is no pause or resume
 */

static bool test_aux_hold(struct perf_event *event, struct test_aux_cpu *cpu)
{
	bool paused = perf_aux_action_hold(event);

	cpu->held++;
	return paused;
}

static void test_aux_release(struct perf_event *event, struct test_aux_cpu *cpu)
{
	/* Before the release: an NMI from here on is no longer in the section. */
	cpu->held--;
	barrier();
	perf_aux_action_release(event);
}

static void test_aux_set(struct test_aux_cpu *cpu, bool paused, u8 why)
{
	if (paused)
		test_aux_engine_off(&cpu->engine, why);
	else
		test_aux_engine_on(&cpu->engine, why);
}

/*
 * Pause and resume: ->stop() with PERF_EF_PAUSE and ->start() with PERF_EF_RESUME
 *
 * In any context, but never inside one another or inside a section. The core
 * guarantees that, and it is checked here.
 */

static bool test_aux_action_enter(struct perf_event *event, struct test_aux_cpu *cpu)
{
	bool ok;

	ok = test_aux_require(irqs_disabled(), "action with interrupts enabled") &&
	     test_aux_require(event->oncpu == smp_processor_id(),
			      "action on the wrong CPU") &&
	     test_aux_require(event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE,
			      "action for a PMU without the capability") &&
	     test_aux_require(!cpu->held, "action in a section") &&
	     test_aux_require(!cpu->acting, "action in an action");
	if (ok)
		WRITE_ONCE(cpu->acting, true);

	return ok;
}

NOKPROBE_SYMBOL(test_aux_action_enter);

static void test_aux_pause(struct perf_event *event)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);

	test_aux_count(TEST_AUX_PAUSES);
	if (!test_aux_action_enter(event, cpu))
		return;

	test_aux_point(PAUSE_ENTRY);
	if (!event->hw.state) {
		test_aux_engine_off(&cpu->engine, TEST_PERF_AUX_BY_PAUSE);
		if (cpu->tracing && perf_aux_window_end(event))
			test_aux_engine_rewind(&cpu->engine);
		cpu->tracing = false;
	}
	test_aux_point(PAUSE_EXIT);
	WRITE_ONCE(cpu->acting, false);
}

NOKPROBE_SYMBOL(test_aux_pause);

/*
 * Starts a paused event, not a stopped one, which has no transaction.
 *
 * Interrupts are disabled and the tick is an interrupt, so an event that is not stopped
 * stays so. A driver whose interrupt is an NMI and may stop the event has to check the
 * state once more after switching on, and switch off if it is stopped.
 */
static void test_aux_resume(struct perf_event *event)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);

	test_aux_count(TEST_AUX_RESUMES);
	if (!test_aux_action_enter(event, cpu))
		return;

	test_aux_point(RESUME_ENTRY);
	if (!event->hw.state) {
		if (!cpu->tracing && perf_aux_window_begin(event))
			test_aux_engine_mark(&cpu->engine);
		cpu->tracing = true;
		test_aux_engine_on(&cpu->engine, TEST_PERF_AUX_BY_RESUME);
	}
	test_aux_point(RESUME_EXIT);
	WRITE_ONCE(cpu->acting, false);
}

NOKPROBE_SYMBOL(test_aux_resume);

/*
 * Start and stop, with interrupts disabled on the CPU of the event
 */

static void test_aux_open(struct test_aux_cpu *cpu, struct perf_event *event)
{
	event->hw.state = 0;
	barrier();
	WRITE_ONCE(cpu->open, true);
}

static void test_aux_shut(struct test_aux_cpu *cpu, struct perf_event *event)
{
	WRITE_ONCE(cpu->open, false);
	barrier();
	event->hw.state = PERF_HES_STOPPED;
}

/*
 * Half of the time until there is something to do, so that the tick comes in time. This
 * applies to a paused engine too, as the next resume may fill the room.
 */
static u64 test_aux_tick_delay(struct test_aux_cpu *cpu)
{
	u64 packets = min(cpu->engine.room, cpu->turnover) / TEST_AUX_PACKET;

	return clamp_t(u64, packets / 2 * cpu->engine.period, TEST_AUX_TICK_MIN,
		       TEST_AUX_TICK_MAX);
}

static void test_aux_start(struct perf_event *event, int flags)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);
	bool paused;

	if (flags & PERF_EF_RESUME) {
		test_aux_resume(event);
		return;
	}

	test_aux_count(TEST_AUX_STARTS);
	if (!test_aux_require(!cpu->open, "start of a started event"))
		return;

	test_aux_point(START_ENTRY);
	paused = test_aux_hold(event, cpu);
	test_aux_point(START_HELD);
	if (test_aux_begin(event, cpu)) {
		test_aux_point(START_BEGUN);
		test_aux_open(cpu, event);
		test_aux_point(START_ARMED);
		cpu->tracing = !paused;
		test_aux_set(cpu, paused, TEST_PERF_AUX_BY_START);
		test_aux_point(START_ON);
		hrtimer_start(&cpu->tick, ns_to_ktime(test_aux_tick_delay(cpu)),
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	test_aux_release(event, cpu);
	test_aux_point(START_RELEASED);
}

NOKPROBE_SYMBOL(test_aux_start);

/*
 * The transaction must end here whatever the flags are: the core relies on it when
 * the AUX area goes away.
 */
static void test_aux_stop(struct perf_event *event, int flags)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);

	if (flags & PERF_EF_PAUSE) {
		test_aux_pause(event);
		return;
	}

	test_aux_count(TEST_AUX_STOPS);
	test_aux_point(STOP_ENTRY);
	test_aux_hold(event, cpu);
	test_aux_point(STOP_HELD);
	if (cpu->open && cpu->handle.event == event) {
		test_aux_shut(cpu, event);
		test_aux_point(STOP_CLOSED);
		test_aux_engine_off(&cpu->engine, TEST_PERF_AUX_BY_STOP);
		test_aux_point(STOP_OFF);
		test_aux_end(cpu);
		test_aux_point(STOP_ENDED);
		/* Pinned to this CPU, so its callback isn't running. */
		hrtimer_cancel(&cpu->tick);
	}
	test_aux_release(event, cpu);
	test_aux_point(STOP_RELEASED);
}

NOKPROBE_SYMBOL(test_aux_stop);

/* An event without an AUX area stays stopped. Without room in it, it can't be added. */
static int test_aux_add(struct perf_event *event, int flags)
{
	if (test_aux_this_cpu(event)->open)
		return -EBUSY;

	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		test_aux_start(event, flags);

	return event->pending_disable ? -EINVAL : 0;
}

static void test_aux_del(struct perf_event *event, int flags)
{
	test_aux_stop(event, PERF_EF_UPDATE);
}

static void test_aux_read(struct perf_event *event)
{
}

/*
 * The interrupt of the hardware
 */

/* Hand over data to the reader and begin a new transaction. The engine is off meanwhile. */
static void test_aux_turnover(struct perf_event *event, struct test_aux_cpu *cpu,
			      bool paused)
{
	test_aux_count(TEST_AUX_TURNOVERS);
	test_aux_shut(cpu, event);
	test_aux_point(TICK_CLOSED);
	test_aux_engine_off(&cpu->engine, TEST_PERF_AUX_BY_TICK);
	test_aux_point(TICK_OFF);

	if (!test_aux_end(cpu))
		return;

	test_aux_point(TICK_ENDED);
	if (!test_aux_begin(event, cpu))
		return;

	test_aux_point(TICK_BEGUN);
	test_aux_open(cpu, event);
	cpu->tracing = !paused;
	test_aux_set(cpu, paused, TEST_PERF_AUX_BY_TICK);
	test_aux_point(TICK_ON);
}

static enum hrtimer_restart test_aux_tick(struct hrtimer *timer)
{
	struct test_aux_cpu *cpu = container_of(timer, struct test_aux_cpu, tick);
	struct test_aux_engine *engine = &cpu->engine;
	struct perf_event *event = cpu->handle.event;
	bool paused;

	if (!cpu->open)
		return HRTIMER_NORESTART;

	test_aux_count(TEST_AUX_TICKS);
	paused = test_aux_hold(event, cpu);
	test_aux_point(TICK_HELD);
	test_aux_engine_sync(engine);
	if (engine->full || engine->written >= cpu->turnover)
		test_aux_turnover(event, cpu, paused);
	test_aux_release(event, cpu);
	test_aux_point(TICK_RELEASED);

	if (!cpu->open)
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(test_aux_tick_delay(cpu)));

	return HRTIMER_RESTART;
}

/*
 * AUX samples
 */

/* The core has put the size into the sample, so something has to fill it. */
static long test_aux_copy_zeroes(struct perf_output_handle *handle, unsigned long size)
{
	unsigned long len, left;

	for (left = size; left; left -= len) {
		len = min(left, PAGE_SIZE);
		if (perf_output_copy(handle, page_address(ZERO_PAGE(0)), len))
			return -EFAULT;
	}

	return size;
}

static long test_aux_copy_newest(struct test_aux_cpu *cpu, bool paused,
				 struct perf_output_handle *handle,
				 unsigned long size)
{
	struct test_aux_engine *engine = &cpu->engine;
	long ret;

	test_aux_engine_off(engine, TEST_PERF_AUX_BY_SNAPSHOT);
	test_aux_point(SNAPSHOT_OFF);
	ret = perf_output_copy_aux(&cpu->handle, handle, engine->pos - size,
				   engine->pos);
	test_aux_point(SNAPSHOT_COPIED);
	test_aux_set(cpu, paused, TEST_PERF_AUX_BY_SNAPSHOT);
	test_aux_point(SNAPSHOT_ON);

	return ret;
}

/*
 * Copy the newest bytes for a sample. An NMI can call this at any place. If it interrupted
 * driver or engine in an inconsistent state, the sample gets zeroes.
 */
static long test_aux_snapshot(struct perf_event *event,
			      struct perf_output_handle *handle, unsigned long size)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);
	bool paused;
	long ret;

	test_aux_count(TEST_AUX_SNAPSHOTS);
	paused = test_aux_hold(event, cpu);
	test_aux_point(SNAPSHOT_HELD);
	if (READ_ONCE(cpu->open) && cpu->handle.event == event &&
	    !READ_ONCE(cpu->engine.busy)) {
		ret = test_aux_copy_newest(cpu, paused, handle, size);
	} else {
		test_aux_count(TEST_AUX_SNAPSHOTS_MISSED);
		ret = test_aux_copy_zeroes(handle, size);
	}
	test_aux_release(event, cpu);
	test_aux_point(SNAPSHOT_RELEASED);

	return ret;
}

/*
 * Events, PMUs
 */

static int test_aux_event_init(struct perf_event *event)
{
	u64 period = event->attr.config;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	if (has_branch_stack(event))
		return -EOPNOTSUPP;

	if (period > U32_MAX || (period && period < TEST_PERF_AUX_PERIOD_MIN))
		return -EINVAL;

	event->hw.config = period ?: TEST_PERF_AUX_PERIOD;
	event->hw.state = PERF_HES_STOPPED;
	test_aux_account_event(event);

	return 0;
}

PMU_FORMAT_ATTR(period, "config:0-31");

static struct attribute *test_aux_format_attrs[] = {
	&format_attr_period.attr,
	NULL
};

static const struct attribute_group test_aux_format_group = {
	.name	= "format",
	.attrs	= test_aux_format_attrs,
};

static const struct attribute_group *test_aux_attr_groups[] = {
	&test_aux_format_group,
	NULL
};

#define TEST_AUX_CAPABILITIES	(PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE)

#define TEST_AUX_PMU(_name, _capabilities) {				\
	.name = (_name),						\
	.pmu = {							\
		.module		= THIS_MODULE,				\
		.capabilities	= TEST_AUX_CAPABILITIES | (_capabilities), \
		.task_ctx_nr	= perf_sw_context,			\
		.attr_groups	= test_aux_attr_groups,			\
		.event_init	= test_aux_event_init,			\
		.add		= test_aux_add,				\
		.del		= test_aux_del,				\
		.start		= test_aux_start,			\
		.stop		= test_aux_stop,			\
		.read		= test_aux_read,			\
		.setup_aux	= test_aux_setup_aux,			\
		.free_aux	= test_aux_free_aux,			\
		.aux_counts	= test_aux_counts,			\
		.snapshot_aux	= test_aux_snapshot,			\
	},								\
}

static struct test_aux_pmu test_aux_pmus[] = {
	TEST_AUX_PMU("test_aux", PERF_PMU_CAP_AUX_PAUSE | PERF_PMU_CAP_AUX_DISCARD),
	TEST_AUX_PMU("test_aux_contig", PERF_PMU_CAP_AUX_PAUSE | PERF_PMU_CAP_AUX_DISCARD |
					PERF_PMU_CAP_AUX_NO_SG),
	TEST_AUX_PMU("test_aux_nopause", 0),
};

static void test_aux_unregister(struct test_aux_pmu *tpmu)
{
	perf_pmu_unregister(&tpmu->pmu);
	free_percpu(tpmu->cpu);
}

static int __init test_aux_register(struct test_aux_pmu *tpmu)
{
	struct hrtimer *tick;
	int cpu, ret;

	tpmu->cpu = alloc_percpu(struct test_aux_cpu);
	if (!tpmu->cpu)
		return -ENOMEM;

	for_each_possible_cpu(cpu) {
		tick = &per_cpu_ptr(tpmu->cpu, cpu)->tick;
		hrtimer_init(tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		tick->function = test_aux_tick;
	}

	ret = perf_pmu_register(&tpmu->pmu, tpmu->name, -1);
	if (ret)
		free_percpu(tpmu->cpu);

	return ret;
}

static int __init test_aux_init(void)
{
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(test_aux_pmus); i++) {
		ret = test_aux_register(&test_aux_pmus[i]);
		if (ret)
			goto unregister;
	}

	test_aux_debugfs_init();

	return 0;

unregister:
	while (i--)
		test_aux_unregister(&test_aux_pmus[i]);

	return ret;
}

/* Each event holds a reference to the module, so none is left here. */
static void __exit test_aux_exit(void)
{
	int i;

	test_aux_debugfs_exit();
	for (i = 0; i < ARRAY_SIZE(test_aux_pmus); i++)
		test_aux_unregister(&test_aux_pmus[i]);
}

module_init(test_aux_init);
module_exit(test_aux_exit);
MODULE_DESCRIPTION("Test PMUs with an AUX area");
MODULE_LICENSE("GPL");
