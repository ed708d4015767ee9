// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of Intel PT and Intel BTS follow their task: an event on each of two CPUs, which
 * share a level. Each window begins on one CPU and ends on the other, in the task and in a child
 * that has inherited the events. The same with events of CPUs, whose windows belong to threads,
 * while other threads run there.
 *
 * Expected: each CPU has the branches that were executed on it between resume and pause,
 * and no others. Where each CPU has a level of its own, the CPU on which a window begins
 * goes on tracing.
 *
 * NMIs hit where the drivers access MSRs. Those that are no gates change nothing of that. In
 * the storm they are gates: then each request is executed or superseded, and the hardware is
 * on where the task is, if it is in a window, and nowhere else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "intel_test.h"

#define CPUS		2
#define INSIDE		50	/* branches of a window on each CPU */
#define OUTSIDE		5000	/* more than the windows have together */
#define SAMPLE_SIZE	512

PROGRAM_NEEDS(lacks_aux_level() ?: lacks_pmu("intel_pt") ?: lacks_pmu("intel_bts"))

FIXTURE(migrate)
{
	struct gated gated[CPUS];
	struct pt_trace pt[CPUS];
	struct bts_trace bts[CPUS];
	pthread_t bystander[CPUS];
	unsigned int bystanders;
	bool over;
	int none;
	int sampler[CPUS];
	int nmi_resume[CPUS], nmi_pause[CPUS];
	int counter;
	struct rate_limit limit;
	unsigned int windows;
	__u64 child_gates;
	bool restart;	/* the events in windows */
};

FIXTURE_VARIANT(migrate)
{
	bool bts;
	bool threads;
	bool samples;
	bool inherit;
	bool counter;
};

FIXTURE_VARIANT_ADD(migrate, pt) { .bts = false };
FIXTURE_VARIANT_ADD(migrate, pt_samples) { .bts = false, .samples = true };
FIXTURE_VARIANT_ADD(migrate, pt_beside_a_counter) { .counter = true, .inherit = true };
FIXTURE_VARIANT_ADD(migrate, bts) { .bts = true, .inherit = true };
FIXTURE_VARIANT_ADD(migrate, pt_of_threads) { .bts = false, .threads = true };
FIXTURE_VARIANT_ADD(migrate, bts_of_threads) { .bts = true, .threads = true };

/* It runs on the CPU that it was created on, outside of windows. */
static void *stand_by(void *arg)
{
	struct _test_data_migrate *self = arg;

	while (!__atomic_load_n(&self->over, __ATOMIC_RELAXED)) {
		branches(OUTSIDE);
		sched_yield();
	}

	return NULL;
}

static void init_gated(struct _test_data_migrate *self, int i,
		       const struct _fixture_variant_migrate *variant)
{
	struct gated *gated = &self->gated[i];
	int *first = i ? &self->gated[0].group.aux : NULL;

	if (variant->bts)
		gated_init_bts(gated, &self->bts[i]);
	else
		gated_init_pt(gated, &self->pt[i]);
	gated->cpu = nth_cpu(i);
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = true;
	gated->spec.overwrite = variant->samples;
	gated->spec.inherit = variant->inherit;
	gated->spec.aux_pages = 1024;
	if (variant->threads) {
		gated->spec.pid = -1;
		gated->spec.threads_fd = first ?: &self->none;
	} else {
		gated->spec.level_fd = first;
	}
}

static void start_bystander(struct __test_metadata *_metadata, struct _test_data_migrate *self,
			    int cpu)
{
	pin_to_cpu(cpu);
	ASSERT_EQ(pthread_create(&self->bystander[self->bystanders], NULL, stand_by, self), 0);
	self->bystanders++;
}

static void init_fds(int *fd)
{
	int i;

	for (i = 0; i < CPUS; i++)
		fd[i] = -1;
}

static void close_fds(const int *fd)
{
	int i;

	for (i = 0; i < CPUS; i++)
		close(fd[i]);
}

static void open_sampler(struct __test_metadata *_metadata, struct _test_data_migrate *self,
			 int i)
{
	struct gated *gated = &self->gated[i];

	if (lacks_nmi())
		SKIP(return, "no %s", lacks_nmi());
	self->sampler[i] = aux_group_add_nmi_sampler(&gated->group, &gated->spec, SAMPLE_SIZE);
	ASSERT_GE(self->sampler[i], 0);
}

/*
 * A gate that hardware counts, but which never overflows here. Before Linux 6.2 the kernel moves
 * its whole group to the task's context of hardware events. It is the same task's still.
 */
