// SPDX-License-Identifier: GPL-2.0
/*
 * AUX sampling in a group that is gated as well. A sample switches the trace off
 * and on again, which must not undo a gate.
 *
 * Expected: each sample holds the newest packets, without a gap. A sample taken while
 * the trace is paused doesn't resume it, one taken while it runs doesn't pause it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define ROUNDS		50
#define WINDOW_NS	200000
#define SAMPLE_SIZE	512

struct sampling {
	struct aux_spec spec;
	struct aux_group group;
	struct perf_records records;
	struct aux_trace trace;
	struct rate_limit limit;
	int sampler;
	__u64 sampler_id;
};

FIXTURE(aux_sample)
{
	struct sampling s;
};

FIXTURE_SETUP(aux_sample)
{
	struct sampling *s = &self->s;
	struct perf_event_attr attr;

	memset(s, 0, sizeof(*s));
	/* A CPU event: context switches don't cut windows. */
	s->spec.pid = -1;
	s->spec.cpu = nth_cpu(0);
	s->spec.overwrite = true;
	s->spec.start_paused = true;
	/* Room for the time that a virtual CPU may lose */
	s->spec.aux_pages = 4096;
	attr_nmi(&s->spec.resume, 0, TAG_RESUME);
	attr_nmi(&s->spec.pause, 0, TAG_PAUSE);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	ASSERT_EQ(rate_unlimit(&s->limit), 0);
	ASSERT_EQ(aux_group_open(&s->group, &s->spec), 0)
		TH_LOG("%s", strerror(errno));

	attr_nmi(&attr, 0, TAG_SAMPLE);
	s->sampler = aux_group_add_sampler(&s->group, &s->spec, &attr, SAMPLE_SIZE);
	ASSERT_GE(s->sampler, 0)
		TH_LOG("%s", strerror(errno));
	s->sampler_id = perf_id(s->sampler);
	ASSERT_EQ(aux_group_enable(&s->group), 0);
}

FIXTURE_TEARDOWN(aux_sample)
{
	struct sampling *s = &self->s;

	set_rate_limit(&s->limit);
	perf_records_free(&s->records);
	aux_trace_free(&s->trace);
	close(s->sampler);
	aux_group_close(&s->group);
}

/* The newest sample, or NULL if there is none since the last call. */
static const struct perf_record *take_sample(struct __test_metadata *_metadata,
					     struct sampling *s)
{
	const struct perf_record *rec;

	perf_records_free(&s->records);
	ASSERT_EQ(nmi_fire(1, TAG_SAMPLE), 0);
	ASSERT_EQ(perf_records_read(&s->records, &s->group), 0);
	if (!s->records.nr)
		return NULL;

	rec = &s->records.rec[s->records.nr - 1];

	return rec->id == s->sampler_id ? rec : NULL;
}

TEST_F(aux_sample, samples_and_gates)
{
	const struct perf_record *rec;
	struct sampling *s = &self->s;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(nmi_fire(1, TAG_RESUME), 0);
		spin_ns(WINDOW_NS);
		rec = take_sample(_metadata, s);
		ASSERT_NE(NULL, rec);
		ASSERT_EQ(rec->sampled, SAMPLE_SIZE);
		ASSERT_TRUE(rec->intact);
		EXPECT_EQ(rec->newest.type, TEST_PERF_AUX_STOP);
		EXPECT_EQ(rec->newest.why, TEST_PERF_AUX_BY_SNAPSHOT);
		EXPECT_GE(rec->newest.time, rec->time);

		spin_ns(WINDOW_NS);
		ASSERT_EQ(nmi_fire(1, TAG_PAUSE), 0);
		spin_ns(WINDOW_NS);
		rec = take_sample(_metadata, s);
		ASSERT_NE(NULL, rec);
		ASSERT_TRUE(rec->intact);
		EXPECT_EQ(rec->newest.type, TEST_PERF_AUX_STOP);
		EXPECT_EQ(rec->newest.why, TEST_PERF_AUX_BY_PAUSE);
		spin_ns(WINDOW_NS);
	}

	ASSERT_EQ(aux_group_disable(&s->group), 0);
	ASSERT_EQ(aux_trace_read_overwrite(&s->trace, &s->group), 0)
		TH_LOG("%s", s->trace.error);

	/* Samples don't split windows: only the gates do. */
	ASSERT_EQ(s->trace.nr, ROUNDS);
	for (i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(s->trace.win[i].opened_by, TEST_PERF_AUX_BY_RESUME);
		EXPECT_EQ(s->trace.win[i].closed_by, TEST_PERF_AUX_BY_PAUSE);
	}
}

/*
 * A PMU that can't pause has the same driver code as one that can: it holds off
 * gates, although it has none. A sample in the middle of that must not make the core
 * call it for a pause or a resume.
 */
TEST(pmu_that_cannot_pause)
{
	struct aux_spec spec = {
		.pmu = "test_aux_nopause", .pid = -1, .cpu = nth_cpu(0), .overwrite = true,
	};
	struct aux_group group;
	int sampler, i;

	ASSERT_EQ(pin_to_cpu(spec.cpu), 0);
	ASSERT_EQ(aux_group_open(&group, &spec), 0)
		TH_LOG("%s", strerror(errno));
	sampler = aux_group_add_nmi_sampler(&group, &spec, SAMPLE_SIZE);
	ASSERT_GE(sampler, 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_stats_reset(), 0);
	ASSERT_EQ(aux_group_enable(&group), 0);

	ASSERT_EQ(nmi_at("all:3"), 0);
	for (i = 0; i < ROUNDS; i++)
		aux_group_restart(&group);
	ASSERT_EQ(nmi_at(""), 0);

	EXPECT_GE(aux_stat("total.snapshots"), ROUNDS);
	EXPECT_EQ(aux_stat("total.pauses"), 0);
	EXPECT_EQ(aux_stat("total.resumes"), 0);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
	close(sampler);
	aux_group_close(&group);
}

TEST_HARNESS_MAIN
