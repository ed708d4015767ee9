// SPDX-License-Identifier: GPL-2.0
/*
 * Gates that hit Intel PT's driver at work: its accesses to the trace's MSRs are
 * tracepoints, and a gate on such a tracepoint pauses or resumes in the middle of
 * start, stop, the interrupt handler, an AUX sample, and of entering and leaving
 * VMX operation.
 *
 * Expected: when the driver has finished, the hardware is at the level that the
 * last gate asked for, the account of requests is exact, later gates act as ever,
 * and the trace is intact. A driver that looks at the level once, and switches the
 * hardware later, fails: it leaves it on where it is paused, or the reverse.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "intel_common.h"

const char *tests_miss(void)
{
	const char *what = lacks_pmu("intel_pt");

	if (!what)
		what = lacks_msr();

	return what ?: lacks_nmi();
}

/* Where a gate can hit */
struct point {
	const char	*name;
	unsigned int	msr;
	bool		write;
};

static const struct point points[] = {
	{ "read of OUTPUT_BASE", MSR_RTIT_OUTPUT_BASE, false },
	{ "write of OUTPUT_BASE", MSR_RTIT_OUTPUT_BASE, true },
	{ "read of OUTPUT_MASK", MSR_RTIT_OUTPUT_MASK, false },
	{ "write of OUTPUT_MASK", MSR_RTIT_OUTPUT_MASK, true },
	{ "read of STATUS", MSR_RTIT_STATUS, false },
	{ "write of STATUS", MSR_RTIT_STATUS, true },
	{ "write of CTL", MSR_RTIT_CTL, true },
	/* of the interrupt handler around the trace's part of it */
	{ "write of GLOBAL_CTRL", MSR_GLOBAL_CTRL, true },
	{ "read of GLOBAL_STATUS", MSR_GLOBAL_STATUS, false },
	{ "write of GLOBAL_OVF_CTRL", MSR_GLOBAL_OVF_CTRL, true },
};

struct inside {
	struct gated gated;
	struct pt_trace trace;
	struct rate_limit limit;
	int cpu, sampler;
	__u64 others;		/* what gates that are closed have counted */
};

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
	struct gated *gated = &self->in.gated;
	struct perf_event_attr attr;

	if (attr_msr(&attr, true))
		SKIP_SETUP("no tracepoint msr:write_msr");

	memset(self, 0, sizeof(*self));
	model_watch();
	self->in.cpu = nth_cpu(0);
	self->in.sampler = -1;
	gated_init(gated, NULL);
	gated->spec.pmu = "intel_pt";
	gated->spec.config = PT_CONFIG_TSC;
	gated->spec.overwrite = variant->overwrite;
	gated->spec.exclude_kernel = true;
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
	ASSERT_EQ(setup_nmi_gates(&gated->spec), 0);
	ASSERT_EQ(pin_to_cpu(self->in.cpu), 0);
	ASSERT_EQ(aux_group_open(&gated->group, &gated->spec), 0)
		TH_LOG("%s", strerror(errno));

	if (variant->overwrite) {
		attr_nmi(&attr, 0, TAG_SAMPLE);
		attr.sample_type |= PERF_SAMPLE_AUX;
		attr.aux_sample_size = 256;
		self->in.sampler = perf_open(&attr, 0, -1, gated->group.aux);
		ASSERT_GE(self->in.sampler, 0);
		ASSERT_EQ(ioctl(self->in.sampler, PERF_EVENT_IOC_SET_OUTPUT,
				gated->group.aux), 0);
	}
	ASSERT_EQ(rate_unlimit(&self->in.limit), 0);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
}

static void read_all(struct __test_metadata *_metadata, struct gated *gated,
		     struct pt_trace *trace)
{
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	if (gated->spec.overwrite)
		return;
	ASSERT_EQ(pt_trace_read(trace, &gated->records, &gated->pos,
				&gated->group), 0)
		TH_LOG("%s", trace->error);
}

FIXTURE_TEARDOWN(pt_inside)
{
	struct gated *gated = &self->in.gated;

	EXPECT_EQ(aux_group_disable(&gated->group), 0);
	read_all(_metadata, gated, &self->in.trace);
	if (variant->overwrite) {
		EXPECT_EQ(pt_trace_read_overwrite(&self->in.trace, &gated->group), 0)
			TH_LOG("%s", self->in.trace.error);
	}
	EXPECT_TRUE(pt_trace_complete(&self->in.trace));
	EXPECT_EQ(self->in.trace.truncated, 0);
	pt_trace_free(&self->in.trace);
	close(self->in.sampler);
	gated_close(gated);
	rate_restore(&self->in.limit);
	EXPECT_EQ(model_breaches(), 0);
}

