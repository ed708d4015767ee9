// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT gated by events of every kind, in every mode of the AUX area, also in
 * the middle of what the driver does to the hardware.
 *
 * Expected: the trace holds what was executed between a resume and the pause that
 * follows it, down to the last branch, and nothing else. The hardware is at the
 * level that the last gate asked for, wherever that gate hit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "intel_common.h"

#define ROUNDS		20
#define MAX_WINDOWS	4096
#define PAIRS		500

PROGRAM_NEEDS(lacks_pmu("intel_pt"))

/* Touched by every test before it begins: page faults may be gates. */
static struct window_log window_log[MAX_WINDOWS];

/* --- Errors --- */

FIXTURE(pt_errors)
{
	struct perf_event_attr pt, gate;
	int leader;
};

FIXTURE_SETUP(pt_errors)
{
	model_watch();
	attr_init(&self->pt, pmu_type("intel_pt"));
	self->leader = perf_open(&self->pt, 0, -1, -1);
	ASSERT_GE(self->leader, 0)
		TH_LOG("%s", strerror(errno));

	attr_init(&self->gate, PERF_TYPE_SOFTWARE);
	self->gate.config = PERF_COUNT_SW_PAGE_FAULTS;
	self->gate.sample_period = 1;
}

FIXTURE_TEARDOWN(pt_errors)
{
	close(self->leader);
	EXPECT_EQ(model_breaches(), 0);
}

TEST_F(pt_errors, gates)
{
	self->gate.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), 0);
	EXPECT_EQ(perf_try_open(&self->gate, -1), EINVAL);

	self->gate.aux_resume = 1;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), EINVAL);

	self->gate.aux_pause = 0;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), 0);
	EXPECT_EQ(perf_try_open(&self->gate, -1), EINVAL);

	self->gate.aux_output = 1;
	EXPECT_EQ(perf_try_open(&self->gate, self->leader), EOPNOTSUPP);
}

TEST_F(pt_errors, hardware_counter_as_gate)
{
	struct perf_event_attr cycles;

	attr_cycles(&cycles, 1000000);
	if (perf_try_open(&cycles, -1))
		SKIP(return, "no hardware counter");

	cycles.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&cycles, self->leader), 0);
	EXPECT_EQ(perf_try_open(&cycles, -1), EINVAL);
}

/*
 * BTS is what counts branches with a period of one, and collects them: too late for a
 * gate. So a gate is a counter like others. As BTS it would not go with Intel PT.
 */
TEST_F(pt_errors, branches_as_gate)
{
	struct perf_event_attr branches;

	attr_cycles(&branches, 2);
	branches.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	branches.exclude_kernel = 1;
	branches.disabled = 1;
	if (perf_try_open(&branches, -1))
		SKIP(return, "no hardware counter");

	branches.sample_period = 1;
	branches.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&branches, self->leader), 0);
	branches.aux_pause = 0;
	branches.aux_sample_size = 256;
	branches.sample_type |= PERF_SAMPLE_AUX;
	EXPECT_EQ(perf_try_open(&branches, self->leader), 0);
}

TEST_F(pt_errors, start_paused)
{
	/* One event of a PMU that is exclusive per task */
	close(self->leader);
	self->pt.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&self->pt, -1), 0);

	self->gate.aux_start_paused = 1;
	EXPECT_EQ(perf_try_open(&self->gate, -1), EOPNOTSUPP);
}

TEST_F(pt_errors, own_gate)
{
	close(self->leader);
	self->pt.sample_period = 1;
	self->pt.aux_pause = 1;
	EXPECT_EQ(perf_try_open(&self->pt, -1), EINVAL);
}

/* --- Gates of every kind --- */

FIXTURE(gate)
{
	struct gated gated;
	struct pt_trace trace;
};

#include "intel_gate_variants.h"

/* A task's event on one CPU; tests change the specification before it opens. */
static void pt_init(struct gated *gated)
{
	model_watch();
	/* A test that was killed may have left it masked. */
	if (has_model())
		model_mask(false);
	memset(window_log, 0, sizeof(window_log));
	gated_init(gated, "intel_pt", window_log);
	gated->spec.config = PT_CONFIG_TSC;
	gated->spec.aux_pages = 256;
}

static void pt_open(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(gated_open(gated), 0)
		TH_LOG("%s", strerror(errno));
}

static void pt_close(struct __test_metadata *_metadata, struct gated *gated,
		     struct pt_trace *trace)
{
	pt_trace_free(trace);
	gated_close(gated);
	EXPECT_EQ(model_breaches(), 0);
}

static void pt_enable(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
}

/* Disable, and read what there is. */
static void pt_read(struct __test_metadata *_metadata, struct gated *gated,
		    struct pt_trace *trace)
{
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
	ASSERT_EQ(pt_trace_read(trace, &gated->records, &gated->pos,
				&gated->group), 0)
		TH_LOG("%s", trace->error);
}

static void pt_finish(struct __test_metadata *_metadata, struct gated *gated,
		      struct pt_trace *trace)
{
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	pt_read(_metadata, gated, trace);
	EXPECT_TRUE(pt_trace_complete(trace));
	EXPECT_EQ(trace->ovf, 0);
}

