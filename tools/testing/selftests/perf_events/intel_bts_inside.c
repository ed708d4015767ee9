// SPDX-License-Identifier: GPL-2.0
/*
 * Gates and interrupts while the driver of Intel BTS and others change DEBUGCTL.
 *
 * Expected: the hardware is at the level that the last gate requested, wherever that gate
 * hit, and the branches in windows have their records. A writer of DEBUGCTL that doesn't
 * expect a gate between its read and its write undoes what the gate did.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "intel_test.h"

#ifndef PTRACE_SINGLEBLOCK
#define PTRACE_SINGLEBLOCK	33
#endif

PROGRAM_NEEDS(lacks_pmu("intel_bts"))

FIXTURE(bts)
{
	struct gated gated;
	struct bts_trace trace;
	struct rate_limit limit;
};

FIXTURE_SETUP(bts)
{
	memset(self, 0, sizeof(*self));
	bts_setup_nmis(_metadata, &self->gated, &self->trace, &self->limit);
}

FIXTURE_TEARDOWN(bts)
{
	bts_close(_metadata, &self->gated);
	set_rate_limit(&self->limit);
}

/* --- Gates --- */

static const struct msr_point points[] = {
	{ "read of DEBUGCTL", MSR_DEBUGCTL, false },
	{ "write of DEBUGCTL", MSR_DEBUGCTL, true },
	/* in the interrupt handler, while it has BTS switched off */
	{ "write of GLOBAL_CTRL", MSR_GLOBAL_CTRL, true },
	{ "read of GLOBAL_STATUS", MSR_GLOBAL_STATUS, false },
	{ "write of GLOBAL_OVF_CTRL", MSR_GLOBAL_OVF_CTRL, true },
};

static void a_few_branches(struct gated *gated)
{
	branches(20);
}

static void do_interrupt(struct gated *gated)
{
	gated_wait_handed_over(gated, a_few_branches);
}

/* Pauses and resumes. Returns the number of points at which they hit. */
static int each_point(struct __test_metadata *_metadata, struct gated *gated,
		      enum gate_way way, void (*section)(struct gated *gated))
{
	/* The interrupt needs BTS to be on, so a resume begins at level running. */
	bool on = section == do_interrupt;

	return hit_points(_metadata, gated, points, ARRAY_SIZE(points), way, false, true,
			  section) +
	       hit_points(_metadata, gated, points, ARRAY_SIZE(points), way, true, on,
			  section);
}

static void open_for_points(struct __test_metadata *_metadata,
			    struct gated *gated)
{
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
	open_and_enable(_metadata, gated);
}

TEST_F(bts, gates_inside_start_and_stop)
{
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	open_for_points(_metadata, &self->gated);
	/* The gates did get inside. */
	EXPECT_GE(each_point(_metadata, &self->gated, BY_TRACEPOINT, do_restart), 2);
	EXPECT_GE(each_point(_metadata, &self->gated, BY_TRACEPOINT, do_disable), 2);
	disable_and_read(_metadata, &self->gated);
	EXPECT_EQ(self->trace.truncated, 0);
}

TEST_F(bts, nmi_gates_inside_start_and_stop)
{
	const char *missing = lacks_msr() ?: lacks_nmi_at_msr();

	if (missing)
		SKIP(return, "no %s", missing);

	open_for_points(_metadata, &self->gated);
	EXPECT_GE(each_point(_metadata, &self->gated, BY_NMI, do_restart), 2);
	EXPECT_GE(each_point(_metadata, &self->gated, BY_NMI, do_disable), 2);
	disable_and_read(_metadata, &self->gated);
	EXPECT_EQ(self->trace.truncated, 0);
}

TEST_F(bts, gates_inside_interrupt)
{
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	open_for_points(_metadata, &self->gated);
	EXPECT_GE(each_point(_metadata, &self->gated, BY_TRACEPOINT, do_interrupt), 6);
	disable_and_read(_metadata, &self->gated);
	EXPECT_EQ(self->trace.truncated, 0);
}

