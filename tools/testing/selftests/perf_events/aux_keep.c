// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_EVENT_IOC_KEEP_AUX: of the windows of an AUX area event, those are kept that
 * lasted longer than a given time; the others give their bytes back.
 *
 * The task notes the time around each gate. So it knows two bounds of how long a window
 * was: from behind the resume to before the pause, and from before the resume to behind
 * the pause. A window whose lower bound is longer than the limit has to be there; one
 * whose upper bound is not must not be there, unless it is counted as partial. The
 * stream of the test PMU shows that nothing else is, and that nothing is missing.
 *
 * Expected: each test passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_keep.h"
#include "aux_trace.h"

#define LONGER		300000ULL	/* ns */
#define PERIOD		100000		/* ns: few packets */
#define CALLS		3000
#define SAMPLES		300
#define CALLS_AT_ONCE	50		/* they fill a small part of the area */

static const char *lacks_windows(void)
{
	const char *missing = lacks_test_pmus();

	if (!missing && !has_soft_places())
		missing = "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)";

	return missing ?: lacks_keep("test_aux");
}

PROGRAM_NEEDS(lacks_windows())

struct call {
	__u64	before, began, ends, after;
};

FIXTURE(aux_keep)
{
	struct aux_spec spec;
	struct aux_group group;
	struct aux_trace trace;
	struct perf_records records;
	struct perf_event_aux_windows windows;
	struct call call[CALLS];
	struct rate_limit limit;
	int nr, other_cpu;
};

FIXTURE_VARIANT(aux_keep)
{
	const char *pmu;
};

FIXTURE_VARIANT_ADD(aux_keep, sg)
{
	.pmu = "test_aux",
};

FIXTURE_VARIANT_ADD(aux_keep, contig)
{
	.pmu = "test_aux_contig",
};

FIXTURE_SETUP(aux_keep)
{
	memset(self, 0, sizeof(*self));
	aux_group_init(&self->group);
	self->other_cpu = nth_cpu(1);
	self->spec.pmu = variant->pmu;
	self->spec.cpu = -1;
	self->spec.start_paused = true;
	self->spec.period = PERIOD;
	self->spec.data_pages = 1024;
	/* 26 s of trace: a call takes long if the machine is busy. */
	self->spec.aux_pages = 2048;
	ASSERT_EQ(attr_tracepoint(&self->spec.resume, AT_RESUME), 0);
	ASSERT_EQ(attr_tracepoint(&self->spec.pause, AT_PAUSE), 0);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	aux_stats_reset();
}

