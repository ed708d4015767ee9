// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of Intel PT and Intel BTS follow their task: an event on each of two CPUs, which
 * share a level. Each window begins on one CPU and ends on the other.
 *
 * Expected: each CPU has the branches that were executed on it between resume and pause,
 * and no others. Where each CPU has a level of its own, the CPU on which a window begins
 * goes on tracing.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "intel_test.h"

#define CPUS		2
#define INSIDE		50	/* branches of a window on each CPU */
#define OUTSIDE		5000	/* more than the windows have together */

PROGRAM_NEEDS(lacks_aux_level() ?: lacks_pmu("intel_pt") ?: lacks_pmu("intel_bts"))

FIXTURE(migrate)
{
	struct gated gated[CPUS];
	struct pt_trace pt[CPUS];
	struct bts_trace bts[CPUS];
};

FIXTURE_VARIANT(migrate)
{
	bool bts;
};

FIXTURE_VARIANT_ADD(migrate, pt) { .bts = false };
FIXTURE_VARIANT_ADD(migrate, bts) { .bts = true };

static void init_gated(struct _test_data_migrate *self, int i, bool bts)
{
	struct gated *gated = &self->gated[i];

	if (bts)
		gated_init_bts(gated, &self->bts[i]);
	else
		gated_init_pt(gated, &self->pt[i]);
	gated->cpu = nth_cpu(i);
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = true;
	if (i)
		gated->spec.level_fd = &self->gated[0].group.aux;
}

FIXTURE_SETUP(migrate)
{
	int i;

	memset(self, 0, sizeof(*self));
	/* All before the first is opened: that pins the task to its CPU. */
	for (i = 0; i < CPUS; i++) {
		init_gated(self, i, variant->bts);
		if (self->gated[i].cpu < 0)
			SKIP(return, "one CPU only");
		if (!setup_kind(_metadata, &self->gated[i], "tracepoint"))
			return;
	}
	for (i = 0; i < CPUS; i++)
		open_and_enable(_metadata, &self->gated[i]);
}

FIXTURE_TEARDOWN(migrate)
{
	int i;

	for (i = 0; i < CPUS; i++) {
		pt_trace_free(&self->pt[i]);
		bts_trace_free(&self->bts[i]);
		gated_close(&self->gated[i]);
	}
	EXPECT_EQ(model_violations(), 0);
}

static void window(const struct gated *from, const struct gated *to)
{
	pin_to_cpu(from->cpu);
	branches(OUTSIDE);
	syscall(__NR_getppid);
	branches(INSIDE);
	pin_to_cpu(to->cpu);
	branches(INSIDE);
	syscall(__NR_getpgid, 0);
	branches(OUTSIDE);
	pin_to_cpu(from->cpu);
	branches(OUTSIDE);
}

/* The gates of all CPUs count for the level. */
static void expect_all_counted(struct __test_metadata *_metadata, struct gated *gated,
			       const struct gated *other)
{
	gated->others = perf_count(other->group.resume) + perf_count(other->group.pause);
	expect_exact(_metadata, gated);
}

TEST_F(migrate, window_follows_the_task)
{
	struct gated *gated = self->gated;
	int i;

	for (i = 0; i < ROUNDS; i++)
		window(&gated[i % CPUS], &gated[(i + 1) % CPUS]);

	for (i = 0; i < CPUS; i++) {
		disable_and_read(_metadata, &gated[i]);
		expect_all_counted(_metadata, &gated[i], &gated[!i]);
		if (variant->bts) {
			/* Of the taken ones: all but the last. */
			EXPECT_EQ(bts_branches(&self->bts[i], WINDOW_PLACES),
				  ROUNDS * (INSIDE - 1));
		} else {
			EXPECT_GE(self->pt[i].tnt, ROUNDS * INSIDE);
			EXPECT_LT(self->pt[i].tnt, OUTSIDE);
		}
	}
}

TEST_HARNESS_MAIN