static void expect_exact(struct __test_metadata *_metadata,
			 const struct gated *gated)
{
	const char *inexact = gated_inexact(gated);

	EXPECT_EQ(NULL, inexact)
		TH_LOG("%s", inexact);
}

/* Windows that a swallowed gate didn't open are empty. */
static int opened(const struct gated *gated)
{
	size_t i;
	int n = 0;

	for (i = 0; i < gated->nr; i++)
		n += !!gated->log[i].loops;

	return n;
}

FIXTURE_SETUP(gate)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	pt_init(gated);
	gated->spec.exclude_kernel = true;
	if (gated_open_kind(gated, variant->kind)) {
		if (errno == ENOENT || errno == ENODEV)
			SKIP_SETUP("no %s", gated->kind->needs);
		ASSERT_EQ(errno, 0)
			TH_LOG("%s", strerror(errno));
	}
}

FIXTURE_TEARDOWN(gate)
{
	pt_close(_metadata, &self->gated, &self->trace);
}

/* Every branch of every window, and not one that is outside. */
TEST_F(gate, windows)
{
	struct gated *gated = &self->gated;
	int i, found;

	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 50 + 37 * i), 0);
	pt_finish(_metadata, gated, &self->trace);

	found = pt_trace_match(&self->trace, gated->log, gated->nr, true);
	EXPECT_EQ(found, opened(gated))
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(found, ROUNDS / 2);
	expect_exact(_metadata, gated);
}

/* Started paused and never resumed: not one byte. */
TEST_F(gate, start_paused)
{
	struct gated *gated = &self->gated;
	int i;

	ASSERT_EQ(ioctl(gated->group.resume, PERF_EVENT_IOC_DISABLE, 0), 0);
	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(gated_window(gated, 100), 0);
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(gated->group.page->aux_head, 0);
	EXPECT_EQ(opened(gated), 0);
	expect_exact(_metadata, gated);
}

/* --- Events of tasks and CPUs, levels --- */

FIXTURE(pt_level)
{
	struct gated gated;
	struct pt_trace trace;
};

FIXTURE_SETUP(pt_level)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	pt_init(gated);
	gated->spec.exclude_kernel = true;
	gated->kind = gate_kind("tracepoint");
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP_SETUP("no %s", gated->kind->needs);
}

FIXTURE_TEARDOWN(pt_level)
{
	pt_close(_metadata, &self->gated, &self->trace);
}

static void resume(void)
{
	syscall(__NR_getppid);
}

static void pause_trace(void)
{
	syscall(__NR_getpgid, 0);
}

/* Branches that nothing but their number tells from others */
static void branches(unsigned long n)
{
	const struct window_code *code = window_code(WINDOW_PLACES, 0);
	struct window win = { .loops = n };

	code->run(&win);
}

TEST_F(pt_level, kept_over_scheduling)
{
	struct gated *gated = &self->gated;
	__u64 before;
	int i;

	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);

	/* Paused from the start, and still after a sleep */
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(100);
	}
	pt_finish(_metadata, gated, &self->trace);
	EXPECT_EQ(gated->group.page->aux_head, 0);

	pt_enable(_metadata, gated);
	resume();
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(1000);
	}
	pause_trace();
	pt_finish(_metadata, gated, &self->trace);
	EXPECT_GE(self->trace.tnt, 5000);

	before = self->trace.nr_bytes;
	pt_enable(_metadata, gated);
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(100);
	}
	pt_finish(_metadata, gated, &self->trace);
	EXPECT_EQ(self->trace.nr_bytes, before);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, kept_over_disable)
{
	struct gated *gated = &self->gated;

	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	resume();
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	branches(5000);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	branches(1000);
	pause_trace();
	branches(5000);
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_GE(self->trace.tnt, 1000);
	EXPECT_LT(self->trace.tnt, 5000);
	expect_exact(_metadata, gated);
}

/* Paused is a level: what is opened twice ends at the first pause. */
TEST_F(pt_level, nested_windows)
{
	struct gated *gated = &self->gated;
	__u64 from;
	int i;

	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		from = __rdtsc();
		resume();
		ASSERT_EQ(gated_window(gated, 100), 0);
		gated->log[i].from = from;
		pause_trace();
	}
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false),
		  ROUNDS)
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(self->trace.tnt, ROUNDS * 100);
	expect_exact(_metadata, gated);
}

/* Without start-paused, tracing is on until the first pause. */
TEST_F(pt_level, starts_running)
{
	struct gated *gated = &self->gated;

	gated->spec.start_paused = false;
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	branches(1000);
	pause_trace();
	branches(5000);
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_GE(self->trace.tnt, 1000);
	EXPECT_LT(self->trace.tnt, 5000);
	EXPECT_GE(self->trace.psb, 1);
}

TEST_F(pt_level, moves_to_another_cpu)
{
	struct gated *gated = &self->gated;
	int other = nth_cpu(1), i;

	if (other < 0)
		SKIP(return, "one CPU only");

	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	resume();
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(pin_to_cpu(i & 1 ? gated->cpu : other), 0);
		branches(1000);
	}
	pause_trace();
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(pin_to_cpu(i & 1 ? gated->cpu : other), 0);
		branches(10000);
	}
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_GE(self->trace.tnt, 10000);
	EXPECT_LT(self->trace.tnt, 20000);
	expect_exact(_metadata, gated);
}