/*
 * The interrupt handler ends a transaction, and begins the next one. A gate in between must
 * wait: BTS has no transaction then, so a pause would find nothing to do.
 */
TEST_F(bts, gates_between_transactions)
{
	struct gated *gated = &self->gated;
	struct perf_event_attr attr;
	int type = pmu_type("kprobe");
	int gate, i;

	if (type < 0)
		SKIP(return, "no PMU kprobe (CONFIG_KPROBE_EVENTS)");
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	/* A CPU event: a context switch begins no transaction. */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	open_for_points(_metadata, gated);
	attr_probe(&attr, type, "perf_aux_output_begin", 0);
	attr.disabled = 1;
	gate = aux_group_add_gate(&gated->group, &gated->spec, &attr, false);
	ASSERT_GE(gate, 0)
		TH_LOG("%s", strerror(errno));
	for (i = 0; i < 5; i++) {
		fire(true);
		ASSERT_EQ(perf_enable(gate), 0);
		do_interrupt(gated);
		ASSERT_EQ(perf_disable(gate), 0);
		gated->others = perf_count(gate);
		EXPECT_GT(gated->others, i);
		expect_level(_metadata, gated, false);
		read_trace(_metadata, gated);
	}
	disable_and_read(_metadata, gated);
	close(gate);
	EXPECT_EQ(self->trace.truncated, 0);
}

/* --- Interrupts at the wrong moment --- */

/* Run @section with NMIs at @point that are of no interest to BTS. */
static void nmis_inside(struct __test_metadata *_metadata, struct gated *gated,
			const struct msr_point *point,
			void (*section)(struct gated *gated))
{
	ASSERT_EQ(nmi_at_msr(point, TAG_NONE), 0);
	section(gated);
	EXPECT_GT(nmi_at_msr_off(), 0)
		TH_LOG("%s", point->name);
}

static void do_stop(struct gated *gated)
{
	aux_group_disable(&gated->group);
}

static void do_start(struct gated *gated)
{
	aux_group_enable(&gated->group);
}

/*
 * Every NMI runs the interrupt handler, which switches BTS off and on again. If it hits
 * ->stop() after the driver has switched BTS off, BTS must stay off: its buffer is
 * released.
 */
TEST_F(bts, interrupts_inside_start_and_stop)
{
	const char *missing = lacks_msr() ?: lacks_nmi_at_msr();
	struct gated *gated = &self->gated;
	int i;

	if (missing)
		SKIP(return, "no %s", missing);

	open_and_enable(_metadata, gated);
	for (i = 0; i < 10; i++) {
		fire(true);
		branches(11);
		nmis_inside(_metadata, gated, &points[i & 1], do_stop);
		ASSERT_EQ(bts_is_on(gated->cpu), 0)
			TH_LOG("on after ->stop(), NMI at %s", points[i & 1].name);
		branches(101);
		nmis_inside(_metadata, gated, &points[i & 1], do_start);
		branches(11);
		nmis_inside(_metadata, gated, &points[i & 1], do_restart);
		branches(11);
		fire(false);
	}
	disable_and_read(_metadata, gated);

	EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), 10 * 30);
	EXPECT_EQ(self->trace.truncated, 0);
	expect_exact(_metadata, gated);
}

/* The number of branches differs from that of other windows nearby. */
static void next_window(struct gated *gated)
{
	unsigned int taken = 1 + gated->nr % 50;

	fire(true);
	branches(1 + taken);
	fire(false);
	gated->log[gated->nr++ % MAX_WINDOWS].loops += taken;
}

TEST_F(bts, interrupts_while_paused)
{
	struct gated *gated = &self->gated;
	size_t sum = 0;
	int i;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.watermark = 16384;
	hand_over_while_paused(_metadata, gated, next_window);
	for (i = 0; i < MAX_WINDOWS; i++)
		sum += gated->log[i].loops;
	EXPECT_EQ(bts_branches(&self->trace, WINDOW_PLACES), sum);
	EXPECT_EQ(self->trace.truncated, 0);
}

