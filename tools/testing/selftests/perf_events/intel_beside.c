// SPDX-License-Identifier: GPL-2.0
/*
 * What happens beside a gated trace of Intel PT or Intel BTS: its CPU goes offline, an
 * event samples each branch, which perf does with BTS as well, or PEBS writes to the
 * debug store that BTS uses, too. And a trace that is filtered, mapped and polled.
 *
 * Expected: a trace ends with its CPU, and there can be a new one when that is back.
 * Only one event has BTS. PEBS takes nothing from a trace. There is one order of the
 * locks: with lockdep, the kernel's log says if there isn't.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "intel_test.h"

PROGRAM_NEEDS(lacks_pmu("intel_bts"))

FIXTURE(beside)
{
	struct gated gated;
	struct pt_trace pt;
	struct bts_trace bts;
	struct rate_limit limit;
};

FIXTURE_VARIANT(beside)
{
	bool bts;
};

FIXTURE_VARIANT_ADD(beside, pt)
{
	.bts = false,
};

FIXTURE_VARIANT_ADD(beside, bts)
{
	.bts = true,
};

static void init(struct gated *gated, struct pt_trace *pt, struct bts_trace *bts)
{
	if (bts)
		gated_init_bts(gated, bts);
	else
		gated_init_pt(gated, pt);
	gated->spec.exclude_kernel = true;
}

FIXTURE_SETUP(beside)
{
	memset(self, 0, sizeof(*self));
	if (!variant->bts && lacks_pmu("intel_pt"))
		SKIP(return, "%s", lacks_pmu("intel_pt"));
	init(&self->gated, &self->pt, variant->bts ? &self->bts : NULL);
	if (!setup_kind(_metadata, &self->gated, "nmi"))
		return;
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
}

FIXTURE_TEARDOWN(beside)
{
	if (variant->bts)
		bts_close(_metadata, &self->gated);
	else
		pt_close(_metadata, &self->gated);
	set_rate_limit(&self->limit);
}

static void windows(struct __test_metadata *_metadata, struct gated *gated, int n)
{
	while (n--)
		ASSERT_EQ(gated_window(gated, 100), 0);
}

static void expect_branches(struct __test_metadata *_metadata, const struct gated *gated,
			    bool bts, unsigned long n)
{
	const struct pt_trace *pt = gated->trace;

	EXPECT_GE(bts ? bts_branches(gated->trace, gated->kind->code) : pt->tnt, n);
}

/* --- CPU hotplug --- */

static bool off_and_on(struct __test_metadata *_metadata, int cpu)
{
	/* The other tasks of the CPU leave it, and so does this one. */
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	if (cpu_set_online(cpu, false))
		SKIP(return false, "CPU %d can't be taken offline", cpu);
	ASSERT_EQ(cpu_set_online(cpu, true), 0);

	return true;
}

/* The trace is on, or paused, when its CPU goes offline; then there is a new one. */
static void hotplug(struct __test_metadata *_metadata, struct gated *gated, bool bts)
{
	int round;

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	for (round = 0; round < 4; round++) {
		aux_group_init(&gated->group);
		open_and_enable(_metadata, gated);
		windows(_metadata, gated, 5);
		if (round & 1)
			fire_tag(TAG_RESUME);
		if (!off_and_on(_metadata, gated->cpu))
			return;
		EXPECT_EQ(gated->ops->is_on(gated->cpu), 0);
		gated_close(gated);
	}

	aux_group_init(&gated->group);
	gated->nr = 0;
	open_and_enable(_metadata, gated);
	windows(_metadata, gated, ROUNDS);
	disable_and_read(_metadata, gated);
	expect_branches(_metadata, gated, bts, ROUNDS * 90);
	expect_exact(_metadata, gated);
}

TEST_F(beside, hotplug)
{
	self->gated.cpu = nth_cpu(1);
	if (self->gated.cpu < 0)
		SKIP(return, "one CPU only");
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	hotplug(_metadata, &self->gated, variant->bts);
}

/* --- An event that samples each branch --- */

/* Some CPUs can have Intel PT beside it, none can have intel_bts. */
static void expect_excluded(struct __test_metadata *_metadata, bool opened, bool bts)
{
	if (!opened)
		EXPECT_EQ(errno, EBUSY);
	if (bts)
		EXPECT_FALSE(opened);
}

TEST_F(beside, each_branch)
{
	struct gated *gated = &self->gated;
	struct perf_event_attr attr;
	bool opened;
	int fd;

	attr_all_branches(&attr);
	fd = perf_open(&attr, 0, gated->cpu, -1);
	if (fd < 0)
		SKIP(return, "no event of branches: %s", strerror(errno));

	opened = !gated_open(gated);
	expect_excluded(_metadata, opened, variant->bts);
	if (opened)
		aux_group_close(&gated->group);
	close(fd);

	aux_group_init(&gated->group);
	open_and_enable(_metadata, gated);
	fd = perf_open(&attr, 0, gated->cpu, -1);
	expect_excluded(_metadata, fd >= 0, variant->bts);
	windows(_metadata, gated, ROUNDS);
	disable_and_read(_metadata, gated);
	if (fd >= 0)
		close(fd);
	expect_branches(_metadata, gated, variant->bts, ROUNDS * 90);
	expect_exact(_metadata, gated);
}

/* --- PEBS --- */

TEST_F(beside, pebs)
{
	struct gated *gated = &self->gated;
	struct perf_event_attr attr;
	int fd;

	/* A period that nothing but PEBS is fast enough for */
	attr_precise(&attr, 200003);
	fd = perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		SKIP(return, "no precise events: %s", strerror(errno));

	open_and_enable(_metadata, gated);
	windows(_metadata, gated, ROUNDS);
	disable_and_read(_metadata, gated);
	EXPECT_GT(perf_count(fd), attr.sample_period);
	close(fd);

	expect_branches(_metadata, gated, variant->bts, ROUNDS * 90);
	expect_exact(_metadata, gated);
}

/* --- The locks of a filter, of mmap() and of poll() --- */

/* Each of the three takes one lock inside another one. poll() does at the end of a task. */
TEST(filter_mmap_and_poll)
{
	struct perf_event_attr attr;
	struct pollfd poll_fd = { .events = POLLIN };
	char path[256] = "", filter[300];
	void *page;
	pid_t child;

	if (lacks_pmu("intel_pt"))
		SKIP(return, "%s", lacks_pmu("intel_pt"));
	if (pmu_cap("intel_pt", "num_address_ranges") < 1)
		SKIP(return, "no address filters");
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		pause();
		_exit(0);
	}

	attr_init(&attr, pmu_type("intel_pt"));
	attr.exclude_kernel = 1;
	poll_fd.fd = perf_open(&attr, child, -1, -1);
	ASSERT_GE(poll_fd.fd, 0);
	/* Not a path in /proc, for which the base's lookup has an order of its own */
	ASSERT_GT(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
	snprintf(filter, sizeof(filter), "filter 0/4096@%s", path);
	EXPECT_EQ(perf_set_filter(poll_fd.fd, filter), 0);
	page = mmap(NULL, 2 * getpagesize(), PROT_READ, MAP_SHARED, poll_fd.fd, 0);
	ASSERT_NE(page, MAP_FAILED);

	kill(child, SIGKILL);
	ASSERT_EQ(waitpid(child, NULL, 0), child);
	EXPECT_EQ(poll(&poll_fd, 1, 0), 1);
	EXPECT_EQ(poll_fd.revents & POLLHUP, POLLHUP);
	munmap(page, 2 * getpagesize());
	close(poll_fd.fd);
}

TEST_HARNESS_MAIN
