// SPDX-License-Identifier: GPL-2.0
/*
 * Gates of Intel PT, tens of thousands per second on each CPU, of all kinds at once:
 * NMIs, overflows of hardware counters, which hit anywhere, system calls, and the
 * driver's own MSR accesses. Meanwhile the driver is busy with starts and stops, and
 * with ToPA interrupts in full trace, or with AUX samples in overwrite mode.
 *
 * Expected: each request of a gate is executed or superseded by a later one. When all
 * is quiet, the hardware is at the level of the last one, and gates still work. Every
 * packet of the trace is intact. There is no protocol violation.
 *
 * Each of the two tests goes on until it has seen enough, or as long as storm_is_over() lets it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "intel_env.h"
#include "intel_msr.h"
#include "intel_pt_stream.h"

#define ROUND		4	/* seconds */
#define MAX_CPUS	16
#define SAMPLE_SIZE	512

PROGRAM_NEEDS(lacks_pmu("intel_pt") ?: lacks_nmi() ?: lacks_account() ?: lacks_msr() ?:
	      lacks_msr_events())

/* Gates besides those of struct aux_group; hardware counters are kept apart. */
enum {
	SOFT_RESUME,
	SOFT_PAUSE,
	MSR_RESUME,
	MSR_PAUSE,
	NR_GATES
};

enum {
	CYCLES_RESUME,
	CYCLES_PAUSE,
	NR_COUNTERS
};

/* One CPU's group */
struct site {
	int cpu;
	struct aux_spec spec;
	struct aux_group group;
	int gate[NR_GATES];
	int counter[NR_COUNTERS];
	__u64 counter_id[NR_COUNTERS];
	int soft_sample, nmi_sample;
	struct perf_records records;
	size_t pos;
	struct pt_trace trace;
	__u64 overflows, samples, lost;	/* of records already discarded */
	__u64 end;
	const char *error;
};

/*
 * No two gates on MSRs that a pause or a resume itself accesses: they would trigger
 * each other without end.
 */
static int open_gates(struct site *site)
{
	static const struct msr_point base = { "", MSR_RTIT_OUTPUT_BASE, false };
	static const struct msr_point mask = { "", MSR_RTIT_OUTPUT_MASK, false };
	int i;

	site->gate[SOFT_RESUME] = aux_group_add_soft_gate(&site->group,
							  &site->spec,
							  AT_RESUME, true);
	site->gate[SOFT_PAUSE] = aux_group_add_soft_gate(&site->group,
							 &site->spec,
							 AT_PAUSE, false);
	site->gate[MSR_RESUME] = open_msr_gate(&site->spec, &site->group, &base,
					       true);
	site->gate[MSR_PAUSE] = open_msr_gate(&site->spec, &site->group, &mask,
					      false);
	for (i = 0; i < NR_GATES; i++) {
		if (site->gate[i] < 0)
			return -1;
	}

	return 0;
}

/* Must come last: a counter moves the group to another context, which loses the enabling. */
static int enable_gates(const struct site *site)
{
	return perf_enable(site->gate[SOFT_RESUME]) ||
	       perf_enable(site->gate[SOFT_PAUSE]) ||
	       aux_group_enable(&site->group);
}

/*
 * Counters and MSR gates overflow by themselves, so they are on only while the buffer is
 * read: the counters would fill it, and samples that are lost then are counted nowhere.
 */
static int switch_gates(const struct site *site, unsigned long request)
{
	int i, err = 0;

	for (i = 0; i < NR_COUNTERS; i++)
		err |= ioctl(site->counter[i], request, 0);
	err |= ioctl(site->gate[MSR_RESUME], request, 0);
	err |= ioctl(site->gate[MSR_PAUSE], request, 0);

	return err;
}

static int open_counter(const struct site *site, __u64 period, bool resumes)
{
	struct perf_event_attr attr;
	int fd;

	attr_cycles(&attr, period);
	attr.disabled = 1;
	fd = aux_group_add_gate(&site->group, &site->spec, &attr, resumes);
	if (fd < 0 || perf_set_output(fd, site->group.aux))
		return -1;

	return fd;
}

static int open_counters(struct site *site)
{
	int i;

	site->counter[CYCLES_RESUME] = open_counter(site, 2000003, true);
	site->counter[CYCLES_PAUSE] = open_counter(site, 300007, false);
	for (i = 0; i < NR_COUNTERS; i++) {
		if (site->counter[i] < 0)
			return -1;
		site->counter_id[i] = perf_id(site->counter[i]);
	}

	return 0;
}

static int open_samplers(struct site *site)
{
	site->nmi_sample = aux_group_add_nmi_sampler(&site->group, &site->spec,
						     SAMPLE_SIZE);
	site->soft_sample = aux_group_add_soft_sampler(&site->group, &site->spec,
						       AT_SAMPLE, SAMPLE_SIZE);

	return site->nmi_sample < 0 || site->soft_sample < 0 ? -1 : 0;
}

