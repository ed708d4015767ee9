// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt of Intel PT or Intel BTS comes in the middle of a gate: while the driver
 * pauses or resumes. It is deferred until the driver has finished.
 *
 * The model loses the interrupt itself. Instead an NMI hits the gate, where it accesses an
 * MSR, and the handler finds that data is to be handed over.
 *
 * Expected: the data is handed over, and the hardware is at the level that the gate
 * requested. If a driver forgot the interrupt, the data would wait in the area. If it didn't
 * defer it, it would continue with what it knew before: switch on the hardware twice, say.
 * If the driver stops the event, it takes the data itself, and the interrupt has nothing to do.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "aux_keep.h"
#include "intel_test.h"

#define HITS	3
#define TRIES	100

PROGRAM_NEEDS(has_model() ? lacks_msr() ?: lacks_nmi_at_msr() :
	      "only the model can lose an interrupt")

FIXTURE(deferred)
{
	struct gated gated;
	struct pt_trace pt;
	struct bts_trace bts;
};

FIXTURE_VARIANT(deferred)
{
	bool bts;
	struct msr_point point;
	bool resumes;
};

FIXTURE_VARIANT_ADD(deferred, pt_pause)
{
	.point = { "write of CTL", MSR_RTIT_CTL, true },
};

FIXTURE_VARIANT_ADD(deferred, pt_resume)
{
	.point = { "write of CTL", MSR_RTIT_CTL, true },
	.resumes = true,
};

FIXTURE_VARIANT_ADD(deferred, pt_resume_early)
{
	.point = { "read of STATUS", MSR_RTIT_STATUS, false },
	.resumes = true,
};

FIXTURE_VARIANT_ADD(deferred, bts_pause)
{
	.bts = true,
	.point = { "write of DEBUGCTL", MSR_DEBUGCTL, true },
};

FIXTURE_VARIANT_ADD(deferred, bts_pause_early)
{
	.bts = true,
	.point = { "read of DEBUGCTL", MSR_DEBUGCTL, false },
};

FIXTURE_VARIANT_ADD(deferred, bts_resume)
{
	.bts = true,
	.point = { "write of DEBUGCTL", MSR_DEBUGCTL, true },
	.resumes = true,
};

FIXTURE_VARIANT_ADD(deferred, bts_resume_early)
{
	.bts = true,
	.point = { "read of DEBUGCTL", MSR_DEBUGCTL, false },
	.resumes = true,
};

FIXTURE_SETUP(deferred)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	if (!variant->bts && lacks_regions())
		SKIP(return, "no %s", lacks_regions());
	if (variant->bts)
		gated_init_bts(gated, &self->bts);
	else
		gated_init_pt(gated, &self->pt);
	if (!setup_kind(_metadata, gated, "tracepoint"))
		return;
	ASSERT_EQ(model_lose_masked(true), 0);
	ASSERT_EQ(model_skid(0, 0), 0);
	gated->spec.exclude_kernel = true;
	gated->spec.aux_pages = 64;
	gated->spec.watermark = variant->bts ? 4 * 4096 : 4096;
	open_and_enable(_metadata, gated);
}

FIXTURE_TEARDOWN(deferred)
{
	EXPECT_EQ(model_reset(), 0);
	if (variant->bts)
		bts_close(_metadata, &self->gated);
	else
		pt_close(_metadata, &self->gated);
}

static void gate(bool resumes)
{
	if (resumes)
		syscall(__NR_getppid);
	else
		syscall(__NR_getpgid, 0);
}

static __u64 aux_head(const struct gated *gated)
{
	return __atomic_load_n(&gated->group.page->aux_head, __ATOMIC_ACQUIRE);
}

/*
 * More than a page of packets: few for loops, and more for system calls, which leave the
 * traced code and come back. BTS requests an interrupt after 512 records. It has room for
 * 682.
 */
static void request(bool bts)
{
	int i;

	if (bts) {
		branches(520);
	} else {
		for (i = 0; i < 300; i++)
			syscall(__NR_getuid);
	}
}

/*
 * Leave data behind that no interrupt has handed over, and have the NMI hit the gate. The NMI
 * hits once, as the driver's work for the interrupt has accesses, too: the first one in a
 * resume; the second one in a pause, behind that of its resume. So the test itself adds
 * nothing to the trace.
 *
 * True if the gate has handed over the data. A switch to another task spoils that: it hands
 * over data, or has the access that was the gate's.
 */
static bool hit_gate(struct __test_metadata *_metadata, struct gated *gated, bool bts,
		     const struct msr_point *point, bool resumes)
{
	__u64 head = aux_head(gated), later;
	bool waits, is_on;

	EXPECT_EQ(model_mask(true), 0);
	if (!resumes)
		EXPECT_EQ(nmi_at_nth_msr(point, TAG_NONE, 2), 0);
	gate(true);
	request(bts);
	if (resumes) {
		gate(false);
		EXPECT_EQ(nmi_at_nth_msr(point, TAG_NONE, 1), 0);
	}
	waits = aux_head(gated) == head;
	gate(resumes);
	later = aux_head(gated);
	is_on = gated->ops->is_on(gated->cpu);
	gate(false);

	EXPECT_EQ(is_on, resumes);
	/* It sleeps, and a switch to another task hands over what there is. */
	EXPECT_GE(nmi_at_msr_off(), 0);
	EXPECT_EQ(model_mask(false), 0);

	return waits && later > head;
}

