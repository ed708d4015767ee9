// SPDX-License-Identifier: GPL-2.0
/*
 * The total of an AUX area, in the control page: exact to the byte, consistent with
 * aux_head, whatever the area's mode, whoever writes to it, and however often it is
 * mapped. The reference is the test PMU's stream: each of its packets has the number
 * of packets written to the area before.
 *
 * Expected: each test passes. If a kernel counted the area's size for each transaction,
 * or forgot a wrap, all tests but the first would fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_control.h"

PROGRAM_NEEDS(lacks_aux_total())

#define AUX_PAGES	4
#define AREA_SIZE	(AUX_PAGES * 4096UL)
#define PERIOD		2000		/* a wrap takes 1 ms */
#define WRAP_NS		(AREA_SIZE / PACKET_SIZE * PERIOD)

FIXTURE(aux_total)
{
	struct aux_spec spec;
	struct aux_group group;
	struct aux_trace trace;
	struct perf_records records;
	int other_cpu;
	pid_t child;
};

FIXTURE_VARIANT(aux_total)
{
	const char *pmu;
	bool overwrite;
};

FIXTURE_VARIANT_ADD(aux_total, overwrite)
{
	.pmu = "test_aux",
	.overwrite = true,
};

FIXTURE_VARIANT_ADD(aux_total, overwrite_contig)
{
	.pmu = "test_aux_contig",
	.overwrite = true,
};

FIXTURE_VARIANT_ADD(aux_total, normal)
{
	.pmu = "test_aux",
};

FIXTURE_SETUP(aux_total)
{
	memset(self, 0, sizeof(*self));
	aux_group_init(&self->group);
	self->other_cpu = nth_cpu(1);
	self->spec.pmu = variant->pmu;
	self->spec.pid = -1;
	self->spec.cpu = nth_cpu(0);
	self->spec.overwrite = variant->overwrite;
	self->spec.aux_pages = AUX_PAGES;
	self->spec.period = PERIOD;
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
}

FIXTURE_TEARDOWN(aux_total)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	aux_trace_free(&self->trace);
	perf_records_free(&self->records);
	aux_group_close(&self->group);
}

static int read_stream(struct aux_trace *trace, struct aux_group *group, bool overwrite)
{
	if (!overwrite)
		return aux_trace_read(trace, group);

	aux_trace_free(trace);

	return aux_trace_read_overwrite(trace, group);
}

/* Nothing is being written: the control page agrees with the stream, to the byte. */
static void expect_exact(struct __test_metadata *_metadata, struct aux_trace *trace,
			 struct aux_group *group, bool overwrite)
{
	struct aux_control ctl;

	aux_control_read(group->page, &ctl);
	ASSERT_EQ(read_stream(trace, group, overwrite), 0)
		TH_LOG("%s", trace->error);
	EXPECT_EQ(ctl.state, PERF_AUX_STATE_COUNTED);
	EXPECT_EQ(ctl.total, trace->next_seq * PACKET_SIZE);
	EXPECT_EQ(ctl.head, overwrite ? ctl.total % AREA_SIZE : ctl.total);
}

TEST_F(aux_total, zero_when_mapped)
{
	struct aux_control ctl;

	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	aux_control_read(self->group.page, &ctl);
	EXPECT_EQ(ctl.total, 0);
	EXPECT_EQ(ctl.head, 0);
	EXPECT_EQ(ctl.state, PERF_AUX_STATE_COUNTED);
}

/* Transactions of less than the area, of about the area, and of many times the area */
TEST_F(aux_total, exact)
{
	static const __u64 tenths[] = { 0, 1, 3, 9, 10, 11, 15, 25, 87 };
	__u64 wrapped = 0;
	size_t i;

	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	for (i = 0; i < 5 * ARRAY_SIZE(tenths); i++) {
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(tenths[i % ARRAY_SIZE(tenths)] * WRAP_NS / 10);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		expect_exact(_metadata, &self->trace, &self->group, variant->overwrite);
	}
	wrapped = self->trace.next_seq * PACKET_SIZE / AREA_SIZE;
	EXPECT_GE(wrapped, 5);
}

