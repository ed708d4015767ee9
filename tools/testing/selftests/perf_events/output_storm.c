// SPDX-License-Identifier: GPL-2.0
/*
 * All CPUs write to one buffer, from NMIs and from tasks, as fast as they can.
 *
 * Expected: each NMI is found as a sample with its number, or is counted as lost
 * in the next sample of its CPU. Each record of the tasks is found or counted as
 * lost, too. No record is torn or out of its writer's order, and in the end found
 * and lost records add up exactly. A buffer that isn't safe against other CPUs or
 * NMIs fails within moments: records can't be parsed, or numbers are missing that
 * weren't counted as lost.
 *
 * The test goes on until it has seen what it is for: the buffer wrapped, records
 * were lost, CPUs overlapped, and an NMI hit a task that was writing; or as long
 * as storm_is_over() lets it.
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

#include "../kselftest_harness.h"
#include "output_common.h"

#define RW		(PROT_READ | PROT_WRITE)
#define MAX_CPUS	16
#define INTERVAL	2000	/* ns: the shortest interval */

/* What the storm must see at least */
#define MIN_SAMPLES	5000
#define MIN_RECORDS	2000
#define MIN_LOST	1000
#define MIN_OVERLAPS	100
#define MIN_NESTED	5

/* Only the test PMU for NMIs is needed. */
static const char *lacks_test_nmi(void)
{
	if (lacks_root())
		return lacks_root();

	if (pmu_type("test_nmi") < 0 && load_module("test_perf_nmi"))
		return "no module test_perf_nmi (CONFIG_TEST_PERF_NMI)";

	return pmu_type("test_nmi") < 0 ? "no PMU test_nmi" : NULL;
}

PROGRAM_NEEDS(lacks_test_nmi() ?: lacks_shared_output())

/* The NMIs of a CPU, or a task that writes one kind of records */
struct source {
	__u64	id;		/* of the event */
	__u32	tid;		/* of the task; not set for NMIs */
	__u32	cpu;
	__u64	next;		/* the next number */
	__u64	found;
	__u64	missing;
	__u64	time;
};

FIXTURE(storm)
{
	struct output out;
	int nr_cpus;
	int nmi[MAX_CPUS];
	int names, maps;
	struct source nmi_source[MAX_CPUS];
	struct source task_source[2 * MAX_CPUS + 1];	/* and this process */
	int nr_tasks;
	pid_t pid[2 * MAX_CPUS];
	struct writer_shared *writers;
	struct out_record rec;
	const char *error;
	char where[200];
	__u64 found, lost, overlaps, nested, samples;
	__u64 newest[MAX_CPUS];		/* newest time of each CPU */
	__u64 time;			/* and CPU of the last record */
	__u32 cpu;
	int rate, mlock_kb;
};

FIXTURE_VARIANT(storm)
{
	unsigned int pages, pages_for_a_cpu;
	bool maps;
	unsigned int wraps, leases;	/* what is to be seen at least */
};

/* A buffer that is soon full */
FIXTURE_VARIANT_ADD(storm, small)
{
	.pages = 4,
	.wraps = 100,
};

FIXTURE_VARIANT_ADD(storm, large_records)
{
	.pages = 16,
	.maps = true,
	.wraps = 100,
};

/* Large enough for leases */
FIXTURE_VARIANT_ADD(storm, leases)
{
	.pages_for_a_cpu = 8,
	.wraps = 10,
	.leases = 100,
};

FIXTURE_SETUP(storm)
{
	for (int i = 0; i < MAX_CPUS && test_cpu(i) >= 0; i++)
		self->nr_cpus++;
	if (self->nr_cpus < 2)
		SKIP(return, "needs two CPUs");
	self->rate = set_max_sample_rate(RATE_UNLIMITED);
	self->mlock_kb = set_mlock_kb(0);
	self->writers = writers_alloc();
	ASSERT_NE(NULL, self->writers);
	ASSERT_EQ(0, make_map_files());
}

