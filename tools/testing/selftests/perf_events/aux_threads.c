// SPDX-License-Identifier: GPL-2.0
/*
 * Windows belong to the thread that opened them: AUX area events of CPUs that share their
 * threads. What a thread does between its gates is traced, wherever it runs, and nothing
 * that others do meanwhile on the same CPUs is.
 *
 * Expected: each test passes; skipped by a kernel without PERF_FLAG_FD_AUX_THREADS, and on
 * one CPU. Where windows belong to CPUs, all tests fail but that of the errors.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "aux_beacon_test.h"
#include "aux_keep.h"

PROGRAM_NEEDS(lacks_test_pmus() ?: lacks_aux_threads())

#define CPUS	BEACON_CPUS
#define ROUNDS	40

FIXTURE(aux_threads)
{
	struct beacon_run run;
	int none;
};

FIXTURE_SETUP(aux_threads)
{
	self->none = -1;
	beacon_run_setup(_metadata, &self->run);
	self->run.spec.pid = -1;
	self->run.spec.threads_fd = &self->none;
}

FIXTURE_TEARDOWN(aux_threads)
{
	beacon_run_teardown(_metadata, &self->run);
}

static void open_and_enable(struct __test_metadata *_metadata, struct beacon_run *run)
{
	beacon_run_open(_metadata, run, &run->spec.threads_fd);
	beacon_run_enable(_metadata, run);
}

/* --- Threads --- */

/* Threads that work outside of windows on each CPU, and take it from those in a window. */
struct crowd {
	struct beacon_run *run;
	pthread_t thread[CPUS];
	bool over;
};

struct bystander {
	struct crowd *crowd;
	int cpu;
};

static void *stand_by(void *arg)
{
	struct bystander *bystander = arg;
	struct crowd *crowd = bystander->crowd;

	pin_to_cpu(bystander->cpu);
	free(bystander);
	while (!__atomic_load_n(&crowd->over, __ATOMIC_RELAXED)) {
		beacons_note(crowd->run->beacons, false);
		spin_ns(300000);
		/* For a waker, and for those who have waited longer */
		sched_yield();
	}

	return NULL;
}

static void crowd_start(struct __test_metadata *_metadata, struct crowd *crowd,
			struct beacon_run *run)
{
	struct bystander *bystander;
	int i;

	crowd->run = run;
	crowd->over = false;
	for (i = 0; i < CPUS; i++) {
		bystander = malloc(sizeof(*bystander));
		ASSERT_NE(bystander, NULL);
		bystander->crowd = crowd;
		bystander->cpu = run->cpu[i];
		ASSERT_EQ(pthread_create(&crowd->thread[i], NULL, stand_by, bystander), 0);
	}
}

static void crowd_end(struct crowd *crowd)
{
	int i;

	__atomic_store_n(&crowd->over, true, __ATOMIC_RELAXED);
	for (i = 0; i < CPUS; i++)
		pthread_join(crowd->thread[i], NULL);
}

static void *wander(void *arg)
{
	struct beacon_run *run = arg;

	beacons_wander(run->beacons, run->cpu, ROUNDS);

	return NULL;
}

static bool all_paused(struct __test_metadata *_metadata, const struct beacon_run *run)
{
	struct aux_actions act;
	bool paused = true;
	int i;

	for (i = 0; i < CPUS; i++) {
		if (aux_actions_read(&run->group[i], &act))
			return false;
		EXPECT_EQ(act.pending, 0);
		EXPECT_EQ(act.requested, act.executed + act.superseded);
		paused = paused && act.paused;
	}

	return paused;
}

/* For ten seconds at most: the caller checks what came of it. */
static void wait_until_all_paused(const struct beacon_run *run)
{
	__u64 end = clock_ns() + 10000000000ULL;
	struct aux_actions act;
	int i = 0;

	while (i < CPUS && clock_ns() < end)
		i += !aux_actions_read(&run->group[i], &act) && act.paused;
}

