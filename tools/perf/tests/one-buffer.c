// SPDX-License-Identifier: GPL-2.0
/*
 * Test 'perf record --one-buffer': how the results of the probes are interpreted,
 * which CPUs events are opened on, how they are configured, when rounds end, the size
 * of the buffer, and, if the kernel has support, how many descriptors and buffers there
 * are.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <internal/lib.h>
#include <internal/mmap.h>
#include <perf/cpumap.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>

#include "callchain.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "one-buffer.h"
#include "parse-events.h"
#include "perf.h"
#include "record.h"
#include "target.h"
#include "tests.h"

static int test__probe_result(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	TEST_ASSERT_EQUAL("shared", one_buffer__probe_result(0, 0), ONE_BUFFER_SUPPORTED);
	TEST_ASSERT_EQUAL("sharing refused", one_buffer__probe_result(-EINVAL, 0),
			  ONE_BUFFER_NO_KERNEL_SUPPORT);
	TEST_ASSERT_EQUAL("no sharing on this machine", one_buffer__probe_result(-EOPNOTSUPP, 0),
			  ONE_BUFFER_NO_KERNEL_SUPPORT);
	TEST_ASSERT_EQUAL("refused with and without sharing",
			  one_buffer__probe_result(-EINVAL, -EINVAL), ONE_BUFFER_UNKNOWN);
	TEST_ASSERT_EQUAL("no memory", one_buffer__probe_result(-EPERM, 0), ONE_BUFFER_UNKNOWN);
	TEST_ASSERT_EQUAL("not permitted", one_buffer__probe_result(-EACCES, -EACCES),
			  ONE_BUFFER_UNKNOWN);
	return TEST_OK;
}

/* Does a round from @begin to @end end with a mark? */
static bool is_marked(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 begin, u64 end)
{
	evlist__begin_round(evlist, rounds, begin, false);
	return evlist__end_round(evlist, rounds, end);
}

static int test__rounds(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct evlist *evlist = evlist__new();
	struct one_buffer_rounds rounds = { .last = 0 };
	u64 now = NSEC_PER_SEC;

	TEST_ASSERT_VAL("evlist", evlist);
	TEST_ASSERT_VAL("many buffers", is_marked(evlist, &rounds, now, now));
	TEST_ASSERT_VAL("many buffers, at once", is_marked(evlist, &rounds, now, now));

	evlist->core.one_buffer = true;
	TEST_ASSERT_VAL("one buffer", is_marked(evlist, &rounds, now, now));
	TEST_ASSERT_VAL("both directions", !evlist__end_round(evlist, &rounds, now));
	now += 99 * NSEC_PER_MSEC;
	TEST_ASSERT_VAL("early", !is_marked(evlist, &rounds, now, now + NSEC_PER_MSEC));
	now += NSEC_PER_MSEC;
	TEST_ASSERT_VAL("due", is_marked(evlist, &rounds, now, now + NSEC_PER_MSEC));
	now += 100 * NSEC_PER_MSEC;
	TEST_ASSERT_VAL("the next", !is_marked(evlist, &rounds, now, now + NSEC_PER_MSEC));

	evlist__delete(evlist);
	return TEST_OK;
}

static struct evlist *new_evlist(struct target *target)
{
	struct evlist *evlist = evlist__new();

	if (!evlist)
		return NULL;

	if (parse_event(evlist, "dummy:u") || parse_event(evlist, "page-faults:u") ||
	    evlist__create_maps(evlist, target)) {
		evlist__delete(evlist);
		return NULL;
	}
	return evlist;
}

static struct record_opts default_opts(void)
{
	return (struct record_opts) {
		.sample_time	  = true,
		.mmap_pages	  = 1,
		.user_freq	  = UINT_MAX,
		.user_interval	  = ULLONG_MAX,
		.default_interval = 1,
		.target		  = {
			.uses_mmap	 = true,
			.default_per_cpu = true,
		},
	};
}

static int first_cpu(struct target target)
{
	struct evlist *evlist = new_evlist(&target);
	int cpu;

	if (!evlist)
		return INT_MIN;
	cpu = perf_cpu_map__cpu(evlist->core.user_requested_cpus, 0).cpu;
	evlist__delete(evlist);
	return cpu;
}

static int test__cpus(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct target target = default_opts().target;

	TEST_ASSERT_VAL("usual: each CPU", first_cpu(target) >= 0);
	target.one_buffer = true;
	TEST_ASSERT_EQUAL("tasks: any CPU", first_cpu(target), -1);
	target.system_wide = true;
	TEST_ASSERT_VAL("all CPUs: each CPU", first_cpu(target) >= 0);
	target.system_wide = false;
	target.cpu_list = "0";
	TEST_ASSERT_EQUAL("given CPU", first_cpu(target), 0);
	return TEST_OK;
}

