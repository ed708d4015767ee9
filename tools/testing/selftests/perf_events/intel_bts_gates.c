// SPDX-License-Identifier: GPL-2.0
/*
 * Intel BTS gated by events of every kind, in full trace and overwrite mode.
 *
 * Expected: there is a record for each branch in each window, in order, and no other.
 * A driver that rewinds the hardware's pointer when it resumes loses the earlier
 * windows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "intel_test.h"

#define PAIRS		500

PROGRAM_NEEDS(lacks_pmu("intel_bts"))

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

/* The taken branches, all but the last, of each window that was opened and closed */
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
	gated_init_bts(gated, &self->trace);
	if (!open_kind(_metadata, gated, variant->kind))
		return;
	enable_group(_metadata, gated);
}

FIXTURE_TEARDOWN(gate)
{
	bts_close(_metadata, &self->gated);
}

/* Every branch of every window, and none outside. */
TEST_F(gate, windows)
{
	struct gated *gated = &self->gated;
	size_t found;
	bool exact;
	__u64 sum;
	int i;

	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 50 + 37 * i), 0);
	disable_and_read(_metadata, gated);

	sum = taken(gated, &exact);
	found = bts_branches(&self->trace, gated->kind->code);
	EXPECT_GE(found, sum);
	EXPECT_LE(found, exact ? sum : found);
	if (exact && gated->kind->code == WINDOW_CALLS) {
		EXPECT_EQ(bts_trace_match(&self->trace, WINDOW_CALLS, gated->log,
					  gated->nr, false), ROUNDS)
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

	ASSERT_EQ(perf_disable(gated->group.resume), 0);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 100), 0);
	disable_and_read(_metadata, gated);

	EXPECT_EQ(gated->group.page->aux_head, 0);
	expect_exact(_metadata, gated);
}

/* --- Levels and modes --- */

FIXTURE(bts)
{
	struct gated gated;
	struct bts_trace trace;
	struct rate_limit limit;
};

FIXTURE_SETUP(bts)
{
	memset(self, 0, sizeof(*self));
	bts_setup_nmis(_metadata, &self->gated, &self->trace, &self->limit);
}

FIXTURE_TEARDOWN(bts)
{
	if (has_model())
		EXPECT_EQ(model_reset(), 0);
	bts_close(_metadata, &self->gated);
	cpus_give_back();
	set_rate_limit(&self->limit);
}

/*
 * A branch event with a period of one samples what BTS stores, in a buffer of its own.
 * After intel_bts the hardware must have that buffer again: it is set up anew only when
 * there was no hardware event at all.
 */
TEST(branch_event_afterwards)
{
	struct perf_event_mmap_page *page;
	struct perf_event_attr attr;
	struct bts_trace trace = { };
	struct gated gated;
	int fd, other;

	attr_cycles(&attr, 1000003);
	other = perf_open(&attr, 0, -1, -1);
	gated_init_bts(&gated, &trace);
	if (!setup_kind(_metadata, &gated, "tracepoint"))
		return;
	open_and_enable(_metadata, &gated);
	branches(100);
	ASSERT_EQ(aux_group_disable(&gated.group), 0);
	gated_close(&gated);

	attr_all_branches(&attr);
	fd = perf_open(&attr, 0, gated.cpu, -1);
	if (fd < 0)
		SKIP(return, "no event of branches: %s", strerror(errno));
	page = mmap(NULL, 65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(page, MAP_FAILED);
	perf_enable(fd);
	branches(1000);
	perf_disable(fd);
	EXPECT_GE(page->data_head, 1000 * sizeof(struct perf_event_header));
	munmap(page, 65 * 4096);
	close(fd);
	close(other);
}

TEST_F(bts, level_kept_over_scheduling)
{
	struct gated *gated = &self->gated;
	int i;

	open_and_enable(_metadata, gated);
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
	disable_and_read(_metadata, gated);

	EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), 500);
	expect_exact(_metadata, gated);
}

TEST_F(bts, level_kept_over_disable)
{
	struct gated *gated = &self->gated;

	open_and_enable(_metadata, gated);
	fire(true);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	branches(1001);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	branches(101);
	fire(false);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	branches(1001);
	disable_and_read(_metadata, gated);

	EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), 100);
	expect_exact(_metadata, gated);
}

