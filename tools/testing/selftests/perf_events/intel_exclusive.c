// SPDX-License-Identifier: GPL-2.0
/*
 * Two events of Intel PT for one task, or one CPU: one with a hardware counter in its
 * group, and one without.
 *
 * Expected: the kernel refuses the second one when it is opened, or never adds it while the
 * first is active, even if that is stopped. A kernel in which both are active writes MSRs
 * of a trace that is on, and warns of two AUX transactions on one area.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "intel_env.h"
#include "perf_common.h"

PROGRAM_NEEDS(lacks_root() ?: lacks_pmu("intel_pt"))

#define PAGE		((size_t)sysconf(_SC_PAGESIZE))
#define BUFFER_SIZE	(PAGE * 9)
#define AUX_SIZE	(PAGE * 16)
#define PERIOD		100000
#define ROUNDS		20

struct trace {
	int fd;
	struct perf_event_mmap_page *page;
	void *area;
};

FIXTURE(exclusive)
{
	long long taint;
	int cpu;
};

FIXTURE_SETUP(exclusive)
{
	self->cpu = nth_cpu(0);
	self->taint = kernel_taint();
	ASSERT_EQ(pin_to_cpu(self->cpu), 0);
	model_watch();
}

FIXTURE_TEARDOWN(exclusive)
{
	EXPECT_EQ(model_violations(), 0);
	EXPECT_EQ(kernel_taint(), self->taint);
}

/* In overwrite mode the area is never full. */
static void map_area(struct trace *trace)
{
	trace->area = mmap(NULL, AUX_SIZE, PROT_READ, MAP_SHARED, trace->fd, BUFFER_SIZE);
}

static int map_trace(struct trace *trace)
{
	trace->page = mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd, 0);
	if (trace->page == MAP_FAILED)
		return -1;
	trace->page->aux_offset = BUFFER_SIZE;
	trace->page->aux_size = AUX_SIZE;
	map_area(trace);

	return trace->area == MAP_FAILED ? -1 : 0;
}

static void close_trace(struct trace *trace)
{
	munmap(trace->area, AUX_SIZE);
	munmap(trace->page, BUFFER_SIZE);
	close(trace->fd);
}

static int open_pt(pid_t pid, int cpu, int leader)
{
	struct perf_event_attr attr;

	attr_init(&attr, pmu_type("intel_pt"));
	attr.sample_period = PERIOD;
	attr.disabled = leader < 0;

	return perf_open(&attr, pid, cpu, leader);
}

/* The first is stopped, the second enabled, and then the first would start again. */
static void stop_and_start_first(struct trace *first, const struct trace *second)
{
	munmap(first->area, AUX_SIZE);
	map_area(first);
	perf_enable(second->fd);
	perf_set_period(first->fd, PERIOD);
	sleep_a_little();
	perf_disable(second->fd);
}

/* The event may have to wait for its turn on the hardware. */
static bool goes_on(const struct trace *trace)
{
	__u64 head = trace->page->aux_head;
	int i;

	for (i = 0; i < 100 && trace->page->aux_head == head; i++) {
		perf_enable(trace->fd);
		sleep_a_little();
		perf_disable(trace->fd);
	}

	return trace->page->aux_head != head;
}

static void two_events(struct __test_metadata *_metadata, pid_t pid, int cpu)
{
	struct perf_event_attr attr;
	struct trace first, second;
	int counter, i;

	attr_cycles(&attr, 0);
	counter = perf_open(&attr, pid, cpu, -1);
	if (counter < 0)
		SKIP(return, "no hardware counter");
	first.fd = open_pt(pid, cpu, counter);
	ASSERT_GE(first.fd, 0);
	ASSERT_EQ(map_trace(&first), 0);

	second.fd = open_pt(pid, cpu, -1);
	if (second.fd < 0) {
		EXPECT_EQ(errno, EBUSY);
	} else {
		ASSERT_EQ(map_trace(&second), 0);
		for (i = 0; i < ROUNDS; i++)
			stop_and_start_first(&first, &second);
		close_trace(&second);
	}

	/* The first one is as good as before. */
	EXPECT_TRUE(goes_on(&first));
	close_trace(&first);
	close(counter);
}

TEST_F_TIMEOUT(exclusive, of_a_task, 120)
{
	two_events(_metadata, 0, -1);
}

TEST_F_TIMEOUT(exclusive, of_a_cpu, 120)
{
	two_events(_metadata, -1, self->cpu);
}

TEST_HARNESS_MAIN
