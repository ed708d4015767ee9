// SPDX-License-Identifier: GPL-2.0
/* Store of side-band records: tasks whose end is not recorded */
#include "sideband-store-test.h"

/* Records from after the clock was set back are newer, whatever their times are */
SIDEBAND_TEST(set_back)
{
	u64 by;

	START(100, "before");
	MMAP(100, 100, 1, 1, "/bin/before");
	FORK(200, 200, 100, 100);
	FORK(300, 300, 100, 100);
	prune();
	EXIT(300, 300);
	by = now * STEP - STEP / 2;
	sideband_store__set_back(store, by);
	AT(now * STEP - by + 1, EXEC(100, "after"));
	AT(now * STEP - by + 1, MMAP(100, 100, 2, 1, "/bin/after"));
	PLAY();
	ASSERT_COMM(100, 100, "after");
	PRUNE(6);
	PLAY();
	ASSERT_COMM(100, 100, "after");
	ASSERT_MAP(100, 100, 1, "");
	ASSERT_MAP(100, 100, 2, "/bin/after");
	ASSERT_COMM(200, 200, "before");
	ASSERT_MAP(200, 200, 1, "/bin/before");
	return TEST_OK;
}

/* A task that the last prune() found to be gone ends when the next round is applied */
static void prune_gone(void)
{
	prune();
	prune();
}

static bool is_from_1000(u64 id)
{
	return id >= 1000;
}

/* Ends that are not recorded: the store holds at most as many dead tasks as live ones */
SIDEBAND_TEST(unrecorded_ends)
{
	u64 most = 0;
	u32 id;

	is_gone = is_from_1000;
	START(100, "lives");
	MMAP(100, 100, 1, 1, "/bin/lives");
	for (id = 1000; id < 9000; id++) {
		FORK(id, id, 100, 100);
		CGROUP(id, "/gone");
		if (id % 16 == 0)
			prune();
		most = max(most, stats()->tasks);
	}
	prune_gone();
	TEST_ASSERT_VAL("tasks at most", most < 100);
	TEST_ASSERT_VAL("tasks", stats()->tasks < 20);
	TEST_ASSERT_VAL("records", stats()->records < 50);
	TEST_ASSERT_VAL("asked for each twice at most", asked <= 2 * (8000 + 8000 + 1));
	return TEST_OK;
}

/* Live tasks are checked a limited number of times */
SIDEBAND_TEST(live_tasks)
{
	int i;

	for (i = 100; i < 110; i++)
		START(i, "lives");
	for (i = 0; i < 20; i++)
		prune();
	ASSERT_TASKS(10);
	TEST_ASSERT_VAL("asked", asked >= 10);
	TEST_ASSERT_VAL("asked for each twice at most", asked <= 20);
	return TEST_OK;
}

static u64 gone_id;

static bool is_gone_id(u64 id)
{
	return id == gone_id;
}

/* Let the system have all ids but @id */
static void set_gone(u64 id)
{
	gone_id = id;
	is_gone = is_gone_id;
}

/* The ring can have samples of tasks that are gone: older ones, and late ones */
SIDEBAND_TEST(not_yet_gone)
{
	u64 round, time;

	set_gone(100);
	START(100, "ends");
	PRUNE(2);
	round = now;
	time = now * STEP;
	sideband_store__prune(store, round + 2, round + 2);
	ASSERT_HELD(2);
	/* read by the round after the check, so it may be from before the check */
	AT(time + STEP, COMM(1, 1, "other"));
	now = round + 10;
	sideband_store__prune(store, round + 3, now);
	TEST_ASSERT_EQUAL("records", (int)stats()->records, 3);
	AT(time + STEP + SIDEBAND_STORE_LAG - 1, COMM(1, 1, "other"));
	now += 10;
	sideband_store__prune(store, now, now);
	TEST_ASSERT_EQUAL("records", (int)stats()->records, 4);
	prune();
	ASSERT_TASKS(1);
	return TEST_OK;
}

