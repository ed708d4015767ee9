// SPDX-License-Identifier: GPL-2.0
/*
 * Combinations of aux_start_paused, aux_pause and aux_resume that the kernel
 * accepts, and the errors with which it refuses the others.
 *
 * Expected: each test passes. To a kernel without the feature the bits of
 * aux_action are reserved: it refuses all of them with EINVAL.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

/* The event as a resume gate and as a pause gate, in a group of this leader */
static void expect_gates(struct __test_metadata *_metadata,
			 struct perf_event_attr *attr, int leader, int error)
{
	attr->aux_pause = 1;
	EXPECT_EQ(perf_try_open(attr, leader), error);

	attr->aux_pause = 0;
	attr->aux_resume = 1;
	EXPECT_EQ(perf_try_open(attr, leader), error);
}

static int open_aux(const char *pmu, bool start_paused)
{
	struct perf_event_attr attr;

	attr_init(&attr, pmu_type(pmu));
	attr.aux_start_paused = start_paused;

	return perf_open(&attr, 0, -1, -1);
}

static void software(struct perf_event_attr *attr)
{
	attr_init(attr, PERF_TYPE_SOFTWARE);
	attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	attr->sample_period = 1;
}

FIXTURE(aux_errors)
{
	int leader;
	int users;
	struct perf_event_attr attr;
};

FIXTURE_SETUP(aux_errors)
{
	self->users = module_users("test_perf_aux");
	self->leader = open_aux("test_aux", false);
	ASSERT_GE(self->leader, 0);
	software(&self->attr);
}

/* A refused event leaves nothing behind. */
FIXTURE_TEARDOWN(aux_errors)
{
	close(self->leader);
	EXPECT_EQ(module_users("test_perf_aux"), self->users);
}

TEST_F(aux_errors, gate_in_aux_group_is_taken)
{
	self->attr.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), 0);

	self->attr.aux_pause = 0;
	self->attr.aux_resume = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), 0);
}

TEST_F(aux_errors, pause_and_resume_together)
{
	self->attr.aux_pause = 1;
	self->attr.aux_resume = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), EINVAL);
	EXPECT_EQ(perf_try_open(&self->attr, -1), EINVAL);
}

TEST_F(aux_errors, gate_with_aux_output)
{
	self->attr.aux_output = 1;
	expect_gates(_metadata, &self->attr, self->leader, EOPNOTSUPP);

	/* Two errors at once: EOPNOTSUPP comes first. */
	self->attr.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), EOPNOTSUPP);
}

/* A PMU that supports aux_output reaches the check of both. */
TEST_F(aux_errors, gate_with_aux_output_that_the_pmu_can)
{
	attr_init(&self->attr, pmu_type("test_nmi"));
	self->attr.sample_period = 1;
	self->attr.aux_output = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), EINVAL);

	expect_gates(_metadata, &self->attr, self->leader, EOPNOTSUPP);

	self->attr.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), EOPNOTSUPP);
}

TEST_F(aux_errors, start_paused_needs_the_capability)
{
	struct perf_event_attr aux;

	attr_init(&aux, pmu_type("test_aux_nopause"));
	ASSERT_EQ(perf_try_open(&aux, -1), 0);
	aux.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&aux, -1), EOPNOTSUPP);

	/* Not an AUX area event at all */
	self->attr.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&self->attr, -1), EOPNOTSUPP);
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), EOPNOTSUPP);
}

TEST_F(aux_errors, start_paused_with_the_capability)
{
	struct perf_event_attr aux;

	/* The PMU is exclusive: one event per task. */
	close(self->leader);

	attr_init(&aux, pmu_type("test_aux"));
	aux.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&aux, -1), 0);

	aux.type = pmu_type("test_aux_contig");
	EXPECT_EQ(perf_try_open(&aux, -1), 0);
}

TEST_F(aux_errors, gate_without_a_leader)
{
	expect_gates(_metadata, &self->attr, -1, EINVAL);
}

TEST_F(aux_errors, gate_led_by_another_event)
{
	struct perf_event_attr leader_attr;
	int leader;

	software(&leader_attr);
	leader = perf_open(&leader_attr, 0, -1, -1);
	ASSERT_GE(leader, 0);

	ASSERT_EQ(perf_try_open(&self->attr, leader), 0);
	expect_gates(_metadata, &self->attr, leader, EINVAL);
	close(leader);
}

TEST_F(aux_errors, gate_led_by_an_aux_event_without_the_capability)
{
	int leader = open_aux("test_aux_nopause", false);

	ASSERT_GE(leader, 0);
	ASSERT_EQ(perf_try_open(&self->attr, leader), 0);
	expect_gates(_metadata, &self->attr, leader, EINVAL);
	close(leader);
}

