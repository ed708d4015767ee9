// SPDX-License-Identifier: GPL-2.0
/*
 * The total of an overwritten AUX area of Intel PT. The reference is the model of the trace
 * hardware (kernel parameter trace_model), which counts the bytes that it writes; it can
 * also hold back interrupts. Without the model, only head and total are compared.
 *
 * Expected: the total is exact, however late an interrupt is. If the driver relied on
 * each interrupt to come in time, "late" and "pending" would fail by multiples of the
 * area's size.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "aux_control.h"
#include "aux_model.h"

#define PT_CONFIG	0x2401		/* branches, TSC */
#define ROUND_CALLS	100
#define MANY_PAGES	16

PROGRAM_NEEDS(lacks_counting("intel_pt", PT_CONFIG))

FIXTURE(pt_total)
{
	struct aux_spec spec;
	struct aux_group group;
	struct perf_records records;
	__u64 base;
	long long violations;
};

FIXTURE_VARIANT(pt_total)
{
	unsigned int pages;
};

/* As few pages as can be counted */
FIXTURE_VARIANT_ADD(pt_total, two_pages)
{
	.pages = 2,
};

/* With many regions in one table, or few large ones */
FIXTURE_VARIANT_ADD(pt_total, sixteen_pages)
{
	.pages = MANY_PAGES,
};

/* Can the hardware write to more than one region? */
static bool has_regions(void)
{
	return pmu_cap("intel_pt", "topa_multiple_entries") == 1;
}

FIXTURE_SETUP(pt_total)
{
	memset(self, 0, sizeof(*self));
	if (!has_regions())
		SKIP(return, "no interrupts in the middle of the area");
	self->spec.pmu = "intel_pt";
	self->spec.config = PT_CONFIG;
	self->spec.cpu = -1;
	self->spec.exclude_kernel = true;
	self->spec.overwrite = true;
	self->spec.aux_pages = variant->pages;
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0)
		TH_LOG("%s", strerror(errno));
	self->base = model_stat("bytes");
	self->violations = model_violations();
	ASSERT_EQ(aux_group_enable(&self->group), 0);
}

FIXTURE_TEARDOWN(pt_total)
{
	if (has_model())
		mask_interrupts(false);
	perf_records_free(&self->records);
	aux_group_close(&self->group);
	EXPECT_EQ(model_violations(), self->violations);
}

/* Each system call leaves the traced code and comes back: more than 16 bytes */
static void work(unsigned int calls)
{
	while (calls--)
		syscall(__NR_getppid);
}

/* @base: bytes that the model had written when the area was mapped */
static __u64 expect_exact(struct __test_metadata *_metadata,
			  const struct aux_group *group, __u64 base)
{
	struct aux_control ctl;

	aux_control_read(group->page, &ctl);
	EXPECT_EQ(ctl.state, PERF_AUX_STATE_PAUSED | PERF_AUX_STATE_COUNTED);
	EXPECT_EQ(ctl.head % group->area_size, ctl.total % group->area_size);
	if (has_model())
		EXPECT_EQ(ctl.total, model_stat("bytes") - base);

	return ctl.total;
}

/* Paused after any amount of trace, from nothing to laps */
TEST_F_TIMEOUT(pt_total, exact, 120)
{
	__u64 total = 0, end = clock_ns() + 100000000000ULL;
	unsigned int i;

	for (i = 0; total < 6 * self->group.area_size; i++) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%llu bytes in %u rounds", (unsigned long long)total, i);
		work((i * i * 7) % (ROUND_CALLS * variant->pages));
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = expect_exact(_metadata, &self->group, self->base);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	EXPECT_EQ(perf_records_flagged(&self->records, 0, PERF_AUX_FLAG_PARTIAL), 0);
}

/*
 * Interrupts are late by laps: the trace stops before the count could be wrong, and says
 * that something is missing. Then it goes on.
 */