FIXTURE_TEARDOWN(storm)
{
	output_unmap(&self->out);
	EXPECT_EQ(0, pinned_kb());
	for (int i = 0; i < 2 * MAX_CPUS; i++) {
		if (self->pid[i] > 0)
			kill(self->pid[i], SIGKILL);
	}
	remove_map_files();
	writers_free(self->writers);
	set_mlock_kb(self->mlock_kb);
	set_max_sample_rate(self->rate);
}

/* ---- the events */

static int open_nmi(struct _test_data_storm *self, int i)
{
	struct source *s = &self->nmi_source[i];
	struct perf_event_attr attr;

	attr_numbered_nmi(&attr, INTERVAL);
	s->cpu = test_cpu(i);
	self->nmi[i] = perf_open(&attr, -1, s->cpu, -1);
	if (self->nmi[i] < 0)
		return -1;
	s->id = perf_id(self->nmi[i]);
	/* The first NMI has number 1. */
	s->next = 1;
	return perf_set_output(self->nmi[i], self->names);
}

/* Pages of a buffer that grows with the machine. */
static unsigned int pages_for_cpus(unsigned int pages_for_a_cpu)
{
	unsigned int pages = pages_for_a_cpu;

	while (pages < pages_for_a_cpu * sysconf(_SC_NPROCESSORS_CONF))
		pages *= 2;
	return pages;
}

/* The inherited event of this process owns the buffer. */
static int open_events(struct _test_data_storm *self, unsigned int pages)
{
	struct perf_event_attr attr;

	attr_names(&attr);
	attr.inherit = 1;
	attr.output_shared = 1;
	self->names = perf_open(&attr, 0, -1, -1);
	attr_maps(&attr);
	attr.inherit = 1;
	self->maps = perf_open(&attr, 0, -1, -1);
	if (self->names < 0 || self->maps < 0)
		return -1;
	if (output_map(&self->out, self->names, pages, RW) ||
	    perf_set_output(self->maps, self->names))
		return -1;
	for (int i = 0; i < self->nr_cpus; i++) {
		if (open_nmi(self, i))
			return -1;
	}
	return 0;
}

static int start_task(struct _test_data_storm *self, int cpu, bool maps)
{
	int i = self->nr_tasks;
	struct source *s = &self->task_source[i];

	self->pid[i] = start_writer(self->writers, i, cpu, 0, maps);
	if (self->pid[i] < 0)
		return -1;
	s->tid = self->pid[i];
	s->cpu = cpu;
	s->id = perf_id(maps ? self->maps : self->names);
	self->nr_tasks++;
	return 0;
}

static int start_tasks(struct _test_data_storm *self, bool maps)
{
	for (int i = 0; i < self->nr_cpus; i++) {
		if (start_task(self, test_cpu(i), false))
			return -1;
		if (maps && start_task(self, test_cpu(i), true))
			return -1;
	}
	return wait_count(&self->writers->ready, self->nr_tasks);
}

static void all_events(struct _test_data_storm *self, int request)
{
	for (int i = 0; i < self->nr_cpus; i++)
		ioctl(self->nmi[i], request, 0);
	ioctl(self->names, request, 0);
	ioctl(self->maps, request, 0);
}

/* ---- the records */

static int wrong(struct _test_data_storm *self, const char *what)
{
	const struct out_record *rec = &self->rec;

	snprintf(self->where, sizeof(self->where),
		 "%s: type %u, size %u, cpu %u, tid %u, id %llu, number %lld, before offset %llu",
		 what, rec->type, rec->size, rec->cpu, rec->tid, rec->id,
		 record_number(rec), self->out.pos);
	self->error = self->where;
	return -1;
}

static struct source *source_of(struct _test_data_storm *self)
{
	const struct out_record *rec = &self->rec;

