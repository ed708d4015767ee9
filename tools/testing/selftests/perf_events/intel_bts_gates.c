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
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

PROGRAM_NEEDS(lacks_pmu("intel_bts"))

/* Touched by every test before it begins: page faults may be gates. */
static struct window_log window_log[MAX_WINDOWS];

/* --- Errors --- */

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
	EXPECT_EQ(perf_try_open(&gate, leader), 0);
	EXPECT_EQ(perf_try_open(&gate, -1), EINVAL);
	gate.aux_resume = 1;
	EXPECT_EQ(perf_try_open(&gate, leader), EINVAL);
	gate.aux_pause = 0;
	EXPECT_EQ(perf_try_open(&gate, leader), 0);
	gate.aux_output = 1;
	EXPECT_EQ(perf_try_open(&gate, leader), EOPNOTSUPP);
	close(leader);

	bts.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&bts, -1), 0);
	bts.aux_start_paused = 0;
	bts.aux_pause = 1;
	bts.sample_period = 1;
	EXPECT_EQ(perf_try_open(&bts, -1), EINVAL);
}

/* --- Gates of every kind --- */

FIXTURE(gate)
{
	struct gated gated;
	struct bts_trace trace;
};

#include "intel_gate_variants.h"

/* User code of a task on one CPU */
static void bts_init(struct gated *gated)
{
	model_watch();
	memset(window_log, 0, sizeof(window_log));
	gated_init(gated, "intel_bts", window_log);
	gated->spec.exclude_kernel = true;
	gated->spec.aux_pages = 256;
}

static void bts_open(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(gated_open(gated), 0)
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
			 const struct gated *gated)
{
	const char *inexact = gated_inexact(gated);

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

FIXTURE_SETUP(gate)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	bts_init(gated);
	if (gated_open_kind(gated, variant->kind)) {
		if (errno == ENOENT || errno == ENODEV)
			SKIP_SETUP("no %s", gated->kind->needs);
		ASSERT_EQ(errno, 0)
			TH_LOG("%s", strerror(errno));
	}
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
}

FIXTURE_TEARDOWN(gate)
{
	bts_trace_free(&self->trace);
	gated_close(&self->gated);
	EXPECT_EQ(model_breaches(), 0);
}

/* Every branch of every window, and not one that is outside. */
TEST_F(gate, windows)
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
	if (exact && gated->kind->code == WINDOW_CALLS) {
		EXPECT_EQ(bts_trace_match(&self->trace, gated, false), ROUNDS)
			TH_LOG("%s", self->trace.error);
	}
	EXPECT_EQ(self->trace.truncated, 0);
	expect_exact(_metadata, gated);
}

/* Started paused and never resumed: not one record. */
TEST_F(gate, start_paused)
{
	struct gated *gated = &self->gated;
	int i;

	ASSERT_EQ(ioctl(gated->group.resume, PERF_EVENT_IOC_DISABLE, 0), 0);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 100), 0);
	bts_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(gated->group.page->aux_head, 0);
	expect_exact(_metadata, gated);
}

/* --- Levels, modes, the inside of the driver --- */

struct bts_test {
	struct gated gated;
	struct bts_trace trace;
	struct rate_limit limit;
};

FIXTURE(bts)
{
	struct bts_test t;
};

