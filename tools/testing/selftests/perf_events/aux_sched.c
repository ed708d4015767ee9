// SPDX-License-Identifier: GPL-2.0
/*
 * The level of an AUX area event, paused or running, belongs to the event: it
 * survives scheduling out and in, moving to another CPU, disable and enable. A
 * child's event begins at the level that the attribute says, and never takes over
 * the level of another task's event.
 *
 * Expected: each test passes. On a kernel that swaps the contexts of parent and
 * child when they switch, child_keeps_its_own_level and the tests of a child that
 * starts running fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "aux_test.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define SWITCHES	200
#define WINDOW_NS	100000

FIXTURE(aux_sched)
{
	struct aux_spec spec;
	struct aux_group group;
	struct aux_trace trace;
	int cpu;
};

FIXTURE_SETUP(aux_sched)
{
	struct aux_spec *spec = &self->spec;

	memset(self, 0, sizeof(*self));
	aux_group_init(&self->group);
	spec->cpu = -1;
	spec->start_paused = true;
	spec->aux_pages = 1024;
	/* Few packets, so that the area lasts */
	spec->period = 100000;
	if (attr_tracepoint(&spec->resume, AT_RESUME) ||
	    attr_tracepoint(&spec->pause, AT_PAUSE))
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	self->cpu = nth_cpu(0);
	ASSERT_EQ(pin_to_cpu(self->cpu), 0);
}

FIXTURE_TEARDOWN(aux_sched)
{
	aux_trace_free(&self->trace);
	aux_group_close(&self->group);
}

static void read_trace(struct __test_metadata *_metadata,
		       struct aux_trace *trace, struct aux_group *group)
{
	aux_group_disable(group);
	ASSERT_EQ(aux_trace_read(trace, group), 0)
		TH_LOG("%s", trace->error);
}

static bool passes(int in, int out)
{
	char token = 0;

	return write(out, &token, 1) == 1 && read(in, &token, 1) == 1;
}

static void answer(int in, int out)
{
	char token;

	while (read(in, &token, 1) == 1) {
		spin_ns(20000);
		if (write(out, &token, 1) != 1)
			break;
	}
	_exit(0);
}

/* A task on the same CPU that answers: each answer costs two context switches. */
struct partner {
	pid_t pid;
	int to, from;
};

static int partner_start(struct partner *partner)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -1;

	partner->pid = fork();
	if (!partner->pid) {
		close(to[1]);
		close(from[0]);
		answer(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	partner->to = to[1];
	partner->from = from[0];

	return partner->pid < 0 ? -1 : 0;
}

static int partner_switch(struct partner *partner, int times)
{
	while (times--) {
		if (!passes(partner->from, partner->to))
			return -1;
		spin_ns(20000);
	}

	return 0;
}

static void partner_stop(struct partner *partner)
{
	close(partner->to);
	close(partner->from);
	waitpid(partner->pid, NULL, 0);
}

static unsigned int windows_of(const struct aux_trace *trace, pid_t tid)
{
	unsigned int i, n = 0;

	for (i = 0; i < trace->nr; i++)
		n += trace->win[i].tid == (__u32)tid;

	return n;
}

static bool in_window(const struct aux_trace *trace, __u64 time)
{
	size_t i;

	for (i = 0; i < trace->nr; i++) {
		if (time >= trace->win[i].start && time < trace->win[i].stop)
			return true;
	}

	return false;
}

TEST_F(aux_sched, resumed_survives_sleep)
{
	struct partner partner;
	unsigned int i;

	ASSERT_EQ(partner_start(&partner), 0);
	open_and_enable(_metadata, &self->group, &self->spec);
	soft_resume();
	ASSERT_EQ(partner_switch(&partner, SWITCHES), 0);
	soft_pause();
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	EXPECT_GE(self->trace.nr, SWITCHES);
	EXPECT_EQ(self->trace.win[0].opened_by, TEST_PERF_AUX_BY_RESUME);
	for (i = 1; i < self->trace.nr; i++)
		EXPECT_EQ(self->trace.win[i].opened_by, TEST_PERF_AUX_BY_START);
	EXPECT_EQ(self->trace.win[i - 1].closed_by, TEST_PERF_AUX_BY_PAUSE);
}

TEST_F(aux_sched, paused_survives_sleep)
{
	struct partner partner;

	ASSERT_EQ(partner_start(&partner), 0);
	self->spec.start_paused = false;
	open_and_enable(_metadata, &self->group, &self->spec);
	soft_pause();
	ASSERT_EQ(partner_switch(&partner, SWITCHES), 0);
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	/* The window before the pause; a preemption splits it. */
	ASSERT_GE(self->trace.nr, 1);
	EXPECT_LE(self->trace.nr, 10);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_PAUSE);
}