/* When a task is gone, its child that inherits is still pending */
SIDEBAND_TEST(gone_parent)
{
	set_gone(100);
	START(100, "parent");
	MMAP(100, 100, 1, 1, "/bin/parent");
	prune();
	FORK(200, 200, 100, 100);
	prune_gone();
	ASSERT_TASKS(1);
	PLAY();
	ASSERT_COMM(200, 200, "parent");
	ASSERT_MAP(200, 200, 1, "/bin/parent");
	return TEST_OK;
}

/* Gone, mentioned by a record, and gone again: wait for the records pending then */
SIDEBAND_TEST(gone_again)
{
	set_gone(100);
	START(100, "parent");
	prune_gone();
	ASSERT_TASKS(1);
	EXEC(100, "again");
	MMAP(100, 100, 1, 1, "/bin/again");
	START(300, "other");
	prune();
	/* not due yet in the next prune() */
	AT((now + 2) * STEP - 1, FORK(200, 200, 100, 100));
	prune_gone();
	ASSERT_TASKS(2);
	PLAY();
	ASSERT_COMM(200, 200, "again");
	ASSERT_MAP(200, 200, 1, "/bin/again");
	return TEST_OK;
}

/* A record from after the check is about another task with the same pid */
SIDEBAND_TEST(gone_and_back)
{
	set_gone(100);
	START(100, "before");
	prune();
	/* the fork was not recorded either */
	is_gone = NULL;
	EXEC(100, "after");
	MMAP(100, 100, 1, 1, "/bin/after");
	prune_gone();
	PLAY();
	ASSERT_COMM(100, 100, "after");
	ASSERT_MAP(100, 100, 1, "/bin/after");
	return TEST_OK;
}

/* A thread is alive after the check, so its process is, too */
SIDEBAND_TEST(threads_are_back)
{
	set_gone(101);
	START(100, "leader");
	THREAD(100, 101);
	prune();
	is_gone = NULL;
	COMM(100, 101, "back");
	prune_gone();
	ASSERT_TASKS(2);

	set_gone(200);
	START(200, "leader");
	THREAD(200, 201);
	prune();
	is_gone = NULL;
	COMM(200, 201, "back");
	prune_gone();
	ASSERT_TASKS(4);
	/* the leader lives, too */
	EXIT(200, 201);
	prune();
	ASSERT_PROCESSES(2);
	return TEST_OK;
}

/* The end of one thread is not the end of its process, not even the leader's */
SIDEBAND_TEST(gone_threads)
{
	set_gone(101);
	START(100, "leader");
	THREAD(100, 101);
	THREAD(100, 102);
	prune();
	prune_gone();
	ASSERT_TASKS(2);
	EXIT(100, 100);
	set_gone(102);
	START(200, "other");
	START(201, "other");
	prune();
	prune_gone();
	ASSERT_TASKS(3);
	/* further tasks make the store check these */
	set_gone(100);
	START(202, "other");
	START(203, "other");
	START(204, "other");
	prune();
	prune_gone();
	ASSERT_TASKS(5);
	return TEST_OK;
}

/* A thread that execs gets its leader's tid. There is no record of it before the exec is done. */
SIDEBAND_TEST(gone_for_exec)
{
	set_gone(101);
	START(100, "asked");
	THREAD(100, 101);
	EXIT(100, 100);
	START(200, "replaced");
	THREAD(200, 201);
	EXIT(200, 200);
	prune();
	prune_gone();
	START(201, "other");
	prune();
	PLAY();
	ASSERT_COMM(100, 100, "asked");
	ASSERT_COMM(200, 200, "replaced");
	return TEST_OK;
}

static struct test_case tests__gone[] = {
	TEST_CASE("a clock that is set back", set_back),
	TEST_CASE("ends that are not recorded", unrecorded_ends),
	TEST_CASE("checks of live tasks", live_tasks),
	TEST_CASE("samples of tasks that are gone", not_yet_gone),
	TEST_CASE("children of tasks that are gone", gone_parent),
	TEST_CASE("children of tasks that are gone twice", gone_again),
	TEST_CASE("pids of tasks that are gone", gone_and_back),
	TEST_CASE("threads that are back", threads_are_back),
	TEST_CASE("threads that are gone", gone_threads),
	TEST_CASE("threads that are gone because they exec", gone_for_exec),
	{ .name = NULL, }
};

SIDEBAND_SUITE(gone, "tasks that are gone");
