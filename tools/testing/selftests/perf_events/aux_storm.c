// SPDX-License-Identifier: GPL-2.0
/*
 * No gate is missed, wherever it hits: gates overflow by NMI in the middle of
 * the driver's start, stop and interrupt handler, of AUX samples, and of other
 * gates' pauses and resumes.
 *
 * Expected: when all is quiet, the trace is in the state that the last gate
 * requested. The number of requests is the gates' count of overflows, and each is
 * executed or superseded by a later one. A kernel that drops the action of a gate
 * that hits while the driver is busy fails: state and numbers differ.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "aux_keep.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define SAMPLE_SIZE	256

/*
 * One CPU's group: gates by NMI (those of struct aux_group) and by software,
 * and samplers of the AUX area, by NMI and by software.
 */
struct site {
	int cpu;
	struct aux_spec spec;
	struct aux_group group;
	int soft_resume, soft_pause;
	int soft_sample, nmi_sample;
	unsigned long rounds;
};

static int add_samplers(struct site *site)
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
	site->spec.pid = -1;
	site->spec.cpu = cpu;
	site->spec.start_paused = true;
	site->spec.overwrite = overwrite;
	site->spec.watermark = 8192;
	/* The area lasts for most of a second, in case the machine stalls. */
	if (!overwrite)
		site->spec.period = 100000;
	attr_nmi(&site->spec.resume, 0, TAG_RESUME);
	attr_nmi(&site->spec.pause, 0, TAG_PAUSE);
	if (aux_group_open(&site->group, &site->spec))
		return -1;

	/* The gates' samples are not used here. */
	if (perf_set_output(site->group.resume, -1) ||
	    perf_set_output(site->group.pause, -1))
		return -1;

	site->soft_resume = aux_group_add_soft_gate(&site->group, &site->spec,
						    AT_RESUME, true);
	site->soft_pause = aux_group_add_soft_gate(&site->group, &site->spec,
						   AT_PAUSE, false);
	if (site->soft_resume < 0 || site->soft_pause < 0 || add_samplers(site))
		return -1;

	return aux_group_enable(&site->group);
}

static void site_close(struct site *site)
{
	close(site->soft_sample);
	close(site->nmi_sample);
	close(site->soft_pause);
	close(site->soft_resume);
	aux_group_close(&site->group);
}

