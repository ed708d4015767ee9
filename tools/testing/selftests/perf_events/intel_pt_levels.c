// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT keeps its level, paused or running, over all that happens to an event:
 * scheduling, disabling, inheritance, address filters, late interrupts, suspend.
 *
 * Expected: the trace holds what was executed between a resume and the pause that
 * follows it, and nothing else. The hardware is at the level that the last gate
 * requested.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "intel_test.h"

PROGRAM_NEEDS(lacks_pmu("intel_pt"))

FIXTURE(pt_level)
{
	struct gated gated;
	struct pt_trace trace;
};

FIXTURE_SETUP(pt_level)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	gated_init_pt(gated, &self->trace);
	gated->spec.exclude_kernel = true;
	if (!setup_kind(_metadata, gated, "tracepoint"))
		return;
}

FIXTURE_TEARDOWN(pt_level)
{
	if (has_model())
		EXPECT_EQ(model_reset(), 0);
	pt_close(_metadata, &self->gated);
	cpus_give_back();
}

static void resume(void)
{
	syscall(__NR_getppid);
}

static void pause_trace(void)
{
	syscall(__NR_getpgid, 0);
}

TEST_F(pt_level, kept_over_scheduling)
{
	struct gated *gated = &self->gated;
	__u64 before;
	int i;

	open_and_enable(_metadata, gated);

	/* Paused from the start, and still after a sleep */
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(100);
	}
	pt_finish(_metadata, gated);
	EXPECT_EQ(gated->group.page->aux_head, 0);

	enable_group(_metadata, gated);
	resume();
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(1000);
	}
	pause_trace();
	pt_finish(_metadata, gated);
	EXPECT_GE(self->trace.tnt, 5000);

	before = self->trace.nr_bytes;
	enable_group(_metadata, gated);
	for (i = 0; i < 5; i++) {
		sleep_a_little();
		branches(100);
	}
	pt_finish(_metadata, gated);
	EXPECT_EQ(self->trace.nr_bytes, before);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, kept_over_disable)
{
	struct gated *gated = &self->gated;

	open_and_enable(_metadata, gated);
	resume();
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	branches(5000);
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
	branches(1000);
	pause_trace();
	branches(5000);
	pt_finish(_metadata, gated);

	EXPECT_GE(self->trace.tnt, 1000);
	EXPECT_LT(self->trace.tnt, 5000);
	expect_exact(_metadata, gated);
}

/* Paused is a state, not a count: after two resumes the first pause acts. */
TEST_F(pt_level, nested_windows)
{
	struct gated *gated = &self->gated;
	__u64 from;
	int i;

	open_and_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		from = __rdtsc();
		resume();
		ASSERT_EQ(gated_window(gated, 100), 0);
		gated->log[i].from = from;
		pause_trace();
	}
	pt_finish(_metadata, gated);

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
	open_and_enable(_metadata, gated);
	branches(1000);
	pause_trace();
	branches(5000);
	pt_finish(_metadata, gated);

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

	open_and_enable(_metadata, gated);
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
	pt_finish(_metadata, gated);

	EXPECT_GE(self->trace.tnt, 10000);
	EXPECT_LT(self->trace.tnt, 20000);
	expect_exact(_metadata, gated);
}

/* The trace is on in the window, whatever else happens in it. */
static void rough_windows(struct __test_metadata *_metadata, struct gated *gated,
			  struct pt_trace *trace, unsigned long loops)
{
	int i;

	gated->spec.exclude_kernel = false;
	gated->spec.aux_pages = 1024;
	open_and_enable(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(gated_window(gated, loops), 0)
			TH_LOG("window %d: %s", i, strerror(errno));
		/* The size of the kernel's part depends on the kernel. */
		read_trace(_metadata, gated);
		sleep_a_little();
	}
	pt_finish(_metadata, gated);