static int site_open(struct site *site, int cpu, bool overwrite)
{
	memset(site, 0, sizeof(*site));
	site->cpu = cpu;
	site->soft_sample = -1;
	site->nmi_sample = -1;
	site->spec.pmu = "intel_pt";
	site->spec.config = PT_CONFIG_TSC;
	site->spec.pid = -1;
	site->spec.cpu = cpu;
	site->spec.start_paused = true;
	site->spec.exclude_kernel = true;
	site->spec.overwrite = overwrite;
	site->spec.data_pages = 256;
	site->spec.aux_pages = 128;
	site->spec.watermark = 8192;
	attr_nmi(&site->spec.resume, 0, TAG_RESUME);
	attr_nmi(&site->spec.pause, 0, TAG_PAUSE);
	if (aux_group_open(&site->group, &site->spec))
		return -1;

	/* The samples of these gates are not used here. */
	if (perf_set_output(site->group.resume, -1) ||
	    perf_set_output(site->group.pause, -1) ||
	    open_gates(site) || open_counters(site) ||
	    (overwrite && open_samplers(site)))
		return -1;

	return enable_gates(site);
}

static void site_close(struct site *site)
{
	int i;

	pt_trace_free(&site->trace);
	perf_records_free(&site->records);
	for (i = 0; i < NR_COUNTERS; i++)
		close(site->counter[i]);
	for (i = 0; i < NR_GATES; i++)
		close(site->gate[i]);
	close(site->soft_sample);
	close(site->nmi_sample);
	aux_group_close(&site->group);
}

/* Read the buffers: check the data, count the overflows. */
static int site_read(struct site *site)
{
	const struct perf_record *rec;

	if (perf_records_read(&site->records, &site->group))
		return -1;
	if (!site->spec.overwrite &&
	    pt_trace_read(&site->trace, &site->records, &site->pos, &site->group))
		return -1;

	for (rec = site->records.rec;
	     rec < site->records.rec + site->records.nr; rec++) {
		site->lost += rec->lost;
		if (rec->type != PERF_RECORD_SAMPLE)
			continue;
		if (rec->id == site->counter_id[CYCLES_RESUME] ||
		    rec->id == site->counter_id[CYCLES_PAUSE])
			site->overflows++;
		else
			site->samples++;
	}
	perf_records_free(&site->records);
	site->pos = 0;

	return 0;
}

static __u64 site_gates(const struct site *site)
{
	__u64 sum = perf_count(site->group.resume) + perf_count(site->group.pause);
	int i;

	for (i = 0; i < NR_GATES; i++)
		sum += perf_count(site->gate[i]);

	return sum + site->overflows;
}

/* --- The storm --- */

static void work(unsigned int n)
{
	while (n--)
		syscall(__NR_getppid);
}

/*
 * Every few steps something else. While the level is running, the test itself is
 * traced, which on the model means single-stepping: so each part ends paused.
 */
static int storm_step(struct site *site, unsigned long n)
{
	soft_resume();
	work(10 * (n % 4));
	soft_pause();
	/* Each NMI is for all NMI events: resume, pause, sample */
	nmi_fire(50, 0);
	if (n % 3 == 0) {
		soft_resume();
		soft_sample();
		soft_pause();
	}
	if (n % 4 == 0) {
		nmi_fire(1, TAG_RESUME);
		aux_group_restart(&site->group);
		nmi_fire(1, TAG_PAUSE);
	}
	if (n % 11 == 0)
		model_vmx(1);
	if (n % 31 == 0) {
		aux_group_disable(&site->group);
		aux_group_enable(&site->group);
	}
	if (n % 37 == 0)
		sched_yield();

	return n % 16 ? 0 : site_read(site);
}

static int storm_steps(struct site *site)
{
	unsigned long n;
	int err = 0;

	for (n = 0; !err && clock_ns() < site->end; n++) {
		err = storm_step(site, n);
		/* The event is disabled when its area is full. */
		if (n % 16 == 0)
			aux_group_enable(&site->group);
	}

	return err;
}

static void *storm_thread(void *arg)
{
	struct site *site = arg;

	if (pin_to_cpu(site->cpu) ||
	    switch_gates(site, PERF_EVENT_IOC_ENABLE))
		site->error = "no storm";
	else if (storm_steps(site) ||
		 switch_gates(site, PERF_EVENT_IOC_DISABLE) || site_read(site))
		site->error = site->trace.error[0] ? site->trace.error :
						     "no records";

	return NULL;
}

FIXTURE(intel_storm)
{
	struct site site[MAX_CPUS];
	int cpus;
	struct rate_limit limit;
	long long pmis, lost;		/* NMIs of earlier tests */
};

FIXTURE_VARIANT(intel_storm)
{
	bool overwrite;
};

FIXTURE_VARIANT_ADD(intel_storm, full_trace)
{
	.overwrite = false,
};

FIXTURE_VARIANT_ADD(intel_storm, samples)
{
	.overwrite = true,
};

FIXTURE_SETUP(intel_storm)
{
	int i;

	if (!has_soft_places())
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	memset(self, 0, sizeof(*self));
	model_watch();
	self->pmis = model_stat("total.pmi_raised");
	self->lost = nmi_stat("total.lost");
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	for (i = 0; i < MAX_CPUS && nth_cpu(i) >= 0; i++) {
		if (!site_open(&self->site[i], nth_cpu(i), variant->overwrite))
			continue;
		if (errno == ENOENT)
			SKIP(return, "no hardware counters");
		ASSERT_EQ(errno, 0)
			TH_LOG("CPU %d: %s", nth_cpu(i), strerror(errno));
	}
	self->cpus = i;
}

