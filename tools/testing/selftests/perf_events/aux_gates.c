// SPDX-License-Identifier: GPL-2.0
/*
 * AUX area tracing gated by events of every kind.
 *
 * Expected: tracing is on between a resume and the pause that follows it, and at
 * no other time. The times in the gates' samples and in the trace show that. It
 * also holds when the gate's sample is lost or unwanted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "aux_test.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define ROUNDS		20
#define WINDOW_NS	100000

/* --- Places for gates, and how to reach them --- */

static __u64 watched;

static int setup_tracepoint(struct aux_spec *spec)
{
	return attr_tracepoint(&spec->resume, "syscalls/sys_enter_getppid") ||
	       attr_tracepoint(&spec->pause, "syscalls/sys_enter_getpgid");
}

static void fire_syscall(bool resume)
{
	if (resume)
		syscall(__NR_getppid);
	else
		syscall(__NR_getpgid, 0);
}

static int setup_kprobe(struct aux_spec *spec)
{
	int type = pmu_type("kprobe");

	if (type < 0)
		return -1;

	attr_probe(&spec->resume, type, "__x64_sys_getppid", 0);
	attr_probe(&spec->pause, type, "__x64_sys_getpgid", 0);

	return 0;
}

static int setup_uprobe(struct aux_spec *spec)
{
	static char exe[256];
	int type = pmu_type("uprobe");

	if (type < 0 || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return -1;

	attr_probe(&spec->resume, type, exe, file_offset(probed_first));
	attr_probe(&spec->pause, type, exe, file_offset(probed_second));

	return 0;
}

static void fire_function(bool resume)
{
	if (resume)
		probed_first();
	else
		probed_second();
}

/* Page faults in user mode resume, page faults in the kernel pause. */
static int setup_software(struct aux_spec *spec)
{
	attr_page_fault(&spec->resume, true);
	attr_page_fault(&spec->pause, false);

	return 0;
}

static void fire_fault(bool resume)
{
	static char *page;
	int fds[2];

	if (!page)
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(page, 4096, MADV_DONTNEED);
	if (resume) {
		__atomic_store_n(page, 1, __ATOMIC_RELAXED);
		return;
	}

	/* The kernel writes the descriptors to a page that isn't present. */
	syscall(__NR_pipe2, page, 0);
	memcpy(fds, page, sizeof(fds));
	close(fds[0]);
	close(fds[1]);
}

static int setup_nmi(struct aux_spec *spec)
{
	attr_nmi(&spec->resume, 0, TAG_RESUME);
	attr_nmi(&spec->pause, 0, TAG_PAUSE);

	return 0;
}

static void fire_nmi(bool resume)
{
	nmi_fire(1, resume ? TAG_RESUME : TAG_PAUSE);
}

/*
 * One breakpoint and one NMI, not two breakpoints: QEMU 7.2 reports a hit together
 * with the previous one. Now and then it swallows a hit: then there is no sample
 * either. ->swallowed allows for that.
 */
static void write_watched(void)
{
	__atomic_fetch_add(&watched, 1, __ATOMIC_RELAXED);
}

static int setup_breakpoint_resume(struct aux_spec *spec)
{
	attr_breakpoint(&spec->resume, &watched, true);
	attr_nmi(&spec->pause, 0, TAG_PAUSE);

	return 0;
}

static void fire_breakpoint_resume(bool resume)
{
	if (resume)
		write_watched();
	else
		fire_nmi(false);
}

static int setup_breakpoint_pause(struct aux_spec *spec)
{
	attr_nmi(&spec->resume, 0, TAG_RESUME);
	attr_breakpoint(&spec->pause, &watched, true);

	return 0;
}

static void fire_breakpoint_pause(bool resume)
{
	if (resume)
		fire_nmi(true);
	else
		write_watched();
}

/* --- What all tests do --- */

struct gates {
	struct aux_spec spec;
	struct aux_group group;
	struct perf_records records;
	struct aux_trace trace;
};

static void gates_init(struct gates *gates)
{
	memset(gates, 0, sizeof(*gates));
	aux_group_init(&gates->group);
	gates->spec.cpu = -1;
	gates->spec.start_paused = true;
	/* Room for the time that a virtual CPU may lose */
	gates->spec.aux_pages = 2048;
}

static void gates_close(struct gates *gates)
{
	aux_group_close(&gates->group);
	perf_records_free(&gates->records);
	aux_trace_free(&gates->trace);
}

/* Disable, read everything, and compare. Returns the number of regions. */
static long gates_finish(struct gates *gates)
{
	aux_group_disable(&gates->group);
	if (perf_records_read(&gates->records, &gates->group) ||
	    aux_trace_read(&gates->trace, &gates->group))
		return -1;

	return aux_trace_match(&gates->trace, &gates->records, &gates->group,
			       gates->spec.start_paused);
}

/*
 * The accounting is exact: each overflow that the gates counted is a request, and
 * none is pending.
 */
static void expect_exact(struct __test_metadata *_metadata,
			 const struct gates *gates)
{
	struct aux_actions act = { .pending = -1 };

	EXPECT_EQ(aux_actions_read(&gates->group, &act), 0);
	EXPECT_EQ(act.requested, perf_count(gates->group.resume) +
				 perf_count(gates->group.pause));
	EXPECT_EQ(act.requested, act.executed + act.superseded);
	EXPECT_EQ(act.pending, 0);
}

/* --- Gates of every kind --- */

FIXTURE(aux_gate)
{
	struct rate_limit limit;
	struct gates gates;
};

FIXTURE_VARIANT(aux_gate)
{
	int (*setup)(struct aux_spec *spec);
	void (*fire)(bool resume);
	const char *pmu;
	const char *needs;
	int swallowed;
};

FIXTURE_VARIANT_ADD(aux_gate, tracepoint)
{
	.setup = setup_tracepoint,
	.fire = fire_syscall,
	.needs = "syscall tracepoints (CONFIG_FTRACE_SYSCALLS)",
};

FIXTURE_VARIANT_ADD(aux_gate, kprobe)
{
	.setup = setup_kprobe,
	.fire = fire_syscall,
	.needs = "PMU kprobe (CONFIG_KPROBE_EVENTS)",
};

FIXTURE_VARIANT_ADD(aux_gate, uprobe)
{
	.setup = setup_uprobe,
	.fire = fire_function,
	.needs = "PMU uprobe (CONFIG_UPROBE_EVENTS)",
};

FIXTURE_VARIANT_ADD(aux_gate, breakpoint_resume)
{
	.setup = setup_breakpoint_resume,
	.fire = fire_breakpoint_resume,
	.swallowed = ROUNDS / 2,
	.needs = "hardware breakpoints (CONFIG_HAVE_HW_BREAKPOINT)",
};

FIXTURE_VARIANT_ADD(aux_gate, breakpoint_pause)
{
	.setup = setup_breakpoint_pause,
	.fire = fire_breakpoint_pause,
	.swallowed = ROUNDS / 2,
	.needs = "hardware breakpoints (CONFIG_HAVE_HW_BREAKPOINT)",
};

FIXTURE_VARIANT_ADD(aux_gate, software)
{
	.setup = setup_software,
	.fire = fire_fault,
};

FIXTURE_VARIANT_ADD(aux_gate, nmi)
{
	.setup = setup_nmi,
	.fire = fire_nmi,
};

FIXTURE_VARIANT_ADD(aux_gate, nmi_contig)
{
	.setup = setup_nmi,
	.fire = fire_nmi,
	.pmu = "test_aux_contig",
};

FIXTURE_SETUP(aux_gate)
{
	struct gates *gates = &self->gates;

	gates_init(gates);
	gates->spec.pmu = variant->pmu;
	if (variant->setup(&gates->spec))
		SKIP(return, "no %s", variant->needs);

	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	if (aux_group_open(&gates->group, &gates->spec)) {
		/* Only a missing PMU is a reason to skip. */
		if (errno == ENOENT || errno == ENODEV)
			SKIP(return, "no %s", variant->needs);
		ASSERT_EQ(errno, 0);
	}
	/* Fault in what the tests touch: page faults may be gates. */
	variant->fire(true);
	spin_ns(1);
	variant->fire(false);
	ASSERT_EQ(aux_group_enable(&gates->group), 0);
}

FIXTURE_TEARDOWN(aux_gate)
{
	set_rate_limit(&self->limit);
	gates_close(&self->gates);
}

/* On between resume and pause, off otherwise. */
TEST_F(aux_gate, windows)
{
	long regions;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		spin_ns(WINDOW_NS);
		variant->fire(true);
		spin_ns(WINDOW_NS);
		variant->fire(false);
	}

	regions = gates_finish(&self->gates);
	ASSERT_GE(regions, ROUNDS - variant->swallowed)
		TH_LOG("%s", self->gates.trace.error);
	/* At least some DATA: the windows are much longer than a period. */
	EXPECT_GE(self->gates.trace.packets, regions * 5);
	expect_exact(_metadata, &self->gates);
}