/* --- What the driver is made to do --- */

/* ->stop() and ->start(), while all gates are active */
static void do_restart(struct inside *in)
{
	__u64 period = 1;

	ioctl(in->gated.group.aux, PERF_EVENT_IOC_PERIOD, &period);
}

/* Gates of a group go after its leader, and come after it: ->stop() alone. */
static void do_disable(struct inside *in)
{
	aux_group_disable(&in->gated.group);
	aux_group_enable(&in->gated.group);
}

static void do_switch(struct inside *in)
{
	poll(NULL, 0, 2);
}

static void do_sample(struct inside *in)
{
	fire_tag(TAG_SAMPLE);
}

static void do_vmx(struct inside *in)
{
	model_vmx(10);
}

/* --- The level --- */

static void fire(bool resumes)
{
	fire_tag(resumes ? TAG_RESUME : TAG_PAUSE);
}

/*
 * Quiet: level, hardware and account agree, and gates go on to work. Ends paused,
 * and looks at nothing before: it would trace itself.
 */
static void check_level(struct __test_metadata *_metadata, struct inside *in,
			bool running, const char *what)
{
	const char *inexact;
	int on[3];

	on[0] = pt_is_on(in->cpu);
	fire(!running);
	on[1] = pt_is_on(in->cpu);
	fire(running);
	on[2] = pt_is_on(in->cpu);
	fire(false);

	ASSERT_EQ(on[0], running)
		TH_LOG("%s", what);
	ASSERT_EQ(on[1], !running)
		TH_LOG("%s, then %s", what, running ? "paused" : "resumed");
	ASSERT_EQ(on[2], running)
		TH_LOG("%s, then %s", what, running ? "resumed" : "paused");
	inexact = gated_inexact(&in->gated, in->others);
	ASSERT_EQ(NULL, inexact)
		TH_LOG("%s: %s", what, inexact);
}

/* Returns how often the gate hit. */
static __u64 one_point(struct __test_metadata *_metadata,
		       struct inside *in, bool resumes,
		       const struct point *point,
		       void (*section)(struct inside *in))
{
	struct gated *gated = &in->gated;
	int gate = open_msr_gate(&gated->spec, &gated->group, point->msr,
				 point->write, resumes);
	__u64 hits;

	ASSERT_GE(gate, 0)
		TH_LOG("%s", strerror(errno));
	fire(!resumes);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_ENABLE, 0), 0);
	section(in);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_DISABLE, 0), 0);

	hits = perf_count(gate);
	in->others += hits;
	check_level(_metadata, in, hits ? resumes : !resumes, point->name);
	close(gate);
	read_all(_metadata, gated, &in->trace);

	return hits;
}

static void each_point(struct __test_metadata *_metadata,
		       struct inside *in, bool resumes,
		       void (*section)(struct inside *in),
		       unsigned int at_least)
{
	unsigned int i, hit = 0;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		hit += !!one_point(_metadata, in, resumes, &points[i], section);

	/* The gates did get inside. */
	EXPECT_GE(hit, at_least);
}

TEST_F(pt_inside, start_and_stop)
{
	each_point(_metadata, &self->in, variant->resumes, do_restart, 3);
}

TEST_F(pt_inside, disable)
{
	each_point(_metadata, &self->in, variant->resumes, do_disable, 2);
}

TEST_F(pt_inside, switch)
{
	each_point(_metadata, &self->in, variant->resumes, do_switch, 2);
}

TEST_F(pt_inside, sample)
{
	if (!variant->overwrite)
		SKIP(return, "AUX samples need overwrite mode");

	each_point(_metadata, &self->in, variant->resumes, do_sample, 2);
}

TEST_F(pt_inside, vmx)
{
	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");

	/* Paused, the driver has nothing to do. */
	each_point(_metadata, &self->in, variant->resumes, do_vmx,
		   variant->resumes ? 0 : 1);
}

/*
 * Gates in VMX operation switch nothing, which the model would take for a breach;
 * what they ask for holds true afterwards.
 */