	EXPECT_EQ(pt_trace_match(trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", trace->error);
	EXPECT_GE(trace->tnt, ROUNDS * loops);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, kernel_windows)
{
	rough_windows(_metadata, &self->gated, &self->trace, 50);
}

/* A task that runs on the CPU again and again */
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

/* No branch is lost when the kernel switches to another task and back. */
TEST_F_TIMEOUT(pt_level, kernel_windows_and_switches, 120)
{
	pid_t neighbour = start_neighbour(self->gated.cpu);

	ASSERT_GT(neighbour, 0);
	rough_windows(_metadata, &self->gated, &self->trace, 500);
	stop_neighbour(neighbour);
}

/* No branch is lost to NMIs, wherever they hit. */
TEST_F_TIMEOUT(pt_level, kernel_windows_and_nmis, 120)
{
	struct perf_event_attr cycles;
	struct rate_limit limit;
	int counter;

	attr_cycles(&cycles, 200003);
	counter = perf_open(&cycles, 0, -1, -1);
	if (counter < 0)
		SKIP(return, "no hardware counter");

	ASSERT_EQ(rate_unlimit(&limit), 0);
	rough_windows(_metadata, &self->gated, &self->trace, 500);
	set_rate_limit(&limit);
	close(counter);
}

/* A CPU event: what other tasks run in the window is traced as well. */
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
	open_and_enable(_metadata, gated);
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
	pt_finish(_metadata, gated);

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
	pt_finish(_metadata, gated);

	EXPECT_GE(self->trace.tnt, 20000);
	EXPECT_LT(self->trace.tnt, 40000);
}

TEST_F(pt_level, child_has_its_own_gates)
{
	struct gated *gated = &self->gated;

	inherited(_metadata, gated, true);
	run_child(_metadata, true);
	branches(20000);
	pt_finish(_metadata, gated);

	EXPECT_GE(self->trace.tnt, 20000);
	EXPECT_LT(self->trace.tnt, 40000);
}

/* --- Address filters --- */

/*
 * A copy of the windows' code in a file of its own: perf finds a mapping by the
 * file's inode, and on an overlay file system the program's inode differs. The file
 * keeps its name until the filter is set: the kernel looks it up with ctx->mutex
 * held. A memfd's lookup in /proc would take exec_update_lock, which
 * perf_event_open() takes before ctx->mutex.
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

/* Returns the value of perf_set_filter(). */
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

/* Every other window runs the copy, to which the filter limits the trace. */
TEST_F(pt_level, address_filter)
{
	struct gated *gated = &self->gated;
	char path[] = "/dev/shm/window.XXXXXX";
	void (*run)(const struct window *win);
	unsigned int i;
	size_t len;
	int err;

	open_group(_metadata, gated);
	run = copy_code(window_code(WINDOW_CALLS, 0), path, &len);
	err = filter_file(gated, "filter", path, len);
	ASSERT_NE(MAP_FAILED, run)
		TH_LOG("%s: %s", path, strerror(errno));
	if (err)
		SKIP(return, "no address filters");

	enable_group(_metadata, gated);
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
	pt_finish(_metadata, gated);

	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, true),
		  ROUNDS)
		TH_LOG("%s", self->trace.error);
	expect_exact(_metadata, gated);
}

#define AFTER_STOP	1000	/* branches of a window, behind the filtered code */

/*
 * A stop filter stops the trace until it is resumed: each window has what ran before the
 * filtered code. When the task is switched in, the trace starts again: such a window may
 * have all branches. Returns their number, or -1 if there are no filters.
 */
static int stopped_windows(struct __test_metadata *_metadata, struct gated *gated)
{
	char path[] = "/dev/shm/window.XXXXXX";
	void (*run)(const struct window *win);
	struct window win = { .loops = 100 };
	int i, err, switched = 0;
	size_t len;

	open_group(_metadata, gated);
	run = copy_code(window_code(WINDOW_PLACES, 0), path, &len);
	err = filter_file(gated, "stop", path, len);
	ASSERT_NE(MAP_FAILED, run)
		TH_LOG("%s: %s", path, strerror(errno));
	if (err)
		SKIP(return -1, "no address filters");

	enable_group(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		struct window_log *log = &gated->log[gated->nr++];
		long before = switches();

		log->loops = LOOPS_UNKNOWN;
		log->from = __rdtsc();
		resume();
		branches(50);
		run(&win);
		log->to = __rdtsc();
		branches(AFTER_STOP);
		pause_trace();
		if (switches() != before) {
			log->to = __rdtsc();
			switched++;
		}
	}
	disable_and_read(_metadata, gated);

	return switched;
}

TEST_F(pt_level, resumed_behind_a_stop_filter)
{
	struct gated *gated = &self->gated;
	int switched = stopped_windows(_metadata, gated);

	if (switched < 0)
		return;
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(self->trace.tnt, ROUNDS * 50);
	EXPECT_LT(self->trace.tnt, ROUNDS * 100 + switched * AFTER_STOP);
	EXPECT_EQ(self->trace.truncated, 0);
	expect_exact(_metadata, gated);
}

TEST_F(pt_level, resumed_behind_a_stop_filter_in_overwrite_mode)
{
	struct gated *gated = &self->gated;
	int switched;

	gated->spec.overwrite = true;
	switched = stopped_windows(_metadata, gated);
	if (switched < 0)
		return;
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false), ROUNDS)
		TH_LOG("%s", self->trace.error);
	EXPECT_GE(self->trace.tnt, ROUNDS * 50);
	EXPECT_LT(self->trace.tnt, ROUNDS * 100 + switched * AFTER_STOP);
}