TEST_F(bts, full_while_paused)
{
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	full_while_paused(_metadata, &self->gated);
}

/* --- Interrupts that come in NMIs, on all types of CPU --- */

FIXTURE(bts_ack)
{
	struct gated gated;
	struct bts_trace trace;
	struct rate_limit limit;
};

FIXTURE_VARIANT(bts_ack)
{
	const char *when;
};

FIXTURE_VARIANT_ADD(bts_ack, early)
{
	.when = "early",
};

FIXTURE_VARIANT_ADD(bts_ack, mid)
{
	.when = "mid",
};

FIXTURE_VARIANT_ADD(bts_ack, late)
{
	.when = "late",
};

FIXTURE_SETUP(bts_ack)
{
	struct gated *gated = &self->gated;

	if (!has_model())
		SKIP(return, "only the model can be any type of CPU");

	memset(self, 0, sizeof(*self));
	if (!bts_setup_nmis(_metadata, gated, &self->trace, &self->limit))
		return;
	ASSERT_EQ(model_ack(variant->when), 0);
	gated->spec.exclude_kernel = false;
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.aux_pages = 64;
	gated->spec.watermark = 4096;
}

FIXTURE_TEARDOWN(bts_ack)
{
	bts_close(_metadata, &self->gated);
	set_rate_limit(&self->limit);
	EXPECT_EQ(model_reset(), 0);
}

/*
 * With the kernel in the trace, BTS raises interrupts in NMIs, too: in those of gates,
 * and in its own once it is on again. Each interrupt comes after that NMI, and has work
 * to do: an unclaimed interrupt is a protocol violation.
 */
static void interrupts_in_nmis(struct __test_metadata *_metadata, struct gated *gated)
{
	struct bts_trace *trace = gated->trace;
	__u64 end = clock_ns() + 20000000000ULL;

	while (trace->records < 30) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%lu AUX records", trace->records);
		fire(true);
		branches(20);
		fire(false);
		read_trace(_metadata, gated);
		if (trace->truncated) {
			trace->truncated = 0;
			ASSERT_EQ(aux_group_enable(&gated->group), 0);
		}
	}
}

TEST_F(bts_ack, gates_by_nmi)
{
	open_and_enable(_metadata, &self->gated);
	interrupts_in_nmis(_metadata, &self->gated);
	disable_and_read(_metadata, &self->gated);
	expect_exact(_metadata, &self->gated);
}

#define CYCLES	5000003

/* The gates overflow in the interrupt handler. */
TEST_F(bts_ack, gates_by_counter)
{
	struct gated *gated = &self->gated;
	struct perf_event_attr attr;
	int fd[2], i;

	attr_cycles(&attr, CYCLES);
	if (perf_try_open(&attr, -1))
		SKIP(return, "no hardware counters");

	ASSERT_EQ(gated_open(gated), 0)
		TH_LOG("%s", strerror(errno));
	for (i = 0; i < 2; i++) {
		fd[i] = gated_open_cycles(gated, CYCLES + 1300018 * i, !i);
		ASSERT_GE(fd[i], 0)
			TH_LOG("%s", strerror(errno));
	}
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	interrupts_in_nmis(_metadata, gated);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(perf_disable(fd[i]), 0);
	disable_and_read(_metadata, gated);
	close(fd[1]);
	close(fd[0]);
}

/*
 * The handler first switches BTS off, also when it interrupts the driver: none of its
 * branches is in the trace.
 */
