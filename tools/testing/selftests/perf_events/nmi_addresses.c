// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel addresses in a sample that hits the kernel although its event excludes it: a
 * hardware counter may overflow late. An NMI in the system call that triggers it always
 * is such an overflow.
 *
 * Expected: an IP in user mode, no registers, and no kernel address elsewhere. A kernel
 * without the checks leaks the registers.
 */
#include "../kselftest_harness.h"
#include "test_pmus.h"
#include "user_only.h"

#define NR_SAMPLES	10

PROGRAM_NEEDS(lacks_test_pmus())

static void sample(struct __test_metadata *_metadata, struct user_records *rec,
		   bool exclude_kernel)
{
	struct perf_event_attr attr;

	attr_nmi(&attr, 0, TAG_SAMPLE);
	attr.disabled = 1;
	attr.exclude_kernel = exclude_kernel;
	ASSERT_EQ(user_records_open(rec, &attr), 0);
	ASSERT_EQ(nmi_fire(NR_SAMPLES, TAG_SAMPLE), 0);
	ASSERT_EQ(user_records_close(rec), 0);
	ASSERT_EQ(rec->nr, NR_SAMPLES);
}

TEST(late_sample)
{
	struct user_records rec;

	sample(_metadata, &rec, true);
	EXPECT_EQ(rec.with_ip, NR_SAMPLES);
	EXPECT_EQ(rec.with_regs, 0);
	EXPECT_EQ(rec.in_kernel, 0);
	EXPECT_EQ(rec.kernel, 0)
		TH_LOG("%#llx", rec.address);

	/* Without exclude_kernel, the registers are there. */
	sample(_metadata, &rec, false);
	EXPECT_EQ(rec.with_regs, NR_SAMPLES);
	EXPECT_EQ(rec.in_kernel, NR_SAMPLES);
	EXPECT_EQ(rec.kernel, NR_SAMPLES);
}

TEST_HARNESS_MAIN
