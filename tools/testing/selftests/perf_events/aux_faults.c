// SPDX-License-Identifier: GPL-2.0
/*
 * Former faults of the perf core that concern AUX areas and gates: AUX areas of
 * redirected events, gates that are off, signals that are pending when their event is
 * closed. Faults of other events are in core_faults.
 *
 * Expected: each test passes, no event is left, the kernel is not tainted. Leaders that
 * have left their context are tested by aux_action_errors, groups that are closed while
 * gates act by aux_teardown.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_group.h"
#include "perf_mappings.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define AUX_SIZE	(8 * PAGE)
#define LONGEST_WAIT	10000000000ULL

FIXTURE(aux_faults)
{
	long long taint;
	int nmi_users;
};

FIXTURE_SETUP(aux_faults)
{
	self->taint = kernel_taint();
	ASSERT_GE(self->taint, 0);
	self->nmi_users = module_users("test_perf_nmi");
	ASSERT_EQ(aux_stats_reset(), 0);
}

FIXTURE_TEARDOWN(aux_faults)
{
	EXPECT_EQ(module_wait_unused("test_perf_aux"), 0);
	EXPECT_EQ(module_users("test_perf_nmi"), self->nmi_users);
	EXPECT_EQ(kernel_taint(), self->taint);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

/* --- AUX areas --- */

struct aux_pair {
	int fd, other;		/* @other is redirected to @fd */
	pid_t pid;		/* the task of @other */
	struct perf_event_mmap_page *page;
};

static void *map_aux(int fd)
{
	return mmap(NULL, AUX_SIZE, RW, MAP_SHARED, fd, BUFFER_SIZE);
}

static int open_aux_pair(struct aux_pair *pair)
{
	struct perf_event_attr attr;

	pair->pid = fork();
	if (!pair->pid) {
		pause();
		_exit(0);
	}
	attr_init(&attr, pmu_type("test_aux"));
	pair->fd = perf_open(&attr, 0, nth_cpu(0), -1);
	pair->other = perf_open(&attr, pair->pid, nth_cpu(0), -1);
	pair->page = map_buffer(pair->fd);
	if (pair->page == MAP_FAILED)
		return -1;

	pair->page->aux_offset = BUFFER_SIZE;
	pair->page->aux_size = AUX_SIZE;

	return perf_set_output(pair->other, pair->fd);
}

static void close_aux_pair(struct aux_pair *pair)
{
	munmap(pair->page, BUFFER_SIZE);
	close(pair->fd);
	close(pair->other);
	kill(pair->pid, SIGKILL);
	waitpid(pair->pid, NULL, 0);
}

/* Its AUX area can be mapped, but its control page can't. */
TEST_F(aux_faults, redirected_aux_event_is_not_mapped)
{
	struct perf_event_mmap_page *page;
	struct aux_pair pair;
	void *area;

	ASSERT_EQ(open_aux_pair(&pair), 0);
	EXPECT_EQ(try_map_buffer(pair.other), EBUSY);
	area = map_aux(pair.other);
	ASSERT_NE(area, MAP_FAILED);
	EXPECT_EQ(try_map_buffer(pair.other), EBUSY);

	/* Its last munmap ends the redirection: now it gets its own buffer. */
	munmap(area, AUX_SIZE);
	page = map_buffer(pair.other);
	ASSERT_NE(page, MAP_FAILED);
	EXPECT_EQ(page->aux_size, 0);
	EXPECT_EQ(pair.page->aux_size, AUX_SIZE);
	munmap(page, BUFFER_SIZE);
	close_aux_pair(&pair);
}

/* The AUX area belongs to the buffer: one lock, whichever event maps it. */
TEST_F(aux_faults, aux_area_mapped_by_two_events)
{
	struct race race = { .map = map_aux, .size = AUX_SIZE };
	unsigned long rounds = 0;
	struct aux_pair pair;

	ASSERT_EQ(open_aux_pair(&pair), 0);
	race.fd = pair.other;
	ASSERT_EQ(race_begin(&race), 0);
	while (race_goes_on(&race, rounds)) {
		volatile char *area = map_aux(pair.fd);

		ASSERT_NE(area, MAP_FAILED);
		area[0];
		area[AUX_SIZE - 1];
		munmap((void *)area, AUX_SIZE);
		rounds++;
	}
	race_end(&race);
	close_aux_pair(&pair);
}