/* Started paused and never resumed: not one packet. */
TEST_F(aux_gate, start_paused)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		variant->fire(false);
		spin_ns(WINDOW_NS / 10);
	}

	aux_group_disable(&self->gates.group);
	ASSERT_EQ(perf_records_read(&self->gates.records, &self->gates.group), 0);
	EXPECT_EQ(perf_records_count(&self->gates.records, PERF_RECORD_SAMPLE,
				     self->gates.group.resume_id), 0);
	EXPECT_GE(perf_records_count(&self->gates.records, PERF_RECORD_SAMPLE,
				     self->gates.group.pause_id),
		  ROUNDS - variant->swallowed);
	EXPECT_EQ(self->gates.group.page->aux_head, 0);
	expect_exact(_metadata, &self->gates);
}

/* Paused is a state, not a count: after two resumes the first pause acts. */
TEST_F(aux_gate, nested_regions)
{
	long regions;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		variant->fire(true);
		spin_ns(WINDOW_NS / 4);
		variant->fire(true);
		spin_ns(WINDOW_NS / 4);
		variant->fire(false);
		spin_ns(WINDOW_NS / 4);
		variant->fire(false);
		spin_ns(WINDOW_NS / 4);
	}

	regions = gates_finish(&self->gates);
	ASSERT_GE(regions, ROUNDS - variant->swallowed)
		TH_LOG("%s", self->gates.trace.error);
	expect_exact(_metadata, &self->gates);
}