/* --- Interrupts that the model holds back --- */

static bool trace_has(const struct gated *gated, unsigned int msr, __u64 bit)
{
	__u64 value = 0;

	return !msr_read(gated->cpu, msr, &value) && value & bit;
}

/*
 * Make trace data until the trace stops at the end of the area. False if the task was
 * switched out there, which does the interrupt's work, or if it takes too long.
 */
static bool trace_until_stopped(const struct gated *gated)
{
	__u64 end = clock_ns() + 5000000000ULL;
	int i;

	do {
		for (i = 0; i < 100; i++)
			syscall(__NR_getuid);
		if (trace_has(gated, MSR_RTIT_STATUS, RTIT_STATUS_STOPPED))
			return true;
	} while (clock_ns() < end && pt_is_on(gated->cpu));

	return false;
}

/*
 * The trace stops at the end of the area, and the interrupt for that doesn't come: a
 * resume does the interrupt's work.
 */
TEST_F(pt_level, resumed_without_the_interrupt)
{
	struct gated *gated = &self->gated;
	unsigned int rounds = 0, tries = 0;
	bool stopped;

	if (!has_model())
		SKIP(return, "the model masks the interrupt");
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.aux_pages = 4;
	open_group(_metadata, gated);
	while (rounds < 3) {
		ASSERT_LT(tries++, 100);
		enable_group(_metadata, gated);
		ASSERT_EQ(model_mask(true), 0);
		resume();
		stopped = trace_until_stopped(gated);
		pause_trace();
		resume();
		read_trace(_metadata, gated);
		rounds += stopped;
		EXPECT_GE(self->trace.truncated, rounds);
		ASSERT_EQ(model_mask(false), 0);
	}

	/*
	 * The event was disabled when the area was full; there is room now. If that was before the
	 * last resume, it is still paused. The data is checked from the next PSB on, which comes
	 * after 2 KiB at the latest, not with the start.
	 */
	self->trace.tnt = 0;
	enable_group(_metadata, gated);
	resume();
	branches(20000);
	pause_trace();
	disable_and_read(_metadata, gated);
	EXPECT_GE(self->trace.tnt, 1000);
}

/*
 * Make trace data until the model holds back an interrupt; false if that takes too long.
 * GLOBAL_STATUS doesn't tell: it may have the bit of an earlier interrupt, which was lost.
 */
static bool trace_until_held(void)
{
	__u64 end = clock_ns() + 5000000000ULL;
	long long held = model_stat("total.pmi_held");
	int i;

	do {
		for (i = 0; i < 100; i++)
			syscall(__NR_getuid);
	} while (clock_ns() < end && model_stat("total.pmi_held") == held);

	return model_stat("total.pmi_held") > held;
}

/*
 * An event leaves its interrupt behind, which was held back. It comes while another
 * event traces in overwrite mode, and that event loses no data.
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
	open_group(_metadata, gated);
	ASSERT_EQ(model_lose_masked(false), 0);
	ASSERT_EQ(model_mask(true), 0);
	enable_group(_metadata, gated);
	EXPECT_TRUE(trace_until_held());
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	gated_close(gated);

	gated->spec.overwrite = true;
	gated->spec.start_paused = true;
	aux_group_init(&gated->group);
	open_and_enable(_metadata, gated);
	for (i = 0; i < 6; i++) {
		if (i == 3)
			ASSERT_EQ(model_mask(false), 0);
		ASSERT_EQ(gated_window(gated, 50 + 37 * i), 0);
	}
	EXPECT_FALSE(trace_has(gated, MSR_GLOBAL_STATUS, GLOBAL_STATUS_TOPA));
	disable_and_read(_metadata, gated);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, true), 6)
		TH_LOG("%s", self->trace.error);
}

/* --- Room in the area --- */

/*
 * The hardware stops at the end of a region only. If the free part of the area ends within
 * the next one, the event is disabled. When there is room again, it traces, and nothing of
 * the request to disable it is left.
 */
