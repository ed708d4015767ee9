// SPDX-License-Identifier: GPL-2.0
/*
 * The total of an overwritten AUX area of Intel BTS. The reference is the model of the trace
 * hardware (kernel parameter trace_model), which counts the records that it writes; it
 * can also hold back interrupts. Without the model, it is the number of branches.
 *
 * Expected: new are as many records as were written, wherever laps begin, and however
 * late an interrupt is. If the driver missed a lap, or counted one that was none, all
 * tests would fail by about the area's size.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "aux_control.h"
#include "aux_model.h"

#define STABLE		(PERF_AUX_STATE_PAUSED | PERF_AUX_STATE_COUNTED)
#define PAGE		4096UL

PROGRAM_NEEDS(lacks_counting("intel_bts", 0))

struct record {
	__u64 from, to, flags;
};

FIXTURE(bts_total)
{
	struct aux_spec spec;
	struct aux_group group;
	struct perf_records records;
	__u64 last, found;
	long long base, violations;
};

FIXTURE_VARIANT(bts_total)
{
	unsigned int pages;
	bool kernel;
};

FIXTURE_VARIANT_ADD(bts_total, one_page)
{
	.pages = 1,
};

FIXTURE_VARIANT_ADD(bts_total, two_pages)
{
	.pages = 2,
};

FIXTURE_VARIANT_ADD(bts_total, sixteen_pages)
{
	.pages = 16,
};

/* The branches of system calls and interrupts are there, too. */
FIXTURE_VARIANT_ADD(bts_total, with_kernel)
{
	.pages = 16,
	.kernel = true,
};

FIXTURE_SETUP(bts_total)
{
	memset(self, 0, sizeof(*self));
	if (has_model())
		ASSERT_EQ(no_skid(), 0);
	self->spec.pmu = "intel_bts";
	self->spec.cpu = -1;
	self->spec.exclude_kernel = !variant->kernel;
	self->spec.overwrite = true;
	self->spec.aux_pages = variant->pages;
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0)
		TH_LOG("%s", strerror(errno));
	self->base = model_stat("bts_records");
	self->violations = model_violations();
	ASSERT_EQ(aux_group_enable(&self->group), 0);
}

FIXTURE_TEARDOWN(bts_total)
{
	if (has_model())
		mask_interrupts(false);
	perf_records_free(&self->records);
	aux_group_close(&self->group);
	EXPECT_EQ(model_violations(), self->violations);
}

/* Each round but the last is a branch. */
static void branches(unsigned int rounds)
{
	while (rounds--)
		asm volatile("" : : "r" (rounds));
}

/* In the lap that the positions from @begin to @end are in. The rest of a lap is empty. */
static __u64 count_records(const struct aux_group *group, __u64 begin, __u64 end)
{
	const struct record *rec;
	__u64 n = 0;

	for (; begin + sizeof(*rec) <= end; begin += sizeof(*rec)) {
		rec = (const void *)(group->area + begin % group->area_size);
		n += rec->from && rec->to;
	}

	return n;
}

static __u64 count_new(const struct aux_group *group, __u64 begin, __u64 end)
{
	__u64 lap_end, n = 0;

	while (begin < end) {
		lap_end = begin - begin % group->area_size + group->area_size;
		if (lap_end > end)
			lap_end = end;
		n += count_records(group, begin, lap_end);
		begin = lap_end;
	}

	return n;
}

/* In an area that was not overrun, as many records are new as were written. */
static void expect_exact(struct __test_metadata *_metadata,
			 struct _test_data_bts_total *self, __u64 expected)
{
	struct aux_control ctl;
	__u64 new;

	aux_control_read(self->group.page, &ctl);
	EXPECT_EQ(ctl.state, STABLE);
	EXPECT_EQ(ctl.head, ctl.total % self->group.area_size);
	ASSERT_LE(ctl.total - self->last, self->group.area_size);
	new = count_new(&self->group, self->last, ctl.total);
	self->last = ctl.total;
	self->found += new;
	EXPECT_GE(new + 1, expected);
	if (has_model())
		EXPECT_EQ(self->found, model_stat("bts_records") - self->base);
}

/* Whatever was written before. The trace is paused then. */
static void count_from_here(struct __test_metadata *_metadata,
			    struct _test_data_bts_total *self)
{
	struct aux_control ctl;

	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
	aux_control_read(self->group.page, &ctl);
	self->last = ctl.total;
	self->base = model_stat("bts_records");
	self->found = 0;
}

static bool has_kernel_branches(const struct aux_group *group)
{
	const struct record *rec = (const void *)group->area;
	const struct record *end = (const void *)(group->area + group->area_size);

	for (; rec + 1 <= end; rec++)
		if ((__s64)rec->from < 0)
			return true;

	return false;
}

/*
 * Have interrupts and task switches overrun the area, where the kernel is traced? The model
 * tells, not the driver's total, which is what is tested.
 */
static bool is_overrun(const struct _test_data_bts_total *self)
{
	__u64 written;

	if (self->spec.exclude_kernel || !has_model())
		return false;
	written = model_stat("bts_records") - self->base - self->found;

	/* The rest of a lap is empty. */
	return written * sizeof(struct record) > self->group.area_size - PAGE;
}

/* Paused after any number of branches that can't overrun the area, for some laps */
static void exact_laps(struct __test_metadata *_metadata,
		       struct _test_data_bts_total *self, unsigned int laps)
{
	unsigned int most = (self->group.area_size - PAGE / 2) / sizeof(struct record) / 2, n;
	__u64 end, begin, counted = 0;
	unsigned int i;