TEST_F(aux_sched, start_paused_survives_sleep)
{
	struct partner partner;

	ASSERT_EQ(partner_start(&partner), 0);
	open_and_enable(_metadata, &self->group, &self->spec);
	ASSERT_EQ(partner_switch(&partner, SWITCHES), 0);
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	EXPECT_EQ(self->trace.packets, 0);
}

TEST_F(aux_sched, level_moves_to_another_cpu)
{
	int other = nth_cpu(0), i;
	bool seen[2] = { };
	size_t n;

	/* pin_to_cpu() in the setup has left one CPU to this task. */
	for (i = 0; i < CPU_SETSIZE && other == self->cpu; i++) {
		if (i != self->cpu && !pin_to_cpu(i))
			other = i;
	}
	if (other == self->cpu)
		SKIP(return, "one CPU only");

	open_and_enable(_metadata, &self->group, &self->spec);
	soft_resume();
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(pin_to_cpu(i & 1 ? other : self->cpu), 0);
		spin_ns(WINDOW_NS);
	}
	soft_pause();
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(pin_to_cpu(i & 1 ? other : self->cpu), 0);
		spin_ns(WINDOW_NS);
	}
	read_trace(_metadata, &self->trace, &self->group);

	ASSERT_GE(self->trace.nr, 20);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_PAUSE);
	for (n = 0; n < self->trace.nr; n++) {
		seen[0] |= self->trace.win[n].cpu == self->cpu;
		seen[1] |= self->trace.win[n].cpu == other;
	}
	EXPECT_TRUE(seen[0] && seen[1]);
}

TEST_F(aux_sched, level_survives_disable_and_enable)
{
	__u64 off;

	open_and_enable(_metadata, &self->group, &self->spec);
	soft_resume();
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	off = clock_ns();
	spin_ns(WINDOW_NS);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	spin_ns(WINDOW_NS);
	soft_pause();
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	spin_ns(WINDOW_NS);
	read_trace(_metadata, &self->trace, &self->group);

	ASSERT_GE(self->trace.nr, 2);
	EXPECT_FALSE(in_window(&self->trace, off));
	EXPECT_GT(self->trace.win[self->trace.nr - 1].start, off);
	EXPECT_EQ(self->trace.win[0].opened_by, TEST_PERF_AUX_BY_RESUME);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_PAUSE);
}

/* A CPU event: it doesn't matter which task runs. */
TEST_F(aux_sched, cpu_event_sees_all_tasks)
{
	struct partner partner;

	self->spec.pid = -1;
	self->spec.cpu = self->cpu;
	ASSERT_EQ(partner_start(&partner), 0);
	open_and_enable(_metadata, &self->group, &self->spec);
	soft_resume();
	ASSERT_EQ(partner_switch(&partner, SWITCHES), 0);
	soft_pause();
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	/* One window: context switches don't cut it. */
	ASSERT_EQ(self->trace.nr, 1);
	EXPECT_EQ(self->trace.win[0].opened_by, TEST_PERF_AUX_BY_RESUME);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_PAUSE);
}

/* --- Inherited events --- */

static void inherit_spec(struct aux_spec *spec, int cpu, bool start_paused)
{
	spec->inherit = true;
	spec->cpu = cpu;
	spec->start_paused = start_paused;
}

