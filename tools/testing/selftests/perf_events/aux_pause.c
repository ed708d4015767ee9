// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_EVENT_IOC_PAUSE_AUX: when it returns, nothing is written to the AUX area until
 * user space resumes, wherever the event runs, whatever the gates ask for; and what the
 * control page says is exact. Nothing is lost or repeated by snapshots that are taken
 * in this way.
 *
 * Expected: each test passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "aux_control.h"
#include "aux_test.h"

PROGRAM_NEEDS(lacks_aux_total())

#define AUX_PAGES	4
#define AREA_SIZE	(AUX_PAGES * 4096UL)
#define PERIOD		10000		/* a wrap takes 5 ms */
#define WRAP_NS		(AREA_SIZE / PACKET_SIZE * PERIOD)
#define STABLE		(PERF_AUX_STATE_PAUSED | PERF_AUX_STATE_COUNTED)
#define SNAPSHOTS	10000		/* a tenth, if the machine is slow */

static const char pause_first = 'p';
static bool *paused;		/* written by the child */

FIXTURE(aux_pause)
{
	struct aux_spec spec;
	struct aux_group group;
	struct aux_trace trace;
	pid_t child;
	int go, other_cpu;
	__u64 last, seq, overwritten, wrong;
};

FIXTURE_SETUP(aux_pause)
{
	memset(self, 0, sizeof(*self));
	aux_group_init(&self->group);
	self->go = -1;
	self->other_cpu = nth_cpu(1);
	self->spec.pid = -1;
	self->spec.cpu = nth_cpu(0);
	self->spec.overwrite = true;
	self->spec.aux_pages = AUX_PAGES;
	self->spec.period = PERIOD;
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	paused = mmap(NULL, sizeof(*paused), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((void *)paused, MAP_FAILED);
}

FIXTURE_TEARDOWN(aux_pause)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	if (self->go >= 0)
		close(self->go);
	munmap(paused, sizeof(*paused));
	aux_trace_free(&self->trace);
	aux_group_close(&self->group);
}

/* Nothing changes, and the control page agrees with the stream to the byte. */
static void expect_stable(struct __test_metadata *_metadata, struct aux_trace *trace,
			  struct aux_group *group)
{
	static unsigned char before[AREA_SIZE];
	struct aux_control ctl, later;

	aux_control_read(group->page, &ctl);
	memcpy(before, group->area, AREA_SIZE);
	aux_trace_free(trace);
	ASSERT_EQ(aux_trace_read_overwrite(trace, group), 0)
		TH_LOG("%s", trace->error);
	EXPECT_EQ(ctl.total, trace->next_seq * PACKET_SIZE);
	EXPECT_EQ(ctl.state & PERF_AUX_STATE_RUNNING, 0);
	spin_ns(20 * PERIOD);
	aux_control_read(group->page, &later);
	EXPECT_EQ(memcmp(&ctl, &later, sizeof(ctl)), 0);
	EXPECT_EQ(memcmp(before, group->area, AREA_SIZE), 0);
}

/* Pause, look, resume, and see that it goes on. */
static void pause_and_resume(struct __test_metadata *_metadata, struct aux_trace *trace,
			     struct aux_group *group)
{
	__u64 end = clock_ns() + 10000000000ULL, goal;
	struct aux_control ctl;

	ASSERT_EQ(pause_aux(group, PERF_AUX_PAUSE), 0)
		TH_LOG("%s", strerror(errno));
	expect_stable(_metadata, trace, group);
	aux_control_read(group->page, &ctl);
	goal = ctl.total + 10 * PACKET_SIZE;
	/* On a busy machine, its CPU may have no time at first. */
	do {
		ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
		spin_ns(20 * PERIOD);
		ASSERT_EQ(pause_aux(group, PERF_AUX_PAUSE), 0);
		aux_control_read(group->page, &ctl);
	} while (ctl.total < goal && clock_ns() < end);
	EXPECT_GE(ctl.total, goal);
	ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
}

TEST_F(aux_pause, on_this_cpu)
{
	struct aux_control ctl;
	int i;

	open_and_enable(_metadata, &self->group, &self->spec);
	for (i = 0; i < 50; i++) {
		spin_ns(i * WRAP_NS / 20);
		pause_and_resume(_metadata, &self->trace, &self->group);
	}
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	aux_control_read(self->group.page, &ctl);
	EXPECT_EQ(ctl.state, STABLE);
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	aux_control_read(self->group.page, &ctl);
	EXPECT_EQ(ctl.state, PERF_AUX_STATE_RUNNING | PERF_AUX_STATE_COUNTED);
}