	for (int i = 0; rec->type == PERF_RECORD_SAMPLE && i < self->nr_cpus; i++) {
		if (self->nmi_source[i].id == rec->id)
			return &self->nmi_source[i];
	}
	for (int i = 0; rec->type != PERF_RECORD_SAMPLE && i < self->nr_tasks; i++) {
		if (self->task_source[i].tid == rec->tid && self->task_source[i].id == rec->id)
			return &self->task_source[i];
	}
	return NULL;
}

/*
 * A record that began later may come first in the buffer: then the two were written at
 * the same time. On one CPU that means an NMI in the middle of a task's record.
 */
static void see_overlap(struct _test_data_storm *self)
{
	const struct out_record *rec = &self->rec;
	__u64 *newest = &self->newest[rec->cpu % MAX_CPUS];

	self->overlaps += rec->time < self->time && rec->cpu != self->cpu;
	self->nested += rec->time < *newest;
	if (rec->time > *newest)
		*newest = rec->time;
	self->time = rec->time;
	self->cpu = rec->cpu;
}

static int add_record(struct _test_data_storm *self)
{
	const struct out_record *rec = &self->rec;
	struct source *s;
	long long number;

	if (rec->type == PERF_RECORD_LOST) {
		self->lost += rec->lost;
		return 0;
	}

	s = source_of(self);
	if (!s)
		return wrong(self, "not of any writer");
	if (s->cpu != rec->cpu)
		return wrong(self, "on the wrong CPU");
	number = record_number(rec);
	if (number < 0)
		return wrong(self, "not what was written");
	if ((__u64)number < s->next)
		return wrong(self, "out of its writer's order");
	if (rec->time < s->time)
		return wrong(self, "older than the writer's last");

	s->missing += number - s->next;
	s->next = number + 1;
	s->time = rec->time;
	s->found++;
	self->found++;
	self->samples += rec->type == PERF_RECORD_SAMPLE;
	/* Each sample says how many of its CPU's samples were lost before it. */
	if (rec->type == PERF_RECORD_SAMPLE && rec->value_lost != s->missing)
		return wrong(self, "its number of lost records isn't that of missing ones");
	see_overlap(self);
	return 0;
}

static int read_all(struct _test_data_storm *self)
{
	const char *why;
	int ret;

	while ((ret = output_next(&self->out, &self->rec, &why)) > 0) {
		if (add_record(self))
			return -1;
	}
	if (ret < 0)
		wrong(self, why);
	output_release(&self->out);
	return ret;
}

static bool seen_enough(const struct _test_data_storm *self,
			const struct _fixture_variant_storm *variant)
{
	return self->samples >= MIN_SAMPLES && self->found - self->samples >= MIN_RECORDS &&
	       self->out.wraps >= variant->wraps && self->lost >= MIN_LOST &&
	       self->overlaps >= MIN_OVERLAPS && self->nested >= MIN_NESTED &&
	       self->out.leases >= variant->leases;
}

/* The reader keeps up, then pauses until the buffer overflows. */
static void read_storm(struct _test_data_storm *self,
		       const struct _fixture_variant_storm *variant)
{
	__u64 begin = clock_ns();
	unsigned int round;

	for (round = 0; !storm_is_over(begin, seen_enough(self, variant)); round++) {
		if (read_all(self))
			return;
		if (round % 64 == 63)
			usleep(2000);
	}
}

/* ---- the numbers */

static __u64 missing_in_all(const struct _test_data_storm *self)
{
	__u64 sum = 0;

	for (int i = 0; i < self->nr_cpus; i++)
		sum += self->nmi_source[i].missing;
	for (int i = 0; i < self->nr_tasks; i++)
		sum += self->task_source[i].missing;
	return sum;
}

/* Numbers after a writer's last record have been lost, too. */
static void add_tail(struct source *s, __u64 written)
{
	if (written > s->next)
		s->missing += written - s->next;
}