	/* Untraced: reading the clock is a loop that can overrun the area. */
	count_from_here(_metadata, self);
	end = clock_ns() + 20000000000ULL;
	ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	for (i = 0; counted < laps * self->group.area_size; i++) {
		n = i * i * 7 % most;
		branches(n);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		/* Untraced: reading the clock is a loop that can overrun the area. */
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%llu bytes in %u rounds", (unsigned long long)counted, i);
		if (is_overrun(self)) {
			count_from_here(_metadata, self);
			/* The longer a round takes, the more ticks there are in it. */
			most = most > 40 ? most / 2 : most;
		} else {
			begin = self->last;
			expect_exact(_metadata, self, n);
			counted += self->last - begin;
		}
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}
}

TEST_F(bts_total, exact)
{
	exact_laps(_metadata, self, 12);
	EXPECT_EQ(has_kernel_branches(&self->group), variant->kernel);
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	EXPECT_EQ(perf_records_flagged(&self->records, 0, PERF_AUX_FLAG_PARTIAL), 0);
}

/* The interrupt is requested after so many records of a lap. */
static unsigned int lap_records(__u64 size)
{
	__u64 whole = size - size % sizeof(struct record), room = 4080 - 2 * sizeof(struct record);

	return (whole - (whole / 2 < room ? whole / 2 : room)) / sizeof(struct record);
}

/* With exactly so many records a lap has ended: the next one begins the area again. */
TEST_F(bts_total, end_of_lap)
{
	unsigned int lap = lap_records(self->group.area_size), left, more, hits = 0, tries;
	unsigned int own = lap;	/* records of a resume and a pause: at first, not known */
	struct aux_control ctl;
	long long before;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	/* The kernel's records are not always as many. */
	if (variant->kernel)
		SKIP(return, "not with the kernel");

	count_from_here(_metadata, self);
	for (tries = 0; hits < 3; tries++) {
		ASSERT_LT(tries, 1000);
		aux_control_read(self->group.page, &ctl);
		ASSERT_LT(ctl.head, lap * sizeof(struct record));
		left = lap - ctl.head / sizeof(struct record);
		more = left > own ? left - own : 0;
		/* Not a whole lap at once: an interrupt may add records. */
		if (more > lap / 2)
			more = lap / 2;
		before = model_stat("bts_records");
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		branches(more + 1);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		own = model_stat("bts_records") - before - more;
		expect_exact(_metadata, self, 0);
		hits += own + more == left;
	}
}

/* So much of a lap is left empty at most. */
static __u64 most_empty(__u64 size)
{
	return (size / 2 < PAGE ? size / 2 : PAGE) + sizeof(struct record);
}

/* Whether or not the area was overrun: no lap is missed, and none counted twice. */
static void expect_counted(struct __test_metadata *_metadata,
			   struct _test_data_bts_total *self)
{
	__u64 size = self->group.area_size, bytes;
	struct aux_control ctl;

	aux_control_read(self->group.page, &ctl);
	bytes = (model_stat("bts_records") - self->base) * sizeof(struct record);
	EXPECT_EQ(ctl.head, ctl.total % size);
	EXPECT_GE(ctl.total, bytes);
	EXPECT_LE(ctl.total, bytes + ctl.total / size * most_empty(size));
	self->last = ctl.total;
}

/* Many laps between two looks */
TEST_F(bts_total, laps)
{
	__u64 size = self->group.area_size, laps;
	int i;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	for (i = 0; i < 3; i++) {
		laps = self->last / size;
		branches(5 * size / sizeof(struct record));
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		expect_counted(_metadata, self);
		EXPECT_GE(self->last / size, laps + 5);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}
}

/*
 * Interrupts are late: the trace stops at the end of the area, until the task is
 * scheduled, and says that something is missing. What is there is counted, once: what was
 * written behind the end of a lap isn't part of the next ones.
 */
TEST_F(bts_total, late)
{
	unsigned int full = self->group.area_size / sizeof(struct record);
	int i;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(mask_interrupts(true), 0);
		branches(2 * full);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		expect_counted(_metadata, self);
		ASSERT_EQ(mask_interrupts(false), 0);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
		branches(i * full / 8);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		expect_counted(_metadata, self);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}

	exact_laps(_metadata, self, 3);
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	EXPECT_GT(perf_records_flagged(&self->records, 0, PERF_AUX_FLAG_PARTIAL), 0);
}

/* A gate doesn't end the pause of user space. After it, the last gate's wish is done. */
TEST_F(bts_total, gates_in_a_pause)
{
	struct aux_group *group = &self->group;
	int resume, pause, i;
	__u64 last;

	/* Untraced: what follows can overrun the area. */
	ASSERT_EQ(pause_aux(group, PERF_AUX_PAUSE), 0);
	if (!has_soft_places())
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	resume = aux_group_add_soft_gate(group, &self->spec, AT_RESUME, true);
	pause = aux_group_add_soft_gate(group, &self->spec, AT_PAUSE, false);
	ASSERT_GE(resume, 0);
	ASSERT_GE(pause, 0);
	ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
	for (i = 0; i < 20; i++) {
		branches(10);
		ASSERT_EQ(pause_aux(group, PERF_AUX_PAUSE), 0);
		soft_pause();
		soft_resume();
		branches(10);
		last = self->last;
		expect_exact(_metadata, self, i % 2 ? 0 : 10);
		EXPECT_EQ(self->last > last, i % 2 == 0);
		if (i % 2 == 0)
			soft_pause();
		ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
	}
	EXPECT_EQ(perf_count(resume), 20);
	EXPECT_EQ(perf_count(pause), 30);
	close(resume);
	close(pause);
}

TEST_HARNESS_MAIN