static void open_counter(struct __test_metadata *_metadata, struct _test_data_migrate *self)
{
	struct gated *gated = &self->gated[0];
	struct aux_spec again = gated->spec;
	struct perf_event_attr attr;

	attr_cycles(&attr, 1ULL << 40);
	self->counter = aux_group_add_gate(&gated->group, &gated->spec, &attr, true);
	if (self->counter < 0)
		SKIP(return, "no counter of cycles: %s", strerror(errno));

	again.level_fd = &gated->group.aux;
	EXPECT_EQ(aux_leader_error(&again), EBUSY);
}

FIXTURE_SETUP(migrate)
{
	int i;

	memset(self, 0, sizeof(*self));
	self->counter = -1;
	self->none = -1;
	init_fds(self->sampler);
	init_fds(self->nmi_resume);
	init_fds(self->nmi_pause);
	if (variant->threads && lacks_aux_threads())
		SKIP(return, "%s", lacks_aux_threads());

	/* All before the first is opened: that pins the task to its CPU. */
	for (i = 0; i < CPUS; i++) {
		init_gated(self, i, variant);
		if (self->gated[i].cpu < 0)
			SKIP(return, "one CPU only");
		if (!setup_kind(_metadata, &self->gated[i], "tracepoint"))
			return;
	}
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	for (i = 0; i < CPUS; i++) {
		open_group(_metadata, &self->gated[i]);
		if (variant->counter && !i)
			open_counter(_metadata, self);
		if (variant->samples)
			open_sampler(_metadata, self, i);
		enable_group(_metadata, &self->gated[i]);
	}
	for (i = 0; i < CPUS && variant->threads; i++)
		start_bystander(_metadata, self, self->gated[i].cpu);
}

static void end_bystanders(struct _test_data_migrate *self)
{
	__atomic_store_n(&self->over, true, __ATOMIC_RELAXED);
	while (self->bystanders)
		pthread_join(self->bystander[--self->bystanders], NULL);
}

FIXTURE_TEARDOWN(migrate)
{
	int i;

	end_bystanders(self);
	close(self->counter);
	close_fds(self->sampler);
	close_fds(self->nmi_resume);
	close_fds(self->nmi_pause);
	for (i = 0; i < CPUS; i++) {
		pt_trace_free(&self->pt[i]);
		bts_trace_free(&self->bts[i]);
		gated_close(&self->gated[i]);
	}
	set_rate_limit(&self->limit);
	EXPECT_EQ(model_violations(), 0);
}

static void inside(const struct _test_data_migrate *self, int cpu)
{
	branches(INSIDE);
	if (self->sampler[0] >= 0)
		fire_tag(TAG_SAMPLE);
	if (self->restart)
		aux_group_restart(&self->gated[cpu].group);
}

/* From this CPU to the other one */
static void window(struct _test_data_migrate *self, int from)
{
	pin_to_cpu(self->gated[from].cpu);
	branches(OUTSIDE);
	syscall(__NR_getppid);
	inside(self, from);
	pin_to_cpu(self->gated[!from].cpu);
	inside(self, !from);
	syscall(__NR_getpgid, 0);
	branches(OUTSIDE);
	pin_to_cpu(self->gated[from].cpu);
	branches(OUTSIDE);
	self->windows++;
}

/* In a child: its events have a level of their own. */
static void child_windows(struct __test_metadata *_metadata, struct _test_data_migrate *self)
{
	int status, i;
	pid_t pid = fork();

	if (!pid) {
		for (i = 0; i < ROUNDS; i++)
			window(self, i % CPUS);
		_exit(0);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	self->windows += ROUNDS;
	self->child_gates += 2 * ROUNDS;
}

/* The gates of all CPUs count for the level; those of children, for theirs. */
static void expect_all_counted(struct __test_metadata *_metadata,
			       const struct _test_data_migrate *self, struct gated *gated,
			       const struct gated *other)
{
	gated->others = perf_count(other->group.resume) + perf_count(other->group.pause) -
			self->child_gates;
	expect_exact(_metadata, gated);
}

/* The branches of all windows, on both CPUs, and no others */
static void expect_windows(struct __test_metadata *_metadata, struct _test_data_migrate *self,
			   const struct _fixture_variant_migrate *variant)
{
	struct gated *gated = self->gated;
	int i;

	end_bystanders(self);
	for (i = 0; i < CPUS; i++) {
		disable_and_read(_metadata, &gated[i]);
		/* Where windows belong to threads, context switches count, too. */
		if (!variant->threads)
			expect_all_counted(_metadata, self, &gated[i], &gated[!i]);
		if (variant->bts) {
			/* Of the taken ones: all but the last. */
			EXPECT_EQ(bts_branches(&self->bts[i], WINDOW_PLACES),
				  self->windows * (INSIDE - 1));
		} else {
			EXPECT_GE(self->pt[i].tnt, self->windows * INSIDE);
			EXPECT_LT(self->pt[i].tnt, OUTSIDE);
		}
	}
}

TEST_F(migrate, window_follows_the_task)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		window(self, i % CPUS);
	if (variant->inherit)
		child_windows(_metadata, self);
	expect_windows(_metadata, self, variant);
}

