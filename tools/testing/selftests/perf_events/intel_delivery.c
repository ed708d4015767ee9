// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of Intel PT and Intel BTS as different processors deliver them: they skid,
 * are acknowledged early, in the middle or late, or are lost while LVTPC is masked. With
 * the kernel in the trace, they are requested in NMIs and by the drivers' own code, too.
 *
 * Expected: a driver claims each interrupt, whatever it has done since the request.
 * Gates stay exact, and each packet and record is intact.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "intel_test.h"

#define SKID	300
#define RECORDS	20

PROGRAM_NEEDS(has_model() ? NULL : "only the model can be any type of CPU")

FIXTURE(delivery)
{
	struct gated gated;
	struct pt_trace pt;
	struct bts_trace bts;
	struct rate_limit limit;
	int counter;
};

FIXTURE_VARIANT(delivery)
{
	const char *when;
	bool bts;
	unsigned int skid;
	bool lost;
};

FIXTURE_VARIANT_ADD(delivery, pt_early)
{
	.when = "early",
};

FIXTURE_VARIANT_ADD(delivery, pt_mid)
{
	.when = "mid",
};

FIXTURE_VARIANT_ADD(delivery, pt_late)
{
	.when = "late",
};

FIXTURE_VARIANT_ADD(delivery, pt_early_skid)
{
	.when = "early",
	.skid = SKID,
};

FIXTURE_VARIANT_ADD(delivery, pt_mid_skid)
{
	.when = "mid",
	.skid = SKID,
};

FIXTURE_VARIANT_ADD(delivery, pt_late_skid)
{
	.when = "late",
	.skid = SKID,
};

FIXTURE_VARIANT_ADD(delivery, pt_early_lost)
{
	.when = "early",
	.lost = true,
};

FIXTURE_VARIANT_ADD(delivery, pt_late_lost)
{
	.when = "late",
	.lost = true,
};

FIXTURE_VARIANT_ADD(delivery, bts_early_skid)
{
	.when = "early",
	.bts = true,
	.skid = SKID,
};

FIXTURE_VARIANT_ADD(delivery, bts_mid_skid)
{
	.when = "mid",
	.bts = true,
	.skid = SKID,
};

FIXTURE_VARIANT_ADD(delivery, bts_late_skid)
{
	.when = "late",
	.bts = true,
	.skid = SKID,
};

FIXTURE_VARIANT_ADD(delivery, bts_early_lost)
{
	.when = "early",
	.bts = true,
	.lost = true,
};

FIXTURE_VARIANT_ADD(delivery, bts_late_lost)
{
	.when = "late",
	.bts = true,
	.lost = true,
};

FIXTURE_SETUP(delivery)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	self->counter = -1;
	if (variant->bts)
		gated_init_bts(gated, &self->bts);
	else
		gated_init_pt(gated, &self->pt);
	if (!setup_kind(_metadata, gated, "nmi"))
		return;
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	ASSERT_EQ(model_ack(variant->when), 0);
	ASSERT_EQ(model_skid(variant->skid, 20 + variant->skid), 0);
	ASSERT_EQ(model_lose_masked(variant->lost), 0);
	gated->spec.exclude_kernel = false;
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
}

FIXTURE_TEARDOWN(delivery)
{
	if (self->counter >= 0)
		close(self->counter);
	if (variant->bts)
		bts_close(_metadata, &self->gated);
	else
		pt_close(_metadata, &self->gated);
	set_rate_limit(&self->limit);
	EXPECT_EQ(model_reset(), 0);
}

static long long lost_interrupts(void)
{
	return model_stat("total.pmi_lost");
}

/* LVTPC is masked by interrupts of others only: Intel PT is off before its next one. */
static int open_counter(int cpu)
{
	struct perf_event_attr attr;

	attr_cycles(&attr, 100000);

	return perf_open(&attr, -1, cpu, -1);
}

static unsigned long handed_over(const struct gated *gated, bool bts)
{
	return bts ? ((struct bts_trace *)gated->trace)->records :
		     ((struct pt_trace *)gated->trace)->records;
}

static void window(struct gated *gated)
{
	fire_tag(TAG_RESUME);
	branches(20);
	fire_tag(TAG_PAUSE);
}

/*
 * The event is stopped and started every few windows: its interrupt may come behind
 * that. Enabling it also goes on after the area was full.
 */
static void interrupts(struct __test_metadata *_metadata, struct gated *gated, bool bts,
		       long long lost)
{
	__u64 end = clock_ns() + 20000000000ULL;
	unsigned int i;

	for (i = 0; handed_over(gated, bts) < RECORDS || lost_interrupts() < lost; i++) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%lu AUX records, %lld lost PMIs", handed_over(gated, bts),
			       lost_interrupts());
		window(gated);
		if (i % 5 == 4)
			do_disable(gated);
		read_trace(_metadata, gated);
	}
}

TEST_F(delivery, gates_by_nmi)
{
	struct gated *gated = &self->gated;
	long long skids = model_stat("total.pmi_skids");
	long long raised = model_stat("total.pmi_raised");
	long long lost = lost_interrupts() + variant->lost;

	if (variant->lost) {
		self->counter = open_counter(gated->cpu);
		ASSERT_GE(self->counter, 0);
	}
	open_and_enable(_metadata, gated);
	interrupts(_metadata, gated, variant->bts, lost);
	disable_and_read(_metadata, gated);
	expect_exact(_metadata, gated);
	EXPECT_GT(model_stat("total.pmi_raised"), raised);
	if (variant->skid)
		EXPECT_GT(model_stat("total.pmi_skids"), skids);
}

/* --- The model's settings --- */

#define SETTINGS	7
#define LONGEST		16

static const char * const settings[SETTINGS] = {
	"ack", "ratio", "overflow", "lost", "skid", "seed", "step",
};

static void read_settings(struct __test_metadata *_metadata, char (*value)[LONGEST])
{
	int i;

	for (i = 0; i < SETTINGS; i++) {
		ASSERT_EQ(model_setting(settings[i], value[i], LONGEST), 0)
			TH_LOG("%s", settings[i]);
	}
}

/* A test must not leave the next one with another machine. */
TEST(reset_restores_the_boot)
{
	char boot[SETTINGS][LONGEST], changed[SETTINGS][LONGEST], value[SETTINGS][LONGEST];
	int i;

	ASSERT_EQ(model_reset(), 0);
	read_settings(_metadata, boot);
	ASSERT_EQ(model_ack(strncmp(boot[0], "mid", 3) ? "mid" : "late"), 0);
	ASSERT_EQ(model_ratio(201), 0);
	ASSERT_EQ(model_overflow(777777), 0);
	ASSERT_EQ(model_lose_masked(boot[3][0] == 'N'), 0);
	ASSERT_EQ(model_skid(77, 7777), 0);
	ASSERT_EQ(model_step(boot[6][0] == 'N'), 0);
	read_settings(_metadata, changed);
	ASSERT_EQ(model_reset(), 0);
	read_settings(_metadata, value);

	for (i = 0; i < SETTINGS; i++) {
		EXPECT_STRNE(changed[i], boot[i])
			TH_LOG("%s", settings[i]);
		EXPECT_STREQ(value[i], boot[i])
			TH_LOG("%s", settings[i]);
	}
}

TEST_HARNESS_MAIN