FIXTURE_SETUP(bts)
{
	struct gated *gated = &self->t.gated;

	memset(self, 0, sizeof(*self));
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

/*
 * A branch event with a period of one makes samples of what BTS stores, in memory of its
 * own. After intel_bts the hardware has that again: it is made anew only when there was no
 * hardware event at all.
 */
TEST(branch_event_afterwards)
{
	struct perf_event_mmap_page *page;
	struct perf_event_attr attr;
	struct gated gated = { };
	int fd, other;

	attr_cycles(&attr, 1000003);
	other = perf_open(&attr, 0, -1, -1);
	bts_init(&gated);
	gated.kind = gate_kind("tracepoint");
	if (gated.kind->setup(&gated.spec, &gated.win))
		SKIP(return, "no %s", gated.kind->needs);
	bts_open(_metadata, &gated);
	branches(100);
	ASSERT_EQ(aux_group_disable(&gated.group), 0);
	gated_close(&gated);

	attr_cycles(&attr, 1);
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	fd = perf_open(&attr, 0, gated.cpu, -1);
	if (fd < 0)
		SKIP(return, "no event of branches: %s", strerror(errno));
	page = mmap(NULL, 65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(page, MAP_FAILED);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	branches(1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_GE(page->data_head, 1000 * sizeof(struct perf_event_header));
	munmap(page, 65 * 4096);
	close(fd);
	close(other);
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
	expect_exact(_metadata, gated);
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
	expect_exact(_metadata, gated);
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
	gated->spec.cpu = gated->cpu;
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
	int i;

	gated->spec.aux_pages = 8;
	gated->spec.watermark = 4096;
	bts_open(_metadata, gated);
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(gated_window(gated, 200 + 7 * (i % 10)), 0);
		if (i % 3 == 0)
			sleep_a_little();
		if (i % 7 == 0)
			aux_group_restart(&gated->group);
		bts_read(_metadata, gated, &self->t.trace);
	}
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(self->t.trace.truncated, 0);
	EXPECT_GE(self->t.trace.records, 30);
	EXPECT_EQ(bts_trace_match(&self->t.trace, gated, false), 60)
		TH_LOG("%s", self->t.trace.error);
	expect_exact(_metadata, gated);
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
	expect_exact(_metadata, gated);
}

static void fill(struct gated *gated)
{
	branches(1001);
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
		ASSERT_EQ(gated_wait_truncated(gated, fill), 0)
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
	expect_exact(_metadata, gated);
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
	expect_exact(_metadata, gated);
}

TEST_F(bts, counters)
{
	struct gated *gated = &self->t.gated;
	__u64 end = clock_ns() + 15000000000ULL;
	struct perf_event_attr attr;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.overwrite = true;
	attr_cycles(&attr, 1000003);
	if (perf_try_open(&attr, -1))
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
	EXPECT_EQ(bts_is_on(gated->cpu), !gated_is_paused(gated));
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
	gated->spec.cpu = gated->cpu;
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

static const struct msr_point points[] = {
	{ "read of DEBUGCTL", MSR_DEBUGCTL, false },
	{ "write of DEBUGCTL", MSR_DEBUGCTL, true },
	/* of the interrupt handler, while it has BTS switched off */
	{ "write of GLOBAL_CTRL", MSR_GLOBAL_CTRL, true },
	{ "read of GLOBAL_STATUS", MSR_GLOBAL_STATUS, false },
	{ "write of GLOBAL_OVF_CTRL", MSR_GLOBAL_OVF_CTRL, true },
};

static void a_few_branches(struct gated *gated)
{
	branches(20);
}

static void do_interrupt(struct gated *gated)
{
	gated_wait_handed_over(gated, a_few_branches);
}

static void do_restart(struct gated *gated)
{
	aux_group_restart(&gated->group);
}

/* Gates of a group go after its leader, and come after it: ->stop() alone. */
static void do_disable(struct gated *gated)
{
	aux_group_disable(&gated->group);
	aux_group_enable(&gated->group);
}

/* Returns at how many points gates hit. */
static int each_point(struct __test_metadata *_metadata, struct bts_test *t,
		      enum gate_way way, void (*section)(struct gated *gated))
{
	struct gated *gated = &t->gated;
	const char *error = NULL;
	int hit = 0, i;
	long hits;

	for (i = 0; i < 2 * (int)ARRAY_SIZE(points); i++) {
		bool resumes = i & 1;
		/* The interrupt needs BTS to be on: a resume finds it so. */
		bool running = !resumes || section == do_interrupt;

		hits = gated_at_point(gated, &points[i / 2], way, resumes,
				      running, section, &error);
		ASSERT_GE(hits, 0)
			TH_LOG("%s", error);
		hit += !!hits;
		bts_read(_metadata, gated, &t->trace);
	}

	return hit;
}

static void open_for_points(struct __test_metadata *_metadata,
			    struct gated *gated)
{
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
	bts_open(_metadata, gated);
}

TEST_F(bts, gates_inside_start_and_stop)
{
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	open_for_points(_metadata, &self->t.gated);
	/* The gates did get inside. */
	EXPECT_GE(each_point(_metadata, &self->t, BY_TRACEPOINT, do_restart), 2);
	EXPECT_GE(each_point(_metadata, &self->t, BY_TRACEPOINT, do_disable), 2);
	bts_finish(_metadata, &self->t.gated, &self->t.trace);
	EXPECT_EQ(self->t.trace.truncated, 0);
}

TEST_F(bts, nmi_gates_inside_start_and_stop)
{
	const char *missing = lacks_msr() ?: lacks_nmi_at_msr();

	if (missing)
		SKIP(return, "no %s", missing);

	open_for_points(_metadata, &self->t.gated);
	EXPECT_GE(each_point(_metadata, &self->t, BY_NMI, do_restart), 2);
	EXPECT_GE(each_point(_metadata, &self->t, BY_NMI, do_disable), 2);
	bts_finish(_metadata, &self->t.gated, &self->t.trace);
	EXPECT_EQ(self->t.trace.truncated, 0);
}

TEST_F(bts, gates_inside_interrupt)
{
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	open_for_points(_metadata, &self->t.gated);
	EXPECT_GE(each_point(_metadata, &self->t, BY_TRACEPOINT, do_interrupt), 6);
	bts_finish(_metadata, &self->t.gated, &self->t.trace);
	EXPECT_EQ(self->t.trace.truncated, 0);
}

/* --- Interrupts at the wrong moment --- */

/* Run @section with NMIs at @point that are of no interest to BTS. */
static void nmis_inside(struct __test_metadata *_metadata, struct gated *gated,
			const struct msr_point *point,
			void (*section)(struct gated *gated))
{
	ASSERT_EQ(nmi_at_msr(point, TAG_NONE), 0);
	section(gated);
	EXPECT_GT(nmi_at_msr_off(), 0)
		TH_LOG("%s", point->name);
}

static void do_stop(struct gated *gated)
{
	aux_group_disable(&gated->group);
}

static void do_start(struct gated *gated)
{
	aux_group_enable(&gated->group);
}

/*
 * Every NMI runs the interrupt handler, which switches BTS off and on again. Where it
 * hits ->stop() behind the driver's own switching off, BTS must stay off: its buffer
 * is given back.
 */
TEST_F(bts, interrupts_inside_start_and_stop)
{
	const char *missing = lacks_msr() ?: lacks_nmi_at_msr();
	struct gated *gated = &self->t.gated;
	int i;

	if (missing)
		SKIP(return, "no %s", missing);

	bts_open(_metadata, gated);
	for (i = 0; i < 10; i++) {
		fire(true);
		branches(11);
		nmis_inside(_metadata, gated, &points[i & 1], do_stop);
		ASSERT_EQ(bts_is_on(gated->cpu), 0)
			TH_LOG("on behind ->stop(), NMI at %s", points[i & 1].name);
		branches(101);
		nmis_inside(_metadata, gated, &points[i & 1], do_start);
		branches(11);
		nmis_inside(_metadata, gated, &points[i & 1], do_restart);
		branches(11);
		fire(false);
	}
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), 10 * 30);
	EXPECT_EQ(self->t.trace.truncated, 0);
	expect_exact(_metadata, gated);
}

static int read_more(struct gated *gated, void *trace)
{
	if (perf_records_read(&gated->records, &gated->group))
		return -1;

	return bts_trace_read(trace, &gated->records, &gated->pos, &gated->group);
}

/* Of as many branches as no other one nearby has */
static void next_window(struct gated *gated)
{
	unsigned int taken = 1 + gated->nr % 50;

	fire(true);
	branches(1 + taken);
	fire(false);
	gated->log[gated->nr++ % MAX_WINDOWS].loops += taken;
}

/* It hands over what there is, and leaves BTS off. */
TEST_F(bts, interrupts_while_paused)
{
	struct late_trace to = { read_more, &self->t.trace };
	struct gated *gated = &self->t.gated;
	const char *wrong;
	size_t sum = 0;
	int load, i;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.watermark = 16384;
	load = gated_open_late(gated);
	ASSERT_GE(load, 0);
	wrong = gated_late_interrupts(gated, &to, next_window);
	EXPECT_EQ(NULL, wrong)
		TH_LOG("%s %s", wrong, self->t.trace.error);
	bts_finish(_metadata, gated, &self->t.trace);
	close(load);

	for (i = 0; i < MAX_WINDOWS; i++)
		sum += gated->log[i].loops;
	EXPECT_EQ(bts_branches(&self->t.trace, WINDOW_CALLS), sum);
	EXPECT_EQ(self->t.trace.truncated, 0);
	expect_exact(_metadata, gated);
}

FIXTURE(bts_ack)
{
	struct bts_test t;
};

FIXTURE_VARIANT(bts_ack)
{
	const char *when;
};

FIXTURE_VARIANT_ADD(bts_ack, early)
{
	.when = "early",
};

FIXTURE_VARIANT_ADD(bts_ack, mid)
{
	.when = "mid",
};

FIXTURE_VARIANT_ADD(bts_ack, late)
{
	.when = "late",
};

FIXTURE_SETUP(bts_ack)
{
	struct gated *gated = &self->t.gated;

	if (!has_model())
		SKIP_SETUP("only the model is CPUs of all kinds");

	memset(self, 0, sizeof(*self));
	bts_init(gated);
	gated->kind = gate_kind("nmi");
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP_SETUP("no %s", gated->kind->needs);
	ASSERT_EQ(rate_unlimit(&self->t.limit), 0);
	ASSERT_EQ(model_ack(variant->when), 0);
	gated->spec.exclude_kernel = false;
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
}

FIXTURE_TEARDOWN(bts_ack)
{
	bts_trace_free(&self->t.trace);
	gated_close(&self->t.gated);
	rate_restore(&self->t.limit);
	EXPECT_EQ(model_ack("cpu"), 0);
	EXPECT_EQ(model_breaches(), 0);
}

/*
 * With the kernel in the trace, BTS asks for interrupts in NMIs, too: in those of
 * gates, and in its own ones once it is on again. Each comes behind that NMI, and has
 * something to do: an interrupt that nobody claims is a breach.
 */
static void interrupts_in_nmis(struct __test_metadata *_metadata, struct bts_test *t)
{
	struct gated *gated = &t->gated;
	__u64 end = clock_ns() + 20000000000ULL;

	while (t->trace.records < 30) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%lu AUX records", t->trace.records);
		fire(true);
		branches(20);
		fire(false);
		bts_read(_metadata, gated, &t->trace);
		if (t->trace.truncated) {
			t->trace.truncated = 0;
			ASSERT_EQ(aux_group_enable(&gated->group), 0);
		}
	}
}

