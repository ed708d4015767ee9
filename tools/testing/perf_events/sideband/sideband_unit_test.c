// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of its store of side-band records, without the rest of perf: built in
 * seconds, and with sanitizers. Instead of perf's machine, sideband_playback.c says what
 * samples resolve to. Further tests replace the allocator: allocations that fail, and the
 * number of allocations. TAP on standard output.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <perf/event.h>

#include "sideband-resolve.h"
#include "sideband-store.h"
#include "sideband_playback.h"
#include "tests.h"
#include "../perf_alloc.h"
#include "../tap.h"

#define TIDS	10000
#define PAGES	(5 * SIDEBAND_MAX_MAPS)
#define NAMES	100

int tap_count, tap_failed;

static struct playback *playback;
/* The playback knows names by number only */
static char names[NAMES][32];

static int number_of(const char *name)
{
	size_t size = strlen(name) + 1;
	int i;

	for (i = 0; i < NAMES && names[i][0]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	if (i == NAMES || size > sizeof(names[0]))
		abort();
	memcpy(names[i], name, size);
	return i;
}

static const char *name_of(int number)
{
	return number == NOBODY ? "" : names[number];
}

void sideband_resolve__init(void)
{
	memset(names, 0, sizeof(names));
	playback = playback__new(TIDS, PAGES);
}

void sideband_resolve__exit(void)
{
	playback__delete(playback);
}

void sideband_resolve__event(const union perf_event *event, u64 time)
{
	union perf_event numbered;

	switch (event->header.type) {
	case PERF_RECORD_COMM:
		numbered.comm = event->comm;
		snprintf(numbered.comm.comm, sizeof(numbered.comm.comm), "%d",
			 number_of(event->comm.comm));
		playback__event(playback, &numbered);
		break;
	case PERF_RECORD_MMAP2:
		memcpy(&numbered, event, offsetof(struct perf_record_mmap2, filename));
		numbered.mmap2.pgoff = number_of(event->mmap2.filename);
		playback__event(playback, &numbered);
		break;
	case PERF_RECORD_FORK:
		playback__event(playback, event);
		break;
	default:
		break;
	}
}

const char *sideband_resolve__comm(u32 pid, u32 tid)
{
	return name_of(playback__comm(playback, tid));
}

bool sideband_resolve__has_execed(u32 pid)
{
	return playback__has_execed(playback, pid);
}

const char *sideband_resolve__file(u32 pid, u32 tid, u64 addr)
{
	return name_of(playback__map(playback, tid, addr / WORLD_PAGE));
}

/* A store, the records it was given and reported lost. @piles: prune after all of them. */
struct attempt {
	struct sideband_store	*store;
	bool			piles;
	u64			round;
	u64			given;
	u64			lost;
};

static void give(struct attempt *a, u32 type, u16 misc, void *record, size_t size)
{
	union perf_event *event = record;
	int err;

	event->header = (struct perf_event_header) { type, misc, size };
	a->round++;
	a->given++;
	err = sideband_store__add(a->store, event, a->round * 10 * SIDEBAND_STORE_LAG, a->round);
	if (err && err != -ENOMEM)
		abort();
	a->lost += !!err;
	if (!a->piles)
		sideband_store__prune(a->store, a->round, a->round);
}

static void give_fork(struct attempt *a, u32 pid, u32 tid, u32 ppid)
{
	struct perf_record_fork fork = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ppid };

	give(a, PERF_RECORD_FORK, 0, &fork, sizeof(fork));
}

static void give_comm(struct attempt *a, u16 misc, u32 pid, u32 tid)
{
	struct perf_record_comm comm = { .pid = pid, .tid = tid };

	give(a, PERF_RECORD_COMM, misc, &comm, sizeof(comm));
}

static void give_exec(struct attempt *a, u32 pid)
{
	give_comm(a, PERF_RECORD_MISC_COMM_EXEC, pid, pid);
}

static void give_mmap(struct attempt *a, u32 pid, u64 start, u64 len)
{
	struct perf_record_mmap2 mmap = { .pid = pid, .tid = pid, .start = start, .len = len };

	give(a, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &mmap,
	     offsetof(struct perf_record_mmap2, filename) + 8);
}

static void give_exit(struct attempt *a, u32 pid)
{
	struct perf_record_fork exit = { .pid = pid, .tid = pid, .ppid = pid, .ptid = pid };

	give(a, PERF_RECORD_EXIT, 0, &exit, sizeof(exit));
}

static void give_cgroup(struct attempt *a, u64 id)
{
	struct perf_record_cgroup cgroup = { .id = id };

	give(a, PERF_RECORD_CGROUP, 0, &cgroup, offsetof(struct perf_record_cgroup, path) + 8);
}