/* The count is of the area that is mapped now. */
TEST_F(aux_total, mapped_again)
{
	int i;

	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(2 * WRAP_NS);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		expect_exact(_metadata, &self->trace, &self->group, variant->overwrite);
		EXPECT_GT(self->trace.next_seq, 0);
		aux_trace_free(&self->trace);
		aux_group_unmap(&self->group);
		ASSERT_EQ(aux_group_map(&self->group, &self->spec), 0)
			TH_LOG("%s", strerror(errno));
	}
}

/* Only the area is mapped again, while the event runs: the data area stays. */
TEST_F(aux_total, area_mapped_again)
{
	struct aux_group *group = &self->group;
	struct aux_control ctl;
	int i;

	if (!variant->overwrite)
		SKIP(return, "aux_tail belongs to the old area");

	ASSERT_EQ(aux_group_open(group, &self->spec), 0);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(aux_group_enable(group), 0);
		spin_ns(2 * WRAP_NS);
		ASSERT_EQ(munmap(group->area, group->area_size), 0);
		group->area = mmap(NULL, group->area_size, PROT_READ, MAP_SHARED,
				   group->aux, group->page->aux_offset);
		ASSERT_NE(group->area, MAP_FAILED);
		aux_control_read(group->page, &ctl);
		EXPECT_EQ(ctl.total, 0);
		aux_group_restart(group);
		spin_ns(2 * WRAP_NS);
		ASSERT_EQ(aux_group_disable(group), 0);
		aux_control_read(group->page, &ctl);
		ASSERT_EQ(read_stream(&self->trace, group, true), 0)
			TH_LOG("%s", self->trace.error);
		EXPECT_EQ(ctl.total, self->trace.next_seq * PACKET_SIZE);
		EXPECT_GE(ctl.total, AREA_SIZE);
	}
}

static void run_child(void)
{
	pin_to_cpu(nth_cpu(0));
	spin_ns(2 * WRAP_NS);
	_exit(0);
}

/* Each child writes to the area of its parent. One runs after the other. */
TEST_F(aux_total, inherited)
{
	int i;

	if (!variant->overwrite)
		SKIP(return, "a full area stops the children");

	self->spec.pid = 0;
	self->spec.inherit = true;
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	for (i = 0; i < 8; i++) {
		self->child = fork();
		if (!self->child)
			run_child();
		ASSERT_GT(self->child, 0);
		ASSERT_EQ(waitpid(self->child, NULL, 0), self->child);
		self->child = 0;
	}
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	expect_exact(_metadata, &self->trace, &self->group, true);
	EXPECT_GE(self->trace.next_seq * PACKET_SIZE, 8 * AREA_SIZE);
}

/* Two tasks on one CPU, and one area */
TEST_F(aux_total, redirected)
{
	struct aux_spec second = self->spec;
	struct aux_group other;
	__u64 total;

	if (!variant->overwrite)
		SKIP(return, "a full area stops the second");

	self->child = fork();
	if (!self->child) {
		for (;;)
			sched_yield();
	}
	ASSERT_GT(self->child, 0);
	self->spec.pid = 0;
	second.pid = self->child;
	second.no_map = true;
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	ASSERT_EQ(aux_group_open(&other, &second), 0);
	ASSERT_EQ(perf_set_output(other.aux, self->group.aux), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	ASSERT_EQ(aux_group_enable(&other), 0);
	spin_ns(20 * WRAP_NS);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	/* Now only the second one writes. */
	total = total_of(&self->group);
	EXPECT_TRUE(total_reaches(&self->group, total + PACKET_SIZE));
	ASSERT_EQ(aux_group_disable(&other), 0);
	expect_exact(_metadata, &self->trace, &self->group, true);
	aux_group_close(&other);
}

/* A record for each transaction: the bytes that are left of it, and where they end. */
TEST_F(aux_total, records)
{
	const struct perf_record *rec;
	__u64 size, total = 0, wraps = 0;
	struct aux_control ctl;
	size_t i, r = 0;

	if (!variant->overwrite)
		SKIP(return, "not in overwrite mode");

	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(i * WRAP_NS / 7);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
		while (r < self->records.nr &&
		       self->records.rec[r].type != PERF_RECORD_AUX)
			r++;
		ASSERT_LT(r, self->records.nr)
			TH_LOG("%zu: no record", i);
		rec = &self->records.rec[r++];
		aux_control_read(self->group.page, &ctl);
		size = ctl.total - total;
		total = ctl.total;
		wraps += size > AREA_SIZE;
		EXPECT_EQ(rec->flags, PERF_AUX_FLAG_OVERWRITE);
		EXPECT_EQ(rec->offset, ctl.head);
		EXPECT_EQ(rec->size, size < AREA_SIZE ? size : AREA_SIZE);
	}
	EXPECT_GE(wraps, 5);
	EXPECT_LT(wraps, 20);
}