/* Is the first event inherited, and does it have a time and a CPU in each record? */
static int check_config(struct record_opts *opts, bool inherit)
{
	struct evlist *evlist = new_evlist(&opts->target);
	struct perf_event_attr *attr;

	TEST_ASSERT_VAL("evlist", evlist);
	evlist__config(evlist, opts, NULL);
	attr = &evlist__first(evlist)->core.attr;
	TEST_ASSERT_EQUAL("inherit", attr->inherit, inherit);
	TEST_ASSERT_EQUAL("shared", attr->output_shared, opts->target.one_buffer);
	TEST_ASSERT_VAL("time", attr->sample_type & PERF_SAMPLE_TIME);
	TEST_ASSERT_VAL("cpu", attr->sample_type & PERF_SAMPLE_CPU);
	TEST_ASSERT_VAL("id of all records", attr->sample_id_all);
	evlist__delete(evlist);
	return TEST_OK;
}

static int prepare(struct record_opts *opts)
{
	struct evlist *evlist = evlist__new();
	int err = evlist ? evlist__prepare_one_buffer(evlist, opts) : -ENOMEM;

	evlist__delete(evlist);
	return err;
}

static int test__config(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct record_opts opts = default_opts();

	opts.target.one_buffer = true;
	opts.sample_time = false;
	TEST_ASSERT_EQUAL("prepare", prepare(&opts), 0);
	if (!opts.target.one_buffer)
		return TEST_SKIP;

	TEST_ASSERT_EQUAL("process tree", check_config(&opts, true), TEST_OK);
	opts.target.per_thread = true;
	TEST_ASSERT_EQUAL("per thread", check_config(&opts, false), TEST_OK);

	opts = default_opts();
	opts.sample_cpu = true;
	TEST_ASSERT_EQUAL("usual", check_config(&opts, true), TEST_OK);
	return TEST_OK;
}

static int test__excluded(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct record_opts opts = default_opts();

	opts.threads_spec = 1;
	TEST_ASSERT_EQUAL("threads without one buffer", prepare(&opts), 0);
	opts.target.one_buffer = true;
	TEST_ASSERT_EQUAL("threads", prepare(&opts), -EINVAL);
	opts.threads_spec = 0;
	opts.affinity = PERF_AFFINITY_CPU;
	TEST_ASSERT_EQUAL("affinity", prepare(&opts), -EINVAL);
	return TEST_OK;
}

/* In kB, on machines where a user may lock 512 for each CPU */
static unsigned int default_kb(unsigned int possible_cpus, unsigned int online_cpus)
{
	return one_buffer__default_pages(512 * 1024 / page_size, possible_cpus, online_cpus) *
	       (page_size / 1024);
}

static int test__default_size(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct record_opts opts = default_opts();

	TEST_ASSERT_EQUAL("one CPU", default_kb(1, 1), 512);
	TEST_ASSERT_EQUAL("enough for all", default_kb(32, 32), 512);
	TEST_ASSERT_EQUAL("a power of two", default_kb(33, 33), 1024);
	TEST_ASSERT_EQUAL("many CPUs", default_kb(1024, 1024), 16384);
	TEST_ASSERT_EQUAL("most CPUs are offline", default_kb(256, 2), 512);
	TEST_ASSERT_EQUAL("a part is offline", default_kb(256, 13), 2048);

	opts.target.one_buffer = true;
	TEST_ASSERT_EQUAL("prepare", prepare(&opts), 0);
	TEST_ASSERT_EQUAL("what is given is taken", opts.mmap_pages, 1);
	if (!opts.target.one_buffer)
		return TEST_SKIP;
	opts.mmap_pages = UINT_MAX;
	TEST_ASSERT_EQUAL("prepare", prepare(&opts), 0);
	TEST_ASSERT_VAL("no size is given", opts.mmap_pages >= perf_event_mlock_kb_in_pages() &&
			opts.mmap_pages != UINT_MAX);
	return TEST_OK;
}

static int open_evlist(struct evlist *evlist, unsigned int pages, struct buffer_use *use)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		evsel->core.attr.disabled = 1;
		evsel->core.attr.inherit = 1;
		evsel->core.attr.output_shared = 1;
		evsel->core.attr.comm = 1;
		if (evsel__open(evsel, evsel->core.cpus, evsel->core.threads) < 0)
			return -errno;
	}
	if (evlist__mmap(evlist, pages) < 0)
		return -errno;
	evlist__buffer_use(evlist, use);
	return 0;
}

