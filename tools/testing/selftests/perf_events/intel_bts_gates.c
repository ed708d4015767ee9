// SPDX-License-Identifier: GPL-2.0
/*
 * Intel BTS gated by events of every kind, in full trace and overwrite mode, also
 * in the middle of what the driver and others do to DEBUGCTL.
 *
 * Expected: each branch in a window has its record, those of all windows are
 * there, in order, and no other. A driver that rewinds the hardware's pointer when
 * it resumes loses the windows before. A writer of DEBUGCTL that doesn't expect a
 * gate between its read and its write switches BTS on or off behind its back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "intel_common.h"

#define ROUNDS		20
#define MAX_WINDOWS	1024
#define PAIRS		500

#ifndef PTRACE_SINGLEBLOCK
#define PTRACE_SINGLEBLOCK	33
#endif

const char *tests_miss(void)
{
	return lacks_pmu("intel_bts");
}

/* Touched by every test before it begins: page faults may be gates. */
static struct window_log window_log[MAX_WINDOWS];

/* --- Errors --- */

static int try_open(struct perf_event_attr *attr, int leader)
{
	int fd = perf_open(attr, 0, -1, leader);

	if (fd < 0)
		return errno;
	close(fd);

	return 0;
}

TEST(errors)
{
	struct perf_event_attr bts, gate;
	int leader;

	attr_init(&bts, pmu_type("intel_bts"));
	leader = perf_open(&bts, 0, -1, -1);
	ASSERT_GE(leader, 0)
		TH_LOG("%s", strerror(errno));

	attr_init(&gate, PERF_TYPE_SOFTWARE);
	gate.config = PERF_COUNT_SW_PAGE_FAULTS;
	gate.sample_period = 1;
	gate.aux_pause = 1;
	EXPECT_EQ(try_open(&gate, leader), 0);
	EXPECT_EQ(try_open(&gate, -1), EINVAL);
	gate.aux_resume = 1;
	EXPECT_EQ(try_open(&gate, leader), EINVAL);
	gate.aux_pause = 0;
	EXPECT_EQ(try_open(&gate, leader), 0);
	gate.aux_output = 1;
	EXPECT_EQ(try_open(&gate, leader), EOPNOTSUPP);
	close(leader);

	bts.aux_start_paused = 1;
	EXPECT_EQ(try_open(&bts, -1), 0);
	bts.aux_start_paused = 0;
	bts.aux_pause = 1;
	bts.sample_period = 1;
	EXPECT_EQ(try_open(&bts, -1), EINVAL);
}

/* --- Gates of every kind --- */

FIXTURE(bts_gate)
{
	struct gated gated;
	struct bts_trace trace;
};

FIXTURE_VARIANT(bts_gate)
{
	const char *kind;
};

FIXTURE_VARIANT_ADD(bts_gate, tracepoint)
{
	.kind = "tracepoint",
};

FIXTURE_VARIANT_ADD(bts_gate, kprobe)
{
	.kind = "kprobe",
};

FIXTURE_VARIANT_ADD(bts_gate, uprobe)
{
	.kind = "uprobe",
};

FIXTURE_VARIANT_ADD(bts_gate, break_resume)
{
	.kind = "break_resume",
};

FIXTURE_VARIANT_ADD(bts_gate, break_pause)
{
	.kind = "break_pause",
};

FIXTURE_VARIANT_ADD(bts_gate, watch_resume)
{
	.kind = "watch_resume",
};

FIXTURE_VARIANT_ADD(bts_gate, watch_pause)
{
	.kind = "watch_pause",
};

FIXTURE_VARIANT_ADD(bts_gate, software)
{
	.kind = "software",
};

FIXTURE_VARIANT_ADD(bts_gate, nmi)
{
	.kind = "nmi",
};

