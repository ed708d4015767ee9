// SPDX-License-Identifier: GPL-2.0
/*
 * Windows follow their task: AUX area events of one task on several CPUs that share a
 * level. What the task does between its gates is traced, wherever it runs, and
 * nothing else is.
 *
 * The task notes when and where it does something, and whether it is in a window: each such
 * beacon must be in the trace of its CPU, or must not be.
 *
 * Expected: each test passes; skipped by a kernel without PERF_FLAG_FD_AUX_LEVEL, and on
 * one CPU. Where each CPU has a level of its own, all tests that move fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>
#include <sys/wait.h>

#include "aux_beacon_test.h"

PROGRAM_NEEDS(lacks_test_pmus() ?: lacks_aux_level())

#define CPUS		BEACON_CPUS
#define ROUNDS		40
#define SAMPLE_SIZE	256

FIXTURE(aux_migrate)
{
	struct beacon_run run;
};

FIXTURE_SETUP(aux_migrate)
{
	beacon_run_setup(_metadata, &self->run);
	self->run.spec.inherit = true;
}

FIXTURE_TEARDOWN(aux_migrate)
{
	beacon_run_teardown(_metadata, &self->run);
}

static void open_and_enable(struct __test_metadata *_metadata, struct beacon_run *run)
{
	beacon_run_open(_metadata, run, &run->spec.level_fd);
	beacon_run_enable(_metadata, run);
}

/* --- What was traced --- */

static unsigned int windows_opened_by(const struct beacon_run *run, __u8 why)
{
	unsigned int opened = 0;
	size_t n;
	int i;

	for (i = 0; i < CPUS; i++) {
		for (n = 0; n < run->trace[i].nr; n++)
			opened += run->trace[i].win[n].opened_by == why;
	}

	return opened;
}

/* The level is one, whichever event is asked, and the gates of all count. */
static void expect_accounts(struct __test_metadata *_metadata,
			    const struct beacon_run *run,
			    unsigned long long gates)
{
	struct aux_actions act[CPUS];
	int i;

	for (i = 0; i < CPUS; i++) {
		ASSERT_EQ(aux_actions_read(&run->group[i], &act[i]), 0);
		EXPECT_EQ(act[i].requested, gates);
		EXPECT_EQ(act[i].pending, 0);
		EXPECT_EQ(act[i].requested, act[i].executed + act[i].superseded);
		EXPECT_EQ(act[i].paused, act[0].paused);
	}
}

TEST_F(aux_migrate, window_follows_the_task)
{
	struct beacon_run *run = &self->run;

	open_and_enable(_metadata, run);
	beacons_wander(run->beacons, run->cpu, ROUNDS);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
	expect_accounts(_metadata, run, 2 * ROUNDS);
	EXPECT_EQ(windows_opened_by(run, TEST_PERF_AUX_BY_RESUME), ROUNDS);
	EXPECT_GE(windows_opened_by(run, TEST_PERF_AUX_BY_START), 3 * ROUNDS);
}

static void samplers_open(struct __test_metadata *_metadata, struct beacon_run *run,
			  int *sampler)
{
	int i;

	for (i = 0; i < CPUS; i++) {
		run->spec.cpu = run->cpu[i];
		sampler[i] = aux_group_add_nmi_sampler(&run->group[i], &run->spec,
						       SAMPLE_SIZE);
		ASSERT_GE(sampler[i], 0);
	}
}

static void samplers_close(const int *sampler)
{
	int i;

	for (i = 0; i < CPUS; i++)
		close(sampler[i]);
}

/*
 * The same with AUX samples by NMI at all points of the driver: sections that nest. One in
 * the middle of a pause or a resume may be what switches the trace.
 */
TEST_F(aux_migrate, window_follows_the_task_under_nmis)
{
	struct beacon_run *run = &self->run;
	int sampler[CPUS], i;

	run->spec.inherit = false;
	beacon_run_open(_metadata, run, &run->spec.level_fd);
	samplers_open(_metadata, run, sampler);
	for (i = 0; i < CPUS; i++)
		run->trace[i].pieces = true;
	beacon_run_enable(_metadata, run);
	ASSERT_EQ(nmi_at("all:3:3"), 0);
	beacons_wander(run->beacons, run->cpu, ROUNDS);
	ASSERT_EQ(nmi_at(""), 0);
	beacon_run_read(_metadata, run);
	samplers_close(sampler);

	beacon_run_expect(_metadata, run);
	expect_accounts(_metadata, run, 2 * ROUNDS);
	EXPECT_GT(aux_stat("total.nmi_fired"), ROUNDS);
}