/* --- NMIs at MSR accesses --- */

struct points {
	const struct msr_point *point;
	unsigned int nr;
};

static const struct points *points_of(bool bts)
{
	static const struct msr_point pt[] = {
		{ "write of CTL", MSR_RTIT_CTL, true },
		{ "read of OUTPUT_MASK", MSR_RTIT_OUTPUT_MASK, false },
		{ "read of STATUS", MSR_RTIT_STATUS, false },
	};
	static const struct msr_point debugctl[] = {
		{ "read of DEBUGCTL", MSR_DEBUGCTL, false },
		{ "write of DEBUGCTL", MSR_DEBUGCTL, true },
	};
	static const struct points of[] = {
		{ pt, ARRAY_SIZE(pt) },
		{ debugctl, ARRAY_SIZE(debugctl) },
	};

	return &of[bts];
}

static const char *lacks_msr_nmis(void)
{
	return lacks_nmi() ?: lacks_msr() ?: lacks_msr_events() ?: lacks_nmi_at_msr();
}

/* Returns the number of NMIs on this CPU. */
static long windows_with_nmis(struct __test_metadata *_metadata,
			      struct _test_data_migrate *self, int cpu,
			      const struct msr_point *point)
{
	long hits;

	pin_to_cpu(self->gated[cpu].cpu);
	ASSERT_EQ(nmi_at_msr(point, self->sampler[0] >= 0 ? TAG_SAMPLE : TAG_NONE), 0);
	window(self, 0);
	window(self, 1);
	hits = nmi_at_msr_off();
	EXPECT_GT(hits, 0)
		TH_LOG("none at the %s", point->name);
	read_trace(_metadata, &self->gated[cpu]);

	return hits;
}

/* They are no gates: they interrupt the driver in the middle of stop, start, pause and resume. */
TEST_F(migrate, window_follows_the_task_under_nmis)
{
	const struct points *points = points_of(variant->bts);
	long hits = 0;
	unsigned int i;
	int cpu;

	if (lacks_msr_nmis())
		SKIP(return, "no %s", lacks_msr_nmis());

	/* A move of a thread is a pause and a resume, not a stop and a start. */
	self->restart = true;
	for (i = 0; i < points->nr; i++) {
		for (cpu = 0; cpu < CPUS; cpu++)
			hits += windows_with_nmis(_metadata, self, cpu, &points->point[i]);
	}
	expect_windows(_metadata, self, variant);
	TH_LOG("%ld NMIs in %u windows", hits, self->windows);
}

/* --- Gates by NMI at MSR accesses --- */

#define STEPS		30	/* of a round; the area has room for their trace */

static void nmi_gates_open(struct __test_metadata *_metadata, struct _test_data_migrate *self)
{
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < CPUS; i++) {
		struct gated *gated = &self->gated[i];

		attr_nmi(&attr, 0, TAG_RESUME);
		self->nmi_resume[i] = aux_group_add_gate(&gated->group, &gated->spec, &attr, true);
		attr_nmi(&attr, 0, TAG_PAUSE);
		self->nmi_pause[i] = aux_group_add_gate(&gated->group, &gated->spec, &attr, false);
		ASSERT_GE(self->nmi_resume[i], 0);
		ASSERT_GE(self->nmi_pause[i], 0);
	}
}

/* Each step ends paused, or the test itself would be traced all the time. */
static void storm_steps(struct _test_data_migrate *self)
{
	unsigned int n;

	for (n = 0; n < STEPS; n++) {
		syscall(__NR_getppid);
		if (n % 3 == 0)
			pin_to_cpu(self->gated[n / 3 % CPUS].cpu);
		if (n % 7 == 0)
			aux_group_restart(&self->gated[n % CPUS].group);
		if (n % 5 == 0)
			fire(n & 1);
		if (n % 11 == 0 && self->sampler[0] >= 0)
			fire_tag(TAG_SAMPLE);
		syscall(__NR_getpgid, 0);
	}
}

static void *storm_thread(void *arg)
{
	storm_steps(arg);

	return NULL;
}

/* Gates in an NMI at a point: resumes, pauses, or both, of which the last one counts */
static const unsigned int tags[] = { TAG_RESUME, TAG_PAUSE, 0 };
#define TAGS		ARRAY_SIZE(tags)

