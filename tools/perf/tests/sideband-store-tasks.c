// SPDX-License-Identifier: GPL-2.0
/* Store of side-band records: processes and threads that begin, end, and reuse ids */
#include "sideband-store-test.h"

/* A thread inherits the name of its creator, even if the creator is renamed later */
SIDEBAND_TEST(threads)
{
	START(100, "main");
	THREAD(100, 101);
	COMM(100, 100, "renamed");
	FORK(100, 102, 100, 101);
	EXIT(100, 101);
	MMAP(100, 102, 1, 1, "/lib/a");
	prune();
	PLAY();
	ASSERT_COMM(100, 102, "main");
	ASSERT_COMM(100, 100, "renamed");
	ASSERT_MAP(100, 100, 1, "/lib/a");
	return TEST_OK;
}

/* A process lives until the last of its threads exits, which need not be the leader */
SIDEBAND_TEST(exits)
{
	START(100, "main");
	MMAP(100, 100, 1, 1, "/bin/main");
	THREAD(100, 101);
	THREAD(100, 102);
	EXIT(100, 101);
	EXIT(100, 100);
	prune();
	ASSERT_PROCESSES(1);
	PLAY();
	ASSERT_MAP(100, 102, 1, "/bin/main");
	EXIT(100, 102);
	PRUNE(0);
	ASSERT_TASKS(0);
	return TEST_OK;
}

/* A process whose exit is not due lives at T */
SIDEBAND_TEST(not_yet_ended)
{
	int i;

	for (i = 0; i < 100; i++)
		EXIT(1000 + i, 1000 + i);
	START(100, "ends");
	EXIT(100, 100);
	now += 2;
	sideband_store__prune(store, now, now);
	ASSERT_TASKS(1);
	return TEST_OK;
}

/* Processes whose records are due from fork to exit: only what others inherit is kept */
SIDEBAND_TEST(short_lived)
{
	/* nothing */
	START(100, "alone");
	MMAP(100, 100, 1, 1, "/bin/alone");
	EXIT(100, 100);
	/* a child */
	START(200, "grandparent");
	MMAP(200, 200, 1, 1, "/bin/grandparent");
	FORK(201, 201, 200, 200);
	EXIT(200, 200);
	FORK(202, 202, 201, 201);
	EXIT(201, 201);
	/* a thread */
	START(300, "leader");
	THREAD(300, 301);
	EXIT(300, 300);
	/* a process with its pid, whose fork was lost */
	START(400, "before");
	EXIT(400, 400);
	EXEC(400, "after");
	prune();
	ASSERT_PROCESSES(3);
	PLAY();
	ASSERT_COMM(202, 202, "grandparent");
	ASSERT_MAP(202, 202, 1, "/bin/grandparent");
	ASSERT_COMM(300, 301, "leader");
	ASSERT_COMM(400, 400, "after");

	/* its pid belonged to another process, whose exit was lost */
	FORK(400, 400, 1, 1);
	EXIT(400, 400);
	/* or to another process's thread */
	THREAD(202, 500);
	FORK(500, 500, 1, 1);
	EXIT(500, 500);
	/* or belongs to one later */
	FORK(501, 501, 1, 1);
	EXIT(501, 501);
	THREAD(202, 501);
	/* its record has a pid of 0: perf's pid namespace doesn't have it */
	EXIT(0, 0);
	prune();
	ASSERT_PROCESSES(2);
	ASSERT_TASKS(4);
	return TEST_OK;
}

/* A process is short-lived if the records of all its threads are due from fork to exit */
SIDEBAND_TEST(short_threads)
{
	/* all threads have ended */
	START(100, "all");
	THREAD(100, 101);
	COMM(100, 101, "worker");
	EXIT(100, 100);
	MMAP(100, 101, 1, 1, "/bin/all");
	EXIT(100, 101);
	/* all threads have ended, but one has a child */
	START(200, "leader");
	MMAP(200, 200, 1, 1, "/bin/leader");
	THREAD(200, 201);
	COMM(200, 201, "worker");
	FORK(202, 202, 200, 201);
	EXIT(200, 201);
	EXIT(200, 200);
	/* one exit is recorded twice, and one thread is alive */
	START(300, "twice");
	THREAD(300, 301);
	THREAD(300, 302);
	EXIT(300, 300);
	EXIT(300, 301);
	EXIT(300, 301);
	/* a thread is alive, but its fork was lost */
	START(400, "leader");
	COMM(400, 401, "lost");
	EXIT(400, 400);
	/* a thread with the id of a process whose exit was lost */
	START(500, "replaced");
	START(510, "replaces");
	THREAD(510, 500);
	EXIT(510, 500);
	EXIT(510, 510);
	prune();
	ASSERT_PROCESSES(3);
	ASSERT_TASKS(5);
	PLAY();
	ASSERT_COMM(202, 202, "worker");
	ASSERT_MAP(202, 202, 1, "/bin/leader");
	ASSERT_COMM(400, 401, "lost");

	/* the same, but that process was known before */
	START(520, "replaces");
	THREAD(520, 202);
	EXIT(520, 202);
	EXIT(520, 520);
	/* processes with the ids of threads: one has exited, the exits of two were lost */
	START(600, "first");
	THREAD(600, 601);
	THREAD(600, 602);
	EXIT(600, 601);
	START(601, "second");
	START(602, "third");
	COMM(600, 603, "lost, too");
	START(603, "fourth");
	EXIT(603, 603);
	EXIT(600, 600);
	prune();
	ASSERT_PROCESSES(4);
	ASSERT_TASKS(6);
	PLAY();
	ASSERT_COMM(601, 601, "second");
	ASSERT_COMM(602, 602, "third");
	return TEST_OK;
}