/* --- Inherited events --- */

static int child(struct beacons *beacons, const int *cpu, int generations)
{
	int status = 0;
	pid_t pid;

	beacons_work(beacons, false);
	beacons_wander(beacons, cpu, 5);
	if (generations) {
		soft_resume();
		beacons_work(beacons, true);
		pid = fork();
		if (!pid)
			_exit(child(beacons, cpu, generations - 1));
		beacons_work(beacons, true);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		beacons_work(beacons, true);
		soft_pause();
	}
	beacons_wander(beacons, cpu, 5);

	return status != 0;
}

/* Parent and child are in windows of their own, which the other doesn't touch. */
TEST_F(aux_migrate, children_and_grandchildren_have_their_own)
{
	struct beacon_run *run = &self->run;
	int status, i;
	pid_t pid;

	open_and_enable(_metadata, run);
	soft_resume();
	pid = fork();
	if (!pid)
		_exit(child(run->beacons, run->cpu, 2));
	ASSERT_GT(pid, 0);
	for (i = 0; i < 20; i++) {
		beacons_work(run->beacons, true);
		pin_to_cpu(run->cpu[i % CPUS]);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	beacons_work(run->beacons, true);
	soft_pause();
	beacons_work(run->beacons, false);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
	expect_accounts(_metadata, run, 2);
}

/* A level that begins running: the child's pause on one CPU counts on the other. */
TEST_F(aux_migrate, child_starts_running)
{
	struct beacon_run *run = &self->run;
	int status;
	pid_t pid;

	run->spec.start_paused = false;
	open_and_enable(_metadata, run);
	soft_pause();
	beacons_work(run->beacons, false);
	pid = fork();
	if (!pid) {
		beacons_work(run->beacons, true);
		pin_to_cpu(run->cpu[1]);
		beacons_work(run->beacons, true);
		soft_pause();
		pin_to_cpu(run->cpu[0]);
		beacons_work(run->beacons, false);
		_exit(0);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	pin_to_cpu(run->cpu[1]);
	beacons_work(run->beacons, false);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- Exec --- */

TEST_F(aux_migrate, exec_in_a_window)
{
	struct beacon_run *run = &self->run;
	int status = -1;
	pid_t pid;

	open_and_enable(_metadata, run);
	pid = fork();
	if (!pid) {
		beacons_moving_window(run);
		beacons_exec(run, true);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
	EXPECT_EQ(windows_opened_by(run, TEST_PERF_AUX_BY_RESUME), 1 + BEACON_EXEC_WINDOWS);
}

/* --- Closed one by one --- */

/* The one whose level the others share goes first. That CPU is then without a trace. */
TEST_F(aux_migrate, close_in_a_window)
{
	struct beacon_run *run = &self->run;

	open_and_enable(_metadata, run);
	soft_resume();
	/* The mapping holds a reference. */
	aux_group_unmap(&run->group[0]);
	close(run->group[0].aux);
	run->group[0].aux = -1;
	beacons_work(run->beacons, false);
	pin_to_cpu(run->cpu[1]);
	beacons_work(run->beacons, true);
	pin_to_cpu(run->cpu[0]);
	beacons_work(run->beacons, false);
	/* Its gates have no AUX area event: they do nothing, and the level is kept. */
	soft_pause();
	pin_to_cpu(run->cpu[1]);
	beacons_work(run->beacons, true);
	soft_pause();
	beacons_work(run->beacons, false);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- Gates by NMI at all points, on a task that moves --- */

static unsigned long long storm_gates(const struct beacon_run *run,
				      const struct beacon_nmi_gates *nmi_gates)
{
	unsigned long long gates = 0;
	int i;

	for (i = 0; i < CPUS; i++)
		gates += perf_count(run->group[i].resume) + perf_count(run->group[i].pause) +
			 perf_count(nmi_gates->resume[i]) + perf_count(nmi_gates->pause[i]);

	return gates;
}

static void storm_round(struct beacon_run *run)
{
	unsigned int n;

	for (n = 0; n < 500; n++) {
		soft_resume();
		soft_pause();
		if (n % 3 == 0)
			pin_to_cpu(run->cpu[n % CPUS]);
		if (n % 7 == 0)
			aux_group_restart(&run->group[n % CPUS]);
		if (n % 101 == 0)
			nmi_fire(5, n & 1 ? TAG_RESUME : TAG_PAUSE);
	}
}

/* The trace is where the task is, if it is not paused. */
static void expect_engines(struct __test_metadata *_metadata,
			   const struct beacon_run *run, bool paused)
{
	int i, k;

	for (i = 0; i < CPUS; i++) {
		pin_to_cpu(run->cpu[i]);
		for (k = 0; k < CPUS; k++)
			EXPECT_EQ(aux_engine_is_on(run->cpu[k]), i == k && !paused);
	}
}

TEST_F_TIMEOUT(aux_migrate, storm, STORM_TIMEOUT)
{
	struct beacon_run *run = &self->run;
	struct aux_actions act = { };
	__u64 begin = clock_ns();
	struct beacon_nmi_gates nmi_gates;
	bool seen = false;
	int sampler[CPUS];

	run->spec.overwrite = true;
	run->spec.inherit = false;
	beacon_run_open(_metadata, run, &run->spec.level_fd);
	beacon_nmi_gates_open(_metadata, run, &nmi_gates);
	samplers_open(_metadata, run, sampler);
	beacon_run_enable(_metadata, run);
	while (!storm_is_over(begin, seen)) {
		ASSERT_EQ(nmi_at(BEACON_STORM_RULES), 0);
		storm_round(run);
		ASSERT_EQ(nmi_at(""), 0);
		expect_accounts(_metadata, run, storm_gates(run, &nmi_gates));
		ASSERT_EQ(aux_actions_read(&run->group[0], &act), 0);
		expect_engines(_metadata, run, act.paused);
		ASSERT_TRUE(_metadata->passed);
		seen = act.superseded > 1000 && aux_stat("total.nmi_fired") > 10000;
	}
	TH_LOG("%llu requested, %llu superseded, %lld NMIs", act.requested, act.superseded,
	       aux_stat("total.nmi_fired"));
	samplers_close(sampler);
	beacon_nmi_gates_close(&nmi_gates);
	if (_metadata->passed && storm_was_short(seen))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen);
}

/* --- Errors --- */

TEST_F(aux_migrate, errors)
{
	struct beacon_run *run = &self->run;
	int first, not_open = -1;
	struct aux_spec good, bad;

	run->spec.cpu = run->cpu[0];
	ASSERT_EQ(aux_group_open(&run->group[0], &run->spec), 0);
	first = run->group[0].aux;
	good = run->spec;
	good.cpu = run->cpu[1];
	good.level_fd = &first;

	EXPECT_EQ(aux_leader_error(&good), 0);

	bad = good;
	bad.level_fd = &not_open;
	EXPECT_EQ(aux_leader_error(&bad), EBADF);
	bad.level_fd = &run->beacons_fd;
	EXPECT_EQ(aux_leader_error(&bad), EBADF);
	bad.level_fd = &run->group[0].resume;
	EXPECT_EQ(aux_leader_error(&bad), EINVAL);

	bad = good;
	bad.pmu = "test_aux_contig";
	EXPECT_EQ(aux_leader_error(&bad), EINVAL);
	bad = good;
	bad.pmu = "test_nmi";
	bad.period = 0;
	bad.start_paused = false;
	EXPECT_EQ(aux_leader_error(&bad), EINVAL);
	bad = good;
	bad.pid = getppid();
	EXPECT_EQ(aux_leader_error(&bad), EINVAL);
	bad = good;
	bad.start_paused = false;
	EXPECT_EQ(aux_leader_error(&bad), EINVAL);
	bad = good;
	bad.cpu = run->cpu[0];
	EXPECT_EQ(aux_leader_error(&bad), EBUSY);
}

TEST_HARNESS_MAIN