static int open_trace(const char *pmu)
{
	struct perf_event_attr attr;

	attr_init(&attr, pmu_type(pmu));

	return perf_open(&attr, 0, -1, -1);
}

/* An AUX area has one format: events of two PMUs can't share a buffer. */
TEST_F(aux_faults, aux_areas_of_two_pmus)
{
	struct perf_event_mmap_page *page;
	int fd = open_names(-1), first, second;

	page = map_buffer(fd);
	ASSERT_NE(page, MAP_FAILED);
	first = open_trace("test_aux");
	ASSERT_GE(first, 0);
	second = open_trace("test_aux_contig");
	ASSERT_GE(second, 0);

	ASSERT_EQ(perf_set_output(first, fd), 0);
	EXPECT_EQ(perf_set_output(second, fd), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(perf_set_output(second, first), -1);
	EXPECT_EQ(errno, EINVAL);
	close(first);
	close(second);
	munmap(page, BUFFER_SIZE);
	close(fd);
}

/*
 * Nor if an event without AUX area stands between them. A faulty kernel warns as soon as
 * this task is switched in: then both PMUs trace to one area.
 */
TEST_F(aux_faults, aux_area_of_another_pmu_behind_an_event)
{
	int owner = open_trace("test_aux_contig"), between = open_names(-1), other, i;
	struct perf_event_mmap_page *page = map_buffer(owner);
	void *area;

	ASSERT_NE(page, MAP_FAILED);
	page->aux_offset = BUFFER_SIZE;
	page->aux_size = AUX_SIZE;
	area = map_aux(owner);
	ASSERT_NE(area, MAP_FAILED);
	other = open_trace("test_aux");
	ASSERT_GE(other, 0);

	ASSERT_EQ(perf_set_output(between, owner), 0);
	EXPECT_EQ(perf_set_output(other, between), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(perf_enable(owner), 0);
	EXPECT_EQ(perf_enable(other), 0);
	for (i = 0; i < 10; i++)
		usleep(100);
	munmap(area, AUX_SIZE);
	munmap(page, BUFFER_SIZE);
	close(other);
	close(between);
	close(owner);
}

/* --- Gates that are off --- */

static void expect_idle(struct __test_metadata *_metadata, const struct aux_group *group)
{
	struct aux_actions act = { .requested = 1 };

	ASSERT_EQ(aux_actions_read(group, &act), 0);
	EXPECT_EQ(act.requested, 0);
	EXPECT_EQ(aux_stat("total.starts"), 0);
	EXPECT_EQ(aux_stat("total.pauses"), 0);
	EXPECT_EQ(aux_stat("total.resumes"), 0);
}

/* Gates whose leader is off don't act, and nothing starts or stops the leader. */
TEST_F(aux_faults, gates_of_a_leader_that_is_off)
{
	struct aux_spec spec = { .pid = 0, .cpu = -1, .overwrite = true };
	struct aux_group group;

	attr_nmi(&spec.resume, 0, TAG_RESUME);
	attr_nmi(&spec.pause, 0, TAG_PAUSE);
	ASSERT_EQ(aux_group_open(&group, &spec), 0);

	ASSERT_EQ(nmi_fire(10, 0), 0);
	ASSERT_EQ(perf_set_period(group.aux, 2), 0);
	ASSERT_EQ(perf_set_period(group.pause, 2), 0);
	ASSERT_EQ(perf_enable(group.pause), 0);
	ASSERT_EQ(nmi_fire(10, 0), 0);
	EXPECT_EQ(perf_count(group.pause), 0);
	expect_idle(_metadata, &group);
	aux_group_close(&group);
}

static bool throttled_ten_times(const struct aux_group *group)
{
	static long long since;

	if (nmi_stat("total.throttled") < since + 10)
		return false;
	since += 10;

	return true;
}

static bool pause_counts(const struct aux_group *group)
{
	return perf_count(group->pause) > 0;
}

static bool waits_for(bool (*condition)(const struct aux_group *group),
		      const struct aux_group *group)
{
	__u64 end = clock_ns() + LONGEST_WAIT;

	while (!condition(group)) {
		if (clock_ns() > end)
			return false;
	}

	return true;
}

/*
 * One gate is off, the other is throttled again and again. Throttling stops and
 * starts only the latter.
 */
TEST_F(aux_faults, gate_that_is_off)
{
	struct aux_spec spec = { .pid = -1, .cpu = nth_cpu(0), .overwrite = true };
	struct aux_group group;
	int rate;

	ASSERT_EQ(pin_to_cpu(spec.cpu), 0);
	rate = set_max_sample_rate(1000);
	ASSERT_GE(rate, 0);
	attr_nmi(&spec.resume, 20000, 0);
	attr_nmi(&spec.pause, 20000, 0);
	spec.pause.disabled = 1;
	ASSERT_EQ(aux_group_open(&group, &spec), 0);
	ASSERT_EQ(aux_group_enable(&group), 0);
	EXPECT_TRUE(waits_for(throttled_ten_times, &group));
	ASSERT_EQ(perf_set_period(group.pause, 1), 0);
	EXPECT_TRUE(waits_for(throttled_ten_times, &group));
	EXPECT_GT(perf_count(group.resume), 0);
	EXPECT_EQ(perf_count(group.pause), 0);

	ASSERT_EQ(perf_enable(group.pause), 0);
	EXPECT_TRUE(waits_for(pause_counts, &group));
	aux_group_close(&group);
	set_max_sample_rate(rate);
}

/* --- Signals --- */

static volatile sig_atomic_t traps;

static void take_trap(int sig, siginfo_t *info, void *context)
{
	traps++;
}

static void trapped_task(int report)
{
	while (traps < 5)
		usleep(100);
	if (write(report, "", 1) != 1)
		_exit(1);
	while (1)
		usleep(100);
}

/*
 * An overflow in the middle of a context switch, just before the event is scheduled
 * out: its signal is sent when the task runs again. Close the event before that, or
 * kill the task. Nothing hangs, and the event is freed.
 */
static void trap_and_end(struct __test_metadata *_metadata, bool kill_first)
{
	struct sigaction action = { .sa_sigaction = take_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr;
	struct pollfd pfd = { .events = POLLIN };
	int report[2], fd, aux;
	pid_t pid;

	ASSERT_EQ(pipe(report), 0);
	/* The first signal can come before the task has run at all. */
	sigaction(SIGTRAP, &action, NULL);
	pid = fork();
	if (!pid)
		trapped_task(report[1]);
	ASSERT_GT(pid, 0);

	attr_init(&attr, pmu_type("test_aux"));
	attr.disabled = 0;
	aux = perf_open(&attr, pid, -1, -1);
	ASSERT_GE(aux, 0);
	attr_nmi(&attr, 0, TAG_SAMPLE);
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	fd = perf_open(&attr, pid, -1, aux);
	ASSERT_GE(fd, 0);

	pfd.fd = report[0];
	EXPECT_EQ(poll(&pfd, 1, 10000), 1);
	if (kill_first)
		kill(pid, SIGKILL);
	close(fd);
	close(aux);
	kill(pid, SIGKILL);
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
	close(report[0]);
	close(report[1]);
}

TEST_F(aux_faults, event_with_a_signal_on_its_way)
{
	int i;

	ASSERT_EQ(nmi_at("stop-entry:3"), 0);
	for (i = 0; i < 20; i++)
		trap_and_end(_metadata, i & 1);
	ASSERT_EQ(nmi_at(""), 0);
}

TEST_HARNESS_MAIN
