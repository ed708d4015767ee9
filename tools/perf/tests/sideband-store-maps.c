// SPDX-License-Identifier: GPL-2.0
/* Store of side-band records: mappings and names of processes, and what a fork inherits */
#include "sideband-store-test.h"

SIDEBAND_TEST(exec)
{
	FORK(100, 100, 1, 1);
	COMM(100, 100, "old");
	MMAP(100, 100, 1, 1, "/bin/old");
	EXEC(100, "new");
	MMAP(100, 100, 2, 1, "/bin/new");
	PRUNE(3);
	PLAY();
	ASSERT_COMM(100, 100, "new");
	ASSERT_MAP(100, 100, 1, "");
	ASSERT_MAP(100, 100, 2, "/bin/new");
	return TEST_OK;
}

SIDEBAND_TEST(overlap)
{
	MMAP(100, 100, 10, 4, "/lib/a");
	MMAP(100, 100, 8, 3, "/lib/partly");
	PRUNE(2);
	MMAP(100, 100, 12, 1, "/lib/hole");
	PRUNE(3);
	/* the rest of the first one is replaced piece by piece */
	MMAP(100, 100, 11, 1, "/lib/b");
	PRUNE(4);
	MMAP(100, 100, 13, 1, "/lib/c");
	PRUNE(4);
	PLAY();
	ASSERT_MAP(100, 100, 10, "/lib/partly");
	ASSERT_MAP(100, 100, 11, "/lib/b");
	ASSERT_MAP(100, 100, 12, "/lib/hole");
	ASSERT_MAP(100, 100, 13, "/lib/c");
	MMAP(100, 100, 0, 100, "/lib/all");
	PRUNE(1);
	/* first its beginning is replaced, then the rest */
	MMAP(100, 100, 0, 1, "/lib/begin");
	PRUNE(2);
	MMAP(100, 100, 1, 99, "/lib/rest");
	PRUNE(2);
	return TEST_OK;
}

/* Nothing is mapped, or all up to the last address */
SIDEBAND_TEST(edges)
{
	MMAP(100, 100, 1, 0, "/lib/empty");
	PRUNE(0);
	MMAP(100, 100, ~0ULL / PAGE, 1, "/lib/last");
	PRUNE(1);
	MMAP(100, 100, ~0ULL / PAGE, 2, "/lib/beyond");
	PRUNE(1);
	return TEST_OK;
}

/* A mapping that arrives late is visible in the gaps between newer ones */
SIDEBAND_TEST(late_maps)
{
	u64 before = now * STEP;

	now++;
	MMAP(100, 100, 2, 1, "/lib/b");
	MMAP(100, 100, 4, 1, "/lib/d");
	MMAP(200, 200, 2, 1, "/lib/b");
	MMAP(200, 200, 4, 1, "/lib/d");
	PRUNE(4);
	AT(before, MMAP(100, 100, 1, 5, "/lib/three-gaps"));
	AT(before, MMAP(200, 200, 2, 3, "/lib/one-gap"));
	PRUNE(6);
	MMAP(100, 100, 5, 1, "/lib/e");
	PRUNE(7);
	MMAP(100, 100, 1, 1, "/lib/a");
	PRUNE(8);
	MMAP(100, 100, 3, 1, "/lib/c");
	PRUNE(8);
	MMAP(200, 200, 3, 1, "/lib/c");
	PRUNE(8);
	return TEST_OK;
}

SIDEBAND_TEST(comm)
{
	START(100, "first");
	COMM(100, 100, "second");
	COMM(100, 100, "third");
	prune();
	/* the name from an exec is kept: it also says that there was an exec */
	ASSERT_HELD(3);
	PLAY();
	ASSERT_COMM(100, 100, "third");
	return TEST_OK;
}

/* A child that never called exec has what its ancestors had when they forked */
SIDEBAND_TEST(inherit)
{
	START(100, "parent");
	MMAP(100, 100, 1, 4, "/bin/parent");
	MMAP(100, 100, 2, 1, "/lib/hole");
	FORK(200, 200, 100, 100);
	FORK(300, 300, 200, 200);
	EXEC(100, "changed");
	MMAP(100, 100, 1, 4, "/bin/changed");
	EXIT(200, 200);
	prune();
	PLAY();
	ASSERT_COMM(300, 300, "parent");
	TEST_ASSERT_VAL("exec", sideband_resolve__has_execed(100));
	TEST_ASSERT_VAL("no exec", !sideband_resolve__has_execed(300));
	ASSERT_MAP(300, 300, 1, "/bin/parent");
	ASSERT_MAP(300, 300, 2, "/lib/hole");
	ASSERT_MAP(300, 300, 4, "/bin/parent");
	ASSERT_COMM(100, 100, "changed");
	ASSERT_MAP(100, 100, 2, "/bin/changed");

	/* the inherited records aren't needed any more */
	EXEC(300, "child");
	PRUNE(5);
	return TEST_OK;
}

