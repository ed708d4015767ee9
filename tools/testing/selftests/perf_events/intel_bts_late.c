// SPDX-License-Identifier: GPL-2.0
/*
 * An interrupt of Intel BTS that comes after its data was taken: ->stop() handed it over, or
 * a window was discarded. Nothing in the DS area or in GLOBAL_STATUS shows then whose the NMI is.
 *
 * The model holds the interrupt back. A tracepoint shows whether perf has claimed an NMI. All
 * other NMIs are the test's.
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

#define HITS	3
#define TRIES	100
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

/*
 * Is the interrupt claimed that was held back? On a busy machine there may be none: a switch of
 * the task hands the data over before it is enough.
 */
static bool claims_late(struct __test_metadata *_metadata, struct _test_data_late *self)
{
	__u64 before, claims;

	EXPECT_FALSE(claims_other(_metadata, self));
	before = perf_count(self->claims);
	hold_back(_metadata, false);
	claims = perf_count(self->claims) - before;
	EXPECT_LE(claims, 1);
	EXPECT_FALSE(claims_other(_metadata, self));
	hold_back(_metadata, true);

	return claims;
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

/* Until the interrupt, which comes @us after the stop, was claimed so many times */
static void stop_and_claim(struct __test_metadata *_metadata, struct _test_data_late *self,
			   int hits, unsigned int us)
{
	int tries;

	for (tries = 0; hits; tries++) {
		ASSERT_LT(tries, TRIES);
		trace_and_stop(_metadata, self, MANY);
		usleep(us);
		hits -= claims_late(_metadata, self);
		read_trace(_metadata, &self->gated);
	}
}

TEST_F(late, stopped)
{
	stop_and_claim(_metadata, self, HITS, 0);
}

/* A virtual CPU may lose its time before the interrupt comes. */
TEST_F(late, much_later)
{
	stop_and_claim(_metadata, self, 1, 300000);
}

TEST_F(late, nothing_requested)
{
	int i;

	/* The next part of the area is empty then. */
	stop_and_claim(_metadata, self, 1, 0);
	for (i = 0; i < 10; i++) {
		trace_and_stop(_metadata, self, FEW);
		EXPECT_FALSE(claims_late(_metadata, self));
		read_trace(_metadata, &self->gated);
	}
}

/* The interrupt itself hands over the data that is behind the threshold. */
TEST_F(late, in_time)
{
	int hits, tries;

	hold_back(_metadata, false);
	for (hits = 0, tries = 0; hits < HITS; tries++) {
		__u64 before = perf_count(self->claims);

		ASSERT_LT(tries, TRIES)
			TH_LOG("%d interrupts", hits);
		trace_and_stop(_metadata, self, MANY);
		hits += perf_count(self->claims) > before;
		EXPECT_FALSE(claims_other(_metadata, self));
		read_trace(_metadata, &self->gated);
	}
}

/*
 * There is room for one record, or for a few, and none is written: an interrupt that has not
 * been requested must not be taken for one that has.
 */
TEST_F(late, little_room)
{
	struct aux_group *group = &self->gated.group;
	__u64 room;

	enable_group(_metadata, &self->gated);
	ASSERT_EQ(aux_group_disable(group), 0);
	for (room = 24; room < 4 * 24; room += 8) {
		group->page->aux_tail = group->page->aux_head + room + 1 - group->area_size;
		enable_group(_metadata, &self->gated);
		EXPECT_FALSE(claims_other(_metadata, self))
			TH_LOG("room for %llu bytes", room);
		ASSERT_EQ(aux_group_disable(group), 0);
	}
	group->page->aux_tail = group->page->aux_head;
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

	ASSERT_EQ(keep_longer(self->gated.group.aux, FOREVER), 0);
	enable_group(_metadata, &self->gated);
	for (hits = 0, tries = 0; hits < HITS; tries++) {
		__u64 before = discarded(_metadata, self);

		ASSERT_LT(tries, TRIES)
			TH_LOG("claimed %d times", hits);
		gate(true);
		branches(MANY);
		gate(false);
		if (claims_late(_metadata, self) && discarded(_metadata, self) > before)
			hits++;
		read_trace(_metadata, &self->gated);
	}
}

TEST_HARNESS_MAIN
