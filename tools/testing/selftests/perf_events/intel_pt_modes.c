// SPDX-License-Identifier: GPL-2.0
/*
 * Intel PT and its gates in every mode of the AUX area, and inside interrupts.
 *
 * Expected: the trace holds what was executed between a resume and the pause that
 * follows it, and nothing else. The hardware is at the level that the last gate
 * requested, wherever that gate hit. A pause and a resume cost one MSR write each.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>
#include <sys/syscall.h>

#include "intel_test.h"

#define PAIRS	500

PROGRAM_NEEDS(lacks_pmu("intel_pt"))

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
	gated_init_pt(gated, &self->trace);
	if (!setup_kind(_metadata, gated, "nmi"))
		return;
	gated->spec.exclude_kernel = true;
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
}

FIXTURE_TEARDOWN(pt_mode)
{
	pt_close(_metadata, &self->gated);
	set_rate_limit(&self->limit);
}

/* Makes trace data: each system call leaves the traced code and comes back. */
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

/* --- Full trace in a small area --- */

/* Interrupts hand over data while the trace goes on into the rest of the area. */
TEST_F(pt_mode, topa_interrupts)
{
	struct gated *gated = &self->gated;
	__u64 end = clock_ns() + 15000000000ULL;

	if (lacks_regions())
		SKIP(return, "no %s", lacks_regions());

	gated->spec.aux_pages = 8;
	gated->spec.watermark = 4096;
	open_and_enable(_metadata, gated);
	while (self->trace.records < 20 && gated->nr < MAX_WINDOWS) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%lu AUX records", self->trace.records);
		logged_window(gated, 10);
		read_trace(_metadata, gated);
	}
	pt_finish(_metadata, gated);

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
 * Without a reader the area fills up: the event and its gates are disabled. Enabled
 * again, it has its level of before.
 */
TEST_F(pt_mode, truncated)
{
	struct gated *gated = &self->gated;
	__u64 head;
	int round;

	gated->spec.aux_pages = 2;
	open_and_enable(_metadata, gated);
	for (round = 0; round < 3; round++) {
		fire_tag(TAG_RESUME);
		ASSERT_EQ(gated_wait_truncated(gated, fill), 0)
			TH_LOG("not full within 20 seconds");
		read_trace(_metadata, gated);

		head = gated->group.page->aux_head;
		enable_group(_metadata, gated);
		work(2);
		fire_tag(TAG_PAUSE);
		ASSERT_EQ(aux_group_disable(&gated->group), 0);
		EXPECT_GT(gated->group.page->aux_head, head);

		head = gated->group.page->aux_head;
		enable_group(_metadata, gated);
		work(20);
		ASSERT_EQ(aux_group_disable(&gated->group), 0);
		EXPECT_EQ(gated->group.page->aux_head, head);
		read_trace(_metadata, gated);
		enable_group(_metadata, gated);
	}
	pt_finish(_metadata, gated);
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
	open_and_enable(_metadata, gated);
	while (gated->nr < 200)
		logged_window(gated, 10);
	disable_and_read(_metadata, gated);

	EXPECT_TRUE(pt_trace_complete(&self->trace));
	found = pt_trace_match(&self->trace, gated->log, gated->nr, false);
	EXPECT_GE(found, 2)
		TH_LOG("%s", self->trace.error);
	/* The newest is the last. */
	EXPECT_GE(self->trace.seg[self->trace.nr - 1].tsc,
		  gated->log[gated->nr - 1].from);
	expect_exact(_metadata, gated);
}

/* A sample switches the trace off and on again, unless the trace is paused. */
TEST_F(pt_mode, samples_keep_the_level)
{
	struct gated *gated = &self->gated;
	const struct perf_record *rec;
	int sampler, i;

	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	gated->spec.overwrite = true;
	open_group(_metadata, gated);
	sampler = aux_group_add_nmi_sampler(&gated->group, &gated->spec, 1024);
	ASSERT_GE(sampler, 0)
		TH_LOG("%s", strerror(errno));
	enable_group(_metadata, gated);

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
	disable_and_read(_metadata, gated);
	expect_exact(_metadata, gated);
	close(sampler);
}

/* --- Gates by hardware counters --- */