TEST_F(pt_level, no_room_for_a_region)
{
	struct gated *gated = &self->gated;
	struct perf_event_mmap_page *page;

	gated->spec.start_paused = false;
	gated->spec.aux_pages = 16;
	open_group(_metadata, gated);
	page = gated->group.page;
	page->aux_tail = 4096 - page->aux_size;
	enable_group(_metadata, gated);
	branches(1000);
	if (!lacks_msr())
		EXPECT_EQ(pt_is_on(gated->cpu), 0);
	disable_and_read(_metadata, gated);
	EXPECT_EQ(page->aux_head, 0);
	EXPECT_GE(self->trace.truncated, 1);

	page->aux_tail = 0;
	enable_group(_metadata, gated);
	sleep_a_little();
	branches(1000);
	pause_trace();
	disable_and_read(_metadata, gated);
	EXPECT_GE(self->trace.tnt, 1000);
	expect_complete(_metadata, &self->trace);
	expect_exact(_metadata, gated);
}

/* --- VMX operation --- */

/* The AUX record says that trace is missing. */
TEST_F(pt_level, vmx_leaves_a_gap)
{
	struct gated *gated = &self->gated;
	struct perf_records *records = &gated->records;

	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");

	gated->spec.start_paused = false;
	open_and_enable(_metadata, gated);
	branches(1000);
	pt_finish(_metadata, gated);
	EXPECT_EQ(perf_records_flagged(records, 0, PERF_AUX_FLAG_PARTIAL), 0);

	enable_group(_metadata, gated);
	ASSERT_EQ(model_vmx(10), 0);
	branches(1000);
	disable_and_read(_metadata, gated);
	EXPECT_EQ(perf_records_flagged(records, 0, PERF_AUX_FLAG_PARTIAL), 1);
}

struct vmx {
	int cpu;
	bool ends;
};

static void *enter_and_leave_vmx(void *arg)
{
	struct vmx *vmx = arg;

	pin_to_cpu(vmx->cpu);
	while (!__atomic_load_n(&vmx->ends, __ATOMIC_RELAXED))
		model_vmx(1000);

	return NULL;
}

/*
 * Another CPU enables and disables the event in VMX operation, where each write of CTL is a
 * protocol violation. The trace begins when VMX operation ends.
 */
TEST_F(pt_level, enabled_and_disabled_in_vmx)
{
	struct gated *gated = &self->gated;
	struct vmx vmx = { .cpu = gated->cpu };
	int other = nth_cpu(1), i;
	pthread_t thread;

	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");
	if (other < 0)
		SKIP(return, "one CPU only");

	gated->spec.start_paused = false;
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	open_group(_metadata, gated);
	ASSERT_EQ(pthread_create(&thread, NULL, enter_and_leave_vmx, &vmx), 0);
	ASSERT_EQ(pin_to_cpu(other), 0);
	for (i = 0; i < 100; i++) {
		enable_group(_metadata, gated);
		usleep(i % 7 * 500);
		disable_and_read(_metadata, gated);
		usleep(i % 5 * 500);
	}
	__atomic_store_n(&vmx.ends, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_GT(perf_records_flagged(&gated->records, 0, PERF_AUX_FLAG_PARTIAL), 0);

	/* It has ended while the event was disabled. */
	ASSERT_EQ(pin_to_cpu(gated->cpu), 0);
	self->trace.tnt = 0;
	enable_group(_metadata, gated);
	branches(20000);
	disable_and_read(_metadata, gated);
	EXPECT_GE(self->trace.tnt, 1000);
}

/* --- Suspend --- */

/* The registers are lost, but the level isn't. */
static void suspended_windows(struct __test_metadata *_metadata, struct gated *gated,
			      struct pt_trace *trace, bool whole_cpu)
{
	int i;

	if (!has_model())
		SKIP(return, "the model suspends");
	if (cpus_take_others(gated->cpu))
		SKIP(return, "a CPU can't be taken offline");

	if (whole_cpu) {
		gated->spec.pid = -1;
		gated->spec.cpu = gated->cpu;
	}
	open_and_enable(_metadata, gated);
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
	disable_and_read(_metadata, gated);

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

/* --- A crash of the kernel --- */

/* It ends the trace for good, and the gates that follow don't change that. */
TEST_F(pt_level, a_crash_ends_the_trace)
{
	struct gated *gated = &self->gated;
	long long bytes;

	if (!has_model())
		SKIP(return, "the model crashes without harm");

	/* So that no task switch starts it again */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	open_and_enable(_metadata, gated);
	resume();
	branches(1000);
	ASSERT_EQ(model_crash(), 0);
	bytes = model_stat("total.bytes");
	branches(1000);
	pause_trace();
	resume();
	branches(1000);
	EXPECT_EQ(model_stat("total.bytes"), bytes);
	disable_and_read(_metadata, gated);
	EXPECT_GE(self->trace.tnt, 1000);
	EXPECT_LE(self->trace.tnt, 1500);
}

TEST_HARNESS_MAIN
