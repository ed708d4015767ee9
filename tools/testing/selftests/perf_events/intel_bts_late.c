// SPDX-License-Identifier: GPL-2.0
/*
 * An interrupt of Intel BTS that comes after its data was taken: ->stop() handed it over, or
 * a window was discarded. Nothing in the DS area or in GLOBAL_STATUS shows then whose the NMI is.
 *
 * The model holds the interrupt back. A tracepoint tells whether perf has claimed an NMI, and
 * whose other NMIs are is known: the test's.
 *
 * Expected: perf claims the interrupt when it comes, however late, and no other NMI, before or
 * after. A driver that doesn't claim it leaves an unknown NMI; one that claims another hides it
 * from its handler.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "aux_keep.h"
#include "intel_test.h"

#define ROUNDS_LATE	3
#define MANY	520	/* branches: requests an interrupt after 512 records, of 682 */
#define FEW	11

PROGRAM_NEEDS(has_model() ? lacks_pmu("intel_bts") ?: lacks_nmi() :
	      "only the model can hold an interrupt back")

FIXTURE(late)
{
	struct gated gated;
	struct bts_trace trace;
	int claims;
};

/* Counts the NMIs that perf's handler claims on this CPU. */
static int open_claims(int cpu)
{
	__u64 handler = kernel_symbol("perf_event_nmi_handler");
	struct perf_event_attr attr;
	char filter[64];
	int fd;

	if (!handler || attr_tracepoint(&attr, "nmi/nmi_handler"))
		return -1;
	attr.sample_period = 0;
	fd = perf_open(&attr, -1, cpu, -1);
	snprintf(filter, sizeof(filter), "handler == %#llx && handled != 0", handler);
	if (fd >= 0 && !perf_set_filter(fd, filter))
		return fd;
	close(fd);

	return -1;
}

/* An interrupt comes in a function that nobody calls, or else at once. */
static void hold_back(struct __test_metadata *_metadata, bool hold)
{
	ASSERT_EQ(model_until(hold ? kernel_symbol("kernel_restart") : 0), 0);
}

FIXTURE_SETUP(late)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	gated_init_bts(gated, &self->trace);
	if (!setup_kind(_metadata, gated, "tracepoint"))
		return;
	self->claims = open_claims(gated->cpu);
	if (self->claims < 0)
		SKIP(return, "no tracepoint nmi_handler, or no address of perf's handler");
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4 * 4096;
	open_group(_metadata, gated);
	hold_back(_metadata, true);
}

FIXTURE_TEARDOWN(late)
{
	EXPECT_EQ(model_reset(), 0);
	bts_close(_metadata, &self->gated);
	close(self->claims);
}

static void gate(bool resumes)
{
	if (resumes)
		syscall(__NR_getppid);
	else
		syscall(__NR_getpgid, 0);
}

/* Does perf claim an NMI that is the test's? */
static bool claims_other(struct __test_metadata *_metadata, struct _test_data_late *self)
{
	__u64 before = perf_count(self->claims);

	EXPECT_EQ(nmi_fire(1, TAG_NONE), 0);

	return perf_count(self->claims) != before;
}

/* Claimed: the interrupt that was held back, once. Without one, none. */
static void expect_late(struct __test_metadata *_metadata, struct _test_data_late *self,
			unsigned int interrupts)
{
	__u64 before;

	EXPECT_FALSE(claims_other(_metadata, self));
	before = perf_count(self->claims);
	hold_back(_metadata, false);
	EXPECT_EQ(perf_count(self->claims) - before, interrupts);
	EXPECT_FALSE(claims_other(_metadata, self));
	hold_back(_metadata, true);
}

/* Leaves a late interrupt behind if the branches are many. */
static void trace_and_stop(struct __test_metadata *_metadata, struct _test_data_late *self,
			   unsigned int n)
{
	enable_group(_metadata, &self->gated);
	gate(true);
	branches(n);
	ASSERT_EQ(aux_group_disable(&self->gated.group), 0);
}

TEST_F(late, stopped)
{
	int i;

	for (i = 0; i < ROUNDS_LATE; i++) {
		trace_and_stop(_metadata, self, MANY);
		expect_late(_metadata, self, 1);
		read_trace(_metadata, &self->gated);
	}
}

/* A virtual CPU may lose its time before the interrupt comes. */
TEST_F(late, much_later)
{
	trace_and_stop(_metadata, self, MANY);
	usleep(300000);
	expect_late(_metadata, self, 1);
}

TEST_F(late, nothing_requested)
{
	int i;

	/* The next part of the area is empty then. */
	trace_and_stop(_metadata, self, MANY);
	expect_late(_metadata, self, 1);
	read_trace(_metadata, &self->gated);
	for (i = 0; i < 10; i++) {
		trace_and_stop(_metadata, self, FEW);
		expect_late(_metadata, self, 0);
		read_trace(_metadata, &self->gated);
	}
}

/* The interrupt itself hands over the data that is behind the threshold. */
TEST_F(late, in_time)
{
	int i;

	hold_back(_metadata, false);
	for (i = 0; i < ROUNDS_LATE; i++) {
		__u64 before = perf_count(self->claims);

		trace_and_stop(_metadata, self, MANY);
		EXPECT_GT(perf_count(self->claims), before);
		EXPECT_FALSE(claims_other(_metadata, self));
		read_trace(_metadata, &self->gated);
	}
}

static __u64 discarded(struct __test_metadata *_metadata, struct _test_data_late *self)
{
	struct perf_event_aux_windows windows = {};

	EXPECT_EQ(count_windows(self->gated.group.aux, &windows), 0);

	return windows.discarded;
}

/* The event goes on: its threshold has been passed, and then no more. */
TEST_F(late, discarded)
{
	int i;

	ASSERT_EQ(keep_longer(self->gated.group.aux, FOREVER), 0);
	enable_group(_metadata, &self->gated);
	for (i = 0; i < ROUNDS_LATE; i++) {
		__u64 before = discarded(_metadata, self);

		gate(true);
		branches(MANY);
		gate(false);
		EXPECT_GT(discarded(_metadata, self), before);
		expect_late(_metadata, self, 1);
		read_trace(_metadata, &self->gated);
	}
}

TEST_HARNESS_MAIN