/* --- Gates in special conditions: the action happens nevertheless --- */

FIXTURE(aux_gate_nmi)
{
	struct gates gates;
	int old_rate;
};

FIXTURE_SETUP(aux_gate_nmi)
{
	gates_init(&self->gates);
	/* A CPU event: context switches don't cut windows. */
	self->gates.spec.pid = -1;
	self->gates.spec.cpu = nth_cpu(0);
	ASSERT_EQ(setup_nmi(&self->gates.spec), 0);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	self->old_rate = set_max_sample_rate(RATE_UNLIMITED);
	ASSERT_GT(self->old_rate, 0);
}

FIXTURE_TEARDOWN(aux_gate_nmi)
{
	set_max_sample_rate(self->old_rate);
	gates_close(&self->gates);
}

/* Without start-paused, tracing is on from the start to the first pause. */
TEST_F(aux_gate_nmi, start_running)
{
	long regions;

	self->gates.spec.start_paused = false;
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	spin_ns(WINDOW_NS);
	fire_nmi(false);
	spin_ns(WINDOW_NS);
	fire_nmi(true);
	spin_ns(WINDOW_NS);

	regions = gates_finish(&self->gates);
	ASSERT_EQ(regions, 2)
		TH_LOG("%s", self->gates.trace.error);
	EXPECT_EQ(self->gates.trace.win[0].opened_by, TEST_PERF_AUX_BY_START);
	expect_exact(_metadata, &self->gates);
}

/* One NMI is the overflow of both gates: windows of zero length. */
TEST_F(aux_gate_nmi, zero_length_windows)
{
	unsigned int i;

	attr_nmi(&self->gates.spec.resume, 0, TAG_RESUME);
	attr_nmi(&self->gates.spec.pause, 0, TAG_RESUME);
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	ASSERT_EQ(nmi_fire(1000, TAG_RESUME), 0);

	aux_group_disable(&self->gates.group);
	ASSERT_EQ(aux_trace_read(&self->gates.trace, &self->gates.group), 0)
		TH_LOG("%s", self->gates.trace.error);
	EXPECT_GE(self->gates.trace.nr, 999);
	for (i = 0; i < self->gates.trace.nr; i++)
		EXPECT_LE(self->gates.trace.win[i].start,
			  self->gates.trace.win[i].stop);
	expect_exact(_metadata, &self->gates);
}

/*
 * Coprime periods. In 15 NMIs, 3 pauses end a region each, whichever gate comes
 * first when both overflow.
 */