/* User code of a task on one CPU */
static void bts_init(struct gated *gated)
{
	model_watch();
	memset(window_log, 0, sizeof(window_log));
	gated_init(gated, window_log);
	gated->spec.pmu = "intel_bts";
	gated->spec.exclude_kernel = true;
	gated->spec.aux_pages = 256;
}

static void bts_open(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	ASSERT_EQ(aux_group_open(&gated->group, &gated->spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
}

static void bts_read(struct __test_metadata *_metadata, struct gated *gated,
		     struct bts_trace *trace)
{
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	ASSERT_EQ(bts_trace_read(trace, &gated->records, &gated->pos,
				 &gated->group), 0)
		TH_LOG("%s", trace->error);
}

static void bts_finish(struct __test_metadata *_metadata, struct gated *gated,
		       struct bts_trace *trace)
{
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	bts_read(_metadata, gated, trace);
}

static void expect_exact(struct __test_metadata *_metadata,
			 const struct gated *gated, __u64 more)
{
	const char *inexact = gated_inexact(gated, more);

	EXPECT_EQ(NULL, inexact)
		TH_LOG("%s", inexact);
}

/* All branches but the last of each window that was opened and closed */
static __u64 taken(const struct gated *gated, bool *exact)
{
	__u64 sum = 0;
	size_t i;

	*exact = true;
	for (i = 0; i < gated->nr; i++) {
		if (gated->log[i].loops == LOOPS_UNKNOWN)
			*exact = false;
		else if (gated->log[i].loops)
			sum += gated->log[i].loops - 1;
	}

	return sum;
}

FIXTURE_SETUP(bts_gate)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	bts_init(gated);
	gated->kind = gate_kind(variant->kind);
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP_SETUP("no %s", gated->kind->needs);

	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	if (aux_group_open(&gated->group, &gated->spec)) {
		if (errno == ENOENT || errno == ENODEV)
			SKIP_SETUP("no %s", gated->kind->needs);
		ASSERT_EQ(errno, 0)
			TH_LOG("%s", strerror(errno));
	}
	/* Page in what the tests touch. */
	gated_window(gated, 2);
	gated_window(gated, 2);
	gated->nr = 0;
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
}

FIXTURE_TEARDOWN(bts_gate)
{
	bts_trace_free(&self->trace);
	gated_close(&self->gated);
	EXPECT_EQ(model_breaches(), 0);
}

/* Every branch of every window, and not one that is outside. */
TEST_F(bts_gate, windows)
{
	struct gated *gated = &self->gated;
	size_t branches;
	bool exact;
	__u64 sum;
	int i;

	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 50 + 37 * i), 0);
	bts_finish(_metadata, gated, &self->trace);

	sum = taken(gated, &exact);
	branches = bts_branches(&self->trace, gated->kind->code);
	EXPECT_GE(branches, sum);
	EXPECT_LE(branches, exact ? sum : branches);
	if (gated->kind->code == WINDOW_CALLS) {
		EXPECT_EQ(bts_trace_match(&self->trace, gated, false), ROUNDS)
			TH_LOG("%s", self->trace.error);
	}
	EXPECT_EQ(self->trace.truncated, 0);
	expect_exact(_metadata, gated, 0);
}

/* Started paused and never resumed: not one record. */
TEST_F(bts_gate, start_paused)
{
	struct gated *gated = &self->gated;
	int i;

	ASSERT_EQ(ioctl(gated->group.resume, PERF_EVENT_IOC_DISABLE, 0), 0);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 100), 0);
	bts_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(gated->group.page->aux_head, 0);
	expect_exact(_metadata, gated, 0);
}

/* --- Levels, modes, the inside of the driver --- */

struct bts_test {
	struct gated gated;
	struct bts_trace trace;
	struct rate_limit limit;
	int cpu;
	__u64 others;		/* what gates that are closed have counted */
};

FIXTURE(bts)
{
	struct bts_test t;
};

