// SPDX-License-Identifier: GPL-2.0
/*
 * A hardware counter that a program reads itself, with RDPMC, as the comment in
 * linux/perf_event.h describes it.
 *
 * Expected: if the control page says that RDPMC works (cap_user_rdpmc), it does: counts
 * never run backwards, and lie between those that read() returns before and after.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "intel_env.h"

#define READS	2000

PROGRAM_NEEDS(lacks_counters())

FIXTURE(rdpmc)
{
	struct perf_event_mmap_page *page;
	int fd;
};

FIXTURE_VARIANT(rdpmc)
{
	__u64 config;
};

FIXTURE_VARIANT_ADD(rdpmc, cycles)
{
	.config = PERF_COUNT_HW_CPU_CYCLES,
};

FIXTURE_VARIANT_ADD(rdpmc, instructions)
{
	.config = PERF_COUNT_HW_INSTRUCTIONS,
};

/* No fixed counter counts them. */
FIXTURE_VARIANT_ADD(rdpmc, branches)
{
	.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
};

FIXTURE_SETUP(rdpmc)
{
	struct perf_event_attr attr;

	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	attr_init(&attr, PERF_TYPE_HARDWARE);
	attr.config = variant->config;
	attr.disabled = 0;
	self->fd = perf_open(&attr, 0, -1, -1);
	if (self->fd < 0)
		SKIP(return, "no such counter: %s", strerror(errno));
	self->page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(self->page, MAP_FAILED);
}

FIXTURE_TEARDOWN(rdpmc)
{
	munmap(self->page, sysconf(_SC_PAGESIZE));
	close(self->fd);
}

static __u64 rdpmc(__u32 counter)
{
	__u32 low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (counter));

	return (__u64)high << 32 | low;
}

static __u32 sequence(const struct perf_event_mmap_page *page)
{
	asm volatile("" : : : "memory");

	return __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
}

/* False if the event isn't on a counter now */
static bool user_count(const struct perf_event_mmap_page *page, __u64 *count)
{
	__u32 seq, index;

	do {
		seq = sequence(page);
		index = page->index;
		*count = page->offset;
		if (page->cap_user_rdpmc && index) {
			unsigned int unused = 64 - page->pmc_width;

			*count += (__s64)(rdpmc(index - 1) << unused) >> unused;
		}
	} while (sequence(page) != seq);

	return index;
}

TEST_F(rdpmc, between_reads)
{
	__u64 before, count, last = 0;
	unsigned int i, counts = 0;

	if (!self->page->cap_user_rdpmc)
		SKIP(return, "the control page says that RDPMC doesn't work");

	for (i = 0; i < READS; i++) {
		before = perf_count(self->fd);
		if (!user_count(self->page, &count))
			continue;
		counts++;
		ASSERT_GE(count, before);
		ASSERT_LE(count, perf_count(self->fd));
		ASSERT_GE(count, last);
		last = count;
	}
	EXPECT_GE(counts, READS / 2);
	EXPECT_GT(last, 0);
}

TEST_HARNESS_MAIN
