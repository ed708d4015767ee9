// SPDX-License-Identifier: GPL-2.0
/*
 * Intel's counters and traces show no kernel addresses to a user without privilege.
 * Counters overflow late, in the kernel; traces are paused and resumed by NMIs that hit
 * the kernel.
 *
 * Expected: no kernel address in samples of cycles in user mode, nor in an Intel PT
 * trace of user mode. Intel BTS is refused, for user mode as well: the hardware writes
 * its records, and each kernel entry is one of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "intel_env.h"
#include "intel_pt_stream.h"
#include "user_only.h"

#define ROUNDS	100

PROGRAM_NEEDS(lacks_counters())

FIXTURE(user_only)
{
	struct user_only user;
};

FIXTURE_SETUP(user_only)
{
	ASSERT_EQ(user_only_begin(&self->user), 0);
}

FIXTURE_TEARDOWN(user_only)
{
	EXPECT_EQ(user_only_end(&self->user), 0);
}

/* In and out of the kernel, for 300 ms */
static void work(void)
{
	__u64 end = clock_ns() + 300000000;

	while (clock_ns() < end)
		syscall(__NR_getppid);
}

/*
 * On a slow machine, cycles in user space are few. On a hybrid processor, the event counts on
 * CPUs of the first CPU's kind only.
 */
TEST_F(user_only, samples_of_cycles)
{
	struct perf_event_attr attr;
	struct user_records rec;
	unsigned int nr = 0;
	int tries;

	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	attr_init(&attr, PERF_TYPE_HARDWARE);
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 100000;
	attr.exclude_kernel = 1;
	for (tries = 0; nr < 10 && tries < 50; tries++) {
		if (user_records_open(&rec, &attr)) {
			ASSERT_EQ(errno, ENOENT);
			SKIP(return, "no counter of cycles");
		}
		work();
		ASSERT_EQ(user_records_close(&rec), 0);
		nr += rec.nr;
		EXPECT_EQ(rec.in_kernel, 0);
		EXPECT_EQ(rec.kernel, 0)
			TH_LOG("%u of %u records: %#llx", rec.kernel, rec.nr, rec.address);
	}
	EXPECT_GE(nr, 10);
}

static void trace_attr(struct perf_event_attr *attr, const char *pmu, bool user)
{
	attr_init(attr, pmu_type(pmu));
	attr->exclude_kernel = user;
	attr->exclude_user = !user;
}

TEST_F(user_only, permission_for_intel_pt)
{
	struct perf_event_attr attr;

	if (pmu_type("intel_pt") < 0)
		SKIP(return, "no intel_pt");

	trace_attr(&attr, "intel_pt", true);
	EXPECT_EQ(perf_try_open(&attr, -1), 0);
	trace_attr(&attr, "intel_pt", false);
	EXPECT_EQ(perf_try_open(&attr, -1), EACCES);
}

TEST_F(user_only, permission_for_intel_bts)
{
	struct perf_event_attr attr;

	if (pmu_type("intel_bts") < 0)
		SKIP(return, "no intel_bts");

	trace_attr(&attr, "intel_bts", true);
	EXPECT_EQ(perf_try_open(&attr, -1), EACCES);
	trace_attr(&attr, "intel_bts", false);
	EXPECT_EQ(perf_try_open(&attr, -1), EACCES);
}

/* Root's gates: NMIs in system calls and in the driver */
TEST_F(user_only, gated_trace_of_intel_pt)
{
	struct aux_spec spec = {
		.pmu = "intel_pt", .cpu = -1, .start_paused = true, .exclude_kernel = true,
		.config = PT_CONFIG_TSC, .aux_pages = 1024,
	};
	struct perf_records records = { };
	struct pt_trace trace = { };
	struct aux_group group;
	size_t pos = 0;
	int i;

	ASSERT_EQ(seteuid(0), 0);
	if (lacks_pmu("intel_pt") || lacks_nmi())
		SKIP(return, "no intel_pt, or no gates in NMIs");
	ASSERT_EQ(setup_nmi_gates(&spec), 0);
	ASSERT_EQ(aux_group_open(&group, &spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(&group), 0);
	for (i = 0; i < ROUNDS; i++) {
		fire(true);
		syscall(__NR_getppid);
		sleep_a_little();
		fire(false);
	}
	ASSERT_EQ(aux_group_disable(&group), 0);
	ASSERT_EQ(perf_records_read(&records, &group), 0);
	ASSERT_EQ(pt_trace_read(&trace, &records, &pos, &group), 0)
		TH_LOG("%s", trace.error);

	EXPECT_GE(trace.ips, ROUNDS);
	EXPECT_EQ(trace.kernel_ips, 0);
	EXPECT_EQ(trace.ovf + trace.truncated, 0);
	pt_trace_free(&trace);
	perf_records_free(&records);
	aux_group_close(&group);
}

TEST_HARNESS_MAIN