FIXTURE_SETUP(bts)
{
	struct gated *gated = &self->t.gated;

	memset(self, 0, sizeof(*self));
	self->t.cpu = nth_cpu(0);
	bts_init(gated);
	gated->kind = gate_kind("nmi");
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP_SETUP("no %s", gated->kind->needs);
	ASSERT_EQ(rate_unlimit(&self->t.limit), 0);
}

FIXTURE_TEARDOWN(bts)
{
	bts_trace_free(&self->t.trace);
	gated_close(&self->t.gated);
	rate_restore(&self->t.limit);
	EXPECT_EQ(model_breaches(), 0);
}

static void fire(bool resumes)
{
	fire_tag(resumes ? TAG_RESUME : TAG_PAUSE);
}

/* Branches of the kind that the tests' windows have */
static void branches(unsigned long n)
{
	struct window win = {
		.open = { __NR_getppid },
		.close = { __NR_getppid },
		.loops = n,
	};

	window_code(WINDOW_CALLS, 0)->run(&win);
}

static void sleep_a_little(void)
{
	poll(NULL, 0, 2);
}

TEST_F(bts, level_kept_over_scheduling)
{
	struct gated *gated = &self->t.gated;
	int i;

	bts_open(_metadata, gated);
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(1001);
	}
	fire(true);
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(101);
	}
	fire(false);
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(1001);
	}
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), 500);
	expect_exact(_metadata, gated, 0);
}

TEST_F(bts, level_kept_over_disable)
{
	struct gated *gated = &self->t.gated;

	bts_open(_metadata, gated);
	fire(true);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	branches(1001);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	branches(101);
	fire(false);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	branches(1001);
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), 100);
	expect_exact(_metadata, gated, 0);
}

TEST_F(bts, starts_running)
{
	struct gated *gated = &self->t.gated;

	gated->spec.start_paused = false;
	bts_open(_metadata, gated);
	branches(101);
	fire(false);
	branches(1001);
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), 100);
}

/* The child begins paused, the parent is resumed when it forks. */
TEST_F(bts, child_starts_paused)
{
	struct gated *gated = &self->t.gated;
	int status;
	pid_t child;

	gated->spec.inherit = true;
	gated->spec.cpu = self->t.cpu;
	bts_open(_metadata, gated);
	fire(true);
	child = fork();
	if (!child) {
		branches(1001);
		fire(true);
		branches(11);
		fire(false);
		branches(1001);
		_exit(0);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	branches(101);
	fire(false);
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), 100 + 10);
}

/*
 * Interrupts hand over what is there, also in the middle of windows. Not one
 * record is lost or rewound, whatever comes between two windows.
 */
TEST_F(bts, interrupts)
{
	struct gated *gated = &self->t.gated;
	__u64 period = 1;
	int i;

	gated->spec.aux_pages = 8;
	gated->spec.watermark = 4096;
	bts_open(_metadata, gated);
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(gated_window(gated, 200 + 7 * (i % 10)), 0);
		if (i % 3 == 0)
			sleep_a_little();
		if (i % 7 == 0)
			ioctl(gated->group.aux, PERF_EVENT_IOC_PERIOD, &period);
		bts_read(_metadata, gated, &self->t.trace);
	}
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(self->t.trace.truncated, 0);
	EXPECT_GE(self->t.trace.records, 30);
	EXPECT_EQ(bts_trace_match(&self->t.trace, gated, false), 60)
		TH_LOG("%s", self->t.trace.error);
	expect_exact(_metadata, gated, 0);
}

/* Stop without update, and start: in windows, and between them */
TEST_F(bts, restarts)
{
	struct gated *gated = &self->t.gated;
	int i;

	if (lacks_restart())
		SKIP(return, "no %s", lacks_restart());

	bts_open(_metadata, gated);
	for (i = 0; i < 50; i++) {
		fire(true);
		branches(11);
		ASSERT_EQ(restart_event(gated->group.aux), 0)
			TH_LOG("%s", strerror(errno));
		branches(11);
		fire(false);
		ASSERT_EQ(restart_event(gated->group.aux), 0);
		branches(101);
	}
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), 50 * 20);
	EXPECT_EQ(self->t.trace.truncated, 0);
	expect_exact(_metadata, gated, 0);
}