/* The next point, CPU, or gates. Where windows belong to threads: of two at once. */
static long storm_round(struct __test_metadata *_metadata, struct _test_data_migrate *self,
			const struct _fixture_variant_migrate *variant, unsigned int round)
{
	const struct points *points = points_of(variant->bts);
	const struct msr_point *point = &points->point[round / TAGS / CPUS % points->nr];
	pthread_t other;
	long hits;

	pin_to_cpu(self->gated[round / TAGS % CPUS].cpu);
	ASSERT_EQ(nmi_at_msr(point, tags[round % TAGS]), 0);
	if (variant->threads)
		ASSERT_EQ(pthread_create(&other, NULL, storm_thread, self), 0);
	storm_steps(self);
	if (variant->threads)
		ASSERT_EQ(pthread_join(other, NULL), 0);
	hits = nmi_at_msr_off();
	ASSERT_GE(hits, 0);

	return hits;
}

static __u64 gates_of_all(const struct _test_data_migrate *self)
{
	__u64 gates = 0;
	int i;

	for (i = 0; i < CPUS; i++)
		gates += perf_count(self->gated[i].group.resume) +
			 perf_count(self->gated[i].group.pause) +
			 perf_count(self->nmi_resume[i]) + perf_count(self->nmi_pause[i]);

	return gates;
}

/* Others in windows of their own may switch while it is read. */
static bool is_done(const struct gated *gated, struct aux_actions *act)
{
	int tries;

	for (tries = 0; tries < 100; tries++) {
		if (aux_actions_read(&gated->group, act))
			return false;
		if (!act->pending && act->requested == act->executed + act->superseded)
			return true;
	}

	return false;
}

static void expect_accounts(struct __test_metadata *_metadata,
			    const struct _test_data_migrate *self, bool threads,
			    struct aux_actions *act)
{
	__u64 gates = gates_of_all(self);
	int i;

	for (i = 0; i < CPUS; i++) {
		EXPECT_TRUE(is_done(&self->gated[i], act))
			TH_LOG("%llu requested, %llu executed, %llu superseded, %d pending",
			       act->requested, act->executed, act->superseded, act->pending);
		if (!threads)
			EXPECT_EQ(act->requested, gates);
	}
}

/*
 * The hardware is on where this thread is, if it is in a window. Other threads may be in
 * windows that gates in NMIs have opened.
 */
static void expect_hardware(struct __test_metadata *_metadata,
			    const struct _test_data_migrate *self, bool threads, bool on)
{
	const struct gated *gated = self->gated;
	int i;

	for (i = 0; i < CPUS; i++) {
		pin_to_cpu(gated[i].cpu);
		EXPECT_EQ(gated[i].ops->is_on(gated[i].cpu), on);
		if (!threads)
			EXPECT_EQ(gated[!i].ops->is_on(gated[!i].cpu), 0);
	}
}

static void expect_quiet(struct __test_metadata *_metadata, struct _test_data_migrate *self,
			 bool threads, struct aux_actions *act)
{
	int i;

	/* For the level of a task, what follows is traced if the last gate was a resume. */
	if (threads)
		syscall(__NR_getpgid, 0);
	expect_accounts(_metadata, self, threads, act);
	if (!threads)
		expect_hardware(_metadata, self, threads, !act->paused);
	syscall(__NR_getppid);
	expect_hardware(_metadata, self, threads, true);
	syscall(__NR_getpgid, 0);
	expect_hardware(_metadata, self, threads, false);
	for (i = 0; i < CPUS; i++) {
		read_trace(_metadata, &self->gated[i]);
		/* A full area would have disabled the event. */
		EXPECT_EQ(self->pt[i].truncated + self->bts[i].truncated, 0);
	}
}

TEST_F_TIMEOUT(migrate, storm, STORM_TIMEOUT)
{
	unsigned int rounds = points_of(variant->bts)->nr * CPUS * TAGS, round = 0;
	struct aux_actions act = { };
	__u64 begin = clock_ns();
	bool seen = false;
	long hits = 0;
	int i;

	if (lacks_msr_nmis() ?: lacks_account())
		SKIP(return, "no %s", lacks_msr_nmis() ?: lacks_account());

	end_bystanders(self);
	nmi_gates_open(_metadata, self);
	while (!storm_is_over(begin, seen)) {
		hits += storm_round(_metadata, self, variant, round++);
		expect_quiet(_metadata, self, variant->threads, &act);
		ASSERT_TRUE(_metadata->passed)
			TH_LOG("round %u", round);
		seen = round >= rounds && hits >= 300 && act.superseded >= 50;
	}
	TH_LOG("%u rounds: %ld NMIs at MSR accesses, %llu requests, %llu superseded", round, hits,
	       act.requested, act.superseded);
	for (i = 0; i < CPUS; i++) {
		disable_and_read(_metadata, &self->gated[i]);
		EXPECT_TRUE(pt_trace_complete(&self->pt[i]));
		TH_LOG("CPU %d: %zu bytes of trace, %zu branches", self->gated[i].cpu,
		       self->pt[i].nr_bytes, self->bts[i].nr);
	}
	if (_metadata->passed && storm_was_short(seen))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen);
}

TEST_HARNESS_MAIN