TEST_F(aux_gate_nmi, independent_periods)
{
	long regions;

	self->gates.spec.aux_pages = 1024;
	attr_nmi(&self->gates.spec.resume, 0, TAG_RESUME);
	attr_nmi(&self->gates.spec.pause, 0, TAG_RESUME);
	self->gates.spec.resume.sample_period = 3;
	self->gates.spec.pause.sample_period = 5;
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	ASSERT_EQ(nmi_fire(1500, TAG_RESUME), 0);

	regions = gates_finish(&self->gates);
	ASSERT_GE(regions, 300)
		TH_LOG("%s", self->gates.trace.error);
	/* The last one may still be open. */
	EXPECT_LE(regions, 301);
}

static void three_windows(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		fire_nmi(true);
		spin_ns(WINDOW_NS);
		fire_nmi(false);
		spin_ns(WINDOW_NS);
	}
}

static void expect_three_windows(struct __test_metadata *_metadata,
				 struct gates *gates)
{
	unsigned int i;

	aux_group_disable(&gates->group);
	ASSERT_EQ(aux_trace_read(&gates->trace, &gates->group), 0)
		TH_LOG("%s", gates->trace.error);
	ASSERT_EQ(gates->trace.nr, 3);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(gates->trace.win[i].opened_by, TEST_PERF_AUX_BY_RESUME);
		EXPECT_EQ(gates->trace.win[i].closed_by, TEST_PERF_AUX_BY_PAUSE);
		EXPECT_GE(gates->trace.win[i].packets, 5);
	}
	expect_exact(_metadata, gates);
}

/* The gates have no output buffer: no samples at all. */
TEST_F(aux_gate_nmi, gates_without_output)
{
	struct aux_group *group = &self->gates.group;

	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	ASSERT_EQ(perf_set_output(group->resume, -1), 0);
	ASSERT_EQ(perf_set_output(group->pause, -1), 0);
	three_windows();
	expect_three_windows(_metadata, &self->gates);

	ASSERT_EQ(perf_records_read(&self->gates.records, group), 0);
	EXPECT_EQ(perf_records_count(&self->gates.records, PERF_RECORD_SAMPLE,
				     0), 0);
}

/* The output buffer is full: each sample is lost. */
TEST_F(aux_gate_nmi, gates_with_full_output)
{
	size_t samples;

	self->gates.spec.data_pages = 1;
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	/* 40 bytes each */
	ASSERT_EQ(nmi_fire(200, TAG_PAUSE), 0);
	three_windows();
	expect_three_windows(_metadata, &self->gates);

	ASSERT_EQ(perf_records_read(&self->gates.records, &self->gates.group), 0);
	samples = perf_records_count(&self->gates.records, PERF_RECORD_SAMPLE, 0);
	EXPECT_LE(samples, 103);
}

static int load_bpf_no(void)
{
	/* return 0: don't emit the sample */
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)insns,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};

	return syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* A BPF program on the gate drops the sample. */
