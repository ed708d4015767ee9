// SPDX-License-Identifier: GPL-2.0
/*
 * Gated groups are torn down while their gates overflow as fast as they can, from
 * NMIs: closed in every order, by exit, by exec, by munmap.
 *
 * Expected: each test passes, the kernel's log stays clean and the kernel
 * untainted, no event is leaked, and the test PMU saw no protocol violation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define ROUNDS		10
#define NMI_INTERVAL	5000	/* ns: often faster than the machine can */
#define BURN_NS		300000
#define ENOUGH_FIRE	100	/* overflows in a test */
#define LONGEST_WAIT	10000000000ULL

FIXTURE(aux_teardown)
{
	struct aux_spec spec;
	struct aux_group group;
	long long taint;
};

FIXTURE_SETUP(aux_teardown)
{
	struct aux_spec *spec = &self->spec;

	memset(self, 0, sizeof(*self));
	spec->cpu = -1;
	spec->overwrite = true;
	attr_nmi(&spec->resume, NMI_INTERVAL, 0);
	attr_nmi(&spec->pause, NMI_INTERVAL, 0);

	self->taint = kernel_taint();
	ASSERT_GE(self->taint, 0);
	ASSERT_EQ(aux_stats_reset(), 0);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
}

FIXTURE_TEARDOWN(aux_teardown)
{
	EXPECT_EQ(module_wait_unused("test_perf_aux"), 0)
		TH_LOG("%d events are left", module_users("test_perf_aux"));
	EXPECT_EQ(kernel_taint(), self->taint);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
	/* The gates did overflow. */
	if (!_metadata->skip)
		EXPECT_GE(nmi_stat("total.overflows"), ENOUGH_FIRE);
}

/* To be waited for: scheduling a victim takes time, and so do a virtual machine's timers. */
static bool is_under_fire(const struct aux_group *group)
{
	__u64 end = clock_ns() + LONGEST_WAIT;

	while (perf_count(group->resume) + perf_count(group->pause) < 10) {
		if (clock_ns() > end)
			return false;
		sched_yield();
	}

	return true;
}

