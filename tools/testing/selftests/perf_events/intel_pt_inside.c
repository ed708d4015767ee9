// SPDX-License-Identifier: GPL-2.0
/*
 * Gates that hit inside Intel PT's driver: its MSR accesses are tracepoints, and a gate
 * on such a tracepoint pauses or resumes in the middle of start, stop, the interrupt
 * handler, an AUX sample, and of entering and leaving VMX operation.
 *
 * Expected: when the driver has finished, the hardware is at the level that the last
 * gate requested, the accounting of requests is exact, later gates still act, and the
 * trace is intact. A driver that reads the level first and switches the hardware later
 * fails: it leaves it on while paused, or off while running.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "intel_test.h"

PROGRAM_NEEDS(lacks_pmu("intel_pt") ?: lacks_msr() ?: lacks_msr_events() ?: lacks_nmi())

static const struct msr_point points[] = {
	{ "read of OUTPUT_BASE", MSR_RTIT_OUTPUT_BASE, false },
	{ "write of OUTPUT_BASE", MSR_RTIT_OUTPUT_BASE, true },
	{ "read of OUTPUT_MASK", MSR_RTIT_OUTPUT_MASK, false },
	{ "write of OUTPUT_MASK", MSR_RTIT_OUTPUT_MASK, true },
	{ "read of STATUS", MSR_RTIT_STATUS, false },
	{ "write of STATUS", MSR_RTIT_STATUS, true },
	{ "write of CTL", MSR_RTIT_CTL, true },
	/* in the interrupt handler, around the part for the trace */
	{ "write of GLOBAL_CTRL", MSR_GLOBAL_CTRL, true },
	{ "read of GLOBAL_STATUS", MSR_GLOBAL_STATUS, false },
	{ "write of GLOBAL_OVF_CTRL", MSR_GLOBAL_OVF_CTRL, true },
};

struct inside {
	struct gated gated;
	struct pt_trace trace;
	struct rate_limit limit;
	int sampler;
};

static void inside_open(struct __test_metadata *_metadata, struct inside *in,
			bool overwrite)
{
	struct gated *gated = &in->gated;

	memset(in, 0, sizeof(*in));
	if (!overwrite && lacks_regions())
		SKIP(return, "no %s", lacks_regions());
	in->sampler = -1;
	gated_init_pt(gated, &in->trace);
	gated->spec.overwrite = overwrite;
	gated->spec.exclude_kernel = true;
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
	ASSERT_EQ(setup_nmi_gates(&gated->spec), 0);
	open_group(_metadata, gated);
	if (overwrite) {
		in->sampler = aux_group_add_nmi_sampler(&gated->group,
							&gated->spec, 256);
		ASSERT_GE(in->sampler, 0);
	}
	ASSERT_EQ(rate_unlimit(&in->limit), 0);
	enable_group(_metadata, gated);
}

static void inside_close(struct __test_metadata *_metadata, struct inside *in)
{
	pt_finish(_metadata, &in->gated);
	EXPECT_EQ(in->trace.truncated, 0);
	close(in->sampler);
	pt_close(_metadata, &in->gated);
	set_rate_limit(&in->limit);
}

/* --- What the driver is made to do --- */

static void do_switch(struct gated *gated)
{
	sleep_a_little();
}

static void do_sample(struct gated *gated)
{
	fire_tag(TAG_SAMPLE);
}

static void do_soft_sample(struct gated *gated)
{
	soft_sample();
}

static void do_vmx(struct gated *gated)
{
	model_vmx(10);
}

/* --- Gates at each point --- */

/* A gate must hit at @at_least points. */
static void each_point(struct __test_metadata *_metadata, struct inside *in,
		       enum gate_way way, bool resumes,
		       void (*section)(struct gated *gated), int at_least)
{
	EXPECT_GE(hit_points(_metadata, &in->gated, points, ARRAY_SIZE(points), way,
			     resumes, !resumes, section), at_least);
}

FIXTURE(pt_inside)
{
	struct inside in;
};

FIXTURE_VARIANT(pt_inside)
{
	bool resumes;
	bool overwrite;
};

FIXTURE_VARIANT_ADD(pt_inside, pause)
{
	.resumes = false,
	.overwrite = false,
};

FIXTURE_VARIANT_ADD(pt_inside, resume)
{
	.resumes = true,
	.overwrite = false,
};

FIXTURE_VARIANT_ADD(pt_inside, pause_overwrite)
{
	.resumes = false,
	.overwrite = true,
};

FIXTURE_VARIANT_ADD(pt_inside, resume_overwrite)
{
	.resumes = true,
	.overwrite = true,
};

FIXTURE_SETUP(pt_inside)
{
	inside_open(_metadata, &self->in, variant->overwrite);
}

FIXTURE_TEARDOWN(pt_inside)
{
	inside_close(_metadata, &self->in);
}

