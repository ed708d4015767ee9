// SPDX-License-Identifier: GPL-2.0
/*
 * An interrupt of Intel BTS that comes after its data was taken: ->stop() handed it over, or
 * a window was discarded. Nothing shows then whose the NMI is, so the driver claims one NMI
 * in the 100 ms after that.
 *
 * The model loses the interrupt, and an NMI of the test comes in its place. A tracepoint
 * tells whether perf has claimed it, too.
 *
 * Expected: perf claims one NMI after such a request, if it comes in time, and none after
 * others. A driver that claims none leaves an unknown NMI; one that claims too many hides
 * those of others.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "aux_keep.h"
#include "intel_test.h"

#define HITS	3
#define TRIES	100
#define MANY	520	/* branches: requests an interrupt after 512 records, of 682 */
#define FEW	11

PROGRAM_NEEDS(has_model() ? lacks_pmu("intel_bts") ?: lacks_nmi() :
	      "only the model can lose an interrupt")

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
	ASSERT_EQ(model_lose_masked(true), 0);
	ASSERT_EQ(model_mask(true), 0);
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
static bool claims_nmi(struct __test_metadata *_metadata, struct _test_data_late *self)
{
	__u64 before = perf_count(self->claims);

	EXPECT_EQ(nmi_fire(1, TAG_NONE), 0);

	return perf_count(self->claims) != before;
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

/* On a busy machine the NMI may come too late, or another task's switch was the stop. */
TEST_F(late, stopped)
{
	int hits, tries;

	for (hits = 0, tries = 0; hits < HITS; tries++) {
		ASSERT_LT(tries, TRIES)
			TH_LOG("claimed %d times", hits);
		trace_and_stop(_metadata, self, MANY);
		hits += claims_nmi(_metadata, self);
		EXPECT_FALSE(claims_nmi(_metadata, self));
		read_trace(_metadata, &self->gated);
	}
}

TEST_F(late, too_late)
{
	int i;

	for (i = 0; i < HITS; i++) {
		trace_and_stop(_metadata, self, MANY);
		usleep(200000);
		EXPECT_FALSE(claims_nmi(_metadata, self));
		read_trace(_metadata, &self->gated);
	}
}

TEST_F(late, nothing_requested)
{
	int i;

	/* The next part of the area is empty then. */
	trace_and_stop(_metadata, self, MANY);
	claims_nmi(_metadata, self);
	read_trace(_metadata, &self->gated);
	for (i = 0; i < 10; i++) {
		trace_and_stop(_metadata, self, FEW);
		EXPECT_FALSE(claims_nmi(_metadata, self));
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
	int hits, tries;
	__u64 before;

	ASSERT_EQ(keep_longer(self->gated.group.aux, FOREVER), 0);
	enable_group(_metadata, &self->gated);
	for (hits = 0, tries = 0; hits < HITS; tries++) {
		ASSERT_LT(tries, TRIES)
			TH_LOG("claimed %d times", hits);
		before = discarded(_metadata, self);
		gate(true);
		branches(MANY);
		gate(false);
		if (claims_nmi(_metadata, self) && discarded(_metadata, self) > before)
			hits++;
		EXPECT_FALSE(claims_nmi(_metadata, self));
		read_trace(_metadata, &self->gated);
	}
}

TEST_HARNESS_MAIN