/* The trace is on in the window, whatever is in it besides the branches. */
static void rough_windows(struct __test_metadata *_metadata, struct gated *gated,
			  struct pt_trace *trace, unsigned long loops)
{
	int i;

	gated->spec.exclude_kernel = false;
	gated->spec.aux_pages = 1024;
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(gated_window(gated, loops), 0)
			TH_LOG("window %d: %s", i, strerror(errno));
		/* How much the kernel's part is depends on the kernel. */
		pt_read(_metadata, gated, trace);
		sleep_a_little();
	}
	pt_finish(_metadata, gated, trace);

	EXPECT_EQ(pt_trace_match(trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", trace->error);
	EXPECT_GE(trace->tnt, ROUNDS * loops);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, kernel_windows)
{
	rough_windows(_metadata, &self->gated, &self->trace, 50);
}

/* On the CPU, again and again */
static pid_t start_neighbour(int cpu)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin_to_cpu(cpu);
		for (;;)
			usleep(200);
	}

	return child;
}

static void stop_neighbour(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* What the kernel does to switch to another task and back costs no branch. */
TEST_F_TIMEOUT(pt_level, kernel_windows_and_switches, 120)
{
	pid_t neighbour = start_neighbour(self->gated.cpu);

	ASSERT_GT(neighbour, 0);
	rough_windows(_metadata, &self->gated, &self->trace, 500);
	stop_neighbour(neighbour);
}

/* Nor do interrupts, wherever they hit. */
TEST_F_TIMEOUT(pt_level, kernel_windows_and_nmis, 120)
{
	struct perf_event_attr cycles;
	struct rate_limit limit;
	int counter;

	attr_init(&cycles, PERF_TYPE_HARDWARE);
	cycles.config = PERF_COUNT_HW_CPU_CYCLES;
	cycles.sample_period = 200003;
	cycles.disabled = 0;
	counter = perf_open(&cycles, 0, -1, -1);
	if (counter < 0)
		SKIP(return, "no hardware counter");

	ASSERT_EQ(rate_unlimit(&limit), 0);
	rough_windows(_metadata, &self->gated, &self->trace, 500);
	rate_restore(&limit);
	close(counter);
}

/* Per CPU: what others run in the window is in the trace as well. */
TEST_F(pt_level, cpu_event)
{
	self->gated.spec.pid = -1;
	self->gated.spec.cpu = self->gated.cpu;
	rough_windows(_metadata, &self->gated, &self->trace, 50);
}

static void inherited(struct __test_metadata *_metadata, struct gated *gated,
		      bool start_paused)
{
	gated->spec.inherit = true;
	gated->spec.cpu = gated->cpu;
	gated->spec.start_paused = start_paused;
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
}

static void run_child(struct __test_metadata *_metadata, bool gates)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (gates)
			resume();
		branches(20000);
		if (gates)
			pause_trace();
		_exit(0);
	}
	ASSERT_GT(child, 0);
	ASSERT_EQ(waitpid(child, &status, 0), child);
}

/* The parent is resumed when it forks; the child isn't. */
TEST_F(pt_level, child_starts_paused)
{
	struct gated *gated = &self->gated;

	inherited(_metadata, gated, true);
	resume();
	run_child(_metadata, false);
	pause_trace();
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_GT(self->trace.tnt, 0);
	EXPECT_LT(self->trace.tnt, 20000);
}

TEST_F(pt_level, child_starts_running)
{
	struct gated *gated = &self->gated;

	inherited(_metadata, gated, false);
	pause_trace();
	run_child(_metadata, false);
	branches(20000);
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_GE(self->trace.tnt, 20000);
	EXPECT_LT(self->trace.tnt, 40000);
}

TEST_F(pt_level, child_has_its_own_gates)
{
	struct gated *gated = &self->gated;

	inherited(_metadata, gated, true);
	run_child(_metadata, true);
	branches(20000);
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_GE(self->trace.tnt, 20000);
	EXPECT_LT(self->trace.tnt, 40000);
}

/* --- Address filters --- */

/*
 * A copy of the windows' code in a file of its own: perf finds a mapping by the
 * file's inode, which differs from the program's on an overlay file system. The
 * file has a name until the filter is set: the kernel looks it up with ctx->mutex
 * held, and to look up a memfd's in /proc takes exec_update_lock, which
 * perf_event_open() takes first.
 */
static void *copy_code(const struct window_code *code, char *path, size_t *len)
{
	void *copy = MAP_FAILED;
	int fd = mkstemp(path);

	*len = code->end - (const char *)code->run;
	if (fd < 0)
		return copy;

	if (write(fd, code->run, *len) == (ssize_t)*len)
		copy = mmap(NULL, *len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);

	return copy;
}

/* Returns what perf_set_filter() does. */
static int filter_file(const struct gated *gated, const char *action,
		       const char *path, size_t len)
{
	char filter[128];
	int ret;

	snprintf(filter, sizeof(filter), "%s 0x0/%#zx@%s", action, len, path);
	ret = perf_set_filter(gated->group.aux, filter);
	unlink(path);

	return ret;
}