/* It is scheduled in several times, but the trace of this task starts once. */
TEST_F(bts, one_start_record)
{
	struct gated *gated = &self->gated;
	int i;

	open_and_enable(_metadata, gated);
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		aux_group_restart(&gated->group);
	}
	disable_and_read(_metadata, gated);

	EXPECT_EQ(perf_records_count(&gated->records, PERF_RECORD_ITRACE_START, 0), 1);
}

TEST_F(bts, starts_running)
{
	struct gated *gated = &self->gated;

	gated->spec.start_paused = false;
	open_and_enable(_metadata, gated);
	branches(101);
	fire(false);
	branches(1001);
	disable_and_read(_metadata, gated);

	EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), 100);
}

/* The child starts paused, although the parent is resumed when it forks. */
TEST_F(bts, child_starts_paused)
{
	struct gated *gated = &self->gated;
	int status;
	pid_t child;

	gated->spec.inherit = true;
	gated->spec.cpu = gated->cpu;
	open_and_enable(_metadata, gated);
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
	disable_and_read(_metadata, gated);

	EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), 100 + 10);
}

/*
 * Interrupts hand over data, also in the middle of windows. Not one record is lost or
 * rewound, whatever comes between two windows. The area is in pieces of one page.
 */
static void interrupts(struct __test_metadata *_metadata, struct gated *gated,
		       struct bts_trace *trace)
{
	int i;

	gated->spec.aux_pages = 8;
	gated->spec.watermark = 4096;
	open_and_enable(_metadata, gated);
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(gated_window(gated, 200 + 7 * (i % 10)), 0);
		if (i % 3 == 0)
			sleep_a_little();
		if (i % 7 == 0)
			aux_group_restart(&gated->group);
		read_trace(_metadata, gated);
	}
	disable_and_read(_metadata, gated);

	EXPECT_EQ(trace->truncated, 0);
	EXPECT_GE(trace->records, 30);
	EXPECT_EQ(bts_trace_match(trace, WINDOW_CALLS, gated->log, gated->nr, false), 60)
		TH_LOG("%s", trace->error);
	expect_exact(_metadata, gated);
}

TEST_F(bts, interrupts)
{
	interrupts(_metadata, &self->gated, &self->trace);
}

/* A page has room for half of its branches behind the threshold. */
TEST_F(bts, late_interrupts)
{
	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	ASSERT_EQ(model_skid(60, 1), 0);
	interrupts(_metadata, &self->gated, &self->trace);
}

static int restart(struct gated *gated)
{
	return restart_event(gated->group.aux);
}

static int suspend(struct gated *gated)
{
	return model_suspend();
}

/* It happens in windows, and between them. */
static void windows_over(struct __test_metadata *_metadata, struct gated *gated,
			 struct bts_trace *trace, int (*happen)(struct gated *gated))
{
	int i;

	open_and_enable(_metadata, gated);
	for (i = 0; i < 50; i++) {
		fire(true);
		branches(11);
		ASSERT_EQ(happen(gated), 0)
			TH_LOG("%s", strerror(errno));
		branches(11);
		fire(false);
		ASSERT_EQ(happen(gated), 0);
		branches(101);
	}
	disable_and_read(_metadata, gated);

	EXPECT_EQ(bts_branches(trace, WINDOW_PLACES), 50 * 20);
	EXPECT_EQ(trace->truncated, 0);
	expect_exact(_metadata, gated);
}

/* Stop without update, and start */
TEST_F(bts, restarts)
{
	if (lacks_restart())
		SKIP(return, "no %s", lacks_restart());

	windows_over(_metadata, &self->gated, &self->trace, restart);
}

/* DEBUGCTL and DS_AREA are lost, but the level isn't. */
static void windows_over_suspend(struct __test_metadata *_metadata, struct gated *gated,
				 struct bts_trace *trace)
{
	if (!has_model())
		SKIP(return, "the model suspends");
	if (cpus_take_others(gated->cpu))
		SKIP(return, "a CPU can't be taken offline");