TEST_F(pt_inside, start_and_stop)
{
	each_point(_metadata, &self->in, BY_TRACEPOINT, variant->resumes,
		   do_restart, 3);
}

TEST_F(pt_inside, disable)
{
	each_point(_metadata, &self->in, BY_TRACEPOINT, variant->resumes,
		   do_disable, 2);
}

TEST_F(pt_inside, switch)
{
	each_point(_metadata, &self->in, BY_TRACEPOINT, variant->resumes,
		   do_switch, 2);
}

TEST_F(pt_inside, nmi_start_and_stop)
{
	if (lacks_nmi_at_msr())
		SKIP(return, "no %s", lacks_nmi_at_msr());

	each_point(_metadata, &self->in, BY_NMI, variant->resumes, do_restart, 3);
}

TEST_F(pt_inside, nmi_disable)
{
	if (lacks_nmi_at_msr())
		SKIP(return, "no %s", lacks_nmi_at_msr());

	each_point(_metadata, &self->in, BY_NMI, variant->resumes, do_disable, 2);
}

/* --- VMX operation --- */

TEST_F(pt_inside, vmx)
{
	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");

	/* While paused, the driver has nothing to do. */
	each_point(_metadata, &self->in, BY_TRACEPOINT, variant->resumes, do_vmx,
		   variant->resumes ? 0 : 1);
}

TEST_F(pt_inside, nmi_vmx)
{
	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");
	if (lacks_nmi_at_msr())
		SKIP(return, "no %s", lacks_nmi_at_msr());

	each_point(_metadata, &self->in, BY_NMI, variant->resumes, do_vmx,
		   variant->resumes ? 0 : 1);
}

/*
 * Gates in VMX operation don't switch the trace, which would be a protocol violation;
 * their requests take effect afterwards.
 */
TEST_F(pt_inside, gates_in_vmx)
{
	struct gated *gated = &self->in.gated;
	__u64 end = clock_ns() + 15000000000ULL;
	struct perf_event_attr attr;
	int gate;

	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");

	attr_nmi(&attr, 100000, 0);
	attr.disabled = 1;
	gate = aux_group_add_gate(&gated->group, &gated->spec, &attr,
				  variant->resumes);
	ASSERT_GE(gate, 0);

	fire(!variant->resumes);
	ASSERT_EQ(perf_enable(gate), 0);
	/* On a machine under load, timers are late, and gates are few. */
	while (perf_count(gate) < 10) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not 10 gates within 15 seconds");
		ASSERT_EQ(model_vmx(20000), 0);
	}
	ASSERT_EQ(perf_disable(gate), 0);
	gated->others += perf_count(gate);
	expect_level(_metadata, gated, variant->resumes);
	close(gate);
}

/* In VMX operation every write of CTL is a protocol violation, even if it changes nothing. */
TEST_F(pt_inside, level_changes_in_vmx)
{
	struct gated *gated = &self->in.gated;
	__u64 end = clock_ns() + 15000000000ULL;
	struct perf_event_attr attr;
	int gate[2], i;

	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");

	for (i = 0; i < 2; i++) {
		attr_nmi(&attr, 1000000 + 300000 * i, 0);
		attr.disabled = 1;
		gate[i] = aux_group_add_gate(&gated->group, &gated->spec, &attr, i);
		ASSERT_GE(gate[i], 0);
		ASSERT_EQ(perf_enable(gate[i]), 0);
	}
	while (perf_count(gate[0]) < 10 || perf_count(gate[1]) < 10) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not 10 gates of each kind within 15 seconds");
		ASSERT_EQ(model_vmx(20000), 0);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(perf_disable(gate[i]), 0);
		gated->others += perf_count(gate[i]);
	}
	fire(variant->resumes);
	expect_level(_metadata, gated, variant->resumes);
	close(gate[1]);
	close(gate[0]);
}

/* --- AUX samples, in overwrite mode --- */

FIXTURE(pt_inside_sample)
{
	struct inside in;
};

FIXTURE_VARIANT(pt_inside_sample)
{
	bool resumes;
};

FIXTURE_VARIANT_ADD(pt_inside_sample, pause)
{
	.resumes = false,
};

FIXTURE_VARIANT_ADD(pt_inside_sample, resume)
{
	.resumes = true,
};

FIXTURE_SETUP(pt_inside_sample)
{
	inside_open(_metadata, &self->in, true);
}

FIXTURE_TEARDOWN(pt_inside_sample)
{
	inside_close(_metadata, &self->in);
}

TEST_F(pt_inside_sample, by_nmi)
{
	each_point(_metadata, &self->in, BY_TRACEPOINT, variant->resumes,
		   do_sample, 2);
}