/* Every other window runs the copy, which is what the filter takes. */
TEST_F(pt_level, address_filter)
{
	struct gated *gated = &self->gated;
	char path[] = "/dev/shm/window.XXXXXX";
	void (*run)(const struct window *win);
	unsigned int i;
	size_t len;
	int err;

	pt_open(_metadata, gated);
	run = copy_code(window_code(WINDOW_CALLS, 0), path, &len);
	err = filter_file(gated, "filter", path, len);
	ASSERT_NE(MAP_FAILED, run)
		TH_LOG("%s: %s", path, strerror(errno));
	if (err)
		SKIP(return, "no address filters");

	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		struct window_log *log = &gated->log[gated->nr];

		ASSERT_EQ(gated_window(gated, 100), 0);
		log->loops = 0;
		log[1].from = __rdtsc();
		gated->win.loops = 50 + 37 * i;
		log[1].loops = gated->win.loops;
		run(&gated->win);
		log[1].to = __rdtsc();
		gated->nr++;
	}
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, true),
		  ROUNDS)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
}

/* --- Full trace in a small area --- */

/*
 * A filter that stops the trace does so until it is resumed: each window has what ran
 * ahead of that code.
 */
static void stopped_windows(struct __test_metadata *_metadata, struct gated *gated)
{
	char path[] = "/dev/shm/window.XXXXXX";
	void (*run)(const struct window *win);
	struct window win = { .loops = 100 };
	size_t len;
	int i;

	pt_open(_metadata, gated);
	run = copy_code(window_code(WINDOW_PLACES, 0), path, &len);
	i = filter_file(gated, "stop", path, len);
	ASSERT_NE(MAP_FAILED, run)
		TH_LOG("%s: %s", path, strerror(errno));
	if (i)
		SKIP(return, "no address filters");

	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		struct window_log *log = &gated->log[gated->nr++];

		log->loops = LOOPS_UNKNOWN;
		log->from = __rdtsc();
		resume();
		branches(50);
		run(&win);
		log->to = __rdtsc();
		branches(1000);
		pause_trace();
	}
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
}

TEST_F(pt_level, resumed_behind_a_stop_filter)
{
	struct gated *gated = &self->gated;

	stopped_windows(_metadata, gated);
	pt_read(_metadata, gated, &self->trace);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(self->trace.tnt, ROUNDS * 50);
	EXPECT_LT(self->trace.tnt, ROUNDS * 100);
	EXPECT_EQ(self->trace.truncated, 0);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, resumed_behind_a_stop_filter_in_overwrite_mode)
{
	struct gated *gated = &self->gated;

	gated->spec.overwrite = true;
	stopped_windows(_metadata, gated);
	ASSERT_EQ(pt_trace_read_overwrite(&self->trace, &gated->group), 0)
		TH_LOG("%s", self->trace.error);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(self->trace.tnt, ROUNDS * 50);
	EXPECT_LT(self->trace.tnt, ROUNDS * 100);
}

static bool trace_has(const struct gated *gated, unsigned int msr, __u64 bit)
{
	__u64 value = 0;

	return !msr_read(gated->cpu, msr, &value) && value & bit;
}

/* Data for the trace, until a bit of a register is set; false if that takes too long */
static bool trace_until(const struct gated *gated, unsigned int msr, __u64 bit)
{
	__u64 end = clock_ns() + 5000000000ULL;
	int i;

	do {
		for (i = 0; i < 100; i++)
			syscall(__NR_getuid);
	} while (clock_ns() < end && !trace_has(gated, msr, bit));

	return trace_has(gated, msr, bit);
}

/*
 * The trace runs into the end of the area, and the interrupt that tells so doesn't
 * come: a resume does what the interrupt would have done.
 */
TEST_F(pt_level, resumed_without_the_interrupt)
{
	struct gated *gated = &self->gated;
	int round;

	if (!has_model())
		SKIP(return, "the model masks the interrupt");
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.aux_pages = 4;
	pt_open(_metadata, gated);
	for (round = 1; round <= 3; round++) {
		pt_enable(_metadata, gated);
		ASSERT_EQ(model_mask(true), 0);
		resume();
		EXPECT_TRUE(trace_until(gated, MSR_RTIT_STATUS, RTIT_STATUS_STOPPED));
		pause_trace();
		resume();
		pt_read(_metadata, gated, &self->trace);
		EXPECT_GE(self->trace.truncated, (unsigned int)round);
		ASSERT_EQ(model_mask(false), 0);
	}

	/* Full, it was disabled; there is room now. */
	self->trace.tnt = 0;
	pt_enable(_metadata, gated);
	branches(1000);
	pause_trace();
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	pt_read(_metadata, gated, &self->trace);
	EXPECT_GE(self->trace.tnt, 1000);
}

/*
 * What an event leaves behind: its interrupt, which was held back. It comes while
 * another event traces in overwrite mode, and costs that nothing of what it has.
 */