TEST_F(aux_pause, on_another_cpu)
{
	int i;

	self->spec.cpu = self->other_cpu;
	if (self->spec.cpu < 0)
		SKIP(return, "needs two CPUs");

	open_and_enable(_metadata, &self->group, &self->spec);
	for (i = 0; i < 50; i++)
		pause_and_resume(_metadata, &self->trace, &self->group);
}

static bool has_paused(void)
{
	__u64 end = clock_ns() + 10000000000ULL;

	while (!__atomic_load_n(paused, __ATOMIC_ACQUIRE)) {
		if (clock_ns() > end)
			return false;
	}

	return true;
}

/*
 * A child that begins when told to, and then runs on @cpu, or sleeps at times. Told
 * pause_first, it calls what a gate may be at.
 */
static pid_t start_child(int *go, int cpu, bool sleeps)
{
	int fd[2];
	pid_t pid;
	char c;

	if (pipe(fd))
		return -1;

	*paused = false;
	pid = fork();
	if (pid) {
		close(fd[0]);
		*go = fd[1];
		return pid;
	}
	close(fd[1]);
	pin_to_cpu(cpu);
	while (read(fd[0], &c, 1) == 1) {
		if (c == pause_first) {
			soft_pause();
			__atomic_store_n(paused, true, __ATOMIC_RELEASE);
		}
		spin_ns(100 * PERIOD);
		while (!sleeps)
			;
	}
	exit(0);
}

TEST_F(aux_pause, task_on_another_cpu)
{
	int i, cpu = self->other_cpu;

	if (cpu < 0)
		SKIP(return, "needs two CPUs");

	self->child = start_child(&self->go, cpu, false);
	ASSERT_GT(self->child, 0);
	self->spec.pid = self->child;
	self->spec.cpu = -1;
	open_and_enable(_metadata, &self->group, &self->spec);
	ASSERT_EQ(write(self->go, "", 1), 1);
	spin_ns(WRAP_NS);
	for (i = 0; i < 50; i++)
		pause_and_resume(_metadata, &self->trace, &self->group);
}

static bool sleeps(pid_t pid)
{
	__u64 end = clock_ns() + 10000000000ULL;
	char path[32], text[256], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		if (read_file(path, text, sizeof(text)) < 0)
			return false;
		state = strrchr(text, ')');
		if (state && state[2] == 'S')
			return true;
	} while (clock_ns() < end);

	return false;
}

/* Has the child read what was written to its pipe, and gone to sleep again? */
static bool ran(int go, pid_t child)
{
	__u64 end = clock_ns() + 10000000000ULL;
	int left;

	do {
		if (ioctl(go, FIONREAD, &left))
			return false;
		if (!left)
			return sleeps(child);
	} while (clock_ns() < end);

	return false;
}

/* Paused while it sleeps, it runs untraced until it is resumed. */
TEST_F(aux_pause, task_that_sleeps)
{
	__u64 total, goal;
	int i, tries;

	self->child = start_child(&self->go, nth_cpu(0), true);
	ASSERT_GT(self->child, 0);
	self->spec.pid = self->child;
	self->spec.cpu = -1;
	open_and_enable(_metadata, &self->group, &self->spec);
	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(sleeps(self->child));
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = total_of(&self->group);
		ASSERT_EQ(write(self->go, "", 1), 1);
		ASSERT_TRUE(ran(self->go, self->child));
		EXPECT_EQ(total_of(&self->group), total);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		/*
		 * It works for a millisecond, of which another task may have taken some. The
		 * packets of twenty starts and stops alone would be fewer.
		 */
		goal = total + 50 * PACKET_SIZE;
		for (tries = 0; tries < 20 && total_of(&self->group) < goal; tries++) {
			ASSERT_EQ(write(self->go, "", 1), 1);
			ASSERT_TRUE(ran(self->go, self->child));
		}
		EXPECT_GE(total_of(&self->group), goal);
	}
	ASSERT_TRUE(sleeps(self->child));
	expect_stable(_metadata, &self->trace, &self->group);
}