/* --- A reader on another CPU, that doesn't stop the writer --- */

struct reader {
	const struct perf_event_mmap_page *page;
	int cpu;
	bool stop;
	__u64 reads, changes, running, stopped, backward, torn;
};

/* On a busy machine, reader and writer take turns instead of running at the same time. */
static bool has_seen_enough(const struct reader *reader)
{
	return __atomic_load_n(&reader->changes, __ATOMIC_RELAXED) >= 100 &&
	       __atomic_load_n(&reader->running, __ATOMIC_RELAXED) >= 100 &&
	       __atomic_load_n(&reader->stopped, __ATOMIC_RELAXED) >= 10;
}

static void *read_all_the_time(void *arg)
{
	struct reader *reader = arg;
	struct aux_control ctl, last = {};

	pin_to_cpu(reader->cpu);
	while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED)) {
		aux_control_read(reader->page, &ctl);
		reader->reads++;
		reader->changes += ctl.total != last.total;
		reader->backward += ctl.total < last.total;
		reader->torn += ctl.head % AREA_SIZE != ctl.total % AREA_SIZE ||
				!(ctl.state & PERF_AUX_STATE_COUNTED);
		if (ctl.state & PERF_AUX_STATE_RUNNING)
			reader->running++;
		else
			reader->stopped++;
		last = ctl;
	}

	return NULL;
}

TEST_F(aux_total, consistent)
{
	struct reader reader = { .cpu = self->other_cpu };
	__u64 begin = clock_ns(), passed;
	pthread_t thread;
	int i;

	if (reader.cpu < 0)
		SKIP(return, "needs two CPUs");
	if (!variant->overwrite)
		SKIP(return, "the area would be full");

	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	reader.page = self->group.page;
	ASSERT_EQ(pthread_create(&thread, NULL, read_all_the_time, &reader), 0);
	do {
		for (i = 0; i < 100; i++)
			aux_group_restart(&self->group);
		passed = clock_ns() - begin;
	} while (passed < 3000000000ULL ||
		 (passed < 20000000000ULL && !has_seen_enough(&reader)));
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);

	EXPECT_EQ(reader.torn, 0);
	EXPECT_EQ(reader.backward, 0);
	EXPECT_TRUE(has_seen_enough(&reader))
		TH_LOG("%llu running, %llu stopped", (unsigned long long)reader.running,
		       (unsigned long long)reader.stopped);
	TH_LOG("%llu reads, %llu changes", (unsigned long long)reader.reads,
	       (unsigned long long)reader.changes);
}

/* What user space stores in the page is not read back. */
TEST_F(aux_total, page_is_not_trusted)
{
	int i;

	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	for (i = 0; i < 5; i++) {
		self->group.page->aux_total = ~0ULL << i;
		self->group.page->aux_seq = i;
		self->group.page->aux_state = ~0U;
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(WRAP_NS / 8);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		expect_exact(_metadata, &self->trace, &self->group, variant->overwrite);
	}
	EXPECT_GT(self->trace.next_seq, 0);
}

TEST_HARNESS_MAIN