/* An AUX area event can't be its own gate. */
TEST_F(aux_errors, aux_event_as_its_own_gate)
{
	struct perf_event_attr aux;

	attr_init(&aux, pmu_type("test_aux"));
	aux.sample_period = 1;
	aux.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&aux, -1), EINVAL);

	aux.aux_pause = 0;
	aux.aux_resume = 1;
	EXPECT_EQ(perf_try_open(&aux, -1), EINVAL);
}

/* A counter that doesn't sample never overflows; it is accepted nevertheless. */
TEST_F(aux_errors, gate_that_only_counts)
{
	self->attr.sample_period = 0;
	self->attr.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), 0);
}

TEST_F(aux_errors, reserved_bits)
{
	unsigned int bit;

	for (bit = 3; bit < 32; bit++) {
		self->attr.aux_action = 1U << bit;
		EXPECT_EQ(perf_try_open(&self->attr, self->leader), EINVAL)
			TH_LOG("bit %u", bit);

		/* nor together with a valid one */
		self->attr.aux_action |= 1U << 1;
		EXPECT_EQ(perf_try_open(&self->attr, self->leader), EINVAL)
			TH_LOG("bit %u with aux_pause", bit);
	}
}

/*
 * The leader's PMU has one event per task, so this one is refused at the very end.
 * It must not keep the leader alive: the teardown checks that no event is left.
 */
TEST_F(aux_errors, gate_that_is_exclusive)
{
	attr_init(&self->attr, pmu_type("test_aux"));
	self->attr.sample_period = 1;
	self->attr.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->attr, self->leader), EBUSY);
}

/* When a CPU goes offline, its events leave their context for good. */
TEST_F(aux_errors, leader_whose_cpu_was_offline)
{
	struct perf_event_attr aux, plain;
	int cpu = nth_cpu(1), leader;

	if (cpu < 0)
		SKIP(return, "one CPU only");

	/* The PMU is exclusive: events of tasks or of CPUs. */
	close(self->leader);

	attr_init(&aux, pmu_type("test_aux"));
	leader = perf_open(&aux, -1, cpu, -1);
	ASSERT_GE(leader, 0);
	if (cpu_set_online(cpu, false)) {
		close(leader);
		SKIP(return, "CPU %d can't be taken offline", cpu);
	}
	ASSERT_EQ(cpu_set_online(cpu, true), 0);

	software(&plain);
	errno = 0;
	EXPECT_EQ(perf_open(&plain, -1, cpu, leader), -1);
	EXPECT_EQ(errno, EINVAL);

	plain.aux_pause = 1;
	errno = 0;
	EXPECT_EQ(perf_open(&plain, -1, cpu, leader), -1);
	EXPECT_EQ(errno, EINVAL);
	close(leader);
}

TEST_F(aux_errors, counter_of_the_kernel)
{
	self->attr.aux_start_paused = 1;
	EXPECT_EQ(try_kernel_counter(self->attr.aux_action), EINVAL);

	self->attr.aux_action = 0;
	EXPECT_EQ(try_kernel_counter(self->attr.aux_action), 0);
	self->attr.aux_pause = 1;
	EXPECT_EQ(try_kernel_counter(self->attr.aux_action), EINVAL);

	self->attr.aux_pause = 0;
	self->attr.aux_resume = 1;
	EXPECT_EQ(try_kernel_counter(self->attr.aux_action), EINVAL);
}

/*
 * An event that remove_on_exec took out of its context is refused as a leader:
 * its group would never be scheduled.
 */
TEST_F(aux_errors, leader_removed_by_exec)
{
	struct perf_event_attr aux, plain;
	int leader, sibling, status;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execl("/proc/self/exe", "exec", NULL);
		_exit(1);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFSTOPPED(status));

	attr_init(&aux, pmu_type("test_aux"));
	aux.remove_on_exec = 1;
	leader = perf_open(&aux, child, -1, -1);
	ASSERT_GE(leader, 0);

	/* Before the exec, it accepts siblings, as any leader does. */
	software(&plain);
	plain.remove_on_exec = 1;
	sibling = perf_open(&plain, child, -1, leader);
	EXPECT_GE(sibling, 0);

	/* Stops with SIGTRAP after the exec. */
	ASSERT_EQ(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(WSTOPSIG(status), SIGTRAP);

	errno = 0;
	EXPECT_EQ(perf_open(&plain, child, -1, leader), -1);
	EXPECT_EQ(errno, EINVAL);

	plain.aux_pause = 1;
	errno = 0;
	EXPECT_EQ(perf_open(&plain, child, -1, leader), -1);
	EXPECT_EQ(errno, EINVAL);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(sibling);
	close(leader);
}

TEST_HARNESS_MAIN