/* A child maps more before its parent is gone */
SIDEBAND_TEST(inherit_and_map)
{
	START(100, "parent");
	MMAP(100, 100, 1, 1, "/bin/parent");
	MMAP(100, 100, 2, 1, "//anon");
	FORK(200, 200, 100, 100);
	MMAP(200, 200, 3, 1, "/lib/a");
	EXIT(100, 100);
	prune();
	PLAY();
	ASSERT_MAP(200, 200, 1, "/bin/parent");
	ASSERT_MAP(200, 200, 2, "//anon");
	ASSERT_MAP(200, 200, 3, "/lib/a");
	return TEST_OK;
}

/* @arg: number of records. None is changed or copied. */
static int check_unchanged(void *arg, const union perf_event *event)
{
	const struct perf_record_fork *fork = &event->fork;

	++*(int *)arg;
	if (event->header.type != PERF_RECORD_FORK)
		return 0;
	if (event->header.misc & PERF_RECORD_MISC_FORK_EXEC)
		return -EINVAL;
	return fork->ptid == (fork->pid == 300 ? 101 : fork->ppid) ? 0 : -EINVAL;
}

/* While those are alive that tasks inherit from, records are as they were added */
SIDEBAND_TEST(unchanged)
{
	int nr = 0;

	START(100, "parent");
	MMAP(100, 100, 1, 1, "/bin/parent");
	THREAD(100, 101);
	FORK(200, 200, 100, 100);
	FORK(300, 300, 100, 101);
	MMAP(300, 300, 2, 1, "/lib/a");
	PRUNE(7);
	TEST_ASSERT_EQUAL("dump", sideband_store__dump(store, SIDEBAND_DUMP_ALL,
						       check_unchanged, &nr), 0);
	TEST_ASSERT_EQUAL("no copies", nr, 8);
	return TEST_OK;
}

/* @arg: number of copies */
static int check_copy(void *arg, const union perf_event *event)
{
	const struct trailer *trailer = (void *)event + event->header.size - sizeof(*trailer);
	u32 pid;

	/* at the same place in COMM and MMAP2 */
	if (event->header.type != PERF_RECORD_COMM && event->header.type != PERF_RECORD_MMAP2)
		return 0;
	if (event->comm.tid == 100)
		return 0;
	++*(int *)arg;
	pid = event->comm.tid == 101 ? 100 : event->comm.tid;
	return event->comm.pid == pid && trailer->pid == pid &&
	       trailer->tid == event->comm.tid ? 0 : -EINVAL;
}

/* A copy of what is inherited has the ids of the task that inherits */
SIDEBAND_TEST(ids_of_copies)
{
	int nr = 0;

	START(100, "parent");
	MMAP(100, 100, 1, 1, "/bin/parent");
	FORK(200, 200, 100, 100);
	EXEC(100, "changed");
	THREAD(100, 101);
	COMM(100, 100, "renamed");
	prune();
	TEST_ASSERT_EQUAL("dump", sideband_store__dump(store, SIDEBAND_DUMP_ALL,
						       check_copy, &nr), 0);
	TEST_ASSERT_EQUAL("two names and a mapping", nr, 3);
	return TEST_OK;
}

/* Code at ever new addresses: the oldest is dropped, mappings of files last */
SIDEBAND_TEST(many_maps)
{
	u64 page, nr = SIDEBAND_MAX_MAPS;

	START(100, "jit");
	MMAP(100, 100, 1, 1, "/usr/bin/just-in-time");
	FORK(200, 200, 100, 100);
	for (page = 0; page < 2 * nr; page += 2) {
		MMAP(100, 100, 10 + 2 * page, 1, "/memfd:code (deleted)");
		MMAP(100, 100, 12 + 2 * page, 1, "//anon");
	}
	prune();
	ASSERT_HELD((int)nr + 3);
	ASSERT_DROPPED((int)nr + 1);
	PLAY();
	ASSERT_MAP(100, 100, 1, "/usr/bin/just-in-time");
	ASSERT_MAP(200, 200, 1, "/usr/bin/just-in-time");
	ASSERT_MAP(100, 100, 10 + 2 * (2 * nr - 1), "//anon");
	ASSERT_MAP(100, 100, 10 + 2 * nr, "");
	ASSERT_MAP(100, 100, 10 + 2 * (nr + 2), "/memfd:code (deleted)");
	/* if there are only mappings of files, drop those */
	for (page = 0; page < nr; page++)
		MMAP(200, 200, 10 + 2 * page, 1, "/lib/a");
	prune();
	ASSERT_DROPPED((int)nr + 2);
	return TEST_OK;
}

static struct test_case tests__maps[] = {
	TEST_CASE("exec", exec),
	TEST_CASE("overlapping mappings", overlap),
	TEST_CASE("edges of the address space", edges),
	TEST_CASE("mappings that arrive late", late_maps),
	TEST_CASE("names of tasks", comm),
	TEST_CASE("fork without exec", inherit),
	TEST_CASE("fork and more mappings", inherit_and_map),
	TEST_CASE("records that are not changed", unchanged),
	TEST_CASE("ids of what is inherited", ids_of_copies),
	TEST_CASE("too many mappings", many_maps),
	{ .name = NULL, }
};

SIDEBAND_SUITE(maps, "mappings and names");