static int wait_until_truncated(struct gated *gated)
{
	__u64 end = clock_ns() + 15000000000ULL;
	size_t i;

	do {
		branches(1001);
		i = gated->records.nr;
		if (perf_records_read(&gated->records, &gated->group))
			return -1;
		for (; i < gated->records.nr; i++) {
			if (gated->records.rec[i].type == PERF_RECORD_AUX &&
			    gated->records.rec[i].flags & PERF_AUX_FLAG_TRUNCATED)
				return 0;
		}
	} while (clock_ns() < end);

	return -1;
}

/* The area fills up: the event is disabled, and comes back at its level. */
TEST_F(bts, truncated)
{
	struct gated *gated = &self->t.gated;
	size_t before;
	int round;

	gated->spec.aux_pages = 4;
	bts_open(_metadata, gated);
	for (round = 0; round < 3; round++) {
		fire(true);
		ASSERT_EQ(wait_until_truncated(gated), 0)
			TH_LOG("not full within 15 seconds");
		bts_read(_metadata, gated, &self->t.trace);
		before = bts_branches(&self->t.trace, WINDOW_CALLS);

		ASSERT_EQ(aux_group_enable(&gated->group), 0);
		branches(51);
		fire(false);
		branches(1001);
		ASSERT_EQ(aux_group_disable(&gated->group), 0);
		ASSERT_EQ(aux_group_enable(&gated->group), 0);
		branches(1001);
		bts_read(_metadata, gated, &self->t.trace);
		EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), before + 50);
	}
	bts_finish(_metadata, gated, &self->t.trace);
	expect_exact(_metadata, gated, 0);
}

TEST_F(bts, overwrite)
{
	struct gated *gated = &self->t.gated;
	int i;

	gated->spec.overwrite = true;
	gated->spec.aux_pages = 8;
	bts_open(_metadata, gated);
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(gated_window(gated, 100 + 7 * (i % 10)), 0);
		if (i % 3 == 0)
			sleep_a_little();
	}
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(bts_trace_read_overwrite(&self->t.trace, &gated->group), 0)
		TH_LOG("%s", self->t.trace.error);

	/* All but one record is new: 32 KiB hold 1365. */
	EXPECT_GE(self->t.trace.nr, 1364);
	EXPECT_GE(bts_trace_match(&self->t.trace, gated, true), 8)
		TH_LOG("%s", self->t.trace.error);
	expect_exact(_metadata, gated, 0);
}

TEST_F(bts, counters)
{
	struct gated *gated = &self->t.gated;
	__u64 end = clock_ns() + 15000000000ULL;
	struct perf_event_attr attr;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.overwrite = true;
	attr_init(&attr, PERF_TYPE_HARDWARE);
	attr.disabled = 0;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 1000003;
	if (try_open(&attr, -1))
		SKIP(return, "no hardware counters");
	gated->spec.resume = attr;
	attr.sample_period = 1300021;
	gated->spec.pause = attr;
	bts_open(_metadata, gated);
	while (perf_records_count(&gated->records, PERF_RECORD_SAMPLE, 0) < 50) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not 50 overflows within 15 seconds");
		branches(100);
		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	}
	ASSERT_EQ(ioctl(gated->group.resume, PERF_EVENT_IOC_DISABLE, 0), 0);
	ASSERT_EQ(ioctl(gated->group.pause, PERF_EVENT_IOC_DISABLE, 0), 0);
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	ASSERT_EQ(gated->records.rec[gated->records.nr - 1].type,
		  PERF_RECORD_SAMPLE);
	EXPECT_EQ(bts_is_on(self->t.cpu),
		  gated->records.rec[gated->records.nr - 1].id ==
		  gated->group.resume_id);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	EXPECT_GT(gated->group.page->aux_head, 0);
}

