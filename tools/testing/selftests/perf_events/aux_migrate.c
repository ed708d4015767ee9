// SPDX-License-Identifier: GPL-2.0
/*
 * Windows follow their task: AUX area events of one task on several CPUs that share a
 * level. What the task does between its gates is traced, wherever it runs, and
 * nothing else is.
 *
 * The task notes the time of what it does, and whether it is in a window: each such
 * beacon must be in the trace of some CPU, or of none.
 *
 * Expected: each test passes; skipped by a kernel without PERF_FLAG_FD_AUX_LEVEL, and on
 * one CPU. Where each CPU has a level of its own, all tests that move fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus() ?: lacks_aux_level())

#define CPUS		2
#define ROUNDS		40
#define MAX_BEACONS	100000
#define SAMPLE_SIZE	256

/* Few packets, so that the area lasts: windows are exact without them. */
#define PERIOD		100000

struct beacon {
	__u64	time;
	__u32	tid;
	bool	inside;
};

/* Shared with children, and with the program that exec starts. */
struct beacons {
	unsigned int	nr;
	struct beacon	at[MAX_BEACONS];
};

FIXTURE(aux_migrate)
{
	struct aux_spec spec;
	struct aux_group group[CPUS];
	struct aux_trace trace[CPUS];
	int cpu[CPUS];
	struct beacons *beacons;
	int beacons_fd;
	int old_rate;
};