FIXTURE_TEARDOWN(aux_keep)
{
	EXPECT_EQ(nmi_at(""), 0);
	aux_trace_free(&self->trace);
	perf_records_free(&self->records);
	aux_group_close(&self->group);
	set_rate_limit(&self->limit);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

static void open_and_enable(struct __test_metadata *_metadata, struct aux_group *group,
			    const struct aux_spec *spec)
{
	ASSERT_EQ(aux_group_open(group, spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(keep_longer(group->aux, LONGER), 0);
	ASSERT_EQ(aux_group_enable(group), 0);
}

static void call_of(struct call *call, __u64 ns)
{
	call->before = clock_ns();
	soft_resume();
	call->began = clock_ns();
	spin_ns(ns);
	call->ends = clock_ns();
	soft_pause();
	call->after = clock_ns();
}

/* Most are short, some are about as long as the limit, and some are longer. */
static __u64 random_ns(unsigned int *seed)
{
	static const __u64 most[] = { 1, 1, 1, 1, 3, 10, 20, 40 };
	__u64 limit = most[rand_r(seed) % 8] * LONGER / 10;

	return rand_r(seed) % (limit + 1);
}

static void read_all(struct __test_metadata *_metadata, struct aux_group *group,
		     struct aux_trace *trace, struct perf_records *records)
{
	ASSERT_EQ(aux_trace_read(trace, group), 0)
		TH_LOG("%s", trace->error);
	ASSERT_EQ(perf_records_read(records, group), 0);
}

/* Is a window of the trace in this call? */
static bool is_there(const struct aux_trace *trace, size_t *win, const struct call *call)
{
	size_t first = *win;

	while (*win < trace->nr && trace->win[*win].start >= call->before &&
	       trace->win[*win].stop <= call->after)
		++*win;

	return *win != first;
}

/*
 * Exactly the long ones are in the trace, and those that are counted as partial. None is
 * there of a window for which the area had no room, at its end: the engine then waits for
 * its interrupt, which may come after the window. aux_stats_reset() was called before.
 */
static void expect_long_ones(struct __test_metadata *_metadata,
			     const struct aux_trace *trace, const struct call *call, int nr,
			     const struct perf_event_aux_windows *windows)
{
	__u64 kept = 0, partial = 0, no_room = aux_stat("total.no_room");
	size_t win = 0, missing = 0;
	int i;

	for (i = 0; i < nr; i++) {
		bool there = is_there(trace, &win, &call[i]);

		kept += there;
		if (there && call[i].after - call[i].before <= LONGER)
			partial++;
		if (!there && call[i].ends - call[i].began > LONGER) {
			TH_LOG("call %d took %llu ns, and is missing", i,
			       (unsigned long long)(call[i].ends - call[i].began));
			missing++;
		}
	}
	EXPECT_EQ(win, trace->nr);
	EXPECT_LE(missing, no_room);
	EXPECT_LE(kept, windows->kept + windows->partial);
	EXPECT_GE(kept + no_room, windows->kept + windows->partial);
	EXPECT_LE(partial, windows->partial);
	EXPECT_EQ(all_windows(windows), nr);
}

TEST_F(aux_keep, exact)
{
	const struct perf_event_aux_windows *windows = &self->windows;
	struct aux_group *group = &self->group;
	unsigned int seed = 1;
	size_t records;
	int i;

	open_and_enable(_metadata, group, &self->spec);
	for (i = 0; i < CALLS; i++) {
		call_of(&self->call[i], random_ns(&seed));
		if (i % CALLS_AT_ONCE == 0)
			read_all(_metadata, group, &self->trace, &self->records);
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	read_all(_metadata, group, &self->trace, &self->records);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);

	expect_long_ones(_metadata, &self->trace, self->call, CALLS, windows);
	EXPECT_GE(windows->kept, CALLS / 20);
	EXPECT_LE(windows->partial, CALLS / 10);
	EXPECT_GE(windows->discarded, CALLS / 2);
	/* Each window that is kept has a record to itself. */
	records = perf_records_count(&self->records, PERF_RECORD_AUX, 0);
	EXPECT_GE(records, windows->kept);
	TH_LOG("%llu kept, %llu partial, %llu discarded, %zu AUX records",
	       (unsigned long long)windows->kept, (unsigned long long)windows->partial,
	       (unsigned long long)windows->discarded, records);
}

/*
 * Short windows fill nothing: these have several times as many bytes as the area. On a busy
 * machine some are long all the same, and are read before the next one.
 */
TEST_F(aux_keep, room_is_free_again)
{
	struct aux_group *group = &self->group;
	int i;

	/* With few packets but those of start and stop, 2 s of trace */
	self->spec.period = 1000000;
	self->spec.aux_pages = 16;
	open_and_enable(_metadata, group, &self->spec);
	for (i = 0; i < CALLS; i++) {
		struct call *call = &self->call[i];

		call_of(call, i + 1 < CALLS ? LONGER / 5 : 2 * LONGER);
		if (call->after - call->before > LONGER)
			read_all(_metadata, group, &self->trace, &self->records);
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	EXPECT_EQ(aux_stat("total.truncated"), 0);
	EXPECT_GE(aux_stat("total.rewinds"), CALLS / 2);
	read_all(_metadata, group, &self->trace, &self->records);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	expect_long_ones(_metadata, &self->trace, self->call, CALLS, &self->windows);
	EXPECT_GE(self->windows.kept, 1);
}

/* A task that sleeps is switched out: its data is handed over, and kept. */
TEST_F(aux_keep, windows_that_sleep)
{
	struct aux_group *group = &self->group;
	int i;

	open_and_enable(_metadata, group, &self->spec);
	for (i = 0; i < 20; i++) {
		soft_resume();
		sleep_until_switched_out();
		soft_pause();
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	EXPECT_EQ(self->windows.partial, 20);
	read_all(_metadata, group, &self->trace, &self->records);
	EXPECT_GE(self->trace.nr, 20);
}

static bool is_of_one_call(const struct perf_record *rec, const struct aux_group *group,
			   const struct call *call, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (aux_record_is_between(rec, group, call[i].before, call[i].after))
			return true;
	}

	return false;
}

/* What follows a window that was cut is not in one AUX record with the rest of it. */
TEST_F(aux_keep, records_of_one_window)
{
	struct aux_group *group = &self->group;
	int nr = 0, i;

	open_and_enable(_metadata, group, &self->spec);
	for (i = 0; i < 20; i++) {
		struct call *cut = &self->call[nr++];

		cut->before = clock_ns();
		soft_resume();
		sleep_until_switched_out();
		spin_ns(LONGER / 10);
		soft_pause();
		cut->after = clock_ns();
		call_of(&self->call[nr++], 2 * LONGER);
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	read_all(_metadata, group, &self->trace, &self->records);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);

	EXPECT_GE(self->windows.partial, 20);
	EXPECT_GE(self->trace.nr, nr);
	for (i = 0; i < self->records.nr; i++) {
		const struct perf_record *rec = &self->records.rec[i];

		if (rec->type == PERF_RECORD_AUX)
			EXPECT_TRUE(is_of_one_call(rec, group, self->call, nr));
	}
}

#define CHILD_CALLS	50

/* Some calls are a little longer than the limit, and one more is cut. */
static void child(struct call *call)
{
	int i;

	for (i = 0; i < CHILD_CALLS; i++)
		call_of(call, i % 10 ? 0 : LONGER * 6 / 5);
	soft_resume();
	sleep_until_switched_out();
	soft_pause();
	raise(SIGSTOP);
	_exit(0);
}

static void expect_windows(struct __test_metadata *_metadata, struct aux_group *group, __u64 nr)
{
	struct perf_event_aux_windows windows;

	ASSERT_EQ(count_windows(group->aux, &windows), 0);
	EXPECT_EQ(all_windows(&windows), nr);
}

/* Children have the limit of the event. Their windows count, also when they are gone. */
TEST_F(aux_keep, inherited)
{
	struct aux_group *group = &self->group;
	int status, i;
	pid_t pid;

	self->spec.cpu = nth_cpu(0);
	self->spec.inherit = true;
	open_and_enable(_metadata, group, &self->spec);
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid)
			child(self->call);
		ASSERT_GT(pid, 0);
		ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
		EXPECT_TRUE(WIFSTOPPED(status));
		expect_windows(_metadata, group, (CHILD_CALLS + 1) * (i + 1));
		ASSERT_EQ(kill(pid, SIGCONT), 0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		expect_windows(_metadata, group, (CHILD_CALLS + 1) * (i + 1));
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	EXPECT_GE(self->windows.kept + self->windows.partial, 4 * (CHILD_CALLS / 10 + 1));
	EXPECT_GE(self->windows.partial, 4);
	EXPECT_GE(self->windows.discarded, 4 * 20);
}

/* An AUX sample that is taken in a window has its data, and changes nothing in what is kept. */
TEST_F(aux_keep, samples)
{
	struct aux_group *group = &self->group;
	size_t i, sampled = 0;
	int sampler;

	/* The first window has more packets than a sample has room for. */
	self->spec.period = PERIOD / 10;
	ASSERT_EQ(aux_group_open(group, &self->spec), 0);
	sampler = aux_group_add_soft_sampler(group, &self->spec, AT_SAMPLE, 256);
	ASSERT_GE(sampler, 0);
	ASSERT_EQ(keep_longer(group->aux, LONGER), 0);
	ASSERT_EQ(aux_group_enable(group), 0);
	for (i = 0; i < SAMPLES; i++) {
		struct call *call = &self->call[i];

		call->before = clock_ns();
		soft_resume();
		call->began = clock_ns();
		/* The long ones are too short from the sample on. */
		spin_ns(i % 3 ? LONGER / 10 : LONGER * 3 / 5);
		soft_sample();
		spin_ns(i % 3 ? LONGER / 10 : LONGER * 3 / 5);
		call->ends = clock_ns();
		soft_pause();
		call->after = clock_ns();
		if (i % CALLS_AT_ONCE == 0)
			read_all(_metadata, group, &self->trace, &self->records);
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	read_all(_metadata, group, &self->trace, &self->records);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	close(sampler);

	expect_long_ones(_metadata, &self->trace, self->call, SAMPLES, &self->windows);
	EXPECT_GE(self->windows.discarded, SAMPLES / 3);
	for (i = 0; i < self->records.nr; i++)
		sampled += self->records.rec[i].sampled && self->records.rec[i].intact;
	EXPECT_EQ(sampled, SAMPLES);
}

/* --- Two CPUs, and NMIs on both --- */

struct side {
	const struct aux_spec *spec;
	int cpu, calls;
	struct aux_group group;
	struct aux_trace trace;
	struct perf_records records;
	struct perf_event_aux_windows windows;
	struct call *call;
	unsigned int seed;
	pthread_t thread;
	const char *failed;
};

static const char *run_calls(struct side *side)
{
	struct aux_group *group = &side->group;
	int i;

	for (i = 0; i < side->calls; i++) {
		call_of(&side->call[i], random_ns(&side->seed));
		if (i % CALLS_AT_ONCE && i + 1 < side->calls)
			continue;
		if (i + 1 == side->calls && aux_group_disable(group))
			return "no disable";
		if (aux_trace_read(&side->trace, group))
			return side->trace.error;
		if (perf_records_read(&side->records, group))
			return "no records";
		perf_records_free(&side->records);
	}

	return count_windows(group->aux, &side->windows) ? "no numbers" : NULL;
}

static void *run_side(void *arg)
{
	struct side *side = arg;
	struct aux_group *group = &side->group;

	if (pin_to_cpu(side->cpu) || aux_group_open(group, side->spec))
		side->failed = "no group";
	else if (keep_longer(group->aux, LONGER) || aux_group_enable(group))
		side->failed = "no limit";
	else
		side->failed = run_calls(side);

	return NULL;
}

static int open_storm(int cpu)
{
	struct perf_event_attr attr;
	int fd;

	attr_nmi(&attr, 50000, 0);
	fd = perf_open(&attr, -1, cpu, -1);
	if (fd >= 0)
		perf_enable(fd);

	return fd;
}

/* PERF_KEEP_CALLS is the number of windows on each CPU. */
TEST_F_TIMEOUT(aux_keep, two_cpus, 300)
{
	const char *calls = getenv("PERF_KEEP_CALLS");
	struct side side[2] = {};
	int storm[2], i;

	if (self->other_cpu < 0)
		SKIP(return, "only one CPU");
	for (i = 0; i < 2; i++) {
		side[i].spec = &self->spec;
		side[i].cpu = i ? self->other_cpu : nth_cpu(0);
		side[i].calls = calls ? atoi(calls) : CALLS;
		side[i].seed = i + 1;
		side[i].call = calloc(side[i].calls, sizeof(*side[i].call));
		ASSERT_NE(NULL, side[i].call);
		aux_group_init(&side[i].group);
		storm[i] = open_storm(side[i].cpu);
		ASSERT_GE(storm[i], 0)
			TH_LOG("%s", strerror(errno));
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_create(&side[i].thread, NULL, run_side, &side[i]), 0);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_join(side[i].thread, NULL), 0);

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(NULL, side[i].failed)
			TH_LOG("%s", side[i].failed);
		EXPECT_GE(perf_count(storm[i]), 100);
		expect_long_ones(_metadata, &side[i].trace, side[i].call, side[i].calls,
				 &side[i].windows);
		EXPECT_GE(side[i].windows.kept, side[i].calls / 20);
		EXPECT_GE(side[i].windows.discarded, side[i].calls / 2);
		TH_LOG("CPU %d: %llu kept, %llu partial, %llu discarded", side[i].cpu,
		       (unsigned long long)side[i].windows.kept,
		       (unsigned long long)side[i].windows.partial,
		       (unsigned long long)side[i].windows.discarded);
		close(storm[i]);
		aux_trace_free(&side[i].trace);
		aux_group_close(&side[i].group);
		free(side[i].call);
	}
}

/* --- Gates by NMI on two CPUs --- */

/* A pause each 0 to 0.7 ms, and a resume soon after it */
#define RESUMES_NS	100000
#define PAUSES_NS	700000
#define MORE_PAUSES_NS	1000000

struct nmi_side {
	struct aux_group group;
	int more_pauses;
	struct aux_trace trace;
	struct perf_records records;
	struct perf_event_aux_windows windows;
	struct call *call;
	int nr;
};

static void nmi_side_open(struct __test_metadata *_metadata, struct nmi_side *side,
			  struct aux_spec *spec, int cpu)
{
	struct perf_event_attr attr;

	aux_group_init(&side->group);
	spec->pid = -1;
	spec->cpu = cpu;
	ASSERT_EQ(aux_group_open(&side->group, spec), 0)
		TH_LOG("%s", strerror(errno));
	attr_nmi(&attr, MORE_PAUSES_NS, 0);
	side->more_pauses = aux_group_add_gate(&side->group, spec, &attr, false);
	ASSERT_GE(side->more_pauses, 0);
	ASSERT_EQ(perf_set_output(side->more_pauses, side->group.aux), 0);
	ASSERT_EQ(keep_longer(side->group.aux, LONGER), 0);
}

static void nmi_side_close(struct nmi_side *side)
{
	free(side->call);
	close(side->more_pauses);
	aux_trace_free(&side->trace);
	perf_records_free(&side->records);
	aux_group_close(&side->group);
}

static void nmi_side_read(struct __test_metadata *_metadata, struct nmi_side *side)
{
	read_all(_metadata, &side->group, &side->trace, &side->records);
	ASSERT_EQ(count_windows(side->group.aux, &side->windows), 0);
}

/*
 * The windows, by the samples of the gates: a resume acts after its own sample and before the
 * next one of any gate, a pause before its own sample and after the one before that. Timers
 * don't hit the driver where it keeps gates off, as interrupts are disabled there: so no
 * gate acts later.
 */
static void find_calls(struct __test_metadata *_metadata, struct nmi_side *side)
{
	const struct perf_records *records = &side->records;
	const struct perf_record *rec;
	struct call *call = NULL;
	__u64 last = 0;

	side->call = calloc(records->nr, sizeof(*side->call));
	ASSERT_NE(NULL, side->call);
	for (rec = records->rec; rec < records->rec + records->nr; rec++) {
		ASSERT_EQ(rec->lost, 0);
		if (rec->type != PERF_RECORD_SAMPLE)
			continue;
		if (call && !call->began)
			call->began = rec->time;
		if (call && rec->id != side->group.resume_id) {
			/* Nothing is known if there was no other sample in between. */
			call->ends = last > call->began ? last : call->began;
			call->after = rec->time;
			call = NULL;
		} else if (!call && rec->id == side->group.resume_id) {
			call = &side->call[side->nr++];
			call->before = rec->time;
		}
		last = rec->time;
	}
	EXPECT_EQ(NULL, call);
}

/* How many of the windows were surely long, or surely short? */
static int surely(const struct nmi_side *side, bool is_long)
{
	const struct call *call;
	int nr = 0;

	for (call = side->call; call < side->call + side->nr; call++)
		nr += is_long ? call->ends - call->began > LONGER :
				call->after - call->before <= LONGER;

	return nr;
}

static void expect_calls(struct __test_metadata *_metadata, struct nmi_side *side)
{
	int shorts, longs;

	find_calls(_metadata, side);
	expect_long_ones(_metadata, &side->trace, side->call, side->nr, &side->windows);
	shorts = surely(side, false);
	longs = surely(side, true);
	EXPECT_GE(shorts, side->nr / 20);
	EXPECT_GE(longs, side->nr / 50);
	TH_LOG("%d windows, %d short, %d long; %llu kept, %llu partial, %llu discarded",
	       side->nr, shorts, longs, (unsigned long long)side->windows.kept,
	       (unsigned long long)side->windows.partial,
	       (unsigned long long)side->windows.discarded);
}

/* Waits for the next event of @fd. */
static void await_count(int fd)
{
	__u64 before = perf_count(fd);

	do {
		spin_ns(MORE_PAUSES_NS);
	} while (perf_count(fd) == before);
}

/* PERF_KEEP_CALLS is the number of windows on each CPU. */
TEST_F_TIMEOUT(aux_keep, nmi_gates_two_cpus, 300)
{
	const char *calls = getenv("PERF_KEEP_CALLS");
	__u64 wanted = calls ? atoi(calls) : CALLS;
	struct nmi_side side[2] = {};
	__u64 begin;
	int i;

	if (self->other_cpu < 0)
		SKIP(return, "only one CPU");
	self->spec.aux_pages = 2048;
	attr_nmi(&self->spec.resume, RESUMES_NS, 0);
	attr_nmi(&self->spec.pause, PAUSES_NS, 0);
	for (i = 0; i < 2; i++)
		nmi_side_open(_metadata, &side[i], &self->spec, i ? self->other_cpu : nth_cpu(0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(aux_group_enable(&side[i].group), 0);
	begin = clock_ns();
	do {
		ASSERT_LT(clock_ns() - begin, 250000000000ULL)
			TH_LOG("%llu and %llu windows; %llu times the area was full",
			       (unsigned long long)all_windows(&side[0].windows),
			       (unsigned long long)all_windows(&side[1].windows),
			       (unsigned long long)aux_stat("total.truncated"));
		spin_ns(1000000);
		for (i = 0; i < 2; i++)
			nmi_side_read(_metadata, &side[i]);
	} while (all_windows(&side[0].windows) < wanted || all_windows(&side[1].windows) < wanted);

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(perf_disable(side[i].group.resume), 0);
		/* The last window has to end. On a busy machine, that takes long. */
		await_count(side[i].group.pause);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(aux_group_disable(&side[i].group), 0);
		nmi_side_read(_metadata, &side[i]);
		expect_calls(_metadata, &side[i]);
		nmi_side_close(&side[i]);
	}
}

/* Gates by NMI, at any place in the driver, and at its points. */
TEST_F(aux_keep, nmi_storm)
{
	struct aux_group *group = &self->group;
	__u64 begin;
	struct aux_actions act;

	self->spec.pid = -1;
	self->spec.cpu = nth_cpu(0);
	self->spec.aux_pages = 2048;
	attr_nmi(&self->spec.resume, 70000, 0);
	attr_nmi(&self->spec.pause, 110000, 0);
	open_and_enable(_metadata, group, &self->spec);
	ASSERT_EQ(keep_longer(group->aux, 50000), 0);
	begin = clock_ns();
	/* On a busy machine it takes longer until there are enough of both kinds. */
	do {
		spin_ns(1000000);
		ASSERT_EQ(aux_trace_read(&self->trace, group), 0)
			TH_LOG("%s", self->trace.error);
		ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	} while (clock_ns() - begin < 3000000000ULL ||
		 ((self->windows.discarded < 100 || self->windows.kept < 100) &&
		  clock_ns() - begin < 20000000000ULL));
	ASSERT_EQ(aux_group_disable(group), 0);
	ASSERT_EQ(aux_trace_read(&self->trace, group), 0)
		TH_LOG("%s", self->trace.error);
	ASSERT_EQ(aux_actions_read(group, &act), 0);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	EXPECT_EQ(act.pending, 0);
	EXPECT_GE(self->windows.discarded, 100);
	EXPECT_GE(self->windows.kept, 100);
	EXPECT_LE(all_windows(&self->windows), act.executed);
}

/* Takes the CPU from the test at each of its yields. A sleep would let a virtual CPU wait. */
static pid_t start_rival(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		sched_yield();
}

/*
 * A kept window asks for the end of its transaction in an NMI, and the task is switched out
 * before that comes.
 */
TEST_F_TIMEOUT(aux_keep, nmi_storm_and_switches, 120)
{
	struct aux_group *group = &self->group;
	pid_t rival = start_rival();
	__u64 begin;

	ASSERT_GT(rival, 0);
	self->spec.aux_pages = 2048;
	attr_nmi(&self->spec.resume, 17000, 0);
	attr_nmi(&self->spec.pause, 23000, 0);
	open_and_enable(_metadata, group, &self->spec);
	ASSERT_EQ(keep_longer(group->aux, 1), 0);
	begin = clock_ns();
	do {
		ASSERT_LT(clock_ns() - begin, 100000000000ULL)
			TH_LOG("%llu kept, %llu partial",
			       (unsigned long long)self->windows.kept,
			       (unsigned long long)self->windows.partial);
		sched_yield();
		ASSERT_EQ(aux_trace_read(&self->trace, group), 0)
			TH_LOG("%s", self->trace.error);
		ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	} while (clock_ns() - begin < 3000000000ULL || self->windows.kept < 100 ||
		 self->windows.partial < 100);
	ASSERT_EQ(aux_group_disable(group), 0);
	kill(rival, SIGKILL);
	EXPECT_EQ(waitpid(rival, NULL, 0), rival);
}

/* The window ends while its task is switched out, which ends the transaction anyway. */
TEST_F(aux_keep, ends_in_a_switch)
{
	struct aux_group *group = &self->group;
	int i;

	attr_nmi(&self->spec.pause, 0, TAG_PAUSE);
	open_and_enable(_metadata, group, &self->spec);
	ASSERT_EQ(keep_longer(group->aux, 1), 0);
	ASSERT_EQ(nmi_at("stop-entry:2"), 0);
	for (i = 0; i < 20; i++) {
		soft_resume();
		sleep_until_switched_out();
	}
	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(aux_group_disable(group), 0);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	EXPECT_EQ(self->windows.kept, 20);
	EXPECT_EQ(all_windows(&self->windows), 20);
	read_all(_metadata, group, &self->trace, &self->records);
	EXPECT_GE(self->trace.nr, 20);
}

/* Without a limit, all are kept, and none is counted. */
TEST_F(aux_keep, no_limit)
{
	struct aux_group *group = &self->group;
	int i;

	open_and_enable(_metadata, group, &self->spec);
	ASSERT_EQ(keep_longer(group->aux, 0), 0);
	for (i = 0; i < 50; i++)
		call_of(&self->call[i], 0);
	ASSERT_EQ(aux_group_disable(group), 0);
	read_all(_metadata, group, &self->trace, &self->records);
	EXPECT_GE(self->trace.nr, 50);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	EXPECT_EQ(all_windows(&self->windows), 0);
}

/* A window that begins while there is no limit is kept. */
TEST_F(aux_keep, limit_comes_later)
{
	struct aux_group *group = &self->group;
	int i;

	open_and_enable(_metadata, group, &self->spec);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(keep_longer(group->aux, 0), 0);
		soft_resume();
		ASSERT_EQ(keep_longer(group->aux, FOREVER), 0);
		soft_pause();
	}
	ASSERT_EQ(aux_group_disable(group), 0);
	ASSERT_EQ(count_windows(group->aux, &self->windows), 0);
	EXPECT_EQ(self->windows.partial, 20);
	EXPECT_EQ(all_windows(&self->windows), 20);
	read_all(_metadata, group, &self->trace, &self->records);
	EXPECT_GE(self->trace.nr, 20);
}

/* An overwritten area has no room to give back: all windows in it are kept. */
TEST_F(aux_keep, redirected_to_overwritten)
{
	struct aux_spec spec = self->spec;
	struct aux_group other;
	pid_t child = fork();
	int i;

	if (!child)
		for (;;)
			pause();
	ASSERT_GT(child, 0);
	self->spec.cpu = nth_cpu(0);
	self->spec.no_map = true;
	spec.cpu = nth_cpu(0);
	spec.pid = child;
	spec.overwrite = true;
	spec.aux_pages = 64;
	ASSERT_EQ(aux_group_open(&other, &spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);
	ASSERT_EQ(keep_longer(self->group.aux, FOREVER), 0);
	ASSERT_EQ(perf_set_output(self->group.aux, other.aux), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	for (i = 0; i < 20; i++)
		call_of(&self->call[i], 0);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	ASSERT_EQ(count_windows(self->group.aux, &self->windows), 0);
	EXPECT_EQ(self->windows.partial, 20);
	EXPECT_EQ(all_windows(&self->windows), 20);
	EXPECT_EQ(aux_stat("total.rewinds"), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	aux_group_close(&other);
}

TEST_F(aux_keep, refused)
{
	struct aux_group *group = &self->group;
	struct perf_event_attr attr;
	int fd;

	attr_page_fault(&attr, true);
	fd = perf_open(&attr, 0, -1, -1);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(keep_longer(fd, LONGER), EOPNOTSUPP);
	close(fd);

	self->spec.overwrite = true;
	self->spec.aux_pages = 64;	/* one PMU wants them contiguous */
	ASSERT_EQ(aux_group_open(group, &self->spec), 0);
	EXPECT_EQ(keep_longer(group->aux, LONGER), EINVAL);
	EXPECT_EQ(ioctl(group->aux, PERF_EVENT_IOC_KEEP_AUX, NULL), -1);
	EXPECT_EQ(errno, EFAULT);
	aux_group_unmap(group);
	EXPECT_EQ(keep_longer(group->aux, LONGER), 0);
	EXPECT_EQ(aux_group_map(group, &self->spec), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST_HARNESS_MAIN