static void open_under_fire(struct __test_metadata *_metadata,
			    struct aux_group *group, const struct aux_spec *spec)
{
	ASSERT_EQ(aux_group_open(group, spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(group), 0);
	ASSERT_TRUE(is_under_fire(group));
}

static void close_one(struct aux_group *group, int which)
{
	int *fds[] = { &group->aux, &group->resume, &group->pause };

	close(*fds[which]);
	*fds[which] = -1;
}

static void close_in_order(struct aux_group *group, const int order[3])
{
	int i;

	for (i = 0; i < 3; i++) {
		close_one(group, order[i]);
		spin_ns(BURN_NS);
	}
}

static const int orders[6][3] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
	{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

/* Close before unmapping: the mapping keeps the leader's buffer. */
TEST_F(aux_teardown, close_in_all_orders)
{
	int i;

	for (i = 0; i < ROUNDS * 6; i++) {
		open_under_fire(_metadata, &self->group, &self->spec);
		close_in_order(&self->group, orders[i % 6]);
		aux_group_unmap(&self->group);
	}
}

TEST_F(aux_teardown, unmap_then_close_in_all_orders)
{
	int i;

	for (i = 0; i < ROUNDS * 6; i++) {
		open_under_fire(_metadata, &self->group, &self->spec);
		aux_group_unmap(&self->group);
		spin_ns(BURN_NS);
		close_in_order(&self->group, orders[i % 6]);
	}
}

TEST_F(aux_teardown, cpu_event_in_all_orders)
{
	int i;

	self->spec.pid = -1;
	self->spec.cpu = nth_cpu(0);
	for (i = 0; i < ROUNDS * 6; i++) {
		open_under_fire(_metadata, &self->group, &self->spec);
		close_in_order(&self->group, orders[i % 6]);
		aux_group_unmap(&self->group);
	}
}

/* From a CPU other than that of the NMIs. */
TEST_F(aux_teardown, close_from_another_cpu)
{
	int cpu = nth_cpu(0), other = -1, i;

	for (i = 0; i < CPU_SETSIZE && other < 0; i++) {
		if (i != cpu && !pin_to_cpu(i))
			other = i;
	}
	if (other < 0)
		SKIP(return, "one CPU only");

	self->spec.pid = -1;
	self->spec.cpu = cpu;
	for (i = 0; i < ROUNDS * 6; i++) {
		open_under_fire(_metadata, &self->group, &self->spec);
		close_in_order(&self->group, orders[i % 6]);
		aux_group_unmap(&self->group);
	}
}

/* A child. The first byte from the pipe makes it spin, the next one calls @end. */
static pid_t victim(int driver_state, void (*end)(void))
{
	struct pollfd pfd = { .fd = driver_state, .events = POLLIN };
	pid_t pid = fork();
	char token;

	if (pid)
		return pid;

	if (read(driver_state, &token, 1) != 1)
		_exit(1);
	while (poll(&pfd, 1, 0) < 1)
		spin_ns(BURN_NS / 10);
	if (read(driver_state, &token, 1) != 1)
		_exit(1);
	end();
	_exit(0);
}

static void end_by_exit(void)
{
	_exit(0);
}

static void end_by_exec(void)
{
	execlp("true", "true", NULL);
}

/* Without @end they are killed. */
static void run_victims(struct __test_metadata *_metadata,
			struct aux_group *group, struct aux_spec *spec,
			void (*end)(void))
{
	int tell[2], i;
	pid_t pid;

	for (i = 0; i < ROUNDS * 2; i++) {
		/* A pipe for each: a victim that is killed may leave a byte unread. */
		ASSERT_EQ(pipe(tell), 0);
		pid = victim(tell[0], end);
		ASSERT_GT(pid, 0);
		spec->pid = pid;
		ASSERT_EQ(aux_group_open(group, spec), 0)
			TH_LOG("%s", strerror(errno));
		ASSERT_EQ(aux_group_enable(group), 0);
		ASSERT_EQ(write(tell[1], "", 1), 1);
		EXPECT_TRUE(is_under_fire(group));
		ASSERT_EQ(end ? write(tell[1], "", 1) : kill(pid, SIGKILL), !!end);
		ASSERT_EQ(waitpid(pid, NULL, 0), pid);
		aux_group_close(group);
		close(tell[0]);
		close(tell[1]);
	}
}

TEST_F(aux_teardown, task_exits)
{
	run_victims(_metadata, &self->group, &self->spec, end_by_exit);
}

TEST_F(aux_teardown, task_is_killed)
{
	run_victims(_metadata, &self->group, &self->spec, NULL);
}

TEST_F(aux_teardown, task_execs)
{
	run_victims(_metadata, &self->group, &self->spec, end_by_exec);
}

TEST_F(aux_teardown, gates_are_removed_on_exec)
{
	self->spec.resume.remove_on_exec = 1;
	self->spec.pause.remove_on_exec = 1;
	run_victims(_metadata, &self->group, &self->spec, end_by_exec);
}

/* The leader goes, its gates become separate events and go on to overflow. */
TEST_F(aux_teardown, leader_is_removed_on_exec)
{
	self->spec.leader_removed_on_exec = true;
	run_victims(_metadata, &self->group, &self->spec, end_by_exec);
}

static void fork_storm(int depth)
{
	pid_t pid[2] = { -1, -1 };
	int i;

	spin_ns(BURN_NS / 3);
	for (i = 0; depth && i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			fork_storm(depth - 1);
			_exit(0);
		}
	}
	for (i = 0; i < 2; i++) {
		if (pid[i] > 0)
			waitpid(pid[i], NULL, 0);
	}
}

/* Hundreds of inherited groups come and go. */
TEST_F(aux_teardown, fork_storm)
{
	int i;

	self->spec.inherit = true;
	self->spec.cpu = nth_cpu(0);
	for (i = 0; i < 3; i++) {
		open_under_fire(_metadata, &self->group, &self->spec);
		fork_storm(5);
		aux_group_close(&self->group);
	}
}

/* The parent's group is closed while its children live and fork. */
TEST_F(aux_teardown, close_in_fork_storm)
{
	pid_t pid;
	int i;

	self->spec.inherit = true;
	self->spec.cpu = nth_cpu(0);
	for (i = 0; i < 6; i++) {
		open_under_fire(_metadata, &self->group, &self->spec);
		pid = fork();
		if (!pid) {
			/* The parent's close must be the last. */
			close_in_order(&self->group, orders[i]);
			fork_storm(4);
			_exit(0);
		}
		ASSERT_GT(pid, 0);
		spin_ns(3 * BURN_NS);
		close_in_order(&self->group, orders[i]);
		aux_group_unmap(&self->group);
		ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	}
}

/* Disabled and enabled by the test, gate by gate and as a group. */
TEST_F(aux_teardown, disable_and_enable)
{
	struct aux_actions act = { .pending = -1 };
	struct aux_group *group = &self->group;
	__u64 end = clock_ns() + LONGEST_WAIT;
	int i;

	open_under_fire(_metadata, group, &self->spec);
	for (i = 0; i < ROUNDS * 20 || (nmi_stat("total.overflows") < ENOUGH_FIRE &&
					clock_ns() < end); i++) {
		int fd = i % 3 == 0 ? group->aux :
			 i % 3 == 1 ? group->resume : group->pause;

		ASSERT_EQ(perf_disable(fd), 0);
		spin_ns(BURN_NS / 10);
		ASSERT_EQ(perf_enable(fd), 0);
		spin_ns(BURN_NS / 10);
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	ASSERT_EQ(aux_actions_read(group, &act), 0);
	EXPECT_EQ(act.pending, 0);
	EXPECT_EQ(act.requested, act.executed + act.superseded);
	EXPECT_EQ(act.requested,
		  perf_count(group->resume) + perf_count(group->pause));
	aux_group_close(group);
}

/*
 * A leader is closed while tasks that have inherited its group fork. A fork
 * between the close and the removal of that task's copy inherits the gate without a
 * leader. The fork succeeds, and its gate does nothing, like all the others now.
 *
 * Copies are removed one after the other. The closing task has the lowest priority,
 * and all tasks are on one CPU. The forking tasks wake up while it removes the first
 * copies, those of many idle tasks.
 */
#define NR_IDLE		100
#define NR_FORKING	3
#define NR_FORKS	5
#define ENOUGH_FORKS	30	/* during the close */
#define WANTED_FORKS	120		/* if that takes no more than WANTED_NS */
#define WANTED_NS	10000000000ULL
#define SLEEP_NS	20000000	/* at first: more on a machine that is slower */
#define LONGEST_NS	1000000000
#define AHEAD_NS	300000	/* the close begins at most this long before the forks */
#define PHASES		8	/* parts of that: how long a close takes depends on the machine */

struct orphans {
	__u64 wake;
	unsigned int asleep;
	struct {
		__u64 begin, end;
		int error;
	} fork[NR_FORKING][NR_FORKS];
};

FIXTURE(aux_orphans)
{
	struct orphans *orphans;
	__u64 sleep_ns;			/* of the tasks, until they fork */
	struct aux_group out;		/* the buffer of another event */
	int leader, gate;
	__u64 gate_id;
	int hold[2];			/* a pipe: tasks wait until it is closed */
	pid_t pid[NR_IDLE + NR_FORKING];
};

static int open_inherited(struct perf_event_attr *attr, int group_fd)
{
	attr->inherit = 1;

	return perf_open(attr, 0, nth_cpu(0), group_fd);
}

static int map_output(struct aux_group *out)
{
	void *map;

	out->data_size = 16 * 4096;
	map = mmap(NULL, 4096 + out->data_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   out->aux, 0);
	if (map == MAP_FAILED)
		return -1;

	out->page = map;
	out->data = map + 4096;

	return 0;
}

FIXTURE_SETUP(aux_orphans)
{
	struct perf_event_attr attr;

	memset(self, 0, sizeof(*self));
	if (attr_tracepoint(&attr, AT_PAUSE))
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");
	self->sleep_ns = SLEEP_NS;
	self->orphans = mmap(NULL, sizeof(*self->orphans), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(self->orphans, MAP_FAILED);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);

	aux_group_init(&self->out);
	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_DUMMY;
	self->out.aux = open_inherited(&attr, -1);
	ASSERT_GE(self->out.aux, 0);
	ASSERT_EQ(map_output(&self->out), 0);
}

FIXTURE_TEARDOWN(aux_orphans)
{
	aux_group_close(&self->out);
	EXPECT_EQ(module_wait_unused("test_perf_aux"), 0);
}

static void open_orphans(struct __test_metadata *_metadata,
			 struct _test_data_aux_orphans *self)
{
	struct perf_event_attr attr;

	attr_init(&attr, pmu_type("test_aux"));
	attr.disabled = 0;
	self->leader = open_inherited(&attr, -1);
	ASSERT_GE(self->leader, 0);

	ASSERT_EQ(attr_tracepoint(&attr, AT_PAUSE), 0);
	attr.aux_pause = 1;
	self->gate = open_inherited(&attr, self->leader);
	ASSERT_GE(self->gate, 0);
	self->gate_id = perf_id(self->gate);
	ASSERT_EQ(perf_set_output(self->gate, self->out.aux), 0);
}

/* Waits until the other end of the pipe is closed in all tasks. */
static void pass_gate_when_released(int hold)
{
	char token;

	while (read(hold, &token, 1) < 0)
		;
	soft_pause();
	_exit(0);
}

static void sleep_until(__u64 time)
{
	__u64 now = clock_ns();

	if (time > now)
		usleep((time - now) / 1000);
}

static void do_fork(struct orphans *orphans, int task, int hold)
{
	pid_t pid[NR_FORKS];
	int i;

	__atomic_add_fetch(&orphans->asleep, 1, __ATOMIC_RELEASE);
	sleep_until(orphans->wake);
	for (i = 0; i < NR_FORKS; i++) {
		orphans->fork[task][i].begin = clock_ns();
		pid[i] = fork();
		if (!pid[i])
			pass_gate_when_released(hold);
		orphans->fork[task][i].end = clock_ns();
		orphans->fork[task][i].error = pid[i] < 0 ? errno : 0;
	}
	for (i = 0; i < NR_FORKS; i++)
		waitpid(pid[i], NULL, 0);
	_exit(0);
}

static int start_task(struct _test_data_aux_orphans *self, int i)
{
	self->pid[i] = fork();
	if (self->pid[i])
		return self->pid[i] < 0 ? -1 : 0;

	/* The parent's close must be the last. */
	close(self->leader);
	close(self->hold[1]);
	if (i < NR_IDLE)
		pass_gate_when_released(self->hold[0]);
	do_fork(self->orphans, i - NR_IDLE, self->hold[0]);

	return 0;
}

static int set_policy(int policy)
{
	struct sched_param param = { };

	return sched_setscheduler(0, policy, &param);
}

static size_t gate_samples(struct _test_data_aux_orphans *self)
{
	struct perf_records records = { };
	size_t nr = -1;

	if (!perf_records_read(&records, &self->out))
		nr = perf_records_count(&records, PERF_RECORD_SAMPLE, self->gate_id);
	perf_records_free(&records);

	return nr;
}

/* Returns the number of forks during the close. */
static int close_while_tasks_fork(struct __test_metadata *_metadata,
				  struct _test_data_aux_orphans *self, __u64 ahead)
{
	struct orphans *orphans = self->orphans;
	int task, i, between = 0;
	__u64 begin, end;

	for (i = 0; i < NR_IDLE; i++)
		ASSERT_EQ(start_task(self, i), 0);
	orphans->asleep = 0;
	orphans->wake = clock_ns() + self->sleep_ns;
	for (; i < NR_IDLE + NR_FORKING; i++)
		ASSERT_EQ(start_task(self, i), 0);
	while (__atomic_load_n(&orphans->asleep, __ATOMIC_ACQUIRE) < NR_FORKING)
		sched_yield();
	if (clock_ns() > orphans->wake - 10 * AHEAD_NS && self->sleep_ns < LONGEST_NS)
		self->sleep_ns *= 2;

	ASSERT_EQ(set_policy(SCHED_IDLE), 0);
	sleep_until(orphans->wake - 10 * AHEAD_NS);
	while (clock_ns() < orphans->wake - ahead)
		;
	begin = clock_ns();
	close(self->leader);
	end = clock_ns();
	ASSERT_EQ(set_policy(SCHED_OTHER), 0);

	close(self->hold[1]);
	for (i = 0; i < NR_IDLE + NR_FORKING; i++)
		ASSERT_EQ(waitpid(self->pid[i], NULL, 0), self->pid[i]);

	for (task = 0; task < NR_FORKING; task++) {
		for (i = 0; i < NR_FORKS; i++) {
			EXPECT_EQ(orphans->fork[task][i].error, 0);
			between += orphans->fork[task][i].begin > begin &&
				   orphans->fork[task][i].end < end;
		}
	}

	return between;
}

/* Every other close begins as early as possible: then many forks are in time. */
static __u64 ahead_of_forks(int round)
{
	return AHEAD_NS * (round % 2 ? 1 + round / 2 % PHASES : PHASES) / PHASES;
}

/* On a busy machine few forks are in time. */
TEST_F_TIMEOUT(aux_orphans, leader_is_closed_while_tasks_fork, 120)
{
	__u64 begin = clock_ns();
	int round, between = 0;

	for (round = 0; round < 100 && between < WANTED_FORKS; round++) {
		if (between >= ENOUGH_FORKS && clock_ns() - begin > WANTED_NS)
			break;
		open_orphans(_metadata, self);
		ASSERT_EQ(pipe(self->hold), 0);
		soft_pause();
		EXPECT_EQ(gate_samples(self), 1);

		between += close_while_tasks_fork(_metadata, self, ahead_of_forks(round));
		EXPECT_EQ(gate_samples(self), 0);
		close(self->hold[0]);
		close(self->gate);
	}
	EXPECT_GE(between, ENOUGH_FORKS);
}

TEST_HARNESS_MAIN