static void check_nmis(struct __test_metadata *_metadata, struct _test_data_storm *self)
{
	struct event_count count;

	for (int i = 0; i < self->nr_cpus; i++) {
		struct source *s = &self->nmi_source[i];

		ASSERT_EQ(0, read_count(self->nmi[i], &count));
		add_tail(s, count.value + 1);
		EXPECT_EQ(count.value, s->found + count.lost);
		EXPECT_EQ(count.lost, s->missing);
	}
}

static __u64 lost_of(int fd)
{
	struct event_count count = { .lost = 0 };

	read_count(fd, &count);
	return count.lost;
}

static void check_tasks(struct __test_metadata *_metadata, struct _test_data_storm *self)
{
	__u64 lost = 0, missing = 0;

	for (int i = 0; i < self->nr_tasks; i++) {
		add_tail(&self->task_source[i], self->writers->written[i]);
		missing += self->task_source[i].missing;
	}
	lost = lost_of(self->names) + lost_of(self->maps);
	EXPECT_EQ(lost, missing);
}

/* Write one more record, so that a LOST record comes before it. */
static void flush_lost(struct _test_data_storm *self)
{
	struct source *s = &self->task_source[self->nr_tasks];

	perf_enable(self->names);
	pin_to_cpu(test_cpu(0));
	s->tid = gettid();
	s->cpu = test_cpu(0);
	s->id = perf_id(self->names);
	self->writers->written[self->nr_tasks] = 1;
	self->nr_tasks++;
	write_name(0);
	perf_disable(self->names);
}

/* Stop the tasks. The event counts all their writes, but not their exits. */
static int stop_tasks(struct _test_data_storm *self)
{
	__atomic_store_n(&self->writers->stop, 1, __ATOMIC_RELAXED);
	return wait_count(&self->writers->finished, self->nr_tasks);
}

static int end_tasks(struct _test_data_storm *self)
{
	int failed = 0;

	__atomic_store_n(&self->writers->end, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < self->nr_tasks; i++) {
		failed |= end_writer(self->pid[i]);
		self->pid[i] = 0;
	}
	return failed;
}

static void report(struct _test_data_storm *self)
{
	printf("# %d CPUs: %llu NMI samples, %llu records of tasks, %llu lost\n",
	       self->nr_cpus, self->samples, self->found - self->samples, self->lost);
	printf("# %llu wraps, %llu leases, %llu overlaps of CPUs, %llu of NMIs with tasks\n",
	       self->out.wraps, self->out.leases, self->overlaps, self->nested);
	fflush(stdout);
}

TEST_F_TIMEOUT(storm, numbers_add_up, STORM_TIMEOUT)
{
	ASSERT_EQ(0, open_events(self, variant->pages ?: pages_for_cpus(variant->pages_for_a_cpu)));
	ASSERT_EQ(0, start_tasks(self, variant->maps));
	all_events(self, PERF_EVENT_IOC_ENABLE);
	__atomic_store_n(&self->writers->go, 1, __ATOMIC_RELEASE);
	read_storm(self, variant);

	EXPECT_EQ(0, stop_tasks(self));
	all_events(self, PERF_EVENT_IOC_DISABLE);
	EXPECT_EQ(0, end_tasks(self));
	report(self);
	ASSERT_EQ(NULL, self->error) TH_LOG("%s", self->error);

	ASSERT_EQ(0, read_all(self)) TH_LOG("%s", self->error);
	flush_lost(self);
	ASSERT_EQ(0, read_all(self)) TH_LOG("%s", self->error);
	check_nmis(_metadata, self);
	check_tasks(_metadata, self);
	EXPECT_EQ(self->lost, missing_in_all(self));
	if (_metadata->passed && storm_was_short(seen_enough(self, variant)))
		SKIP(return, STORM_WAS_SHORT);
	EXPECT_TRUE(seen_enough(self, variant));
}

TEST_HARNESS_MAIN