TEST_F_TIMEOUT(deferred, in_a_gate, 120)
{
	struct gated *gated = &self->gated;
	int hits = 0, tries = 0;

	while (hits < HITS) {
		ASSERT_LT(tries++, TRIES)
			TH_LOG("handed over %d times", hits);
		hits += hit_gate(_metadata, gated, variant->bts, &variant->point,
				 variant->resumes);
		read_trace(_metadata, gated);
	}
	disable_and_read(_metadata, gated);
	expect_exact(_metadata, gated);
	if (!variant->bts)
		expect_complete(_metadata, &self->pt);
}

/*
 * It comes while a window is being discarded: between the two writes that put the output
 * back. The data of the windows that follow is where the driver says.
 */
TEST(pt_discarding)
{
	static const struct msr_point point = {
		"write of OUTPUT_BASE", MSR_RTIT_OUTPUT_BASE, true,
	};
	struct perf_event_aux_windows windows = {};
	struct pt_trace trace = {};
	struct gated gated;
	int tries = 0;

	if (lacks_regions())
		SKIP(return, "no %s", lacks_regions());
	gated_init_pt(&gated, &trace);
	if (!setup_kind(_metadata, &gated, "tracepoint"))
		return;
	ASSERT_EQ(model_lose_masked(true), 0);
	gated.spec.exclude_kernel = true;
	gated.spec.aux_pages = 64;
	gated.spec.watermark = 4096;
	open_and_enable(_metadata, &gated);
	for (; windows.discarded < HITS; tries++) {
		ASSERT_LT(tries, TRIES);
		ASSERT_EQ(keep_longer(gated.group.aux, FOREVER), 0);
		EXPECT_EQ(model_mask(true), 0);
		EXPECT_EQ(nmi_at_msr(&point, TAG_NONE), 0);
		gate(true);
		request(false);
		gate(false);
		EXPECT_GE(nmi_at_msr_off(), 0);
		EXPECT_EQ(model_mask(false), 0);

		ASSERT_EQ(keep_longer(gated.group.aux, 0), 0);
		gate(true);
		branches(1000);
		gate(false);
		read_trace(_metadata, &gated);
		ASSERT_EQ(count_windows(gated.group.aux, &windows), 0);
	}
	disable_and_read(_metadata, &gated);
	EXPECT_GE(trace.tnt, tries * 1000);
	expect_complete(_metadata, &trace);
	expect_exact(_metadata, &gated);
	EXPECT_EQ(model_reset(), 0);
	pt_close(_metadata, &gated);
}

/*
 * The interrupt comes within a resume, which has seen that BTS is off and calls
 * perf_aux_window_begin(). It finds the area full, of 170 records, so BTS must stay off.
 * This is a CPU's event: a task's would hand over the records at a switch.
 */
TEST(bts_full_resuming)
{
	__u64 place = kernel_symbol("perf_aux_window_begin"), head;
	struct bts_trace trace = {};
	struct rate_limit limit;
	struct gated gated;
	int i;

	if (!place)
		SKIP(return, "no address of perf_aux_window_begin()");
	gated_init_bts(&gated, &trace);
	if (!setup_kind(_metadata, &gated, "tracepoint"))
		return;
	ASSERT_EQ(rate_unlimit(&limit), 0);
	gated.spec.pid = -1;
	gated.spec.cpu = gated.cpu;
	gated.spec.start_paused = false;
	gated.spec.aux_pages = 1;
	open_group(_metadata, &gated);
	ASSERT_EQ(model_skid(0, 0), 0);
	for (i = 0; i < HITS; i++) {
		ASSERT_EQ(model_until(place), 0);
		enable_group(_metadata, &gated);
		branches(200);
		gate(false);
		head = aux_head(&gated);
		gate(true);
		EXPECT_GT(aux_head(&gated), head);
		EXPECT_EQ(bts_is_on(gated.cpu), 0);
		read_trace(_metadata, &gated);
	}
	EXPECT_EQ(trace.truncated, HITS);
	disable_and_read(_metadata, &gated);
	expect_exact(_metadata, &gated);
	EXPECT_EQ(model_reset(), 0);
	bts_close(_metadata, &gated);
	set_rate_limit(&limit);
}

/*
 * It comes while the event is stopped. The NMI hits the second write: the first one is that
 * of the start. If another task runs in between, that takes the data.
 */
TEST(bts_stopping)
{
	static const struct msr_point point = { "write of DEBUGCTL", MSR_DEBUGCTL, true };
	struct bts_trace trace = {};
	struct gated gated;
	int i;

	gated_init_bts(&gated, &trace);
	gated.spec.start_paused = false;
	gated.spec.aux_pages = 64;
	gated.spec.watermark = 4 * 4096;
	ASSERT_EQ(model_lose_masked(true), 0);
	open_group(_metadata, &gated);
	EXPECT_EQ(model_mask(true), 0);
	for (i = 0; i < 2 * HITS; i++) {
		EXPECT_EQ(nmi_at_nth_msr(&point, TAG_NONE, 2), 0);
		enable_group(_metadata, &gated);
		request(true);
		disable_and_read(_metadata, &gated);
		EXPECT_EQ(nmi_at_msr_off(), 1);
		EXPECT_EQ(bts_is_on(gated.cpu), 0);
	}
	EXPECT_GE(bts_branches(&trace, WINDOW_PLACES), 2 * HITS * 519);
	EXPECT_EQ(trace.truncated, 0);
	EXPECT_EQ(model_reset(), 0);
	bts_close(_metadata, &gated);
}

TEST_HARNESS_MAIN