TEST_F(bts_ack, gates_by_nmi)
{
	bts_open(_metadata, &self->t.gated);
	interrupts_in_nmis(_metadata, &self->t);
	bts_finish(_metadata, &self->t.gated, &self->t.trace);
	expect_exact(_metadata, &self->t.gated);
}

#define CYCLES	5000003

/* They overflow in the handler of the interrupt. */
TEST_F(bts_ack, gates_by_counter)
{
	struct gated *gated = &self->t.gated;
	struct perf_event_attr attr;
	int fd[2], i;

	attr_cycles(&attr, CYCLES);
	if (perf_try_open(&attr, -1))
		SKIP(return, "no hardware counters");

	ASSERT_EQ(gated_open(gated), 0)
		TH_LOG("%s", strerror(errno));
	for (i = 0; i < 2; i++) {
		fd[i] = gated_open_cycles(gated, CYCLES + 1300018 * i, !i);
		ASSERT_GE(fd[i], 0)
			TH_LOG("%s", strerror(errno));
	}
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	interrupts_in_nmis(_metadata, &self->t);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0), 0);
	bts_finish(_metadata, gated, &self->t.trace);
	close(fd[1]);
	close(fd[0]);
}

/*
 * The handler switches BTS off before all else, also where it hits the driver at work:
 * no branch of it is in the trace.
 */