/* An evlist of this thread, with one mapped buffer */
static struct evlist *open_own(unsigned int pages, struct buffer_use *use)
{
	struct target target = { .default_per_cpu = true, .one_buffer = true };
	struct evlist *evlist;
	char tid[16];
	int err;

	scnprintf(tid, sizeof(tid), "%d", getpid());
	target.tid = tid;
	evlist = new_evlist(&target);
	if (!evlist)
		return NULL;
	err = open_evlist(evlist, pages, use);
	if (!err)
		return evlist;

	pr_debug("open: %d\n", err);
	evlist__delete(evlist);
	return NULL;
}

static int test__use(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct buffer_use use;
	struct evlist *evlist;

	if (one_buffer__kernel_support() != ONE_BUFFER_SUPPORTED)
		return TEST_SKIP;

	evlist = open_own(1, &use);
	TEST_ASSERT_VAL("open", evlist);
	TEST_ASSERT_EQUAL("descriptors", use.descriptors, 2);
	TEST_ASSERT_EQUAL("buffers", use.buffers, 1);
	TEST_ASSERT_VAL("memory", use.bytes == 2ul * sysconf(_SC_PAGESIZE));
	evlist__delete(evlist);
	return TEST_OK;
}

static u64 write_many(struct perf_mmap *map)
{
	char name[16];
	u64 head;

	prctl(PR_GET_NAME, name);
	for (int i = 0; i < 500; i++)
		prctl(PR_SET_NAME, name);

	head = perf_mmap__read_head(map);
	map->prev = head;
	perf_mmap__consume(map);
	return head;
}

/* In how many of @nr rounds does a tick publish what was written? */
static int nr_late(struct evlist *evlist, int nr)
{
	struct perf_mmap *map = &evlist->mmap[0].core;
	int late = 0;

	for (int i = 0; i < nr; i++) {
		u64 head = write_many(map);

		usleep(20000);
		late += perf_mmap__read_head(map) != head;
	}
	return late;
}

/* In how many of @nr rounds does their beginning publish it? */
static int nr_published(struct evlist *evlist, int nr, bool due, bool complete)
{
	struct perf_mmap *map = &evlist->mmap[0].core;
	int published = 0;

	for (int i = 0; i < nr; i++) {
		struct one_buffer_rounds rounds = { .last = due ? 0 : NSEC_PER_SEC };
		u64 head = write_many(map);

		evlist__begin_round(evlist, &rounds, NSEC_PER_SEC, complete);
		published += perf_mmap__read_head(map) != head;
	}
	return published;
}

static int test__complete_rounds(struct test_suite *t __maybe_unused,
				 int subtest __maybe_unused)
{
	int late, due, complete, neither;
	struct buffer_use use;
	struct evlist *evlist;

	if (one_buffer__kernel_support() != ONE_BUFFER_SUPPORTED)
		return TEST_SKIP;

	evlist = open_own(512, &use);
	TEST_ASSERT_VAL("open", evlist);
	evlist__enable(evlist);
	late = nr_late(evlist, 20);
	due = nr_published(evlist, 50, true, false);
	complete = nr_published(evlist, 50, false, true);
	neither = nr_published(evlist, 50, false, false);
	evlist__delete(evlist);

	pr_debug("late: %d of 20; published: %d, %d and %d of 50\n", late, due, complete, neither);
	/* PREEMPT_RT and nohz_full publish each record at once, and so do slow machines. */
	if (late < 10)
		return TEST_SKIP;
	TEST_ASSERT_VAL("due", due > 10);
	TEST_ASSERT_VAL("complete", complete > 10);
	/* A tick that comes just then */
	TEST_ASSERT_VAL("neither", neither < 10);
	return TEST_OK;
}

static struct test_case tests__one_buffer[] = {
	TEST_CASE("one buffer: results of the probes", probe_result),
	TEST_CASE("one buffer: ends of rounds", rounds),
	TEST_CASE("one buffer: CPUs of the events", cpus),
	TEST_CASE_REASON("one buffer: configuration of the events", config,
			 "no kernel support"),
	TEST_CASE("one buffer: excluded options", excluded),
	TEST_CASE_REASON("one buffer: default size", default_size, "no kernel support"),
	TEST_CASE_REASON("one buffer: descriptors and memory", use, "no kernel support"),
	TEST_CASE_REASON("one buffer: records of a round", complete_rounds,
			 "no kernel support, or each record is published at once"),
	{	.name = NULL, }
};

struct test_suite suite__one_buffer = {
	.desc		= "perf record --one-buffer",
	.test_cases	= tests__one_buffer,
};