/* The parent is resumed before and after the fork, the child isn't. */
TEST_F(aux_sched, child_starts_paused)
{
	struct partner partner;

	inherit_spec(&self->spec, self->cpu, true);
	open_and_enable(_metadata, &self->group, &self->spec);
	soft_resume();
	ASSERT_EQ(partner_start(&partner), 0);
	ASSERT_EQ(partner_switch(&partner, SWITCHES), 0);
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	EXPECT_GE(windows_of(&self->trace, getpid()), SWITCHES);
	EXPECT_EQ(windows_of(&self->trace, partner.pid), 0);
}

/*
 * The other way round: the parent passes a pause gate, and its child's trace runs.
 * If the two contexts were swapped, each would have the other's level.
 */
static void pause_and_fork(struct __test_metadata *_metadata,
			   struct _test_data_aux_sched *self, bool close_gates)
{
	struct partner partner;
	unsigned int before;

	open_and_enable(_metadata, &self->group, &self->spec);
	soft_pause();
	if (close_gates) {
		ASSERT_EQ(close(self->group.resume), 0);
		ASSERT_EQ(close(self->group.pause), 0);
		self->group.resume = -1;
		self->group.pause = -1;
	}
	ASSERT_EQ(aux_trace_read(&self->trace, &self->group), 0);
	before = windows_of(&self->trace, getpid());
	ASSERT_EQ(partner_start(&partner), 0);
	ASSERT_EQ(partner_switch(&partner, SWITCHES), 0);
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	EXPECT_LE(windows_of(&self->trace, getpid()), before + 1);
	EXPECT_GE(windows_of(&self->trace, partner.pid), SWITCHES);
}

TEST_F(aux_sched, child_starts_running)
{
	inherit_spec(&self->spec, self->cpu, false);
	pause_and_fork(_metadata, self, false);
}

TEST_F(aux_sched, child_starts_running_without_resume_gate)
{
	inherit_spec(&self->spec, self->cpu, false);
	self->spec.resume.size = 0;
	pause_and_fork(_metadata, self, false);
}

TEST_F(aux_sched, child_starts_running_after_gates_are_closed)
{
	inherit_spec(&self->spec, self->cpu, false);
	pause_and_fork(_metadata, self, true);
}

/*
 * Two tasks with equal contexts that switch to each other directly: the core's
 * optimisation for clones would swap the contexts instead of rescheduling the events.
 */
TEST_F(aux_sched, child_keeps_its_own_level)
{
	struct partner partner;
	int round;

	inherit_spec(&self->spec, self->cpu, true);
	self->spec.aux_pages = 2048;
	open_and_enable(_metadata, &self->group, &self->spec);
	ASSERT_EQ(partner_start(&partner), 0);

	for (round = 0; round < 20; round++) {
		soft_resume();
		ASSERT_EQ(partner_switch(&partner, 25), 0);
		soft_pause();
		ASSERT_EQ(partner_switch(&partner, 25), 0);
	}
	read_trace(_metadata, &self->trace, &self->group);
	partner_stop(&partner);

	EXPECT_GE(windows_of(&self->trace, getpid()), 20 * 25);
	EXPECT_LE(windows_of(&self->trace, getpid()), 20 * 25 * 2);
	EXPECT_EQ(windows_of(&self->trace, partner.pid), 0);
}

/* A gate that the child passes is its own, and doesn't affect the parent. */
TEST_F(aux_sched, child_passes_its_own_gate)
{
	struct aux_actions act = { };
	int status;
	pid_t child;

	inherit_spec(&self->spec, self->cpu, true);
	open_and_enable(_metadata, &self->group, &self->spec);
	child = fork();
	if (!child) {
		soft_resume();
		spin_ns(WINDOW_NS);
		soft_pause();
		spin_ns(WINDOW_NS);
		_exit(0);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	spin_ns(WINDOW_NS);
	ASSERT_EQ(aux_actions_read(&self->group, &act), 0);
	read_trace(_metadata, &self->trace, &self->group);

	EXPECT_EQ(act.requested, 0);
	EXPECT_EQ(act.paused, 1);
	EXPECT_GE(windows_of(&self->trace, child), 1);
	EXPECT_EQ(windows_of(&self->trace, child), self->trace.nr);
	EXPECT_EQ(self->trace.win[0].opened_by, TEST_PERF_AUX_BY_RESUME);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_PAUSE);
}

TEST_HARNESS_MAIN