TEST_F(bts_ack, handler_is_not_traced)
{
	__u64 inside = kernel_symbol("intel_bts_interrupt");
	struct gated *gated = &self->gated;
	size_t traced = 0, i;
	long hits = 0;

	if (!inside || lacks_nmi_at_msr())
		SKIP(return, "no address of intel_bts_interrupt(), or no %s",
		     lacks_nmi_at_msr());

	open_and_enable(_metadata, gated);
	for (i = 0; hits < 20 && i < 100; i++) {
		aux_group_enable(&gated->group);
		fire(true);
		ASSERT_EQ(nmi_at_msr(&points[i & 1], TAG_NONE), 0);
		do_restart(gated);
		hits += nmi_at_msr_off();
		fire(false);
		read_trace(_metadata, gated);
	}
	disable_and_read(_metadata, gated);

	EXPECT_GE(hits, 20);
	EXPECT_GT(self->trace.nr, 0);
	for (i = 0; i < self->trace.nr; i++)
		traced += self->trace.rec[i].to == inside;
	EXPECT_EQ(traced, 0);
}

struct handler_gate {
	const struct msr_point *point;
	bool resumes;
};

static int open_handler_gates(const struct gated *gated, const struct handler_gate *gates,
			      int nr, int *fds)
{
	int i;

	for (i = 0; i < nr; i++) {
		fds[i] = open_msr_gate(&gated->spec, &gated->group, gates[i].point,
				       gates[i].resumes);
		if (fds[i] < 0 || perf_enable(fds[i]))
			return -1;
	}

	return 0;
}

/*
 * Gates in the handler, the last of which resumes. BTS is off until the handler's end: it
 * calls intel_bts_interrupt() after the accesses that are the gates' places.
 */
static void resume_in_the_handler(struct __test_metadata *_metadata, bool running,
				  const struct handler_gate *gates, int nr)
{
	__u64 inside = kernel_symbol("intel_bts_interrupt");
	struct bts_trace trace = {};
	struct rate_limit limit;
	struct gated gated;
	size_t traced = 0, i;
	int fds[2];

	if (!inside || lacks_nmi() || lacks_msr())
		SKIP(return, "no address of intel_bts_interrupt(), or no %s",
		     lacks_nmi() ?: lacks_msr());
	gated_init_bts(&gated, &trace);
	if (!setup_kind(_metadata, &gated, "tracepoint"))
		return;
	ASSERT_EQ(rate_unlimit(&limit), 0);
	gated.spec.exclude_kernel = false;
	gated.spec.pid = -1;
	gated.spec.cpu = gated.cpu;
	open_for_points(_metadata, &gated);
	ASSERT_EQ(open_handler_gates(&gated, gates, nr, fds), 0)
		TH_LOG("%s", strerror(errno));
	for (i = 0; i < 50 && perf_count(fds[nr - 1]) < 20; i++) {
		/* Other tasks may have filled the area. */
		enable_group(_metadata, &gated);
		syscall(running ? __NR_getppid : __NR_getpgid, 0);
		EXPECT_EQ(nmi_fire(1, TAG_NONE), 0);
		syscall(__NR_getpgid, 0);
		read_trace(_metadata, &gated);
	}
	EXPECT_GE(perf_count(fds[nr - 1]), 20);
	disable_and_read(_metadata, &gated);
	while (nr--)
		close(fds[nr]);

	EXPECT_GT(trace.nr, 0);
	for (i = 0; i < trace.nr; i++)
		traced += trace.rec[i].to == inside;
	EXPECT_EQ(traced, 0);
	bts_close(_metadata, &gated);
	set_rate_limit(&limit);
}

TEST(resumed_in_the_handler)
{
	static const struct handler_gate gates[] = {
		{ &points[2], true },
	};

	resume_in_the_handler(_metadata, false, gates, ARRAY_SIZE(gates));
}

/* The handler's own accesses, by which it switches BTS off, pause and resume. */
TEST(resumed_as_the_handler_begins)
{
	static const struct handler_gate gates[] = {
		{ &points[0], false },
		{ &points[1], true },
	};

	resume_in_the_handler(_metadata, true, gates, ARRAY_SIZE(gates));
}

/* --- DEBUGCTL is not BTS's alone --- */