/* Their samples tell which gate came last. Between them, the trace was on and off. */
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
	open_group(_metadata, gated);
	resumer = gated_open_cycles(gated, 1000003, true);
	if (resumer < 0 && errno == ENOENT)
		SKIP(return, "no hardware counters");
	pauser = gated_open_cycles(gated, 1300021, false);
	ASSERT_GE(resumer, 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_GE(pauser, 0)
		TH_LOG("%s", strerror(errno));

	enable_group(_metadata, gated);
	do {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("not 50 overflows within 15 seconds");
		work(1000);
		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
		samples = perf_records_count(&gated->records,
					     PERF_RECORD_SAMPLE, 0);
	} while (samples < 50);
	ASSERT_EQ(perf_disable(resumer), 0);
	ASSERT_EQ(perf_disable(pauser), 0);
	ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);

	last = perf_records_newest(&gated->records, perf_id(resumer));
	pauses = perf_records_newest(&gated->records, perf_id(pauser));
	ASSERT_NE(NULL, last);
	ASSERT_NE(NULL, pauses);
	EXPECT_EQ(pt_is_on(gated->cpu), last > pauses);

	disable_and_read(_metadata, gated);
	EXPECT_GT(self->trace.nr, 0);
	close(pauser);
	close(resumer);
}

/* --- Gates by precise events --- */

#define PRECISE_PERIOD	5000003

/* Read rarely: each read drains the PEBS buffer. */
static __u64 wait_for_overflows(int fd)
{
	__u64 end = clock_ns() + 15000000000ULL, n;

	do {
		spin_ns(50000000);
		n = perf_count(fd) / PRECISE_PERIOD;
	} while (n < 50 && clock_ns() < end);

	return n;
}

/* No interrupt for each overflow: it takes some hundreds to fill the PEBS buffer. */
TEST_F(pt_mode, precise_event_that_is_no_gate)
{
	struct perf_event_attr attr;
	long long interrupts;
	__u64 overflows;
	int fd;

	if (!has_model())
		SKIP(return, "the model counts");

	/* On a hybrid processor, the event counts on CPUs of this one's kind only. */
	ASSERT_EQ(pin_to_cpu(self->gated.cpu), 0);
	attr_precise(&attr, PRECISE_PERIOD);
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

/* A gate's overflows must not be collected: it acts when it overflows. */
TEST_F(pt_mode, precise_event)
{
	struct gated *gated = &self->gated;
	struct aux_actions act;
	struct perf_event_attr attr;
	__u64 overflows;
	int gate;

	if (lacks_account())
		SKIP(return, "no %s", lacks_account());
	attr_precise(&attr, PRECISE_PERIOD);
	if (perf_try_open(&attr, -1))
		SKIP(return, "no precise events: %s", strerror(errno));

	gated->spec.overwrite = true;
	gated->spec.resume.size = 0;
	gated->spec.pause.size = 0;
	open_group(_metadata, gated);
	gate = aux_group_add_gate(&gated->group, &gated->spec, &attr, true);
	ASSERT_GE(gate, 0)
		TH_LOG("%s", strerror(errno));
	enable_group(_metadata, gated);
	overflows = wait_for_overflows(gate);
	ASSERT_EQ(aux_actions_read(&gated->group, &act), 0);
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	close(gate);

	/* Two overflows before the interrupt count as one, if the machine is slow. */
	EXPECT_GE(overflows, 50);
	EXPECT_GE(10 * act.requested, 9 * overflows);
	EXPECT_GT(gated->group.page->aux_head, 0);
}

/* --- Interrupts at the wrong moment --- */

/* The trace is switched off by a write of CTL, and its interrupt is acknowledged. */
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
	    perf_set_output(fd, gated->group.aux))
		return -1;

	return fd;
}

/* Is there a sample of @ack after one of @off, from record @from on? */
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
 * The packets that ->start() causes sometimes reach the end of a region: the interrupt
 * comes in the middle of ->start(). It must not set up again the hardware that the
 * driver has just switched on.
 */