/*
 * The event is paused before it is scheduled in, so it is never started. The next ioctl finds
 * it active and stopped, and the control page says that it is paused. Within one ioctl the
 * same is a race.
 */
TEST_F(aux_pause, task_that_was_paused_before_it_runs)
{
	__u64 end = clock_ns() + 10000000000ULL;
	struct aux_control ctl;
	__u64 total;

	if (self->other_cpu < 0)
		SKIP(return, "needs two CPUs");

	self->child = start_child(&self->go, nth_cpu(0), false);
	ASSERT_GT(self->child, 0);
	self->spec.pid = self->child;
	self->spec.cpu = -1;
	open_and_enable(_metadata, &self->group, &self->spec);
	ASSERT_TRUE(sleeps(self->child));
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	total = total_of(&self->group);
	ASSERT_EQ(write(self->go, "", 1), 1);
	ASSERT_EQ(pin_to_cpu(self->other_cpu), 0);
	do {
		ASSERT_LT(clock_ns(), end);
		usleep(1000);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		aux_control_read(self->group.page, &ctl);
	} while (ctl.state != STABLE);
	EXPECT_EQ(ctl.total, total);
}

static pid_t fork_spinner(int cpu, __u64 ns)
{
	pid_t pid = fork();

	if (!pid) {
		pin_to_cpu(cpu);
		spin_ns(ns);
		exit(0);
	}

	return pid;
}

static int count_children(void)
{
	int n = 0;

	while (wait(NULL) > 0)
		n++;

	return n;
}

/* All children are paused: those that run, those that don't, those yet to be forked. */
TEST_F(aux_pause, inherited)
{
	__u64 total;
	int i, n;

	self->spec.pid = 0;
	self->spec.inherit = true;
	open_and_enable(_metadata, &self->group, &self->spec);
	for (n = 0; n < 5; n++) {
		for (i = 0; i < 4; i++)
			ASSERT_GT(fork_spinner(nth_cpu(0), WRAP_NS), 0);
		usleep(2 * WRAP_NS / 1000);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = total_of(&self->group);
		for (i = 0; i < 4; i++)
			ASSERT_GT(fork_spinner(nth_cpu(0), WRAP_NS), 0);
		usleep(2 * WRAP_NS / 1000);
		EXPECT_EQ(total_of(&self->group), total);
		EXPECT_EQ(count_children(), 8);
		expect_stable(_metadata, &self->trace, &self->group);
		EXPECT_EQ(total_of(&self->group), total);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		spin_ns(WRAP_NS);
		EXPECT_TRUE(total_reaches(&self->group, total + 1));
	}
}

/* Children are forked and exit all the time on one CPU, the other one pauses. */
TEST_F(aux_pause, exits)
{
	__u64 begin = clock_ns(), total;
	int cpu = self->other_cpu, pauses = 0;

	if (cpu < 0)
		SKIP(return, "needs two CPUs");

	self->spec.pid = 0;
	self->spec.cpu = cpu;
	self->spec.inherit = true;
	open_and_enable(_metadata, &self->group, &self->spec);
	self->child = fork();
	if (!self->child) {
		pin_to_cpu(cpu);
		for (;;) {
			fork_spinner(cpu, 10 * PERIOD);
			wait(NULL);
		}
	}
	while (clock_ns() - begin < 5000000000ULL || pauses < 100) {
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = total_of(&self->group);
		spin_ns(30 * PERIOD);
		ASSERT_EQ(total_of(&self->group), total);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		spin_ns(30 * PERIOD);
		pauses++;
	}
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	EXPECT_GT(total_of(&self->group), 0);
	expect_stable(_metadata, &self->trace, &self->group);
}