TEST_F(pt_level, interrupt_of_another_event)
{
	struct gated *gated = &self->gated;
	int i;

	if (!has_model())
		SKIP(return, "the model masks the interrupt");
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.start_paused = false;
	gated->spec.aux_pages = 8;
	gated->spec.watermark = 4096;
	pt_open(_metadata, gated);
	ASSERT_EQ(model_mask(true), 0);
	pt_enable(_metadata, gated);
	EXPECT_TRUE(trace_until(gated, MSR_GLOBAL_STATUS, GLOBAL_STATUS_TOPA));
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	gated_close(gated);

	gated->spec.overwrite = true;
	gated->spec.start_paused = true;
	aux_group_init(&gated->group);
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	for (i = 0; i < 6; i++) {
		if (i == 3)
			ASSERT_EQ(model_mask(false), 0);
		ASSERT_EQ(gated_window(gated, 50 + 37 * i), 0);
	}
	EXPECT_FALSE(trace_has(gated, MSR_GLOBAL_STATUS, GLOBAL_STATUS_TOPA));
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(pt_trace_read_overwrite(&self->trace, &gated->group), 0)
		TH_LOG("%s", self->trace.error);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, true), 6)
		TH_LOG("%s", self->trace.error);
}

/* The registers are lost, and the level is not. */
static void suspended_windows(struct __test_metadata *_metadata, struct gated *gated,
			      struct pt_trace *trace, bool whole_cpu)
{
	int i;

	if (!has_model())
		SKIP(return, "the model suspends");

	if (whole_cpu) {
		gated->spec.pid = -1;
		gated->spec.cpu = gated->cpu;
	}
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(gated_window(gated, 100), 0);
		/* Paused, or in the middle of a window */
		if (i & 1)
			resume();
		ASSERT_EQ(model_suspend(), 0);
		if (i & 1) {
			gated->log[gated->nr - 1].to = __rdtsc();
			branches(50);
			gated->log[gated->nr].from = __rdtsc();
			pause_trace();
			gated->log[gated->nr - 1].to = __rdtsc();
		}
	}
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	pt_read(_metadata, gated, trace);

	EXPECT_EQ(pt_trace_match(trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", trace->error);
	EXPECT_GE(trace->tnt, ROUNDS * 100 + ROUNDS / 2 * 50);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, suspend_of_a_cpu_event)
{
	suspended_windows(_metadata, &self->gated, &self->trace, true);
}

TEST_F(pt_level, suspend_of_a_task_event)
{
	suspended_windows(_metadata, &self->gated, &self->trace, false);
}

FIXTURE(pt_mode)
{
	struct gated gated;
	struct pt_trace trace;
	struct rate_limit limit;
};

FIXTURE_SETUP(pt_mode)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	pt_init(gated);
	gated->kind = gate_kind("nmi");
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP_SETUP("no %s", gated->kind->needs);
	gated->spec.exclude_kernel = true;
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
}

FIXTURE_TEARDOWN(pt_mode)
{
	pt_close(_metadata, &self->gated, &self->trace);
	rate_restore(&self->limit);
}

/* Data for the trace: each call leaves the traced code, and comes back. */
static void work(unsigned int n)
{
	while (n--)
		syscall(__NR_getppid);
}

static void logged_window(struct gated *gated, unsigned int calls)
{
	struct window_log *log = &gated->log[gated->nr++];

	log->loops = LOOPS_UNKNOWN;
	log->from = __rdtsc();
	fire_tag(TAG_RESUME);
	work(calls);
	fire_tag(TAG_PAUSE);
	log->to = __rdtsc();
}

/* Interrupts hand over one half of the area while the other is filled. */
TEST_F(pt_mode, topa_interrupts)
{
	struct gated *gated = &self->gated;
	__u64 end = clock_ns() + 15000000000ULL;

	gated->spec.aux_pages = 8;
	gated->spec.watermark = 4096;
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	while (self->trace.records < 20 && gated->nr < MAX_WINDOWS) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%lu AUX records", self->trace.records);
		logged_window(gated, 10);
		pt_read(_metadata, gated, &self->trace);
	}
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(self->trace.truncated, 0);
	EXPECT_GE(self->trace.records, 20);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false),
		  (int)gated->nr)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
}

static void fill(struct gated *gated)
{
	work(20);
}

/*
 * With nobody to read it, the area fills up: the event is disabled, and so are its
 * gates. Enabled again, it is at the level that it had.
 */
TEST_F(pt_mode, truncated)
{
	struct gated *gated = &self->gated;
	__u64 head;
	int round;

	gated->spec.aux_pages = 2;
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	for (round = 0; round < 3; round++) {
		fire_tag(TAG_RESUME);
		ASSERT_EQ(gated_wait_truncated(gated, fill), 0)
			TH_LOG("not full within 15 seconds");
		pt_read(_metadata, gated, &self->trace);

		head = gated->group.page->aux_head;
		pt_enable(_metadata, gated);
		work(2);
		fire_tag(TAG_PAUSE);
		ASSERT_EQ(aux_group_disable(&gated->group), 0);
		EXPECT_GT(gated->group.page->aux_head, head);

		head = gated->group.page->aux_head;
		pt_enable(_metadata, gated);
		work(20);
		ASSERT_EQ(aux_group_disable(&gated->group), 0);
		EXPECT_EQ(gated->group.page->aux_head, head);
		pt_read(_metadata, gated, &self->trace);
		pt_enable(_metadata, gated);
	}
	pt_finish(_metadata, gated, &self->trace);
	EXPECT_GE(self->trace.truncated, 3);
	expect_exact(_metadata, gated);
}