TEST_F(pt_inside, gates_in_vmx)
{
	struct gated *gated = &self->in.gated;
	struct perf_event_attr attr;
	int gate;

	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");

	attr_nmi(&attr, 100000, 0);
	attr.disabled = 1;
	attr.aux_resume = variant->resumes;
	attr.aux_pause = !variant->resumes;
	gate = perf_open(&attr, 0, -1, gated->group.aux);
	ASSERT_GE(gate, 0);

	fire(!variant->resumes);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_ENABLE, 0), 0);
	ASSERT_EQ(model_vmx(20000), 0);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_GE(perf_count(gate), 10);
	self->in.others += perf_count(gate);
	check_level(_metadata, &self->in, variant->resumes, "VMX");
	close(gate);
}

/* --- The interrupt handler --- */

/*
 * One that hands over data: there is an AUX record more. Not to be held up by what
 * it looks at, which is traced.
 */
static int wait_for_interrupt(const struct gated *gated)
{
	__u64 head = gated->group.page->aux_head;
	__u64 end = clock_ns() + 10000000000ULL;

	do {
		if (clock_ns() > end)
			return -1;
		/* Each leaves the traced code, and comes back. */
		syscall(__NR_getppid);
	} while (__atomic_load_n(&gated->group.page->aux_head,
				 __ATOMIC_ACQUIRE) == head);

	return 0;
}

static void pause_at(struct __test_metadata *_metadata,
		     struct inside *in, const struct point *point,
		     int *hit)
{
	struct gated *gated = &in->gated;
	int gate = open_msr_gate(&gated->spec, &gated->group, point->msr,
				 point->write, false);
	__u64 hits;

	ASSERT_GE(gate, 0);
	fire(true);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_ENABLE, 0), 0);
	ASSERT_EQ(wait_for_interrupt(gated), 0)
		TH_LOG("%s: no interrupt within ten seconds", point->name);
	ASSERT_EQ(ioctl(gate, PERF_EVENT_IOC_DISABLE, 0), 0);

	hits = perf_count(gate);
	in->others += hits;
	*hit += !!hits;
	check_level(_metadata, in, !hits, point->name);
	close(gate);
	read_all(_metadata, gated, &in->trace);
}

/*
 * Pause in the handler, and resume further on in it, or the reverse. The two
 * registers are none that a pause or resume touches: the gates would gate each
 * other without end.
 */
static void two_gates(struct __test_metadata *_metadata,
		      struct inside *in, bool resumes_last)
{
	struct gated *gated = &in->gated;
	int first, last;

	first = open_msr_gate(&gated->spec, &gated->group, MSR_RTIT_OUTPUT_MASK,
			      false, !resumes_last);
	last = open_msr_gate(&gated->spec, &gated->group, MSR_RTIT_STATUS,
			     true, resumes_last);
	ASSERT_GE(first, 0);
	ASSERT_GE(last, 0);

	fire(true);
	ASSERT_EQ(ioctl(first, PERF_EVENT_IOC_ENABLE, 0), 0);
	ASSERT_EQ(ioctl(last, PERF_EVENT_IOC_ENABLE, 0), 0);
	ASSERT_EQ(wait_for_interrupt(gated), 0)
		TH_LOG("no interrupt within ten seconds");
	ASSERT_EQ(ioctl(first, PERF_EVENT_IOC_DISABLE, 0), 0);
	ASSERT_EQ(ioctl(last, PERF_EVENT_IOC_DISABLE, 0), 0);

	EXPECT_GE(perf_count(first), 1);
	EXPECT_GE(perf_count(last), 1);
	in->others += perf_count(first) + perf_count(last);
	check_level(_metadata, in, resumes_last, "two gates");
	close(last);
	close(first);
	read_all(_metadata, gated, &in->trace);
}

TEST_F(pt_inside, interrupt)
{
	int hit = 0;
	size_t i;

	if (variant->overwrite)
		SKIP(return, "no interrupts in overwrite mode");

	if (!variant->resumes) {
		for (i = 0; i < ARRAY_SIZE(points); i++)
			pause_at(_metadata, &self->in, &points[i], &hit);
		EXPECT_GE(hit, 6);
	}
	for (i = 0; i < 5; i++)
		two_gates(_metadata, &self->in, variant->resumes);
}

TEST_HARNESS_MAIN