/* Whatever gates ask for: user space decides. At its resume, the last gate's wish. */
TEST_F(aux_pause, gates)
{
	struct aux_actions act;
	__u64 total, grown;
	int i;

	attr_nmi(&self->spec.resume, 0, TAG_RESUME);
	attr_nmi(&self->spec.pause, 0, TAG_PAUSE);
	open_and_enable(_metadata, &self->group, &self->spec);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = total_of(&self->group);
		ASSERT_EQ(nmi_fire(1, TAG_PAUSE), 0);
		ASSERT_EQ(nmi_fire(1, TAG_RESUME), 0);
		ASSERT_EQ(i & 1 ? nmi_fire(1, TAG_PAUSE) : 0, 0);
		/* Nor does a gate change what user space wants at the next start. */
		aux_group_restart(&self->group);
		expect_stable(_metadata, &self->trace, &self->group);
		EXPECT_EQ(total_of(&self->group), total);

		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		spin_ns(20 * PERIOD);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		grown = total_of(&self->group) - total;
		EXPECT_GE(grown, i & 1 ? 0 : 10 * PACKET_SIZE);
		EXPECT_LE(grown, i & 1 ? 0 : -1ULL);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		ASSERT_EQ(nmi_fire(1, TAG_RESUME), 0);
		spin_ns(20 * PERIOD);
	}
	ASSERT_EQ(aux_actions_read(&self->group, &act), 0);
	EXPECT_EQ(act.requested, 20 * 3 + 10);
	EXPECT_EQ(act.pending, 0);
}

/* The total after some time. Pausing publishes it. */
static __u64 total_in_pause(const struct aux_group *group)
{
	spin_ns(20 * PERIOD);
	pause_aux(group, PERF_AUX_PAUSE);

	return total_of(group);
}

static __u64 total_later(const struct aux_group *group)
{
	__u64 total = total_in_pause(group);

	pause_aux(group, PERF_AUX_RESUME);

	return total;
}

/* On a busy machine, its CPU may have no time at first. */
static bool runs(const struct aux_group *group)
{
	__u64 end = clock_ns() + 10000000000ULL, goal = total_later(group) + 10 * PACKET_SIZE;

	while (total_later(group) < goal) {
		if (clock_ns() > end)
			return false;
	}

	return true;
}

/*
 * A trace that its gates only pause: user space can resume it as a gate does, on another CPU,
 * too. That doesn't end a pause of user space, nor does the end of that one do it.
 */
static void resume_what_gates_paused(struct __test_metadata *_metadata,
				     struct aux_group *group, int cpu)
{
	int i, home = nth_cpu(0);
	struct aux_actions act;
	__u64 total;

	for (i = 0; i < 20; i++) {
		bool user_paused = i & 1;

		ASSERT_TRUE(runs(group));
		ASSERT_EQ(user_paused ? pause_aux(group, PERF_AUX_PAUSE) : 0, 0);
		ASSERT_EQ(pin_to_cpu(cpu), 0);
		ASSERT_EQ(nmi_fire(1, TAG_PAUSE), 0);
		ASSERT_EQ(pin_to_cpu(home), 0);
		ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
		total = total_later(group);
		EXPECT_EQ(total_later(group), total);

		ASSERT_EQ(user_paused ? pause_aux(group, PERF_AUX_PAUSE) : 0, 0);
		ASSERT_EQ(pause_aux(group, PERF_AUX_GATE_RESUME), 0);
		if (user_paused) {
			EXPECT_EQ(total_in_pause(group), total);
			ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
		}
		ASSERT_EQ(aux_actions_read(group, &act), 0);
		EXPECT_EQ(act.requested, 2 * (i + 1));
		EXPECT_EQ(act.pending, 0);
		EXPECT_EQ(act.paused, 0);
		EXPECT_TRUE(runs(group));
		/* Nothing is left to resume */
		ASSERT_EQ(pause_aux(group, PERF_AUX_GATE_RESUME), 0);
		ASSERT_EQ(aux_actions_read(group, &act), 0);
		EXPECT_EQ(act.requested, 2 * (i + 1));
	}
}

TEST_F(aux_pause, gates_that_only_pause)
{
	attr_nmi(&self->spec.pause, 0, TAG_PAUSE);
	open_and_enable(_metadata, &self->group, &self->spec);
	resume_what_gates_paused(_metadata, &self->group, nth_cpu(0));
}

TEST_F(aux_pause, gates_that_only_pause_on_another_cpu)
{
	self->spec.cpu = self->other_cpu;
	if (self->spec.cpu < 0)
		SKIP(return, "needs two CPUs");

	attr_nmi(&self->spec.pause, 0, TAG_PAUSE);
	open_and_enable(_metadata, &self->group, &self->spec);
	resume_what_gates_paused(_metadata, &self->group, self->other_cpu);
}

/*
 * A child has a level of its own. User space resumes it from another CPU, while the child
 * runs and while it sleeps.
 */