/* --- What a pause and a resume cost --- */

/*
 * By tracepoints, as an NMI goes through the interrupt handler too, which switches
 * BTS off and on. But a tracepoint that hits inside a gate's own isn't counted, so
 * the model has to.
 */
TEST_F(bts, one_msr_write)
{
	struct gated *gated = &self->t.gated;
	long long modelled;
	int i;

	if (!has_model())
		SKIP(return, "the model counts");

	/* Of the CPU, not of a task: a switch of tasks stops and starts. */
	gated->spec.pid = -1;
	gated->spec.cpu = self->t.cpu;
	gated->spec.overwrite = true;
	gated->kind = gate_kind("tracepoint");
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP(return, "no %s", gated->kind->needs);

	bts_open(_metadata, gated);
	modelled = model_stat("total.write_debugctl");
	for (i = 0; i < PAIRS; i++) {
		syscall(__NR_getppid);
		syscall(__NR_getpgid, 0);
	}
	EXPECT_EQ(model_stat("total.write_debugctl"), modelled + 2 * PAIRS);

	/* What changes nothing writes nothing. */
	for (i = 0; i < 100; i++)
		syscall(__NR_getpgid, 0);
	EXPECT_EQ(model_stat("total.write_debugctl"), modelled + 2 * PAIRS);
}

/* --- Gates inside --- */

struct point {
	const char	*name;
	unsigned int	msr;
	bool		write;
};

static const struct point points[] = {
	{ "read of DEBUGCTL", MSR_DEBUGCTL, false },
	{ "write of DEBUGCTL", MSR_DEBUGCTL, true },
	/* of the interrupt handler, while it has BTS switched off */
	{ "write of GLOBAL_CTRL", MSR_GLOBAL_CTRL, true },
	{ "read of GLOBAL_STATUS", MSR_GLOBAL_STATUS, false },
	{ "write of GLOBAL_OVF_CTRL", MSR_GLOBAL_OVF_CTRL, true },
};

/*
 * Quiet: level, hardware and account agree, and gates go on to work. Ends paused,
 * and looks at nothing before: it would trace itself.
 */
static void check_level(struct __test_metadata *_metadata, struct bts_test *t,
			bool running, const char *what)
{
	const char *inexact;
	int on[3];

	on[0] = bts_is_on(t->cpu);
	fire(!running);
	on[1] = bts_is_on(t->cpu);
	fire(running);
	on[2] = bts_is_on(t->cpu);
	fire(false);

	ASSERT_EQ(on[0], running)
		TH_LOG("%s", what);
	ASSERT_EQ(on[1], !running)
		TH_LOG("%s, then %s", what, running ? "paused" : "resumed");
	ASSERT_EQ(on[2], running)
		TH_LOG("%s, then %s", what, running ? "resumed" : "paused");
	inexact = gated_inexact(&t->gated, t->others);
	ASSERT_EQ(NULL, inexact)
		TH_LOG("%s: %s", what, inexact);
}

/* One that hands over data: there is an AUX record more. */
static void wait_for_interrupt(struct gated *gated)
{
	__u64 head = gated->group.page->aux_head;
	__u64 end = clock_ns() + 10000000000ULL;

	while (__atomic_load_n(&gated->group.page->aux_head,
			       __ATOMIC_ACQUIRE) == head && clock_ns() < end)
		branches(20);
}

static void restart(struct gated *gated)
{
	__u64 period = 1;

	ioctl(gated->group.aux, PERF_EVENT_IOC_PERIOD, &period);
}

static void stop_and_go(struct gated *gated)
{
	aux_group_disable(&gated->group);
	aux_group_enable(&gated->group);
}