/*
 * A VM exit clears DEBUGCTL, and KVM restores the value that it had read before. If an
 * NMI hits in between, its gate decides.
 */
TEST_F(bts, debugctl_behind_vm_exit)
{
	struct gated *gated = &self->gated;
	const char *missing = lacks_msr() ?: lacks_nmi_at_msr();
	bool resumes, running;
	int i;

	if (missing)
		SKIP(return, "no %s", missing);
	if (!has_model())
		SKIP(return, "VM exits without KVM need the model");

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	open_and_enable(_metadata, gated);
	for (i = 0; i < 8; i++) {
		resumes = i & 1;
		running = i & 2;
		fire(running);
		if (i & 4)
			ASSERT_EQ(nmi_at_msr(&points[0], resumes ? TAG_RESUME : TAG_PAUSE), 0);
		ASSERT_EQ(model_vmexit(), 0);
		if (i & 4)
			ASSERT_EQ(nmi_at_msr_off(), 1);
		expect_level(_metadata, gated, i & 4 ? resumes : running);
	}
}

/*
 * Block stepping changes another bit of DEBUGCTL with each switch to and from the
 * stepped task. Gates hit between that read and write.
 */
static pid_t start_stepped_child(int cpu)
{
	int status;
	pid_t child = fork();

	if (!child) {
		pin_to_cpu(cpu);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			branches(10);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;

	return child;
}

static int step_child(pid_t child, int steps)
{
	int status;

	for (; steps; steps--) {
		if (ptrace(PTRACE_SINGLEBLOCK, child, NULL, NULL) ||
		    waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			return -1;
	}

	return 0;
}

/*
 * A gate after an access to DEBUGCTL with the child as current task, which is in the
 * context switch to it. The tracer that sets up stepping only reads the register, and
 * the gate would hit too early there.
 */
static int open_child_gate(const struct gated *gated, pid_t child, bool write,
			   bool resumes)
{
	struct perf_event_attr attr;
	char filter[64];
	int gate;

	if (attr_msr(&attr, write))
		return -1;
	attr.disabled = 1;
	gate = aux_group_add_gate(&gated->group, &gated->spec, &attr, resumes);
	snprintf(filter, sizeof(filter), "msr == %u && common_pid == %d",
		 MSR_DEBUGCTL, child);
	if (gate < 0 || perf_set_filter(gate, filter) ||
	    perf_enable(gate))
		return -1;

	return gate;
}

static void block_step(struct __test_metadata *_metadata, struct gated *gated,
		       pid_t child, bool write, bool resumes)
{
	const char *wrong;
	int gate, steps;
	long hits = 0;

	for (steps = 0; steps < 10; steps++) {
		fire(!resumes);
		gate = open_child_gate(gated, child, write, resumes);
		ASSERT_GE(gate, 0)
			TH_LOG("%s", strerror(errno));
		if (step_child(child, 1)) {
			kill(child, SIGKILL);
			SKIP(return, "no PTRACE_SINGLEBLOCK");
		}
		ASSERT_EQ(perf_disable(gate), 0);
		hits += !!perf_count(gate);
		gated->others += perf_count(gate);
		wrong = gated_check_level(gated, perf_count(gate) ? resumes : !resumes);
		ASSERT_EQ(NULL, wrong)
			TH_LOG("%s, step %d: %s", write ? "write" : "read", steps, wrong);
		close(gate);
	}
	EXPECT_GE(hits, 5);
}

TEST_F(bts, debugctl_shared_with_block_step)
{
	struct gated *gated = &self->gated;
	int status, i;
	pid_t child;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	/* A CPU event: on during context switches */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	open_and_enable(_metadata, gated);
	child = start_stepped_child(gated->cpu);
	ASSERT_GT(child, 0);
	for (i = 0; i < 4; i++)
		block_step(_metadata, gated, child, i / 2, i & 1);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

TEST_HARNESS_MAIN