TEST_F(bts_ack, handler_is_not_traced)
{
	__u64 inside = kernel_symbol("intel_bts_interrupt");
	struct gated *gated = &self->t.gated;
	size_t traced = 0, i;
	long hits = 0;

	if (!inside || lacks_nmi_at_msr())
		SKIP(return, "no address of intel_bts_interrupt(), or no %s",
		     lacks_nmi_at_msr());

	bts_open(_metadata, gated);
	for (i = 0; i < 20; i++) {
		aux_group_enable(&gated->group);
		fire(true);
		ASSERT_EQ(nmi_at_msr(&points[i & 1], TAG_NONE), 0);
		do_restart(gated);
		hits += nmi_at_msr_off();
		fire(false);
		bts_read(_metadata, gated, &self->t.trace);
	}
	bts_finish(_metadata, gated, &self->t.trace);

	EXPECT_GE(hits, 20);
	EXPECT_GT(self->t.trace.nr, 0);
	for (i = 0; i < self->t.trace.nr; i++)
		traced += self->t.trace.rec[i].to == inside;
	EXPECT_EQ(traced, 0);
}

TEST_F(bts, full_while_paused)
{
	struct late_trace to = { read_more, &self->t.trace };
	struct gated *gated = &self->t.gated;
	const char *wrong;
	int load;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	/* More than what the kernel does from enabling on until the look at it */
	gated->spec.aux_pages = 64;
	load = gated_open_late(gated);
	ASSERT_GE(load, 0);
	wrong = gated_late_full(gated, &to);
	EXPECT_EQ(NULL, wrong)
		TH_LOG("%s %s", wrong, self->t.trace.error);
	bts_finish(_metadata, gated, &self->t.trace);
	close(load);
	expect_exact(_metadata, gated);
}