/* A process is kept while one of its threads is alive, even if some records are missing */
SIDEBAND_TEST(live_threads)
{
	/* the thread's id belonged to another process, whose exit was lost */
	START(100, "before");
	START(110, "after");
	THREAD(100, 101);
	COMM(110, 101, "moved");
	EXIT(110, 110);
	EXIT(100, 100);
	/* the thread's id belonged to a process */
	START(200, "replaced");
	START(210, "replaces");
	THREAD(210, 200);
	EXIT(210, 210);
	/* the thread's fork comes after the process's exit */
	START(300, "first");
	EXIT(300, 300);
	THREAD(300, 301);
	prune();
	ASSERT_PROCESSES(3);
	ASSERT_TASKS(6);
	PLAY();
	ASSERT_COMM(110, 101, "moved");
	ASSERT_COMM(210, 200, "replaces");
	return TEST_OK;
}

/* A thread that execs becomes the leader, after an EXIT of the old leader */
SIDEBAND_TEST(exec_of_thread)
{
	FORK(100, 100, 1, 1);
	THREAD(100, 101);
	THREAD(100, 102);
	EXIT(100, 102);
	EXIT(100, 100);
	EXEC(100, "new");
	MMAP(100, 100, 1, 1, "/bin/new");
	PRUNE(3);
	PLAY();
	ASSERT_MAP(100, 100, 1, "/bin/new");
	EXIT(100, 100);
	PRUNE(0);
	return TEST_OK;
}

/* A new owner of an id replaces the old one, even if an exit was lost */
SIDEBAND_TEST(reuse)
{
	START(100, "old");
	MMAP(100, 100, 1, 1, "/bin/old");
	THREAD(100, 101);
	FORK(200, 200, 1, 1);
	THREAD(200, 101);
	prune();
	ASSERT_TASKS(3);
	FORK(100, 100, 200, 200);
	prune();
	/* the forks of 100, 200 and 101 */
	ASSERT_HELD(3);
	PLAY();
	ASSERT_MAP(100, 100, 1, "");
	/* the leader's pid as a thread's tid: the process is gone */
	THREAD(200, 100);
	prune();
	ASSERT_PROCESSES(1);
	return TEST_OK;
}

/* The same when the new owner's fork was lost */
SIDEBAND_TEST(reuse_without_fork)
{
	START(100, "old");
	THREAD(100, 101);
	THREAD(100, 102);
	EXEC(101, "process");
	COMM(200, 102, "thread");
	prune();
	ASSERT_TASKS(4);
	ASSERT_PROCESSES(3);
	return TEST_OK;
}

/*
 * Mappings of a dead process are kept for its child only. Its pid belonged to a thread
 * of another process before. A file may still have that thread, and must not give it the
 * mappings.
 */
SIDEBAND_TEST(earlier_owner)
{
	START(100, "other");
	MMAP(100, 100, 1, 2, "/bin/other");
	THREAD(100, 101);
	prune();
	PLAY_NEW();
	written();

	EXIT(100, 101);
	FORK(101, 101, 1, 1);
	MMAP(101, 101, 1, 1, "/bin/parent");
	MMAP(101, 101, 2, 1, "/lib/hidden");
	FORK(300, 300, 101, 101);
	MMAP(101, 101, 2, 1, "/lib/over");
	EXIT(101, 101);
	prune();
	PLAY_NEW();
	ASSERT_MAP(300, 300, 1, "/bin/parent");
	ASSERT_MAP(300, 300, 2, "/lib/hidden");
	ASSERT_MAP(100, 100, 1, "/bin/other");
	ASSERT_MAP(100, 100, 2, "/bin/other");
	return TEST_OK;
}

/* A thread forks and exits. Its pid and tid were used before. */
SIDEBAND_TEST(earlier_creator)
{
	FORK(100, 100, 1, 1);
	MMAP(100, 100, 1, 1, "/bin/before");
	THREAD(100, 101);
	prune();
	PLAY_NEW();
	written();

	EXIT(100, 101);
	EXIT(100, 100);
	FORK(100, 100, 1, 1);
	MMAP(100, 100, 1, 1, "/bin/after");
	THREAD(100, 101);
	FORK(300, 300, 100, 101);
	EXIT(100, 101);
	prune();
	PLAY_NEW();
	ASSERT_MAP(300, 300, 1, "/bin/after");
	return TEST_OK;
}

/* Processes from before the recording: there is no FORK */
SIDEBAND_TEST(unknown)
{
	COMM(100, 100, "unknown");
	MMAP(100, 105, 1, 1, "/lib/a");
	prune();
	PLAY();
	ASSERT_COMM(100, 100, "unknown");
	ASSERT_MAP(100, 100, 1, "/lib/a");
	EXIT(100, 100);
	PRUNE(0);
	return TEST_OK;
}

static struct test_case tests__tasks[] = {
	TEST_CASE("threads", threads),
	TEST_CASE("exits", exits),
	TEST_CASE("exits that are not due", not_yet_ended),
	TEST_CASE("short-lived processes", short_lived),
	TEST_CASE("short-lived threads", short_threads),
	TEST_CASE("processes with a live thread", live_threads),
	TEST_CASE("exec of a thread", exec_of_thread),
	TEST_CASE("reuse of ids", reuse),
	TEST_CASE("reuse of ids without a fork", reuse_without_fork),
	TEST_CASE("earlier owner of an id", earlier_owner),
	TEST_CASE("reuse of a creator's id", earlier_creator),
	TEST_CASE("tasks without a fork", unknown),
	{ .name = NULL, }
};

SIDEBAND_SUITE(tasks, "tasks");