TEST_F(aux_pause, child_whose_gate_only_pauses)
{
	__u64 total;
	int i;

	if (self->other_cpu < 0 || !has_soft_places())
		SKIP(return, "needs two CPUs and tracepoints of system calls");

	self->spec.pid = 0;
	self->spec.inherit = true;
	ASSERT_EQ(attr_tracepoint(&self->spec.pause, AT_PAUSE), 0);
	open_and_enable(_metadata, &self->group, &self->spec);
	ASSERT_EQ(pin_to_cpu(self->other_cpu), 0);
	for (i = 0; i < 2; i++) {
		self->child = start_child(&self->go, self->spec.cpu, i);
		ASSERT_GT(self->child, 0);
		ASSERT_TRUE(sleeps(self->child));
		ASSERT_EQ(write(self->go, &pause_first, 1), 1);
		ASSERT_TRUE(i ? ran(self->go, self->child) : has_paused());
		total = total_later(&self->group);
		ASSERT_EQ(write(self->go, "", 1), 1);
		EXPECT_EQ(total_later(&self->group), total);
		ASSERT_TRUE(!i || ran(self->go, self->child));
		EXPECT_EQ(total_later(&self->group), total);

		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_GATE_RESUME), 0);
		ASSERT_EQ(write(self->go, "", 1), 1);
		EXPECT_TRUE(i ? total_reaches(&self->group, total + 1) :
				runs(&self->group))
			TH_LOG("a child that %s", i ? "sleeps" : "runs");
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
		self->child = 0;
		close(self->go);
		self->go = -1;
	}
}

/* NMI gates all the time on the event's CPU, user space on another */
TEST_F(aux_pause, gate_storm)
{
	__u64 begin = clock_ns(), total;
	struct aux_actions act;
	int pauses = 0;

	self->spec.cpu = self->other_cpu;
	if (self->spec.cpu < 0)
		SKIP(return, "needs two CPUs");

	attr_nmi(&self->spec.resume, 70000, 0);
	attr_nmi(&self->spec.pause, 110000, 0);
	aux_stats_reset();
	open_and_enable(_metadata, &self->group, &self->spec);
	while (clock_ns() - begin < 5000000000ULL || pauses < 100) {
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = total_of(&self->group);
		spin_ns(200000);
		ASSERT_EQ(total_of(&self->group), total);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		spin_ns(200000);
		pauses++;
	}
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	expect_stable(_metadata, &self->trace, &self->group);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	ASSERT_EQ(aux_actions_read(&self->group, &act), 0);
	EXPECT_GE(act.requested, 100);
	EXPECT_EQ(act.pending, 0);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
	EXPECT_GT(total_of(&self->group), 0);
}

/* What else starts an event: none of it ends the pause. */
TEST_F(aux_pause, stays_paused)
{
	__u64 total;

	open_and_enable(_metadata, &self->group, &self->spec);
	spin_ns(WRAP_NS);
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	total = total_of(&self->group);
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	spin_ns(20 * PERIOD);
	aux_group_restart(&self->group);
	spin_ns(20 * PERIOD);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	spin_ns(20 * PERIOD);
	EXPECT_EQ(total_of(&self->group), total);

	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	spin_ns(20 * PERIOD);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	EXPECT_GE(total_of(&self->group), total + 10 * PACKET_SIZE);

	/* Paused while disabled, it begins paused. */
	total = total_of(&self->group);
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	spin_ns(20 * PERIOD);
	EXPECT_EQ(total_of(&self->group), total);
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	spin_ns(20 * PERIOD);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	EXPECT_GE(total_of(&self->group), total + 10 * PACKET_SIZE);
}

/* The core stops an event with a frequency at each tick, to give it another period. */
TEST(frequency_goes_on)
{
	struct perf_event_attr attr;
	char *page;
	__u64 end, before;
	int fd, i;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	attr_page_fault(&attr, true);
	attr.freq = 1;
	attr.sample_freq = 1000;
	fd = perf_open(&attr, 0, -1, -1);
	ASSERT_GE(fd, 0)
		TH_LOG("%s", strerror(errno));
	for (i = 0, end = clock_ns() + 500000000; i < 100 || clock_ns() < end; i++) {
		before = perf_count(fd);
		ASSERT_EQ(madvise(page, 4096, MADV_DONTNEED), 0);
		*page = 1;
		ASSERT_GT(perf_count(fd), before)
			TH_LOG("after %d page faults", i);
	}
	close(fd);
}

