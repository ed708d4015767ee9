// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT gated by events of every kind.
 *
 * Expected: the trace holds what was executed between a resume and the pause that
 * follows it, down to the last branch, and nothing else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "intel_test.h"

PROGRAM_NEEDS(lacks_pmu("intel_pt"))

/* --- Errors --- */

FIXTURE(pt_errors)
{
	struct perf_event_attr pt, gate;
	int leader;
};

FIXTURE_SETUP(pt_errors)
{
	model_watch();
	attr_init(&self->pt, pmu_type("intel_pt"));
	self->leader = perf_open(&self->pt, 0, -1, -1);
	ASSERT_GE(self->leader, 0)
		TH_LOG("%s", strerror(errno));

	attr_init(&self->gate, PERF_TYPE_SOFTWARE);
	self->gate.config = PERF_COUNT_SW_PAGE_FAULTS;
	self->gate.sample_period = 1;
}

FIXTURE_TEARDOWN(pt_errors)
{
	close(self->leader);
	EXPECT_EQ(model_violations(), 0);
}

TEST_F(pt_errors, gates)
{
	self->gate.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), 0);
	EXPECT_EQ(perf_try_open(&self->gate, -1), EINVAL);

	self->gate.aux_resume = 1;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), EINVAL);

	self->gate.aux_pause = 0;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), 0);
	EXPECT_EQ(perf_try_open(&self->gate, -1), EINVAL);

	self->gate.aux_output = 1;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), EOPNOTSUPP);
}

TEST_F(pt_errors, hardware_counter_as_gate)
{
	struct perf_event_attr cycles;

	attr_cycles(&cycles, 1000000);
	if (perf_try_open(&cycles, -1))
		SKIP(return, "no hardware counter");

	cycles.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&cycles, self->leader), 0);
	EXPECT_EQ(perf_try_open(&cycles, -1), EINVAL);
}

/*
 * The core uses BTS for a branch event with a period of one, and BTS collects the branches:
 * too late for a gate. So a gate is an ordinary counter. BTS would exclude Intel PT.
 */
TEST_F(pt_errors, branches_as_gate)
{
	struct perf_event_attr branches;

	attr_cycles(&branches, 2);
	branches.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	branches.exclude_kernel = 1;
	branches.disabled = 1;
	if (perf_try_open(&branches, -1))
		SKIP(return, "no hardware counter");

	branches.sample_period = 1;
	branches.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&branches, self->leader), 0);
	branches.aux_pause = 0;
	branches.aux_sample_size = 256;
	branches.sample_type |= PERF_SAMPLE_AUX;
	EXPECT_EQ(perf_try_open(&branches, self->leader), 0);
}

TEST_F(pt_errors, start_paused)
{
	/* The PMU is exclusive: one event per task. */
	close(self->leader);
	self->pt.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&self->pt, -1), 0);

	self->gate.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&self->gate, -1), EOPNOTSUPP);
}

TEST_F(pt_errors, own_gate)
{
	close(self->leader);
	self->pt.sample_period = 1;
	self->pt.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->pt, -1), EINVAL);
}

/* --- Gates of every kind --- */

FIXTURE(gate)
{
	struct gated gated;
	struct pt_trace trace;
};

#include "intel_gate_variants.h"

/* Windows that a swallowed gate didn't open are empty. */
static int opened(const struct gated *gated)
{
	size_t i;
	int n = 0;

	for (i = 0; i < gated->nr; i++)
		n += !!gated->log[i].loops;

	return n;
}

FIXTURE_SETUP(gate)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	gated_init_pt(gated, &self->trace);
	gated->spec.exclude_kernel = true;
	if (!open_kind(_metadata, gated, variant->kind))
		return;
}

FIXTURE_TEARDOWN(gate)
{
	pt_close(_metadata, &self->gated);
}

/* Every branch of every window, and none outside. */
TEST_F(gate, windows)
{
	struct gated *gated = &self->gated;
	int i, found;

	enable_group(_metadata, gated);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 50 + 37 * i), 0);
	pt_finish(_metadata, gated);

	found = pt_trace_match(&self->trace, gated->log, gated->nr, true);
	EXPECT_EQ(found, opened(gated))
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(found, ROUNDS / 2);
	expect_exact(_metadata, gated);
}

/* Started paused and never resumed: not one byte. */
TEST_F(gate, start_paused)
{
	struct gated *gated = &self->gated;
	int i;

	ASSERT_EQ(perf_disable(gated->group.resume), 0);
	enable_group(_metadata, gated);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 100), 0);
	pt_finish(_metadata, gated);

	EXPECT_EQ(gated->group.page->aux_head, 0);
	EXPECT_EQ(opened(gated), 0);
	expect_exact(_metadata, gated);
}

TEST_HARNESS_MAIN