/* --- Overwrite mode, and AUX samples --- */

TEST_F(pt_mode, overwrite)
{
	struct gated *gated = &self->gated;
	int found;

	gated->spec.overwrite = true;
	gated->spec.aux_pages = 8;
	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	while (gated->nr < 200)
		logged_window(gated, 10);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(pt_trace_read_overwrite(&self->trace, &gated->group), 0)
		TH_LOG("%s", self->trace.error);

	EXPECT_TRUE(pt_trace_complete(&self->trace));
	found = pt_trace_match(&self->trace, gated->log, gated->nr, false);
	EXPECT_GE(found, 2)
		TH_LOG("%s", self->trace.error);
	/* The newest is the last. */
	EXPECT_GE(self->trace.seg[self->trace.nr - 1].tsc,
		  gated->log[gated->nr - 1].from);
	expect_exact(_metadata, gated);
}

/* A sample switches the trace off and on again, unless it is paused. */
TEST_F(pt_mode, samples_keep_the_level)
{
	struct gated *gated = &self->gated;
	const struct perf_record *rec;
	int sampler, i;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.overwrite = true;
	pt_open(_metadata, gated);
	sampler = aux_group_add_nmi_sampler(&gated->group, &gated->spec, 1024);
	ASSERT_GE(sampler, 0)
		TH_LOG("%s", strerror(errno));
	pt_enable(_metadata, gated);

	for (i = 0; i < ROUNDS; i++) {
		fire_tag(TAG_RESUME);
		work(20);
		fire_tag(TAG_SAMPLE);
		EXPECT_EQ(pt_is_on(gated->cpu), 1);
		fire_tag(TAG_PAUSE);
		EXPECT_EQ(pt_is_on(gated->cpu), 0);
		fire_tag(TAG_SAMPLE);
		EXPECT_EQ(pt_is_on(gated->cpu), 0);

		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
		rec = perf_records_newest(&gated->records, perf_id(sampler));
		ASSERT_NE(NULL, rec);
		EXPECT_EQ(rec->sampled, 1024);
	}
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(pt_trace_read_overwrite(&self->trace, &gated->group), 0)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
	close(sampler);
}

/* --- Gates by hardware counters --- */

/* Their samples tell who came last. Between them, the trace was on and off. */
TEST_F(pt_mode, counters)
{
	struct gated *gated = &self->gated;
	__u64 end = clock_ns() + 15000000000ULL;
	const struct perf_record *last, *pauses;
	int resumer, pauser;
	size_t samples;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.overwrite = true;
	gated->spec.resume.size = 0;
	gated->spec.pause.size = 0;
	pt_open(_metadata, gated);
	resumer = gated_open_cycles(gated, 1000003, true);
	if (resumer < 0 && errno == ENOENT)
		SKIP(return, "no hardware counters");
	pauser = gated_open_cycles(gated, 1300021, false);
	ASSERT_GE(resumer, 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_GE(pauser, 0)
		TH_LOG("%s", strerror(errno));

	pt_enable(_metadata, gated);
	do {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not 50 overflows within 15 seconds");
		work(1000);
		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
		samples = perf_records_count(&gated->records,
					     PERF_RECORD_SAMPLE, 0);
	} while (samples < 50);
	ASSERT_EQ(ioctl(resumer, PERF_EVENT_IOC_DISABLE, 0), 0);
	ASSERT_EQ(ioctl(pauser, PERF_EVENT_IOC_DISABLE, 0), 0);
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);

	last = perf_records_newest(&gated->records, perf_id(resumer));
	pauses = perf_records_newest(&gated->records, perf_id(pauser));
	ASSERT_NE(NULL, last);
	ASSERT_NE(NULL, pauses);
	EXPECT_EQ(pt_is_on(gated->cpu), last > pauses);

	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	ASSERT_EQ(pt_trace_read_overwrite(&self->trace, &gated->group), 0)
		TH_LOG("%s", self->trace.error);
	EXPECT_GT(self->trace.nr, 0);
	close(pauser);
	close(resumer);
}

/* --- Gates by precise events --- */

#define PRECISE_PERIOD	5000003

/* What the hardware may collect; it knows no times of the tests' clock. */
static void attr_precise(struct perf_event_attr *attr)
{
	attr_cycles(attr, PRECISE_PERIOD);
	attr->config = PERF_COUNT_HW_INSTRUCTIONS;
	attr->precise_ip = 1;
	attr->sample_type &= ~PERF_SAMPLE_TIME;
}

/* Look rarely: reading the event takes out what is collected. */
static __u64 wait_for_overflows(int fd)
{
	__u64 end = clock_ns() + 15000000000ULL, n;

	do {
		spin_ns(50000000);
		n = perf_count(fd) / PRECISE_PERIOD;
	} while (n < 50 && clock_ns() < end);

	return n;
}