/* Programs have these numbers in them. The other tests would follow a change of the header. */
TEST(arguments)
{
	EXPECT_EQ(PERF_AUX_RESUME, 0);
	EXPECT_EQ(PERF_AUX_PAUSE, 1);
	EXPECT_EQ(PERF_AUX_GATE_RESUME, 2);
}

TEST_F(aux_pause, errors)
{
	struct perf_event_attr attr;
	int fd;

	open_and_enable(_metadata, &self->group, &self->spec);
	EXPECT_EQ(pause_aux(&self->group, PERF_AUX_GATE_RESUME + 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(pause_aux(&self->group, -1UL), -1);
	EXPECT_EQ(errno, EINVAL);

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_DUMMY;
	fd = perf_open(&attr, 0, -1, -1);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_AUX, PERF_AUX_PAUSE), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
	close(fd);
}

/*
 * Removed by exec, the event is in no context, and that context needs to be active no more,
 * although the task runs. The kernel would warn.
 */
TEST(event_removed_by_exec)
{
	struct perf_event_attr attr;
	long long taint = kernel_taint();
	struct execer execer;
	unsigned long how = PERF_AUX_RESUME;
	__u64 end;
	int fd;

	ASSERT_EQ(execer_start(&execer), 0);
	attr_init(&attr, pmu_type("test_aux"));
	attr.remove_on_exec = 1;
	fd = perf_open(&attr, execer.pid, -1, -1);
	ASSERT_GE(fd, 0)
		TH_LOG("%s", strerror(errno));
	EXPECT_EQ(execer_exec(&execer), 0);
	/* The fault needs a moment at which the program runs, on any CPU. */
	for (end = clock_ns() + 500000000; clock_ns() < end; how = (how + 1) % 3)
		EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_AUX, how), 0);
	EXPECT_EQ(kernel_taint(), taint);
	execer_end(&execer);
	close(fd);
}

/* Windows of threads are not user space's to open. */
TEST_F(aux_pause, windows_of_threads)
{
	int none = -1;

	self->spec.start_paused = true;
	self->spec.threads_fd = &none;
	open_and_enable(_metadata, &self->group, &self->spec);
	EXPECT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	EXPECT_EQ(pause_aux(&self->group, PERF_AUX_GATE_RESUME), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
}

/* What is new, as far as it is still there */
static void take_snapshot(struct _test_data_aux_pause *self)
{
	const struct test_perf_aux_packet *p;
	struct aux_control ctl;
	__u64 left;

	aux_control_read(self->group.page, &ctl);
	left = ctl.total - self->last;
	self->last = ctl.total;
	if (left > AREA_SIZE) {
		self->overwritten += left - AREA_SIZE;
		self->seq += (left - AREA_SIZE) / PACKET_SIZE;
		left = AREA_SIZE;
	}
	for (; left; left -= PACKET_SIZE) {
		p = (const void *)(self->group.area + (ctl.head - left) % AREA_SIZE);
		self->wrong += p->seq != self->seq || p->check != test_perf_aux_check(p);
		self->seq++;
	}
}

/*
 * Snapshots back to back, each of what is new. Put together they are the whole stream,
 * but for what was overwritten, and that is known to the byte. PERF_SNAPSHOTS is how many
 * there have to be at least.
 */
TEST_F_TIMEOUT(aux_pause, snapshots, STORM_TIMEOUT)
{
	const char *must = getenv("PERF_SNAPSHOTS");
	unsigned int least = must ? atoi(must) : SNAPSHOTS / 10;
	__u64 begin = clock_ns();
	unsigned int i;

	open_and_enable(_metadata, &self->group, &self->spec);
	for (i = 0; !storm_is_over(begin, i >= SNAPSHOTS); i++) {
		/* Now and then the reader is late. */
		if (i % 100 == 99)
			spin_ns(WRAP_NS * 3 / 2);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		take_snapshot(self);
		ASSERT_EQ(self->wrong, 0)
			TH_LOG("snapshot %u, before packet %llu", i,
			       (unsigned long long)self->seq);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}
	EXPECT_EQ(self->seq * PACKET_SIZE, self->last);
	EXPECT_GT(self->overwritten, 0);
	EXPECT_GE(i, least);
	TH_LOG("%u snapshots of %llu bytes, %llu of them overwritten", i,
	       (unsigned long long)self->last, (unsigned long long)self->overwritten);
}

TEST_HARNESS_MAIN