/* --- DEBUGCTL is not BTS's alone --- */

/*
 * A VM exit clears DEBUGCTL, and KVM puts back what it had read before. An NMI in
 * between has the last word.
 */
TEST_F(bts, debugctl_behind_vm_exit)
{
	struct gated *gated = &self->t.gated;
	const char *missing = lacks_msr() ?: lacks_nmi_at_msr();
	bool resumes, running;
	const char *wrong;
	int i;

	if (missing)
		SKIP(return, "no %s", missing);
	if (!has_model())
		SKIP(return, "VM exits without KVM need the model");

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	bts_open(_metadata, gated);
	for (i = 0; i < 8; i++) {
		resumes = i & 1;
		running = i & 2;
		fire(running);
		if (i & 4)
			ASSERT_EQ(nmi_at_msr(&points[0], resumes ? TAG_RESUME : TAG_PAUSE), 0);
		ASSERT_EQ(model_vmexit(), 0);
		if (i & 4)
			ASSERT_EQ(nmi_at_msr_off(), 1);
		wrong = gated_check_level(gated, i & 4 ? resumes : running);
		EXPECT_EQ(NULL, wrong)
			TH_LOG("%s", wrong);
	}
}

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

/*
 * A gate behind an access of DEBUGCTL as the child, that is: by the switch to it.
 * Whoever sets it up to be stepped only reads the register, and would have the gate
 * act ahead of what this is about.
 */
static int open_child_gate(const struct gated *gated, pid_t child, bool write,
			   bool resumes)
{
	struct perf_event_attr attr;
	char filter[64];
	int gate;

	if (attr_msr(&attr, write))
		return -1;
	attr.disabled = 1;
	gate = aux_group_add_gate(&gated->group, &gated->spec, &attr, resumes);
	snprintf(filter, sizeof(filter), "msr == %u && common_pid == %d",
		 MSR_DEBUGCTL, child);
	if (gate < 0 || perf_set_filter(gate, filter) ||
	    ioctl(gate, PERF_EVENT_IOC_ENABLE, 0))
		return -1;

	return gate;
}

static void block_step(struct __test_metadata *_metadata, struct gated *gated,
		       pid_t child, bool write, bool resumes)
{
	const char *wrong;
	int gate, steps;
	long hits = 0;

	for (steps = 0; steps < 10; steps++) {
		fire(!resumes);
		gate = open_child_gate(gated, child, write, resumes);
		ASSERT_GE(gate, 0)
			TH_LOG("%s", strerror(errno));
		if (step_child(child, 1)) {
			kill(child, SIGKILL);
			SKIP(return, "no PTRACE_SINGLEBLOCK");
		}
		ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_DISABLE, 0), 0);
		hits += !!perf_count(gate);
		gated->others += perf_count(gate);
		wrong = gated_check_level(gated, perf_count(gate) ? resumes : !resumes);
		ASSERT_EQ(NULL, wrong)
			TH_LOG("%s, step %d: %s", write ? "write" : "read", steps, wrong);
		close(gate);
	}
	EXPECT_GE(hits, 5);
}

TEST_F(bts, debugctl_shared_with_block_step)
{
	struct gated *gated = &self->t.gated;
	int status, i;
	pid_t child;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	/* Of the CPU: on while it switches from one task to another */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	bts_open(_metadata, gated);
	child = start_stepped_child(gated->cpu);
	ASSERT_GT(child, 0);
	for (i = 0; i < 4; i++)
		block_step(_metadata, gated, child, i / 2, i & 1);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

TEST_HARNESS_MAIN