	windows_over(_metadata, gated, trace, suspend);
}

TEST_F(bts, suspend_of_a_cpu_event)
{
	self->gated.spec.pid = -1;
	self->gated.spec.cpu = self->gated.cpu;
	windows_over_suspend(_metadata, &self->gated, &self->trace);
}

TEST_F(bts, suspend_of_a_task_event)
{
	windows_over_suspend(_metadata, &self->gated, &self->trace);
}

static void fill(struct gated *gated)
{
	branches(1001);
}

/* The area fills up: the event is disabled, and keeps its level when enabled again. */
TEST_F(bts, truncated)
{
	struct gated *gated = &self->gated;
	size_t before;
	int round;

	gated->spec.aux_pages = 4;
	open_and_enable(_metadata, gated);
	for (round = 0; round < 3; round++) {
		fire(true);
		ASSERT_EQ(gated_wait_truncated(gated, fill), 0)
			TH_LOG("not full within 20 seconds");
		read_trace(_metadata, gated);
		before = bts_branches(&self->trace, WINDOW_PLACES);

		ASSERT_EQ(aux_group_enable(&gated->group), 0);
		branches(51);
		fire(false);
		branches(1001);
		ASSERT_EQ(aux_group_disable(&gated->group), 0);
		ASSERT_EQ(aux_group_enable(&gated->group), 0);
		branches(1001);
		read_trace(_metadata, gated);
		EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), before + 50);
	}
	disable_and_read(_metadata, gated);
	expect_exact(_metadata, gated);
}

TEST_F(bts, overwrite)
{
	struct gated *gated = &self->gated;
	int i;

	gated->spec.overwrite = true;
	gated->spec.aux_pages = 8;
	open_and_enable(_metadata, gated);
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(gated_window(gated, 100 + 7 * (i % 10)), 0);
		if (i % 3 == 0)
			sleep_a_little();
	}
	disable_and_read(_metadata, gated);

	/* 32 KiB hold 1365: all but one are new, and up to 168 may be left empty. */
	EXPECT_GE(self->trace.nr, 1364 - 168);
	EXPECT_GE(bts_trace_match(&self->trace, WINDOW_CALLS, gated->log,
				  gated->nr, true), 8)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
}

TEST_F(bts, counters)
{
	struct gated *gated = &self->gated;
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
	open_and_enable(_metadata, gated);
	while (perf_records_count(&gated->records, PERF_RECORD_SAMPLE, 0) < 50) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not 50 overflows within 15 seconds");
		branches(100);
		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	}
	ASSERT_EQ(perf_disable(gated->group.resume), 0);
	ASSERT_EQ(perf_disable(gated->group.pause), 0);
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	EXPECT_EQ(bts_is_on(gated->cpu), !gated_is_paused(gated));
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	EXPECT_GT(gated->group.page->aux_head, 0);
}

/* --- What a pause and a resume cost --- */

/*
 * Gates on tracepoints, as an NMI also runs the interrupt handler, which switches BTS
 * off and on. A tracepoint inside the gate's own tracepoint isn't counted, so the model
 * counts the writes.
 */
TEST_F(bts, one_msr_write)
{
	struct gated *gated = &self->gated;
	long long modelled;
	int i;

	if (!has_model())
		SKIP(return, "the model counts");

	/* A CPU event, as a context switch stops and starts a task's event. */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	gated->kind = gate_kind("tracepoint");
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP(return, "no %s", gated->kind->needs);

	open_and_enable(_metadata, gated);
	modelled = model_stat("total.write_debugctl");
	for (i = 0; i < PAIRS; i++) {
		syscall(__NR_getppid);
		syscall(__NR_getpgid, 0);
	}
	EXPECT_EQ(model_stat("total.write_debugctl"), modelled + 2 * PAIRS);

	/* A pause of a paused trace writes nothing. */
	for (i = 0; i < 100; i++)
		syscall(__NR_getpgid, 0);
	EXPECT_EQ(model_stat("total.write_debugctl"), modelled + 2 * PAIRS);
}

TEST_HARNESS_MAIN