static struct beacons *map_beacons(int fd)
{
	void *map = mmap(NULL, sizeof(struct beacons), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

FIXTURE_SETUP(aux_migrate)
{
	struct aux_spec *spec = &self->spec;
	int i;

	memset(self, 0, sizeof(*self));
	self->beacons_fd = -1;
	for (i = 0; i < CPUS; i++) {
		aux_group_init(&self->group[i]);
		self->cpu[i] = nth_cpu(i);
	}
	if (self->cpu[CPUS - 1] < 0)
		SKIP(return, "one CPU only");

	if (attr_tracepoint(&spec->resume, AT_RESUME) ||
	    attr_tracepoint(&spec->pause, AT_PAUSE))
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	spec->start_paused = true;
	spec->inherit = true;
	spec->period = PERIOD;
	spec->aux_pages = 512;

	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(aux_stats_reset(), 0);
	self->old_rate = set_max_sample_rate(RATE_UNLIMITED);
	ASSERT_GT(self->old_rate, 0);
	self->beacons_fd = memfd_create("beacons", 0);
	ASSERT_EQ(ftruncate(self->beacons_fd, sizeof(struct beacons)), 0);
	self->beacons = map_beacons(self->beacons_fd);
	ASSERT_NE(self->beacons, NULL);
	ASSERT_EQ(pin_to_cpu(self->cpu[0]), 0);
}

FIXTURE_TEARDOWN(aux_migrate)
{
	int i;

	EXPECT_EQ(nmi_at(""), 0);
	if (self->old_rate)
		set_max_sample_rate(self->old_rate);
	for (i = 0; i < CPUS; i++) {
		aux_trace_free(&self->trace[i]);
		aux_group_close(&self->group[i]);
	}
	if (self->beacons)
		munmap(self->beacons, sizeof(struct beacons));
	close(self->beacons_fd);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

/* --- The events --- */

static void open_groups(struct __test_metadata *_metadata,
			struct _test_data_aux_migrate *self)
{
	int i;

	for (i = 0; i < CPUS; i++) {
		self->spec.cpu = self->cpu[i];
		self->spec.level_fd = i ? &self->group[0].aux : NULL;
		ASSERT_EQ(aux_group_open(&self->group[i], &self->spec), 0)
			TH_LOG("%s", strerror(errno));
	}
}

static void enable_groups(struct __test_metadata *_metadata,
			  struct _test_data_aux_migrate *self)
{
	int i;

	for (i = 0; i < CPUS; i++)
		ASSERT_EQ(aux_group_enable(&self->group[i]), 0);
}

static void read_traces(struct __test_metadata *_metadata,
			struct _test_data_aux_migrate *self)
{
	int i;

	for (i = 0; i < CPUS; i++) {
		if (self->group[i].aux < 0)
			continue;
		aux_group_disable(&self->group[i]);
		ASSERT_EQ(aux_trace_read(&self->trace[i], &self->group[i]), 0)
			TH_LOG("%s", self->trace[i].error);
	}
}

/* --- What the task does --- */

static void note(struct beacons *beacons, bool inside)
{
	unsigned int nr = __atomic_fetch_add(&beacons->nr, 1, __ATOMIC_RELAXED);

	if (nr < MAX_BEACONS) {
		beacons->at[nr].tid = gettid();
		beacons->at[nr].inside = inside;
		beacons->at[nr].time = clock_ns();
	}
}

static void work(struct beacons *beacons, bool inside)
{
	int i;

	for (i = 0; i < 5; i++) {
		note(beacons, inside);
		spin_ns(5000);
	}
	note(beacons, inside);
}

/* A window that begins on one CPU and ends on another, and moves there and back between. */
static void wandering_window(struct beacons *beacons, const int *cpu, unsigned int round)
{
	unsigned int i;

	pin_to_cpu(cpu[round % CPUS]);
	work(beacons, false);
	soft_resume();
	for (i = 1; i <= 3; i++) {
		work(beacons, true);
		pin_to_cpu(cpu[(round + i) % CPUS]);
		work(beacons, true);
	}
	soft_pause();
	work(beacons, false);
}

static void wander(struct beacons *beacons, const int *cpu, unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++)
		wandering_window(beacons, cpu, i);
}

/* --- What was traced --- */

static bool traced(const struct aux_trace *trace, const struct beacon *beacon)
{
	size_t n;
	int i;

	for (i = 0; i < CPUS; i++) {
		for (n = 0; n < trace[i].nr; n++) {
			const struct aux_window *win = &trace[i].win[n];

			if (win->tid == beacon->tid && beacon->time >= win->start &&
			    beacon->time < win->stop)
				return true;
		}
	}

	return false;
}

static void expect_exact(struct __test_metadata *_metadata,
			 const struct _test_data_aux_migrate *self)
{
	const struct beacons *beacons = self->beacons;
	unsigned int n, wrong = 0;

	ASSERT_GT(beacons->nr, 10);
	ASSERT_LE(beacons->nr, MAX_BEACONS);
	for (n = 0; n < beacons->nr; n++) {
		const struct beacon *beacon = &beacons->at[n];

		if (traced(self->trace, beacon) == beacon->inside)
			continue;
		if (!wrong++)
			TH_LOG("beacon %u of %u at %llu, task %u: %straced", n, beacons->nr,
			       beacon->time, beacon->tid, beacon->inside ? "not " : "");
	}
	EXPECT_EQ(wrong, 0);
}

static unsigned int windows_opened_by(const struct _test_data_aux_migrate *self, __u8 why)
{
	unsigned int opened = 0;
	size_t n;
	int i;

	for (i = 0; i < CPUS; i++) {
		for (n = 0; n < self->trace[i].nr; n++)
			opened += self->trace[i].win[n].opened_by == why;
	}

	return opened;
}

/* The level is one, whichever event is asked, and the gates of all count. */
static void expect_accounts(struct __test_metadata *_metadata,
			    const struct _test_data_aux_migrate *self,
			    unsigned long long gates)
{
	struct aux_actions act[CPUS];
	int i;

	for (i = 0; i < CPUS; i++) {
		ASSERT_EQ(aux_actions_read(&self->group[i], &act[i]), 0);
		EXPECT_EQ(act[i].requested, gates);
		EXPECT_EQ(act[i].pending, 0);
		EXPECT_EQ(act[i].requested, act[i].executed + act[i].superseded);
		EXPECT_EQ(act[i].paused, act[0].paused);
	}
}

TEST_F(aux_migrate, window_follows_the_task)
{
	open_groups(_metadata, self);
	enable_groups(_metadata, self);
	wander(self->beacons, self->cpu, ROUNDS);
	read_traces(_metadata, self);

	expect_exact(_metadata, self);
	expect_accounts(_metadata, self, 2 * ROUNDS);
	EXPECT_EQ(windows_opened_by(self, TEST_PERF_AUX_BY_RESUME), ROUNDS);
	EXPECT_GE(windows_opened_by(self, TEST_PERF_AUX_BY_START), 3 * ROUNDS);
}

/*
 * The same with AUX samples by NMI at all points of the driver: sections that nest. One in
 * the middle of a pause or a resume may be what switches the trace.
 */
TEST_F(aux_migrate, window_follows_the_task_under_nmis)
{
	int sampler[CPUS], i;

	self->spec.inherit = false;
	open_groups(_metadata, self);
	for (i = 0; i < CPUS; i++) {
		self->trace[i].pieces = true;
		self->spec.cpu = self->cpu[i];
		sampler[i] = aux_group_add_nmi_sampler(&self->group[i], &self->spec,
						       SAMPLE_SIZE);
		ASSERT_GE(sampler[i], 0);
	}
	enable_groups(_metadata, self);
	ASSERT_EQ(nmi_at("all:3:3"), 0);
	wander(self->beacons, self->cpu, ROUNDS);
	ASSERT_EQ(nmi_at(""), 0);
	read_traces(_metadata, self);
	for (i = 0; i < CPUS; i++)
		close(sampler[i]);

	expect_exact(_metadata, self);
	expect_accounts(_metadata, self, 2 * ROUNDS);
	EXPECT_GT(aux_stat("total.nmi_fired"), ROUNDS);
}

/* --- Inherited events --- */

static void child(struct beacons *beacons, const int *cpu, int generations)
{
	int status = 0;
	pid_t pid;

	work(beacons, false);
	wander(beacons, cpu, 5);
	if (generations) {
		soft_resume();
		work(beacons, true);
		pid = fork();
		if (!pid)
			child(beacons, cpu, generations - 1);
		work(beacons, true);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			_exit(1);
		work(beacons, true);
		soft_pause();
	}
	wander(beacons, cpu, 5);
	_exit(status != 0);
}

/* Parent and child are in windows of their own, which the other doesn't touch. */
TEST_F(aux_migrate, children_and_grandchildren_have_their_own)
{
	int status, i;
	pid_t pid;

	open_groups(_metadata, self);
	enable_groups(_metadata, self);
	soft_resume();
	pid = fork();
	if (!pid)
		child(self->beacons, self->cpu, 2);
	ASSERT_GT(pid, 0);
	for (i = 0; i < 20; i++) {
		work(self->beacons, true);
		pin_to_cpu(self->cpu[i % CPUS]);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	work(self->beacons, true);
	soft_pause();
	work(self->beacons, false);
	read_traces(_metadata, self);

	expect_exact(_metadata, self);
	expect_accounts(_metadata, self, 2);
}

/* A level that begins running: the child's pause on one CPU counts on the other. */
TEST_F(aux_migrate, child_starts_running)
{
	int status;
	pid_t pid;

	self->spec.start_paused = false;
	open_groups(_metadata, self);
	enable_groups(_metadata, self);
	soft_pause();
	work(self->beacons, false);
	pid = fork();
	if (!pid) {
		work(self->beacons, true);
		pin_to_cpu(self->cpu[1]);
		work(self->beacons, true);
		soft_pause();
		pin_to_cpu(self->cpu[0]);
		work(self->beacons, false);
		_exit(0);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	pin_to_cpu(self->cpu[1]);
	work(self->beacons, false);
	read_traces(_metadata, self);

	expect_exact(_metadata, self);
}

/* --- Exec --- */

#define AFTER_EXEC	"AUX_MIGRATE_AFTER_EXEC"

/* What the program does that exec starts: goes on in the window. */
static void __attribute__((constructor)) after_exec(void)
{
	const char *args = getenv(AFTER_EXEC);
	struct beacons *beacons;
	int fd, cpu[CPUS];

	if (!args)
		return;
	if (sscanf(args, "%d %d %d", &fd, &cpu[0], &cpu[1]) != 3)
		_exit(1);
	beacons = map_beacons(fd);
	if (!beacons)
		_exit(1);
	work(beacons, true);
	pin_to_cpu(cpu[1]);
	work(beacons, true);
	soft_pause();
	pin_to_cpu(cpu[0]);
	work(beacons, false);
	wander(beacons, cpu, 5);
	_exit(0);
}

static void exec_in_window(struct _test_data_aux_migrate *self)
{
	char args[64];

	snprintf(args, sizeof(args), "%d %d %d", self->beacons_fd, self->cpu[0], self->cpu[1]);
	setenv(AFTER_EXEC, args, 1);
	soft_resume();
	work(self->beacons, true);
	pin_to_cpu(self->cpu[1]);
	pin_to_cpu(self->cpu[0]);
	work(self->beacons, true);
	execl("/proc/self/exe", "aux_migrate", NULL);
	_exit(1);
}

TEST_F(aux_migrate, exec_in_a_window)
{
	int status = -1;
	pid_t pid;

	open_groups(_metadata, self);
	enable_groups(_metadata, self);
	pid = fork();
	if (!pid)
		exec_in_window(self);
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	read_traces(_metadata, self);

	expect_exact(_metadata, self);
	EXPECT_EQ(windows_opened_by(self, TEST_PERF_AUX_BY_RESUME), 1 + 5);
}

/* --- Closed one by one --- */

/* The one whose level the others share goes first. That CPU is then without a trace. */
TEST_F(aux_migrate, close_in_a_window)
{
	open_groups(_metadata, self);
	enable_groups(_metadata, self);
	soft_resume();
	/* The mapping holds a reference. */
	aux_group_unmap(&self->group[0]);
	close(self->group[0].aux);
	self->group[0].aux = -1;
	work(self->beacons, false);
	pin_to_cpu(self->cpu[1]);
	work(self->beacons, true);
	pin_to_cpu(self->cpu[0]);
	work(self->beacons, false);
	/* Its gates have no AUX area event: they do nothing, and the level is kept. */
	soft_pause();
	pin_to_cpu(self->cpu[1]);
	work(self->beacons, true);
	soft_pause();
	work(self->beacons, false);
	read_traces(_metadata, self);

	expect_exact(_metadata, self);
}

/* --- Gates by NMI at all points, on a task that moves --- */

#define STORM_RULES	"all:1:13,all:2:17,all:3:29"

struct storm {
	int	nmi_resume[CPUS], nmi_pause[CPUS], sampler[CPUS];
};

static void storm_open(struct __test_metadata *_metadata,
		       struct _test_data_aux_migrate *self, struct storm *storm)
{
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < CPUS; i++) {
		self->spec.cpu = self->cpu[i];
		attr_nmi(&attr, 0, TAG_RESUME);
		storm->nmi_resume[i] = aux_group_add_gate(&self->group[i], &self->spec, &attr,
							  true);
		attr_nmi(&attr, 0, TAG_PAUSE);
		storm->nmi_pause[i] = aux_group_add_gate(&self->group[i], &self->spec, &attr,
							 false);
		storm->sampler[i] = aux_group_add_nmi_sampler(&self->group[i], &self->spec,
							      SAMPLE_SIZE);
		ASSERT_GE(storm->nmi_resume[i], 0);
		ASSERT_GE(storm->nmi_pause[i], 0);
		ASSERT_GE(storm->sampler[i], 0);
	}
}

static unsigned long long storm_gates(const struct _test_data_aux_migrate *self,
				      const struct storm *storm)
{
	unsigned long long gates = 0;
	int i;

	for (i = 0; i < CPUS; i++)
		gates += perf_count(self->group[i].resume) + perf_count(self->group[i].pause) +
			 perf_count(storm->nmi_resume[i]) + perf_count(storm->nmi_pause[i]);

	return gates;
}

static void storm_round(struct _test_data_aux_migrate *self)
{
	unsigned int n;

	for (n = 0; n < 500; n++) {
		soft_resume();
		soft_pause();
		if (n % 3 == 0)
			pin_to_cpu(self->cpu[n % CPUS]);
		if (n % 7 == 0)
			aux_group_restart(&self->group[n % CPUS]);
		if (n % 101 == 0)
			nmi_fire(5, n & 1 ? TAG_RESUME : TAG_PAUSE);
	}
}

static bool engine_is_on(int cpu)
{
	char on[32], off[32];
	long long before, result;

	snprintf(on, sizeof(on), "cpu%d.on", cpu);
	snprintf(off, sizeof(off), "cpu%d.off", cpu);
	do {
		before = aux_stat(on);
		result = before - aux_stat(off);
	} while (aux_stat(on) != before);

	return result == 1;
}

/* The trace is where the task is, if it is not paused. */
static void expect_engines(struct __test_metadata *_metadata,
			   const struct _test_data_aux_migrate *self, bool paused)
{
	int i, k;

	for (i = 0; i < CPUS; i++) {
		pin_to_cpu(self->cpu[i]);
		for (k = 0; k < CPUS; k++)
			EXPECT_EQ(engine_is_on(self->cpu[k]), i == k && !paused);
	}
}

TEST_F_TIMEOUT(aux_migrate, storm, STORM_TIMEOUT)
{
	struct aux_actions act = { };
	__u64 begin = clock_ns();
	struct storm storm;
	bool seen = false;
	int i;

	self->spec.overwrite = true;
	self->spec.inherit = false;
	open_groups(_metadata, self);
	storm_open(_metadata, self, &storm);
	enable_groups(_metadata, self);
	while (!storm_is_over(begin, seen)) {
		ASSERT_EQ(nmi_at(STORM_RULES), 0);
		storm_round(self);
		ASSERT_EQ(nmi_at(""), 0);
		expect_accounts(_metadata, self, storm_gates(self, &storm));
		ASSERT_EQ(aux_actions_read(&self->group[0], &act), 0);
		expect_engines(_metadata, self, act.paused);
		ASSERT_TRUE(_metadata->passed);
		seen = act.superseded > 1000 && aux_stat("total.nmi_fired") > 10000;
	}
	TH_LOG("%llu requested, %llu superseded, %lld NMIs", act.requested, act.superseded,
	       aux_stat("total.nmi_fired"));
	for (i = 0; i < CPUS; i++) {
		close(storm.sampler[i]);
		close(storm.nmi_pause[i]);
		close(storm.nmi_resume[i]);
	}
	if (_metadata->passed && storm_was_short(seen))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen);
}

/* --- Errors --- */

struct attempt {
	const char	*pmu;
	pid_t		pid;
	int		cpu;
	bool		start_paused;
};

/* 0 or the error of opening such an event with the level of @level_fd */
static int try_level(const struct attempt *attempt, int level_fd)
{
	struct perf_event_attr attr;
	int fd;

	attr_init(&attr, pmu_type(attempt->pmu));
	attr.aux_start_paused = attempt->start_paused;
	fd = perf_open_level(&attr, attempt->pid, attempt->cpu, level_fd);
	if (fd < 0)
		return errno;
	close(fd);

	return 0;
}

TEST_F(aux_migrate, errors)
{
	struct attempt good = { "test_aux", 0, self->cpu[1], true }, bad;
	int level;

	self->spec.cpu = self->cpu[0];
	ASSERT_EQ(aux_group_open(&self->group[0], &self->spec), 0);
	level = self->group[0].aux;

	EXPECT_EQ(try_level(&good, level), 0);
	EXPECT_EQ(try_level(&good, -1), EBADF);
	EXPECT_EQ(try_level(&good, self->beacons_fd), EBADF);
	EXPECT_EQ(try_level(&good, self->group[0].resume), EINVAL);

	bad = good;
	bad.pmu = "test_aux_contig";
	EXPECT_EQ(try_level(&bad, level), EINVAL);
	bad = good;
	bad.pmu = "test_nmi";
	bad.start_paused = false;
	EXPECT_EQ(try_level(&bad, level), EINVAL);
	bad = good;
	bad.pid = getppid();
	EXPECT_EQ(try_level(&bad, level), EINVAL);
	bad = good;
	bad.start_paused = false;
	EXPECT_EQ(try_level(&bad, level), EINVAL);
	bad = good;
	bad.cpu = self->cpu[0];
	EXPECT_EQ(try_level(&bad, level), EBUSY);
}

TEST_HARNESS_MAIN
