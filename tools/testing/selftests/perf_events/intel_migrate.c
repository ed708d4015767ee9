// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of Intel PT and Intel BTS follow their task: an event on each of two CPUs, which
 * share a level. Each window begins on one CPU and ends on the other. The same with events
 * of CPUs, whose windows belong to threads, while other threads run there.
 *
 * Expected: each CPU has the branches that were executed on it between resume and pause,
 * and no others. Where each CPU has a level of its own, the CPU on which a window begins
 * goes on tracing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
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
	pthread_t bystander[CPUS];
	unsigned int bystanders;
	bool over;
	int none;
};

FIXTURE_VARIANT(migrate)
{
	bool bts;
	bool threads;
};

FIXTURE_VARIANT_ADD(migrate, pt) { .bts = false };
FIXTURE_VARIANT_ADD(migrate, bts) { .bts = true };
FIXTURE_VARIANT_ADD(migrate, pt_of_threads) { .bts = false, .threads = true };
FIXTURE_VARIANT_ADD(migrate, bts_of_threads) { .bts = true, .threads = true };

/* It runs on the CPU that it was created on, outside of windows. */
static void *stand_by(void *arg)
{
	struct _test_data_migrate *self = arg;

	while (!__atomic_load_n(&self->over, __ATOMIC_RELAXED)) {
		branches(OUTSIDE);
		sched_yield();
	}

	return NULL;
}

static void init_gated(struct _test_data_migrate *self, int i,
		       const struct _fixture_variant_migrate *variant)
{
	struct gated *gated = &self->gated[i];
	int *first = i ? &self->gated[0].group.aux : NULL;

	if (variant->bts)
		gated_init_bts(gated, &self->bts[i]);
	else
		gated_init_pt(gated, &self->pt[i]);
	gated->cpu = nth_cpu(i);
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = true;
	if (variant->threads) {
		gated->spec.pid = -1;
		gated->spec.threads_fd = first ?: &self->none;
	} else {
		gated->spec.level_fd = first;
	}
}

static void start_bystander(struct __test_metadata *_metadata, struct _test_data_migrate *self,
			    int cpu)
{
	pin_to_cpu(cpu);
	ASSERT_EQ(pthread_create(&self->bystander[self->bystanders], NULL, stand_by, self), 0);
	self->bystanders++;
}

FIXTURE_SETUP(migrate)
{
	int i;

	memset(self, 0, sizeof(*self));
	self->none = -1;
	if (variant->threads && lacks_aux_threads())
		SKIP(return, "%s", lacks_aux_threads());

	/* All before the first is opened: that pins the task to its CPU. */
	for (i = 0; i < CPUS; i++) {
		init_gated(self, i, variant);
		if (self->gated[i].cpu < 0)
			SKIP(return, "one CPU only");
		if (!setup_kind(_metadata, &self->gated[i], "tracepoint"))
			return;
	}
	for (i = 0; i < CPUS; i++)
		open_and_enable(_metadata, &self->gated[i]);
	for (i = 0; i < CPUS && variant->threads; i++)
		start_bystander(_metadata, self, self->gated[i].cpu);
}

static void end_bystanders(struct _test_data_migrate *self)
{
	__atomic_store_n(&self->over, true, __ATOMIC_RELAXED);
	while (self->bystanders)
		pthread_join(self->bystander[--self->bystanders], NULL);
}

FIXTURE_TEARDOWN(migrate)
{
	int i;

	end_bystanders(self);
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
	end_bystanders(self);

	for (i = 0; i < CPUS; i++) {
		disable_and_read(_metadata, &gated[i]);
		/* Where windows belong to threads, context switches count, too. */
		if (!variant->threads)
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