/* Returns whether the gate hit. */
static bool one_point(struct __test_metadata *_metadata, struct bts_test *t,
		      const struct point *point, bool resumes,
		      void (*section)(struct gated *gated))
{
	struct gated *gated = &t->gated;
	int gate = open_msr_gate(&gated->spec, &gated->group, point->msr,
				 point->write, resumes);
	/* The interrupt needs BTS to be on: a resume finds it so. */
	bool running = !resumes || section == wait_for_interrupt;
	__u64 hits;

	ASSERT_GE(gate, 0)
		TH_LOG("%s", strerror(errno));
	fire(running);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_ENABLE, 0), 0);
	section(gated);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_DISABLE, 0), 0);

	hits = perf_count(gate);
	t->others += hits;
	check_level(_metadata, t, hits ? resumes : running, point->name);
	close(gate);
	bts_read(_metadata, gated, &t->trace);

	return hits;
}

static void each_point(struct __test_metadata *_metadata,
		       struct bts_test *t,
		       void (*section)(struct gated *gated), int at_least)
{
	struct gated *gated = &t->gated;
	int hit = 0;
	size_t i;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
	bts_open(_metadata, gated);
	for (i = 0; i < 2 * ARRAY_SIZE(points); i++)
		hit += one_point(_metadata, t, &points[i / 2], i & 1, section);
	bts_finish(_metadata, gated, &t->trace);

	/* The gates did get inside. */
	EXPECT_GE(hit, at_least);
	EXPECT_EQ(t->trace.truncated, 0);
}

TEST_F(bts, gates_inside_start_and_stop)
{
	each_point(_metadata, &self->t, restart, 2);
}

TEST_F(bts, gates_inside_stop)
{
	each_point(_metadata, &self->t, stop_and_go, 2);
}

TEST_F(bts, gates_inside_interrupt)
{
	each_point(_metadata, &self->t, wait_for_interrupt, 6);
}

/* --- DEBUGCTL is not BTS's alone --- */

/*
 * Block stepping switches another bit of it with each switch to and from the
 * stepped task. Gates hit between the read and the write of that.
 */
static pid_t start_stepped_child(int cpu)
{
	int status;
	pid_t child = fork();

	if (!child) {
		pin_to_cpu(cpu);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			branches(10);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;

	return child;
}

static int step_child(pid_t child, int steps)
{
	int status;

	for (; steps; steps--) {
		if (ptrace(PTRACE_SINGLEBLOCK, child, NULL, NULL) ||
		    waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			return -1;
	}

	return 0;
}

static void block_steps(struct __test_metadata *_metadata,
			struct bts_test *t, pid_t child,
			const struct point *point, bool resumes)
{
	struct gated *gated = &t->gated;
	int gate = open_msr_gate(&gated->spec, &gated->group, point->msr,
				 point->write, resumes);

	ASSERT_GE(gate, 0);
	fire(!resumes);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_ENABLE, 0), 0);
	if (step_child(child, 10)) {
		kill(child, SIGKILL);
		SKIP(return, "no PTRACE_SINGLEBLOCK");
	}
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_DISABLE, 0), 0);

	EXPECT_GE(perf_count(gate), 10)
		TH_LOG("%s", point->name);
	t->others += perf_count(gate);
	check_level(_metadata, t, resumes, point->name);
	close(gate);
}

TEST_F(bts, debugctl_shared_with_block_step)
{
	struct gated *gated = &self->t.gated;
	int status, i;
	pid_t child;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.pid = -1;
	gated->spec.cpu = self->t.cpu;
	gated->spec.overwrite = true;
	bts_open(_metadata, gated);
	child = start_stepped_child(self->t.cpu);
	ASSERT_GT(child, 0);
	for (i = 0; i < 4; i++)
		block_steps(_metadata, &self->t, child, &points[i / 2], i & 1);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

TEST_HARNESS_MAIN