TEST_F(aux_gate_nmi, bpf_says_no)
{
	struct aux_group *group = &self->gates.group;
	int prog;

	if (access("/proc/sys/kernel/unprivileged_bpf_disabled", F_OK))
		SKIP(return, "no bpf() (CONFIG_BPF_SYSCALL)");
	prog = load_bpf_no();
	ASSERT_GE(prog, 0)
		TH_LOG("%s", strerror(errno));

	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	ASSERT_EQ(ioctl(group->resume, PERF_EVENT_IOC_SET_BPF, prog), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(ioctl(group->pause, PERF_EVENT_IOC_SET_BPF, prog), 0);
	three_windows();
	expect_three_windows(_metadata, &self->gates);

	ASSERT_EQ(perf_records_read(&self->gates.records, group), 0);
	EXPECT_EQ(perf_records_count(&self->gates.records, PERF_RECORD_SAMPLE,
				     0), 0);
	close(prog);
}

/* A request from before the AUX event has a buffer is not forgotten. */
TEST_F(aux_gate_nmi, resume_before_mmap)
{
	self->gates.spec.no_map = true;
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	fire_nmi(true);
	ASSERT_EQ(aux_group_disable(&self->gates.group), 0);

	ASSERT_EQ(aux_group_map(&self->gates.group, &self->gates.spec), 0);
	ASSERT_EQ(aux_group_enable(&self->gates.group), 0);
	spin_ns(WINDOW_NS);
	fire_nmi(false);
	aux_group_disable(&self->gates.group);

	ASSERT_EQ(aux_trace_read(&self->gates.trace, &self->gates.group), 0)
		TH_LOG("%s", self->gates.trace.error);
	ASSERT_EQ(self->gates.trace.nr, 1);
	EXPECT_EQ(self->gates.trace.win[0].opened_by, TEST_PERF_AUX_BY_START);
	EXPECT_EQ(self->gates.trace.win[0].closed_by, TEST_PERF_AUX_BY_PAUSE);
	expect_exact(_metadata, &self->gates);
}

TEST_F(aux_gate_nmi, pause_before_mmap)
{
	self->gates.spec.no_map = true;
	self->gates.spec.start_paused = false;
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	fire_nmi(false);
	ASSERT_EQ(aux_group_disable(&self->gates.group), 0);

	ASSERT_EQ(aux_group_map(&self->gates.group, &self->gates.spec), 0);
	ASSERT_EQ(aux_group_enable(&self->gates.group), 0);
	spin_ns(WINDOW_NS);
	EXPECT_EQ(self->gates.group.page->aux_head, 0);
	fire_nmi(true);
	spin_ns(WINDOW_NS);
	aux_group_disable(&self->gates.group);

	ASSERT_EQ(aux_trace_read(&self->gates.trace, &self->gates.group), 0)
		TH_LOG("%s", self->gates.trace.error);
	ASSERT_EQ(self->gates.trace.nr, 1);
	EXPECT_EQ(self->gates.trace.win[0].opened_by, TEST_PERF_AUX_BY_RESUME);
	expect_exact(_metadata, &self->gates);
}

/* --- Throttled gates --- */

#define LOW_RATE	1000

FIXTURE(aux_gate_throttled)
{
	struct gates gates;
	int old_rate;
};

FIXTURE_SETUP(aux_gate_throttled)
{
	gates_init(&self->gates);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	self->old_rate = set_max_sample_rate(LOW_RATE);
	ASSERT_GT(self->old_rate, 0);
}

FIXTURE_TEARDOWN(aux_gate_throttled)
{
	set_max_sample_rate(self->old_rate);
	gates_close(&self->gates);
}

/* A throttled NMI gate is stopped. Each overflow that it counts still acts. */
TEST_F(aux_gate_throttled, nmi)
{
	setup_nmi(&self->gates.spec);
	open_and_enable(_metadata, &self->gates.group, &self->gates.spec);
	ASSERT_EQ(nmi_fire(2000, TAG_RESUME), 0);
	ASSERT_EQ(nmi_fire(2000, TAG_PAUSE), 0);

	aux_group_disable(&self->gates.group);
	ASSERT_EQ(perf_records_read(&self->gates.records, &self->gates.group), 0);
	EXPECT_GE(perf_records_count(&self->gates.records,
				     PERF_RECORD_THROTTLE, 0), 1);
	expect_exact(_metadata, &self->gates);
}

/*
 * A software gate goes on while it is throttled, without samples. One event of
 * sched_stat_runtime overflows many times, which throttling needs.
 */
TEST_F(aux_gate_throttled, software)
{
	struct gates *gates = &self->gates;
	struct aux_actions act = { };
	__u64 end = clock_ns() + 10000000000ULL;
	size_t samples;

	if (attr_tracepoint(&gates->spec.resume, "sched/sched_stat_runtime"))
		SKIP(return, "no tracepoint sched_stat_runtime");
	gates->spec.resume.sample_period = 10000;
	attr_nmi(&gates->spec.pause, 0, TAG_PAUSE);
	open_and_enable(_metadata, &gates->group, &gates->spec);

	while (!perf_records_count(&gates->records, PERF_RECORD_THROTTLE,
				   gates->group.resume_id)) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not throttled within ten seconds");
		/* Throttled in here, and hit again before the next tick */
		spin_ns(300000);
		sched_yield();
		spin_ns(300000);
		sched_yield();
		fire_nmi(false);
		ASSERT_EQ(perf_records_read(&gates->records, &gates->group), 0);
	}
	aux_group_disable(&gates->group);
	ASSERT_EQ(perf_records_read(&gates->records, &gates->group), 0);
	ASSERT_EQ(aux_actions_read(&gates->group, &act), 0);

	samples = perf_records_count(&gates->records, PERF_RECORD_SAMPLE, 0);
	EXPECT_GT(act.requested, samples);
	EXPECT_EQ(act.requested, act.executed + act.superseded);
}

TEST_HARNESS_MAIN