/* A sample by tracepoint, so that an NMI can hit inside it */
TEST_F(pt_inside_sample, nmi_by_tracepoint)
{
	struct gated *gated = &self->in.gated;
	int sampler;

	if (lacks_nmi_at_msr())
		SKIP(return, "no %s", lacks_nmi_at_msr());
	if (!has_soft_places())
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	sampler = aux_group_add_soft_sampler(&gated->group, &gated->spec, AT_SAMPLE,
					     256);
	ASSERT_GE(sampler, 0);
	each_point(_metadata, &self->in, BY_NMI, variant->resumes, do_soft_sample,
		   2);
	close(sampler);
}

/*
 * A sample hits inside ->stop() and ->start(). There is nothing that it could copy, and it
 * must not switch the trace on.
 */
static void sample_at_points(struct __test_metadata *_metadata, struct gated *gated,
			     bool running, void (*section)(struct gated *gated))
{
	int hit = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		fire(running);
		ASSERT_EQ(nmi_at_msr(&points[i], TAG_SAMPLE), 0);
		section(gated);
		hit += nmi_at_msr_off() > 0;
		expect_level(_metadata, gated, running);
		read_trace(_metadata, gated);
	}
	EXPECT_GE(hit, 2);
}

TEST_F(pt_inside_sample, in_start_and_stop)
{
	if (lacks_nmi_at_msr())
		SKIP(return, "no %s", lacks_nmi_at_msr());

	sample_at_points(_metadata, &self->in.gated, variant->resumes, do_restart);
	sample_at_points(_metadata, &self->in.gated, variant->resumes, do_disable);
}

/* --- The interrupt handler, in full trace --- */

FIXTURE(pt_inside_interrupt)
{
	struct inside in;
};

FIXTURE_SETUP(pt_inside_interrupt)
{
	inside_open(_metadata, &self->in, false);
}

FIXTURE_TEARDOWN(pt_inside_interrupt)
{
	inside_close(_metadata, &self->in);
}

/* Makes trace data: each system call leaves the traced code and comes back. */
static void make_trace(struct gated *gated)
{
	syscall(__NR_getppid);
}

static void do_interrupt(struct gated *gated)
{
	gated_wait_handed_over(gated, make_trace);
}

/* The trace is on when the interrupt comes, so only a pause changes the level. */
TEST_F(pt_inside_interrupt, pauses)
{
	EXPECT_GE(hit_points(_metadata, &self->in.gated, points, ARRAY_SIZE(points),
			     BY_TRACEPOINT, false, true, do_interrupt), 6);
}

static void read_hits(const int *gate, __u64 *hits)
{
	hits[0] = perf_count(gate[0]);
	hits[1] = perf_count(gate[1]);
}

/*
 * The trace runs, and then both gates hit, within 20 seconds. They may have hit before: the group
 * is scheduled anew when a gate is enabled.
 */
static bool run_until_both_hit(struct gated *gated, const int *gate)
{
	__u64 end = clock_ns() + 20000000000ULL, before[2], hits[2];

	do {
		read_hits(gate, before);
		fire(true);
		read_hits(gate, hits);
	} while (memcmp(before, hits, sizeof(hits)));

	while (hits[0] == before[0] || hits[1] == before[1]) {
		if (clock_ns() > end)
			return false;
		make_trace(gated);
		read_hits(gate, hits);
	}
	return true;
}

/*
 * Pause in the handler, and resume later in it, or the reverse. A pause or resume must
 * not access the two registers: the gates would request each other again and again.
 */
static void two_gates(struct __test_metadata *_metadata, struct inside *in,
		      bool resumes_last)
{
	static const struct msr_point at[2] = {
		{ "read of OUTPUT_MASK", MSR_RTIT_OUTPUT_MASK, false },
		{ "write of STATUS", MSR_RTIT_STATUS, true },
	};
	struct gated *gated = &in->gated;
	int gate[2], i;

	for (i = 0; i < 2; i++) {
		gate[i] = open_msr_gate(&gated->spec, &gated->group, &at[i],
					i ? resumes_last : !resumes_last);
		ASSERT_GE(gate[i], 0);
	}
	/* Paused: while only one gate is enabled, an interrupt could pause the trace for good. */
	fire(false);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(perf_enable(gate[i]), 0);
	ASSERT_TRUE(run_until_both_hit(gated, gate))
		TH_LOG("no interrupt within 20 seconds");
	for (i = 0; i < 2; i++)
		ASSERT_EQ(perf_disable(gate[i]), 0);
	for (i = 0; i < 2; i++)
		gated->others += perf_count(gate[i]);
	expect_level(_metadata, gated, resumes_last);
	close(gate[1]);
	close(gate[0]);
	read_trace(_metadata, gated);
}

TEST_F(pt_inside_interrupt, pauses_and_resumes)
{
	int i;

	for (i = 0; i < 10; i++)
		two_gates(_metadata, &self->in, i & 1);
}

TEST_HARNESS_MAIN