TEST_F_TIMEOUT(pt_total, late, 120)
{
	__u64 total = 0, last;
	int i;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	for (i = 0; i < 3; i++) {
		last = total;
		ASSERT_EQ(mask_interrupts(true), 0);
		work(self->group.area_size / 4);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = expect_exact(_metadata, &self->group, self->base);
		EXPECT_GT(total, last);
		ASSERT_EQ(mask_interrupts(false), 0);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);

		work(self->group.area_size / 4);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		last = total;
		total = expect_exact(_metadata, &self->group, self->base);
		EXPECT_GT(total, last + self->group.area_size);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	EXPECT_GT(perf_records_flagged(&self->records, 0, PERF_AUX_FLAG_PARTIAL), 0);
}

/* An interrupt is pending when the trace stops: it comes later, to nobody. */
TEST_F_TIMEOUT(pt_total, pending, 120)
{
	__u64 total = 0, last, end = clock_ns() + 100000000000ULL;
	int i, pending = 0;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	for (i = 0; pending < 10; i++) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%d of %d pending", pending, i);
		last = total;
		ASSERT_EQ(mask_interrupts(true), 0);
		work(self->group.area_size / 100);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_PAUSE), 0);
		total = expect_exact(_metadata, &self->group, self->base);
		pending += total / (self->group.area_size / 2) !=
			   last / (self->group.area_size / 2);
		ASSERT_EQ(mask_interrupts(false), 0);
		ASSERT_EQ(pause_aux(&self->group, PERF_AUX_RESUME), 0);
	}
}

/* A gate doesn't end the pause of user space. After it, the last gate's wish is done. */
TEST_F(pt_total, gates_in_a_pause)
{
	struct aux_group *group = &self->group;
	__u64 total = 0, last;
	int resume, pause, i;

	if (!has_soft_places())
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	resume = aux_group_add_soft_gate(group, &self->spec, AT_RESUME, true);
	pause = aux_group_add_soft_gate(group, &self->spec, AT_PAUSE, false);
	ASSERT_GE(resume, 0);
	ASSERT_GE(pause, 0);
	for (i = 0; i < 20; i++) {
		work(10);
		ASSERT_EQ(pause_aux(group, PERF_AUX_PAUSE), 0);
		soft_pause();
		soft_resume();
		work(10);
		last = total;
		total = expect_exact(_metadata, group, self->base);
		EXPECT_EQ(total > last, i % 2 == 0);
		if (i % 2 == 0)
			soft_pause();
		ASSERT_EQ(pause_aux(group, PERF_AUX_RESUME), 0);
	}
	EXPECT_EQ(perf_count(resume), 20);
	EXPECT_EQ(perf_count(pause), 30);
	close(resume);
	close(pause);
}

/* An area in one piece has no middle. */
static void expect_not_counted(struct __test_metadata *_metadata, unsigned int pages)
{
	struct aux_spec spec = {
		.pmu = "intel_pt", .config = PT_CONFIG, .cpu = -1,
		.exclude_kernel = true, .overwrite = true, .aux_pages = pages,
	};
	struct aux_control ctl;
	struct aux_group group;

	ASSERT_EQ(aux_group_open(&group, &spec), 0);
	ASSERT_EQ(aux_group_enable(&group), 0);
	work(500);
	ASSERT_EQ(pause_aux(&group, PERF_AUX_PAUSE), 0);
	aux_control_read(group.page, &ctl);
	EXPECT_EQ(ctl.state, PERF_AUX_STATE_PAUSED);
	EXPECT_EQ(ctl.total, 0);
	aux_group_close(&group);
}

TEST(pt_one_page)
{
	expect_not_counted(_metadata, 1);
}

TEST(pt_one_region)
{
	if (has_regions())
		SKIP(return, "the hardware can write to more than one region");

	expect_not_counted(_metadata, MANY_PAGES);
}

TEST_HARNESS_MAIN