static void give_all(struct attempt *a)
{
	give_fork(a, 100, 100, 1);
	give_exec(a, 100);
	give_mmap(a, 100, 0, 10);
	give_mmap(a, 100, 4, 1);
	give_cgroup(a, 1);
	give_fork(a, 200, 200, 100);
	give_fork(a, 100, 101, 100);
	give_mmap(a, 100, 8, 1);
	give_exec(a, 100);
	give_cgroup(a, 2);
	/* a process and a thread without a fork */
	give_comm(a, 0, 300, 300);
	give_comm(a, 0, 300, 301);
	give_exec(a, 100);
	/* newer ones, so that these are applied */
	give_cgroup(a, 3);
	give_cgroup(a, 3);
}

static int count_record(void *arg, const union perf_event *event)
{
	++*(u64 *)arg;
	return 0;
}

/* A dump that lacks memory fails with -ENOMEM */
static bool dumps_or_says(struct sideband_store *store)
{
	u64 records = 0;
	long nr = 0;
	bool failed;
	int err;

	do {
		fail_allocation = nr++;
		err = sideband_store__dump(store, SIDEBAND_DUMP_ALL, count_record, &records);
		failed = fail_allocation < 0;
		fail_allocation = -1;
		if (err != (failed ? -ENOMEM : 0))
			return false;
	} while (failed);
	return records;
}

/* A lost record is reported or counted, and the store stays usable */
static bool accounts(const struct attempt *a, bool failed)
{
	const struct sideband_store_stats *stats = sideband_store__stats(a->store);

	return stats->added + a->lost == a->given && a->lost <= stats->failed &&
	       stats->failed == failed &&
	       stats->added == stats->superseded + stats->records + stats->failed - a->lost;
}

static void test_no_memory(void)
{
	unsigned int nr, bad = 0, lost = 0;
	bool failed = true;

	for (nr = 0; failed; nr++) {
		struct attempt a = { .store = sideband_store__new(0, NULL, NULL) };

		if (!a.store)
			abort();
		fail_allocation = nr;
		give_all(&a);
		failed = fail_allocation < 0;
		fail_allocation = -1;
		lost += sideband_store__stats(a.store)->failed;
		bad += !accounts(&a, failed) || !dumps_or_says(a.store);
		sideband_store__delete(a.store);
	}
	tap_result(!bad && lost, "no memory %u times: %u records lost, %u times wrong", nr - 1,
		   lost, bad);
}

/* Many short-lived processes that can be pruned */
static void give_short_lived(struct attempt *a)
{
	u32 pid;

	for (pid = 100; pid < 1100; pid++) {
		give_fork(a, pid, pid, 1);
		give_exec(a, pid);
		give_mmap(a, pid, 0, 1);
		give_exit(a, pid);
	}
	give_exit(a, 1);
	a->round += 2;
}

/* Prune short-lived processes; the allocation after @nr others fails. Return their number. */
static long prune_short_lived(long nr, u64 *records)
{
	struct attempt a = { .store = sideband_store__new(0, NULL, NULL), .piles = true };
	long allocations;

	if (!a.store)
		abort();
	give_short_lived(&a);
	fail_allocation = nr;
	sideband_store__prune(a.store, a.round, a.round);
	allocations = nr - fail_allocation;
	fail_allocation = -1;
	*records = sideband_store__stats(a.store)->records;
	sideband_store__delete(a.store);
	return allocations;
}

/* A process that has begun and ended costs no allocation */
static void test_short_lived(void)
{
	u64 records;
	long allocations = prune_short_lived(LONG_MAX, &records), nr;
	bool good = records == 1 && allocations < 100;

	tap_result(good, "1000 short-lived processes: %ld allocations", allocations);
	for (nr = 0; good && nr < allocations; nr++) {
		prune_short_lived(nr, &records);
		good = records == 1;
	}
	tap_result(good, "short-lived processes, and no memory to find them");
}

static void run_suite(struct test_suite *suite)
{
	const struct test_case *test;

	for (test = suite->test_cases; test->name; test++)
		tap_result(test->run_case(suite, tap_count) == TEST_OK, "%s", test->desc);
}

int main(void)
{
	run_suite(&suite__sideband_store);
	run_suite(&suite__sideband_maps);
	run_suite(&suite__sideband_tasks);
	run_suite(&suite__sideband_order);
	run_suite(&suite__sideband_objects);
	run_suite(&suite__sideband_gone);
	test_no_memory();
	test_short_lived();
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