TEST_F(pt_mode, interrupts_in_start)
{
	struct gated *gated = &self->gated;
	__u64 end = clock_ns() + 20000000000ULL;
	int off, ack, restarts, hits = 0;
	size_t from;

	if (lacks_regions())
		SKIP(return, "no %s", lacks_regions());

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.aux_pages = 16;
	gated->spec.watermark = 4096;
	gated->spec.start_paused = false;
	/* Neither user nor kernel: the trace has only what a start causes. */
	gated->spec.exclude_user = true;
	open_group(_metadata, gated);
	off = open_msr_sampler(gated, SWITCHED_OFF);
	ack = open_msr_sampler(gated, ACKNOWLEDGED);
	if (off < 0 || ack < 0)
		SKIP(return, "no tracepoint msr:write_msr");

	enable_group(_metadata, gated);
	for (restarts = 0; hits < 10; restarts++) {
		ASSERT_LT(clock_ns(), end)
			TH_LOG("%d starts interrupted, of %d", hits, restarts);
		read_trace(_metadata, gated);
		from = gated->records.nr;
		aux_group_restart(&gated->group);
		ASSERT_EQ(perf_records_read(&gated->records, &gated->group), 0);
		hits += interrupted_start(gated, from, perf_id(off), perf_id(ack));
	}
	pt_finish(_metadata, gated);

	EXPECT_EQ(self->trace.nr_bytes, gated->group.page->aux_head);
	EXPECT_EQ(self->trace.truncated, 0);
	/* Each start has a TSC, with PSB+ or without: see intel_pt_stream.h. */
	EXPECT_GE(self->trace.nr, (size_t)restarts);
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
 * The area becomes full during an AUX sample, right where the driver asks for the AUX
 * transaction: only that function is traced. The interrupt finds the area full, and ends
 * the transaction.
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
	open_group(_metadata, gated);
	snprintf(filter, sizeof(filter), "filter %#llx/0x10", place);
	if (perf_set_filter(gated->group.aux, filter))
		SKIP(return, "no address filters");
	sampler = aux_group_add_soft_sampler(&gated->group, &gated->spec, AT_SAMPLE,
					     256);
	ASSERT_GE(sampler, 0)
		TH_LOG("%s", strerror(errno));

	for (round = 0; round < 5; round++) {
		enable_group(_metadata, gated);
		ASSERT_EQ(gated_wait_truncated(gated, sample_often), 0)
			TH_LOG("not full within 20 seconds");
		read_trace(_metadata, gated);
	}
	ASSERT_EQ(aux_group_disable(&gated->group), 0);
	EXPECT_GE(self->trace.truncated, 5);
	close(sampler);
}

/* --- Interrupts that come while the trace is paused --- */

static void next_window(struct gated *gated)
{
	if (gated->nr < MAX_WINDOWS)
		logged_window(gated, gated->nr % 3);
}

TEST_F(pt_mode, interrupts_while_paused)
{
	const char *missing = lacks_msr() ?: lacks_regions();
	struct gated *gated = &self->gated;

	if (missing)
		SKIP(return, "no %s", missing);

	gated->spec.watermark = 4096;
	hand_over_while_paused(_metadata, gated, next_window);
	expect_complete(_metadata, &self->trace);
	EXPECT_EQ(self->trace.truncated, 0);
	EXPECT_EQ(pt_trace_match(&self->trace, gated->log, gated->nr, false),
		  (int)gated->nr)
		TH_LOG("%s", self->trace.error);
}

TEST_F(pt_mode, full_while_paused)
{
	if (lacks_msr())
		SKIP(return, "no %s", lacks_msr());

	full_while_paused(_metadata, &self->gated);
	expect_complete(_metadata, &self->trace);
}

/* --- Stop without update, and start --- */

/*
 * The AUX transaction must end with the stop, or the start finds it open and never
 * traces again.
 */
TEST_F(pt_mode, restarts)
{
	struct gated *gated = &self->gated;
	int i;

	if (lacks_restart())
		SKIP(return, "no %s", lacks_restart());

	open_and_enable(_metadata, gated);
	for (i = 0; i < 50; i++) {
		/* One window, although the restart in it splits the data */
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
		read_trace(_metadata, gated);
	}
	pt_finish(_metadata, gated);

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

	/* A CPU event, as a context switch stops and starts a task's event. */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.overwrite = true;
	open_group(_metadata, gated);
	counter = count_msr_writes(&gated->spec, MSR_RTIT_OUTPUT_BASE,
				   MSR_RTIT_LAST);
	if (counter < 0)
		SKIP(return, "no tracepoint msr:write_msr");

	enable_group(_metadata, gated);
	fire_tag(TAG_PAUSE);
	modelled = model_stat("total.write_ctl");
	ASSERT_EQ(perf_enable(counter), 0);
	for (i = 0; i < PAIRS; i++) {
		fire_tag(TAG_RESUME);
		fire_tag(TAG_PAUSE);
	}
	EXPECT_EQ(perf_count(counter), 2 * PAIRS);
	EXPECT_EQ(model_stat("total.write_ctl"),
		  has_model() ? modelled + 2 * PAIRS : -1);

	/* A pause of a paused trace writes nothing. */
	for (i = 0; i < 100; i++)
		fire_tag(TAG_PAUSE);
	EXPECT_EQ(perf_count(counter), 2 * PAIRS);
	close(counter);
}

TEST_HARNESS_MAIN