/* Not one interrupt per overflow: it takes some hundreds to fill the buffer. */
TEST_F(pt_mode, precise_event_that_is_no_gate)
{
	struct perf_event_attr attr;
	long long interrupts;
	__u64 overflows;
	int fd;

	if (!has_model())
		SKIP(return, "the model counts");

	attr_precise(&attr);
	interrupts = model_stat("total.pmi_raised");
	fd = perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		SKIP(return, "no precise events: %s", strerror(errno));
	overflows = wait_for_overflows(fd);
	interrupts = model_stat("total.pmi_raised") - interrupts;
	close(fd);

	EXPECT_GE(overflows, 50);
	EXPECT_LE(10 * interrupts, (long long)overflows);
}

/* A gate is not to be collected: it acts when it overflows. */
TEST_F(pt_mode, precise_event)
{
	struct gated *gated = &self->gated;
	struct aux_actions act;
	struct perf_event_attr attr;
	__u64 overflows;
	int gate;

	if (lacks_account())
		SKIP(return, "no %s", lacks_account());
	attr_precise(&attr);
	if (perf_try_open(&attr, -1))
		SKIP(return, "no precise events: %s", strerror(errno));

	gated->spec.overwrite = true;
	gated->spec.resume.size = 0;
	gated->spec.pause.size = 0;
	pt_open(_metadata, gated);
	gate = aux_group_add_gate(&gated->group, &gated->spec, &attr, true);
	ASSERT_GE(gate, 0)
		TH_LOG("%s", strerror(errno));
	pt_enable(_metadata, gated);
	overflows = wait_for_overflows(gate);
	ASSERT_EQ(aux_actions_read(&gated->group, &act), 0);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	close(gate);

	/* Two overflows before the interrupt are one: the machine may be slow. */
	EXPECT_GE(overflows, 50);
	EXPECT_GE(10 * act.requested, 9 * overflows);
	EXPECT_GT(gated->group.page->aux_head, 0);
}

/* --- Interrupts at the wrong moment --- */

/* The trace is switched off, by a write of CTL, and an interrupt of it is handled. */
#define SWITCHED_OFF	"msr == 0x570 && !(val & 1)"
#define ACKNOWLEDGED	"msr == 0x390 && val & 0x80000000000000"

static int open_msr_sampler(const struct gated *gated, const char *filter)
{
	struct perf_event_attr attr;
	int fd;

	if (attr_msr(&attr, true))
		return -1;
	fd = perf_open(&attr, gated->spec.pid, gated->spec.cpu, -1);
	if (fd < 0 || perf_set_filter(fd, filter) ||
	    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, gated->group.aux))
		return -1;

	return fd;
}

/* Did the interrupt @ack come after @off, in what was recorded from @from on? */
static bool interrupted_start(const struct gated *gated, size_t from, __u64 off,
			      __u64 ack)
{
	bool is_off = false;

	for (; from < gated->records.nr; from++) {
		is_off |= gated->records.rec[from].id == off;
		if (is_off && gated->records.rec[from].id == ack)
			return true;
	}

	return false;
}

/*
 * What ->start() writes into the trace itself, PSB and what belongs to it, reaches
 * the end of a region now and then: the interrupt comes in the middle of ->start().
 * It must not set up the hardware anew that the driver has just switched on.
 */
TEST_F(pt_mode, interrupts_in_start)
{
	struct gated *gated = &self->gated;
	__u64 end = clock_ns() + 20000000000ULL;
	int off, ack, restarts, hits = 0;
	size_t from;

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.aux_pages = 16;
	gated->spec.watermark = 4096;
	gated->spec.start_paused = false;
	/* Neither user nor kernel: there is nothing else in the trace. */
	gated->spec.exclude_user = true;
	pt_open(_metadata, gated);
	off = open_msr_sampler(gated, SWITCHED_OFF);
	ack = open_msr_sampler(gated, ACKNOWLEDGED);
	if (off < 0 || ack < 0)
		SKIP(return, "no tracepoint msr:write_msr");

	pt_enable(_metadata, gated);
	for (restarts = 0; hits < 10; restarts++) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%d starts interrupted, of %d", hits, restarts);
		pt_read(_metadata, gated, &self->trace);
		from = gated->records.nr;
		aux_group_restart(&gated->group);
		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
		hits += interrupted_start(gated, from, perf_id(off), perf_id(ack));
	}
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(self->trace.nr_bytes, gated->group.page->aux_head);
	EXPECT_EQ(self->trace.truncated, 0);
	EXPECT_GE(self->trace.psb, (unsigned long)restarts);
	close(ack);
	close(off);
}

static void sample_often(struct gated *gated)
{
	int i;

	for (i = 0; i < 20; i++)
		soft_sample();
}

/*
 * An AUX sample that the area's end hits right where the driver asks for the AUX
 * transaction: what is traced is that function. The interrupt finds the area full, and
 * ends the transaction.
 */