TEST_F(aux_threads, window_follows_the_thread)
{
	struct beacon_run *run = &self->run;
	struct crowd crowd;

	open_and_enable(_metadata, run);
	crowd_start(_metadata, &crowd, run);
	wander(run);
	crowd_end(&crowd);
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* Two threads take turns on the same CPUs, both in windows of their own. */
TEST_F(aux_threads, two_threads_in_windows)
{
	struct beacon_run *run = &self->run;
	pthread_t other;

	open_and_enable(_metadata, run);
	ASSERT_EQ(pthread_create(&other, NULL, wander, run), 0);
	wander(run);
	ASSERT_EQ(pthread_join(other, NULL), 0);
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- A thread that sleeps in its window --- */

struct sleeper {
	struct beacon_run *run;
	sem_t asleep, wake;
};

static void *sleep_in_windows(void *arg)
{
	struct sleeper *sleeper = arg;
	struct beacon_run *run = sleeper->run;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pin_to_cpu(run->cpu[i % CPUS]);
		soft_resume();
		beacons_work(run->beacons, true);
		sem_post(&sleeper->asleep);
		while (sem_wait(&sleeper->wake))
			;
		beacons_work(run->beacons, true);
		soft_pause();
		beacons_work(run->beacons, false);
	}

	return NULL;
}

/* Who wakes it works on the CPU that it slept on. */
TEST_F(aux_threads, asleep_in_a_window)
{
	struct beacon_run *run = &self->run;
	struct sleeper sleeper = { .run = run };
	pthread_t thread;
	int i;

	sem_init(&sleeper.asleep, 0, 0);
	sem_init(&sleeper.wake, 0, 0);
	open_and_enable(_metadata, run);
	ASSERT_EQ(pthread_create(&thread, NULL, sleep_in_windows, &sleeper), 0);
	for (i = 0; i < ROUNDS; i++) {
		while (sem_wait(&sleeper.asleep))
			;
		pin_to_cpu(run->cpu[i % CPUS]);
		beacons_work(run->beacons, false);
		sem_post(&sleeper.wake);
		beacons_work(run->beacons, false);
	}
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- Threads that end, and new ones --- */

static void *work_outside(void *arg)
{
	struct beacon_run *run = arg;

	beacons_work(run->beacons, false);

	return NULL;
}

static void *end_in_a_window(void *arg)
{
	struct beacon_run *run = arg;

	soft_resume();
	beacons_work(run->beacons, true);

	return NULL;
}

/* Who comes next, on that CPU and in the memory of that thread, is in no window. */
TEST_F(aux_threads, end_in_a_window)
{
	struct beacon_run *run = &self->run;
	pthread_t thread;
	int i;

	open_and_enable(_metadata, run);
	for (i = 0; i < ROUNDS; i++) {
		pin_to_cpu(run->cpu[i % CPUS]);
		ASSERT_EQ(pthread_create(&thread, NULL, end_in_a_window, run), 0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		beacons_work(run->beacons, false);
		ASSERT_EQ(pthread_create(&thread, NULL, work_outside, run), 0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
	}
	/* The last thread that was joined may have yet to leave its CPU. */
	wait_until_all_paused(run);
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

static void *end_elsewhere(void *arg)
{
	struct beacon_run *run = arg;

	soft_resume();
	beacons_work(run->beacons, true);
	pin_to_cpu(run->cpu[1]);

	return NULL;
}

/* There is an event on one CPU only, and threads leave it for good in their windows. */
TEST_F(aux_threads, end_where_no_event_is)
{
	struct beacon_run *run = &self->run;
	struct aux_actions act;
	pthread_t thread;
	int i, j;

	run->spec.cpu = run->cpu[0];
	ASSERT_EQ(aux_group_open(&run->group[0], &run->spec), 0);
	ASSERT_EQ(aux_group_enable(&run->group[0]), 0);
	for (i = 0; i < 5 * ROUNDS; i++) {
		ASSERT_EQ(pthread_create(&thread, NULL, end_elsewhere, run), 0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		for (j = 0; j < 3; j++) {
			ASSERT_EQ(pthread_create(&thread, NULL, work_outside, run), 0);
			ASSERT_EQ(pthread_join(thread, NULL), 0);
		}
	}
	ASSERT_EQ(aux_actions_read(&run->group[0], &act), 0);
	EXPECT_TRUE(act.paused);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* A child is in no window: neither a thread nor a process. */
TEST_F(aux_threads, fork_in_a_window)
{
	struct beacon_run *run = &self->run;
	int i, status;
	pid_t pid;

	open_and_enable(_metadata, run);
	for (i = 0; i < 10; i++) {
		soft_resume();
		pid = fork();
		if (!pid) {
			beacons_work(run->beacons, false);
			pin_to_cpu(run->cpu[1]);
			beacons_work(run->beacons, false);
			_exit(0);
		}
		beacons_work(run->beacons, true);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		beacons_work(run->beacons, true);
		soft_pause();
		beacons_work(run->beacons, false);
	}
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- Exec --- */

static void expect_child_ends(struct __test_metadata *_metadata, pid_t pid)
{
	int status = -1;

	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* The program that is started is in the window, and others on its CPUs are not. */
TEST_F(aux_threads, exec_in_a_window)
{
	struct beacon_run *run = &self->run;
	struct crowd crowd;
	pid_t pid;

	open_and_enable(_metadata, run);
	crowd_start(_metadata, &crowd, run);
	pid = fork();
	if (!pid) {
		beacons_moving_window(run);
		beacons_exec(run, true);
	}
	expect_child_ends(_metadata, pid);
	crowd_end(&crowd);
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

static void *exec_outside(void *arg)
{
	struct beacon_run *run = arg;

	pin_to_cpu(run->cpu[1]);
	beacons_work(run->beacons, false);
	beacons_exec(run, false);

	return NULL;
}

static void *exec_inside(void *arg)
{
	struct beacon_run *run = arg;

	beacons_moving_window(run);
	beacons_exec(run, true);

	return NULL;
}

static void exec_by_a_thread(void *(*exec)(void *arg), struct beacon_run *run)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exec, run))
		_exit(1);
	/* Until the other one ends this one */
	pthread_join(thread, NULL);
	_exit(1);
}

/*
 * A thread that isn't the first executes it: all others end, and with them their windows.
 * The program is in that of the thread, which takes the number of the first one.
 */
TEST_F(aux_threads, exec_by_another_thread)
{
	struct beacon_run *run = &self->run;
	pid_t pid;
	int i;

	open_and_enable(_metadata, run);
	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			beacons_moving_window(run);
			exec_by_a_thread(exec_outside, run);
		}
		expect_child_ends(_metadata, pid);

		pid = fork();
		if (!pid)
			exec_by_a_thread(exec_inside, run);
		expect_child_ends(_metadata, pid);
		beacons_work(run->beacons, false);
	}
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- Gates in a context switch --- */

/* A process that works outside of windows, each time that it is asked, and then answers. */
struct other_process {
	pid_t pid;
	int ask[2], answer[2];
};

static void other_process_start(struct __test_metadata *_metadata, struct other_process *other,
				struct beacon_run *run)
{
	char c;

	ASSERT_EQ(pipe(other->ask), 0);
	ASSERT_EQ(pipe(other->answer), 0);
	other->pid = fork();
	ASSERT_GE(other->pid, 0);
	if (other->pid)
		return;
	close(other->ask[1]);
	while (read(other->ask[0], &c, 1) == 1) {
		beacons_work(run->beacons, false);
		if (write(other->answer[1], &c, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void other_process_run(struct __test_metadata *_metadata, struct other_process *other)
{
	char c = 0;

	ASSERT_EQ(write(other->ask[1], &c, 1), 1);
	ASSERT_EQ(read(other->answer[0], &c, 1), 1);
}

/* A gate that pauses where the scheduler switches from @pid's address space to another one */
static int open_switch_gate(struct beacon_run *run, pid_t pid)
{
	struct perf_event_attr attr;
	char filter[64];
	int fd;

	if (attr_tracepoint(&attr, "tlb/tlb_flush"))
		return -1;
	fd = aux_group_add_gate(&run->group[0], &run->spec, &attr, false);
	snprintf(filter, sizeof(filter), "reason == 0 && common_pid == %d", pid);
	if (fd >= 0 && perf_set_filter(fd, filter)) {
		close(fd);
		return -1;
	}

	return fd;
}

/* Counts the switches from @pid to this thread, with no other in between. */
static int open_switches_from(struct beacon_run *run, pid_t pid)
{
	struct perf_event_attr attr;
	char filter[64];
	int fd;

	if (attr_tracepoint(&attr, "sched/sched_switch"))
		return -1;
	attr.sample_period = 0;
	fd = perf_open(&attr, -1, run->cpu[0], -1);
	snprintf(filter, sizeof(filter), "prev_pid == %d && next_pid == %d", pid, gettid());
	if (fd >= 0 && perf_set_filter(fd, filter)) {
		close(fd);
		return -1;
	}

	return fd;
}

/*
 * Between the two calls of a context switch a gate acts for the thread that comes: if it
 * pauses, the window that this one has left open ends.
 */
TEST_F(aux_threads, pause_in_a_switch)
{
	struct beacon_run *run = &self->run;
	struct other_process other;
	int gate, switches, i, hits = 0;
	__u64 before, direct;
	unsigned int noted;

	pin_to_cpu(run->cpu[0]);
	beacon_run_open(_metadata, run, &run->spec.threads_fd);
	other_process_start(_metadata, &other, run);
	run->spec.cpu = run->cpu[0];
	gate = open_switch_gate(run, other.pid);
	if (gate < 0)
		SKIP(return, "no tracepoint tlb_flush");
	switches = open_switches_from(run, other.pid);
	ASSERT_GE(switches, 0);
	beacon_run_enable(_metadata, run);
	for (i = 0; i < 5 * ROUNDS && hits < ROUNDS; i++) {
		noted = run->beacons->nr;
		before = perf_count(gate);
		soft_resume();
		beacons_work(run->beacons, true);
		/* If the other one goes to sleep only now, its switch has paused here. */
		if (perf_count(gate) != before) {
			run->beacons->nr = noted;
			soft_pause();
			continue;
		}
		direct = perf_count(switches);
		other_process_run(_metadata, &other);
		/* Not if there was a third one in between, or the other one went on. */
		if (perf_count(gate) == before + 1 && perf_count(switches) == direct + 1) {
			hits++;
			beacons_work(run->beacons, false);
		}
		soft_pause();
	}
	close(other.ask[1]);
	expect_child_ends(_metadata, other.pid);
	EXPECT_EQ(hits, ROUNDS);
	close(switches);
	close(gate);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/* --- Together with other things --- */

/* Events that are off meanwhile find the thread in its window. */
TEST_F(aux_threads, enabled_in_a_window)
{
	struct beacon_run *run = &self->run;
	int i;

	open_and_enable(_metadata, run);
	for (i = 0; i < 10; i++) {
		soft_resume();
		beacons_work(run->beacons, true);
		aux_group_restart(&run->group[i % CPUS]);
		pin_to_cpu(run->cpu[(i + 1) % CPUS]);
		beacons_work(run->beacons, true);
		soft_pause();
		beacons_work(run->beacons, false);
	}
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
}

/*
 * However short a window was: if its thread moved meanwhile, it is kept, because what it
 * left on the other CPU can't be discarded.
 */
TEST_F(aux_threads, a_window_that_moved_is_kept)
{
	struct beacon_run *run = &self->run;
	struct perf_event_aux_windows windows[CPUS];
	int i;

	beacon_run_open(_metadata, run, &run->spec.threads_fd);
	for (i = 0; i < CPUS; i++)
		ASSERT_EQ(keep_longer(run->group[i].aux, FOREVER), 0);
	beacon_run_enable(_metadata, run);
	for (i = 0; i < ROUNDS; i++) {
		pin_to_cpu(run->cpu[i % CPUS]);
		beacons_work(run->beacons, false);
		soft_resume();
		beacons_work(run->beacons, true);
		pin_to_cpu(run->cpu[(i + 1) % CPUS]);
		beacons_work(run->beacons, true);
		soft_pause();
		/* This one is discarded unless another thread comes. */
		soft_resume();
		soft_pause();
	}
	for (i = 0; i < CPUS; i++)
		ASSERT_EQ(count_windows(run->group[i].aux, &windows[i]), 0);
	beacon_run_read(_metadata, run);

	beacon_run_expect(_metadata, run);
	EXPECT_GE(windows[0].partial + windows[1].partial, ROUNDS);
	EXPECT_GE(windows[0].discarded + windows[1].discarded, ROUNDS / 2);
	EXPECT_EQ(windows[0].kept + windows[1].kept, 0);
	EXPECT_EQ(windows[0].lost + windows[1].lost, 0);
}

static bool is_of_one_visit(const struct perf_record *rec, const struct aux_group *group,
			    const __u64 (*visit)[2], int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (aux_record_is_between(rec, group, visit[i][0], visit[i][1]))
			return true;
	}

	return false;
}

/* What a thread leaves on a CPU is not in one AUX record with the next window there. */
TEST_F(aux_threads, what_is_left_has_its_own_records)
{
	struct beacon_run *run = &self->run;
	struct aux_group *group = &run->group[0];
	struct perf_records records = {};
	__u64 visit[2 * ROUNDS][2];
	int i;

	beacon_run_open(_metadata, run, &run->spec.threads_fd);
	for (i = 0; i < CPUS; i++)
		ASSERT_EQ(keep_longer(run->group[i].aux, 1), 0);
	beacon_run_enable(_metadata, run);
	for (i = 0; i < 2 * ROUNDS; i++) {
		pin_to_cpu(run->cpu[0]);
		visit[i][0] = clock_ns();
		soft_resume();
		beacons_work(run->beacons, true);
		if (i % 2 == 0)
			pin_to_cpu(run->cpu[1]);
		soft_pause();
		visit[i][1] = clock_ns();
	}
	beacon_run_read(_metadata, run);
	ASSERT_EQ(perf_records_read(&records, group), 0);

	beacon_run_expect(_metadata, run);
	for (i = 0; i < records.nr; i++) {
		const struct perf_record *rec = &records.rec[i];

		if (rec->type == PERF_RECORD_AUX)
			EXPECT_TRUE(is_of_one_visit(rec, group, visit, 2 * ROUNDS));
	}
	perf_records_free(&records);
}

/* --- Events that are refused, and those that are closed --- */

struct refused {
	struct beacon_run *run;
	bool over;
	unsigned int tries, opened;
};

static void *try_second_events(void *arg)
{
	struct refused *refused = arg;
	struct beacon_run *run = refused->run;
	struct aux_spec spec = run->spec;

	while (!__atomic_load_n(&refused->over, __ATOMIC_RELAXED)) {
		int i = refused->tries++ % CPUS;

		spec.cpu = run->cpu[i];
		spec.threads_fd = &run->group[i].aux;
		refused->opened += aux_leader_error(&spec) != EBUSY;
	}

	return NULL;
}

/* A second event for a CPU takes no thread's window, also not before it is refused. */
TEST_F(aux_threads, refused_events_take_nothing)
{
	struct beacon_run *run = &self->run;
	struct refused refused = { .run = run };
	pthread_t other;
	int i;

	open_and_enable(_metadata, run);
	ASSERT_EQ(pthread_create(&other, NULL, try_second_events, &refused), 0);
	for (i = 0; i < 10; i++)
		wander(run);
	__atomic_store_n(&refused.over, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_join(other, NULL), 0);
	EXPECT_TRUE(all_paused(_metadata, run));
	beacon_run_read(_metadata, run);

	EXPECT_GT(refused.tries, 100);
	EXPECT_EQ(refused.opened, 0);
	beacon_run_expect(_metadata, run);
}

/*
 * How often context switches of this CPU look for windows: the kernel's function counted by
 * an event of its kprobe.
 */
static int open_switch_counter(int cpu)
{
	struct perf_event_attr attr;

	attr_probe(&attr, pmu_type("kprobe"), "perf_aux_thread_leaves", 0);

	return perf_open(&attr, -1, cpu, -1);
}

static __u64 count_of_switches(struct __test_metadata *_metadata, int counter)
{
	__u64 before, after;
	int i;

	ASSERT_EQ(read(counter, &before, sizeof(before)), sizeof(before));
	for (i = 0; i < 20; i++)
		sleep_until_switched_out();
	ASSERT_EQ(read(counter, &after, sizeof(after)), sizeof(after));

	return after - before;
}

/*
 * Context switches look for windows as long as there are such events, whatever else is closed,
 * and no longer. That ends a second later, so that it doesn't change all the time.
 */
TEST_F(aux_threads, switches_that_look_for_windows)
{
	struct beacon_run *run = &self->run;
	struct aux_spec other;
	int counter, i;

	ASSERT_EQ(pin_to_cpu(run->cpu[0]), 0);
	counter = open_switch_counter(run->cpu[0]);
	ASSERT_GE(counter, 0);
	open_and_enable(_metadata, run);
	other = run->spec;
	other.threads_fd = NULL;
	other.pmu = "test_aux_contig";
	for (i = 0; i < 4; i++)
		ASSERT_EQ(aux_leader_error(&other), 0);
	usleep(1500000);
	EXPECT_GE(count_of_switches(_metadata, counter), 20);
	for (i = 0; i < CPUS; i++)
		aux_group_close(&run->group[i]);
	/* The test fails by its time limit. */
	while (count_of_switches(_metadata, counter))
		usleep(100000);
	close(counter);
}

static long available_kb(void)
{
	char text[4096], *line;

	if (read_file("/proc/meminfo", text, sizeof(text)))
		return -1;
	line = strstr(text, "MemAvailable:");

	return line ? atol(line + strlen("MemAvailable:")) : -1;
}

/* Events that share their threads with no other: each has more than 64 KiB. */
TEST_F(aux_threads, memory_is_freed)
{
	const int events = 1000, slack_kb = 32 * 1024;
	struct beacon_run *run = &self->run;
	long before = available_kb();
	int i;

	ASSERT_GT(before, 0);
	run->spec.cpu = run->cpu[0];
	for (i = 0; i < events; i++)
		ASSERT_EQ(aux_leader_error(&run->spec), 0);
	/* The last ones are freed after a grace period. The test fails by its time limit. */
	while (available_kb() < before - slack_kb)
		usleep(1000);
}

/* --- More threads in windows than there is room for --- */

#define MANY	7000

struct many {
	sem_t in_window;
	pthread_barrier_t all;
};

static void *wait_in_a_window(void *arg)
{
	struct many *many = arg;

	soft_resume();
	sem_post(&many->in_window);
	pthread_barrier_wait(&many->all);
	soft_pause();

	return NULL;
}

static unsigned int start_many(pthread_t *thread, struct many *many)
{
	pthread_attr_t attr;
	unsigned int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	for (i = 0; i < MANY; i++) {
		if (pthread_create(&thread[i], &attr, wait_in_a_window, many))
			break;
	}

	return i;
}

static __u64 lost_windows(const struct beacon_run *run)
{
	struct perf_event_aux_windows windows;
	__u64 lost = 0;
	int i;

	for (i = 0; i < CPUS; i++) {
		if (!count_windows(run->group[i].aux, &windows))
			lost += windows.lost;
	}

	return lost;
}

/* It is counted, and those that come later have all the room. */
TEST_F_TIMEOUT(aux_threads, too_many_windows, 120)
{
	struct beacon_run *run = &self->run;
	pthread_t *thread = calloc(MANY, sizeof(*thread));
	struct many many;
	unsigned int i;
	__u64 lost;

	ASSERT_NE(thread, NULL);
	sem_init(&many.in_window, 0, 0);
	ASSERT_EQ(pthread_barrier_init(&many.all, NULL, MANY + 1), 0);
	run->spec.overwrite = true;
	open_and_enable(_metadata, run);
	ASSERT_EQ(start_many(thread, &many), MANY);
	for (i = 0; i < MANY; i++)
		while (sem_wait(&many.in_window))
			;
	pthread_barrier_wait(&many.all);
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
	free(thread);
	lost = lost_windows(run);
	EXPECT_GT(lost, 0);
	EXPECT_TRUE(all_paused(_metadata, run));

	wander(run);
	EXPECT_EQ(lost_windows(run), lost);
	EXPECT_TRUE(all_paused(_metadata, run));
}

/* --- Gates by NMI at all points of the driver --- */

static void storm_round(struct beacon_run *run)
{
	unsigned int n;

	for (n = 0; n < 300; n++) {
		soft_resume();
		if (n % 3 == 0)
			pin_to_cpu(run->cpu[n % CPUS]);
		sched_yield();
		if (n % 7 == 0)
			aux_group_restart(&run->group[n % CPUS]);
		if (n % 101 == 0)
			nmi_fire(5, n & 1 ? TAG_RESUME : TAG_PAUSE);
		soft_pause();
	}
}

static void *storm_thread(void *arg)
{
	storm_round(arg);

	return NULL;
}

/*
 * Where this thread runs, the trace is as its gates say. Other threads may be in windows
 * that gates in NMIs have opened.
 */
static void expect_trace_of_this_thread(struct __test_metadata *_metadata,
					const struct beacon_run *run)
{
	int i;

	soft_resume();
	for (i = 0; i < CPUS; i++) {
		pin_to_cpu(run->cpu[i]);
		EXPECT_TRUE(aux_engine_is_on(run->cpu[i]));
	}
	soft_pause();
	for (i = 0; i < CPUS; i++) {
		pin_to_cpu(run->cpu[i]);
		EXPECT_FALSE(aux_engine_is_on(run->cpu[i]));
	}
}

TEST_F_TIMEOUT(aux_threads, storm, STORM_TIMEOUT)
{
	struct beacon_run *run = &self->run;
	__u64 begin = clock_ns();
	struct beacon_nmi_gates nmi_gates;
	bool seen = false;
	pthread_t other;

	run->spec.overwrite = true;
	beacon_run_open(_metadata, run, &run->spec.threads_fd);
	beacon_nmi_gates_open(_metadata, run, &nmi_gates);
	beacon_run_enable(_metadata, run);
	while (!storm_is_over(begin, seen)) {
		ASSERT_EQ(nmi_at(BEACON_STORM_RULES), 0);
		ASSERT_EQ(pthread_create(&other, NULL, storm_thread, run), 0);
		storm_round(run);
		ASSERT_EQ(pthread_join(other, NULL), 0);
		ASSERT_EQ(nmi_at(""), 0);
		expect_trace_of_this_thread(_metadata, run);
		ASSERT_TRUE(_metadata->passed);
		seen = aux_stat("total.nmi_fired") > 10000;
	}
	beacon_nmi_gates_close(&nmi_gates);
	if (_metadata->passed && storm_was_short(seen))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen);
}

/* --- Errors --- */

TEST_F(aux_threads, errors)
{
	struct beacon_run *run = &self->run;
	int first, not_open = INT_MAX, i;
	struct aux_spec good, bad;

	run->spec.cpu = run->cpu[0];
	/* An event of a task has a level for that: PERF_FLAG_FD_AUX_LEVEL. */
	bad = run->spec;
	bad.pid = 0;
	EXPECT_EQ(aux_leader_error(&bad), EINVAL);

	ASSERT_EQ(aux_group_open(&run->group[0], &run->spec), 0);
	first = run->group[0].aux;
	good = run->spec;
	good.cpu = run->cpu[1];
	good.threads_fd = &first;

	/* As often as one likes: a failure leaves nothing behind. */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(aux_leader_error(&good), 0);

		bad = good;
		bad.threads_fd = &self->none;
		EXPECT_EQ(aux_leader_error(&bad), 0);
		bad.threads_fd = &not_open;
		EXPECT_EQ(aux_leader_error(&bad), EBADF);
		bad.threads_fd = &run->beacons_fd;
		EXPECT_EQ(aux_leader_error(&bad), EBADF);
		bad.threads_fd = &run->group[0].resume;
		EXPECT_EQ(aux_leader_error(&bad), EINVAL);

		bad = good;
		bad.pmu = "test_aux_contig";
		EXPECT_EQ(aux_leader_error(&bad), EINVAL);
		bad = good;
		bad.start_paused = false;
		EXPECT_EQ(aux_leader_error(&bad), EINVAL);
		bad = good;
		bad.cpu = run->cpu[0];
		EXPECT_EQ(aux_leader_error(&bad), EBUSY);

		bad = good;
		bad.threads_fd = &self->none;
		bad.pmu = "test_nmi";
		bad.period = 0;
		bad.start_paused = false;
		EXPECT_EQ(aux_leader_error(&bad), EINVAL);
	}
}

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

/* Who may not watch a CPU is told so before anything else is looked at. */
TEST_F(aux_threads, not_for_everybody)
{
	struct beacon_run *run = &self->run;
	struct aux_spec busy;
	char was[16];
	int error;

	run->spec.cpu = run->cpu[0];
	run->spec.exclude_kernel = true;
	ASSERT_EQ(aux_group_open(&run->group[0], &run->spec), 0);
	busy = run->spec;
	busy.threads_fd = &run->group[0].aux;
	EXPECT_EQ(aux_leader_error(&busy), EBUSY);
	ASSERT_EQ(read_file(PARANOID, was, sizeof(was)), 0);
	ASSERT_EQ(write_file(PARANOID, "2"), 0);
	ASSERT_EQ(seteuid(65534), 0);
	error = aux_leader_error(&busy);
	ASSERT_EQ(seteuid(0), 0);
	EXPECT_EQ(write_file(PARANOID, was), 0);
	EXPECT_EQ(error, EACCES);
}

TEST_HARNESS_MAIN