FIXTURE_TEARDOWN(intel_storm)
{
	int i;

	for (i = 0; i < self->cpus; i++)
		site_close(&self->site[i]);
	set_rate_limit(&self->limit);
	EXPECT_EQ(model_violations(), 0);
}

static void storm(struct __test_metadata *_metadata, struct site *site, int cpus,
		  unsigned int seconds)
{
	__u64 end = clock_ns() + seconds * 1000000000ULL;
	pthread_t thread[MAX_CPUS];
	int i;

	for (i = 0; i < cpus; i++) {
		site[i].end = end;
		ASSERT_EQ(pthread_create(&thread[i], NULL, storm_thread,
					 &site[i]), 0);
	}
	for (i = 0; i < cpus; i++) {
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
		ASSERT_EQ(NULL, site[i].error)
			TH_LOG("CPU %d: %s", site[i].cpu, site[i].error);
	}
}

/* Is the accounting exact, and does the hardware agree? Returns whether it is paused. */
static bool check_quiet(struct __test_metadata *_metadata, struct site *site)
{
	struct aux_actions act = { .pending = -1 };

	EXPECT_EQ(aux_actions_read(&site->group, &act), 0);
	EXPECT_EQ(act.pending, 0);
	EXPECT_EQ(act.requested, act.executed + act.superseded);
	EXPECT_EQ(act.requested, site_gates(site));
	EXPECT_EQ(pt_is_on(site->cpu), !act.paused);

	return act.paused;
}

static void check_after_storm(struct __test_metadata *_metadata,
			      struct site *site)
{
	bool paused;

	ASSERT_EQ(pin_to_cpu(site->cpu), 0);
	ASSERT_EQ(aux_group_enable(&site->group), 0);
	EXPECT_EQ(site->lost, 0);
	paused = check_quiet(_metadata, site);
	nmi_fire(1, paused ? TAG_RESUME : TAG_PAUSE);
	EXPECT_EQ(check_quiet(_metadata, site), !paused);

	ASSERT_EQ(aux_group_disable(&site->group), 0);
	ASSERT_EQ(site_read(site), 0)
		TH_LOG("%s", site->trace.error);
	if (site->spec.overwrite) {
		ASSERT_EQ(pt_trace_read_overwrite(&site->trace, &site->group), 0)
			TH_LOG("%s", site->trace.error);
	}
	EXPECT_TRUE(pt_trace_complete(&site->trace));
}

/*
 * The races that this test is for did happen. The numbers are absolute: a machine under
 * load takes longer.
 */
static bool had_enough(const struct site *site)
{
	struct aux_actions act;

	return !aux_actions_read(&site->group, &act) &&
	       act.requested >= 3000 && act.superseded >= 16 &&
	       site->overflows >= 400 &&
	       perf_count(site->gate[MSR_RESUME]) >= 16 &&
	       (site->spec.overwrite ? site->samples : site->trace.records) >= 16;
}

static bool all_had_enough(const struct site *site, int cpus)
{
	while (cpus && had_enough(&site[cpus - 1]))
		cpus--;

	return !cpus;
}

static void log_storm(struct __test_metadata *_metadata, const struct site *site,
		      unsigned int seconds)
{
	struct aux_actions act;

	ASSERT_EQ(aux_actions_read(&site->group, &act), 0);
	TH_LOG("CPU %d: %llu gates, %llu per second; %llu executed, %llu superseded",
	       site->cpu, act.requested, act.requested / seconds, act.executed,
	       act.superseded);
	TH_LOG("CPU %d: of them %llu counter overflows, %llu at MSR accesses",
	       site->cpu, site->overflows,
	       perf_count(site->gate[MSR_RESUME]) +
	       perf_count(site->gate[MSR_PAUSE]));
	TH_LOG("CPU %d: %lu AUX records, %llu samples, %zu bytes, %lu PSB",
	       site->cpu, site->trace.records, site->samples,
	       site->trace.nr_bytes, site->trace.psb);
}

TEST_F_TIMEOUT(intel_storm, exact, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	unsigned int ran = 0;
	bool seen;
	int i;

	do {
		storm(_metadata, self->site, self->cpus, ROUND);
		ran += ROUND;
		seen = all_had_enough(self->site, self->cpus);
	} while (!storm_is_over(begin, seen));

	for (i = 0; i < self->cpus; i++) {
		log_storm(_metadata, &self->site[i], ran);
		check_after_storm(_metadata, &self->site[i]);
	}
	if (has_model())
		TH_LOG("%lld interrupts by the model",
		       model_stat("total.pmi_raised") - self->pmis);
	EXPECT_EQ(nmi_stat("total.lost"), self->lost);
	EXPECT_EQ(model_violations(), 0);
	if (_metadata->passed && storm_was_short(seen))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen);
}

TEST_HARNESS_MAIN