TEST_F(pt_mode, full_in_sample)
{
	__u64 place = kernel_symbol("perf_get_aux");
	struct gated *gated = &self->gated;
	char filter[64];
	int sampler, round;

	if (!place || !has_soft_places())
		SKIP(return, "no address of perf_get_aux(), or no syscall tracepoints");

	gated->spec.exclude_kernel = false;
	gated->spec.exclude_user = true;
	gated->spec.start_paused = false;
	gated->spec.aux_pages = 2;
	pt_open(_metadata, gated);
	snprintf(filter, sizeof(filter), "filter %#llx/0x10", place);
	if (perf_set_filter(gated->group.aux, filter))
		SKIP(return, "no address filters");
	sampler = aux_group_add_soft_sampler(&gated->group, &gated->spec, AT_SAMPLE,
					     256);
	ASSERT_GE(sampler, 0)
		TH_LOG("%s", strerror(errno));

	for (round = 0; round < 5; round++) {
		pt_enable(_metadata, gated);
		ASSERT_EQ(gated_wait_truncated(gated, sample_often), 0)
			TH_LOG("not full within 20 seconds");
		pt_read(_metadata, gated, &self->trace);
	}
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	EXPECT_GE(self->trace.truncated, 5);
	close(sampler);
}

/* --- Interrupts that come while the trace is paused --- */

static int read_more(struct gated *gated, void *trace)
{
	if (perf_records_read(&gated->records, &gated->group))
		return -1;

	return pt_trace_read(trace, &gated->records, &gated->pos, &gated->group);
}

static void next_window(struct gated *gated)
{
	if (gated->nr < MAX_WINDOWS)
		logged_window(gated, gated->nr % 3);
}

/* It hands over what there is, and leaves the trace off. */
TEST_F(pt_mode, interrupts_while_paused)
{
	struct late_trace to = { read_more, &self->trace };
	struct gated *gated = &self->gated;
	const char *wrong;
	int load;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.watermark = 4096;
	load = gated_open_late(gated);
	ASSERT_GE(load, 0);
	wrong = gated_late_interrupts(gated, &to, next_window);
	EXPECT_EQ(NULL, wrong)
		TH_LOG("%s %s", wrong, self->trace.error);
	pt_finish(_metadata, gated, &self->trace);
	close(load);

	EXPECT_EQ(self->trace.truncated, 0);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false),
		  (int)gated->nr)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
}

TEST_F(pt_mode, full_while_paused)
{
	struct late_trace to = { read_more, &self->trace };
	struct gated *gated = &self->gated;
	const char *wrong;
	int load;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	/* More than what the kernel does from enabling on until the look at it */
	gated->spec.aux_pages = 64;
	load = gated_open_late(gated);
	ASSERT_GE(load, 0);
	wrong = gated_late_full(gated, &to);
	EXPECT_EQ(NULL, wrong)
		TH_LOG("%s %s", wrong, self->trace.error);
	pt_finish(_metadata, gated, &self->trace);
	close(load);
	expect_exact(_metadata, gated);
}

/* --- Stop without update, and start --- */

/*
 * The AUX transaction has to end with the stop, or the start finds it open and
 * gives up for good.
 */
TEST_F(pt_mode, restarts)
{
	struct gated *gated = &self->gated;
	int i;

	if (lacks_restart())
		SKIP(return, "no %s", lacks_restart());

	pt_open(_metadata, gated);
	pt_enable(_metadata, gated);
	for (i = 0; i < 50; i++) {
		/* One begins where the last one ended: cut by nothing but this. */
		gated->log[i].from = __rdtsc();
		fire_tag(TAG_RESUME);
		work(2);
		ASSERT_EQ(restart_event(gated->group.aux), 0)
			TH_LOG("%s", strerror(errno));
		work(2);
		fire_tag(TAG_PAUSE);
		gated->log[i].to = __rdtsc();

		ASSERT_EQ(restart_event(gated->group.aux), 0);
		work(2);
		gated->nr++;
		pt_read(_metadata, gated, &self->trace);
	}
	pt_finish(_metadata, gated, &self->trace);

	EXPECT_EQ(self->trace.nr_bytes, gated->group.page->aux_head);
	EXPECT_EQ(self->trace.truncated, 0);
	EXPECT_GE(self->trace.records, 50);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false), 50)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
}

/* --- What a pause and a resume cost --- */

TEST_F(pt_mode, one_msr_write)
{
	struct gated *gated = &self->gated;
	long long modelled;
	int counter, i;

	/* Of the CPU, not of a task: a switch of tasks stops and starts. */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	pt_open(_metadata, gated);
	counter = count_msr_writes(&gated->spec, MSR_RTIT_OUTPUT_BASE,
				   MSR_RTIT_LAST);
	if (counter < 0)
		SKIP(return, "no tracepoint msr:write_msr");

	pt_enable(_metadata, gated);
	fire_tag(TAG_PAUSE);
	modelled = model_stat("total.write_ctl");
	ASSERT_EQ(ioctl(counter, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (i = 0; i < PAIRS; i++) {
		fire_tag(TAG_RESUME);
		fire_tag(TAG_PAUSE);
	}
	EXPECT_EQ(perf_count(counter), 2 * PAIRS);
	EXPECT_EQ(model_stat("total.write_ctl"),
		  has_model() ? modelled + 2 * PAIRS : -1);

	/* What changes nothing writes nothing. */
	for (i = 0; i < 100; i++)
		fire_tag(TAG_PAUSE);
	EXPECT_EQ(perf_count(counter), 2 * PAIRS);
	close(counter);
}

TEST_HARNESS_MAIN