/* Discard the samples: while the buffer is full there are no AUX records. */
static void site_drain(struct site *site)
{
	struct perf_event_mmap_page *page = site->group.page;

	__atomic_store_n(&page->data_tail,
			 __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

static unsigned long long site_gates(const struct site *site)
{
	return perf_count(site->group.resume) + perf_count(site->group.pause) +
	       perf_count(site->soft_resume) + perf_count(site->soft_pause);
}

/*
 * For a CPU on which no gate overflows right now: is the accounting exact, and
 * does the hardware agree with it? Returns whether it is paused.
 */
static bool check_quiet(struct __test_metadata *_metadata, struct site *site)
{
	struct aux_actions act = { .pending = -1 };

	EXPECT_EQ(aux_actions_read(&site->group, &act), 0);
	EXPECT_EQ(act.pending, 0);
	EXPECT_EQ(act.requested, act.executed + act.superseded);
	EXPECT_EQ(act.requested, site_gates(site));
	EXPECT_EQ(aux_engine_is_on(site->cpu), !act.paused);

	return act.paused;
}

/* --- One gate at one point --- */

FIXTURE(aux_point)
{
	struct site site;
	struct aux_trace trace;
	int old_rate;
};

FIXTURE_VARIANT(aux_point)
{
	unsigned int tag;
};

FIXTURE_VARIANT_ADD(aux_point, resume)
{
	.tag = TAG_RESUME,
};

FIXTURE_VARIANT_ADD(aux_point, pause)
{
	.tag = TAG_PAUSE,
};

FIXTURE_SETUP(aux_point)
{
	int cpu = nth_cpu(0);

	if (!has_soft_places())
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(aux_stats_reset(), 0);
	self->old_rate = set_max_sample_rate(RATE_UNLIMITED);
	ASSERT_GT(self->old_rate, 0);
	ASSERT_EQ(pin_to_cpu(cpu), 0);
	ASSERT_EQ(site_open(&self->site, cpu, false), 0)
		TH_LOG("%s", strerror(errno));
}

FIXTURE_TEARDOWN(aux_point)
{
	EXPECT_EQ(nmi_at(""), 0);
	set_max_sample_rate(self->old_rate);
	aux_trace_free(&self->trace);
	site_close(&self->site);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

/* It may take several ticks: one comes each millisecond, and only some hand out data. */
static int wait_for_nmi(long long fired)
{
	__u64 end = clock_ns() + 5000000000ULL;

	while (aux_stat("total.nmi_fired") == fired) {
		if (clock_ns() > end)
			return -1;
	}

	return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Make the driver pass the point, from a level at which it does. */
static void pass_point(struct site *site, const char *point)
{
	if (starts_with(point, "start-") || starts_with(point, "stop-"))
		aux_group_restart(&site->group);
	else if (starts_with(point, "snapshot-"))
		soft_sample();
	else if (starts_with(point, "pause-") || starts_with(point, "engine-off") ||
		 starts_with(point, "engine-rewind"))
		soft_pause();
	else if (!starts_with(point, "tick-"))
		soft_resume();
}

static bool begins_paused(const char *point)
{
	return starts_with(point, "resume-") || starts_with(point, "engine-on") ||
	       starts_with(point, "engine-write");
}

static void one_point(struct __test_metadata *_metadata, struct site *site,
		      const char *point, unsigned int tag)
{
	long long fired = aux_stat("total.nmi_fired");
	bool rewinds = starts_with(point, "engine-rewind");
	char rule[64];
	int i;

	/* The output is put back at the end of a window that began with a limit. */
	if (rewinds) {
		soft_pause();
		ASSERT_EQ(keep_longer(site->group.aux, FOREVER), 0);
	}
	if (begins_paused(point))
		soft_pause();
	else
		soft_resume();

	snprintf(rule, sizeof(rule), "%s:%u", point, tag);
	ASSERT_EQ(nmi_at(rule), 0)
		TH_LOG("%s: %s", rule, strerror(errno));
	pass_point(site, point);
	/* The output isn't put back at the end of a window that the driver's tick has cut. */
	for (i = 0; rewinds && i < 100 && aux_stat("total.nmi_fired") == fired; i++) {
		soft_resume();
		pass_point(site, point);
	}
	ASSERT_EQ(wait_for_nmi(fired), 0)
		TH_LOG("%s: no NMI within five seconds", point);
	ASSERT_EQ(nmi_at(""), 0);
	keep_longer(site->group.aux, 0);

	/* The NMI's request is the last, whatever it interrupted. */
	EXPECT_EQ(check_quiet(_metadata, site), tag == TAG_PAUSE)
		TH_LOG("%s", point);
	site_drain(site);
}

TEST_F(aux_point, each_point)
{
	char points[2048], *point, *save;
	int n = 0;

	ASSERT_EQ(read_file("/sys/kernel/debug/test_perf_aux/points", points,
			    sizeof(points)), 0);
	for (point = strtok_r(points, "\n", &save); point;
	     point = strtok_r(NULL, "\n", &save)) {
		one_point(_metadata, &self->site, point, variant->tag);
		ASSERT_EQ(aux_trace_read(&self->trace, &self->site.group), 0)
			TH_LOG("%s: %s", point, self->trace.error);
		n++;
	}
	EXPECT_GE(n, 30);
}

/* --- All gates at all points on all CPUs --- */

#define MAX_CPUS	16
#define MIN_GATES	1000000ULL

/*
 * How often a point fires. A pause or resume passes about four points: with much
 * shorter periods each action would cause more than one other on average.
 */
#define STORM_RULES	"all:1:13,all:2:17,all:3:29"

FIXTURE(aux_storm)
{
	struct site site[MAX_CPUS];
	long long lost;			/* NMIs of earlier tests */
	int cpus;
	int old_rate;
};

FIXTURE_SETUP(aux_storm)
{
	int i;

	if (!has_soft_places())
		SKIP(return, "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)");

	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(aux_stats_reset(), 0);
	self->lost = nmi_stat("total.lost");
	self->old_rate = set_max_sample_rate(RATE_UNLIMITED);
	ASSERT_GT(self->old_rate, 0);
	for (i = 0; i < MAX_CPUS && nth_cpu(i) >= 0; i++) {
		ASSERT_EQ(site_open(&self->site[i], nth_cpu(i), true), 0)
			TH_LOG("%s", strerror(errno));
	}
	self->cpus = i;
}

FIXTURE_TEARDOWN(aux_storm)
{
	int i;

	EXPECT_EQ(nmi_at(""), 0);
	set_max_sample_rate(self->old_rate);
	for (i = 0; i < self->cpus; i++)
		site_close(&self->site[i]);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

/* Every few steps something else, with coprime periods. */
static void storm_step(struct site *site, unsigned long n)
{
	soft_resume();
	soft_pause();
	if (n % 3 == 0)
		soft_sample();
	if (n % 7 == 0)
		aux_group_restart(&site->group);
	if (n % 101 == 0)
		nmi_fire(20, n & 1 ? TAG_RESUME : TAG_PAUSE);
	if (n % 211 == 0) {
		aux_group_disable(&site->group);
		aux_group_enable(&site->group);
	}
	if (n % 16 == 0)
		site_drain(site);
}

static void *storm_thread(void *arg)
{
	struct site *site = arg;
	unsigned long n;

	if (pin_to_cpu(site->cpu))
		return "not pinned";

	for (n = 0; n < site->rounds; n++)
		storm_step(site, n);

	return NULL;
}

static void storm_round(struct __test_metadata *_metadata, struct site *site,
			int cpus)
{
	pthread_t thread[MAX_CPUS];
	void *error;
	int i;

	ASSERT_EQ(nmi_at(STORM_RULES), 0);
	for (i = 0; i < cpus; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, storm_thread, &site[i]), 0);
	for (i = 0; i < cpus; i++) {
		ASSERT_EQ(pthread_join(thread[i], &error), 0);
		ASSERT_EQ(NULL, error);
	}
	ASSERT_EQ(nmi_at(""), 0);
}

/* When quiet, the accounting is exact, and one more gate still acts. */
static void check_after_storm(struct __test_metadata *_metadata,
			      struct site *site)
{
	bool paused;

	/* From here on, what an NMI has requested in a tick there is executed. */
	ASSERT_EQ(pin_to_cpu(site->cpu), 0);
	paused = check_quiet(_metadata, site);
	ASSERT_EQ(nmi_fire(1, paused ? TAG_RESUME : TAG_PAUSE), 0);
	EXPECT_EQ(check_quiet(_metadata, site), !paused);
}

TEST_F_TIMEOUT(aux_storm, exact, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	unsigned long long gates = 0;
	bool seen = true;
	struct aux_actions act;
	int i;

	while (!storm_is_over(begin, gates >= MIN_GATES)) {
		for (i = 0; i < self->cpus; i++)
			self->site[i].rounds = 20000;
		storm_round(_metadata, self->site, self->cpus);
		for (gates = 0, i = 0; i < self->cpus; i++) {
			check_after_storm(_metadata, &self->site[i]);
			gates += site_gates(&self->site[i]);
		}
		ASSERT_TRUE(_metadata->passed);
	}
	TH_LOG("%llu gates, %lld NMIs at points, %lld samples", gates,
	       aux_stat("total.nmi_fired"), aux_stat("total.snapshots"));

	/* The races that this test is for did happen. */
	for (i = 0; i < self->cpus; i++) {
		ASSERT_EQ(aux_actions_read(&self->site[i].group, &act), 0);
		TH_LOG("CPU %d: %llu requested, %llu executed, %llu superseded",
		       self->site[i].cpu, act.requested, act.executed,
		       act.superseded);
		seen &= act.superseded > 1000;
	}
	EXPECT_EQ(nmi_stat("total.lost"), self->lost);
	/* NMI samples that hit while the trace was being switched: nested sections */
	seen &= aux_stat("total.nmi_fired") > 10000 &&
		aux_stat("total.snapshots_missed") > 100;
	if (_metadata->passed && storm_was_short(seen))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen);
}

TEST_HARNESS_MAIN
