// SPDX-License-Identifier: GPL-2.0
/* Store of side-band records: records without a time, of the same time, and late ones */
#include "sideband-store-test.h"

/* Synthesized records come first, whenever they are added */
SIDEBAND_TEST(untimed)
{
	EXEC(200, "timed");
	AT(0, FORK(100, 100, 1, 1));
	AT(0, COMM(100, 100, "synthesized"));
	PLAY();
	ASSERT_COMM(100, 100, "synthesized");
	PRUNE(3);
	PLAY();
	ASSERT_COMM(100, 100, "synthesized");
	COMM(100, 100, "later");
	PRUNE(3);
	PLAY();
	ASSERT_COMM(100, 100, "later");

	/* pending, and before and after those that are in force */
	AT(0, FORK(300, 300, 1, 1));
	AT(0, COMM(300, 300, "first"));
	prune();
	AT(0, COMM(300, 300, "second"));
	PLAY();
	ASSERT_COMM(300, 300, "second");
	return TEST_OK;
}

/* Before anything else is recorded, there are only synthesized records */
SIDEBAND_TEST(only_untimed)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < 5000; i++) {
		AT(0, COMM(100, 100, "synthesized"));
		now += 2;
		sideband_store__prune(store, now, now);
		bytes = bytes ?: stats()->bytes;
	}
	TEST_ASSERT_EQUAL("records", (int)stats()->records, 1);
	TEST_ASSERT_VAL("memory is used again", stats()->bytes == bytes);
	PLAY();
	ASSERT_COMM(100, 100, "synthesized");
	return TEST_OK;
}

/* Records of the same time are in order of arrival */
SIDEBAND_TEST(same_time)
{
	u64 time = 5 * STEP;

	AT(time, COMM(100, 100, "first"));
	AT(time + 4, COMM(200, 200, "other"));
	AT(time, COMM(100, 100, "second"));
	AT(time + 2, COMM(200, 200, "other"));
	PLAY();
	ASSERT_COMM(100, 100, "second");

	now += 10;
	time = now * STEP;
	AT(time, COMM(500, 500, "before its fork"));
	AT(time, FORK(500, 500, 1, 1));
	AT(time, FORK(300, 300, 1, 1));
	AT(time, THREAD(300, 301));
	AT(time, EXEC(300, "after a thread"));
	AT(time, FORK(400, 400, 1, 1));
	AT(time, EXIT(400, 400));
	PRUNE(5);
	ASSERT_TASKS(4);
	return TEST_OK;
}

/* A round reads CPU by CPU, so a child's records can arrive before its FORK */
SIDEBAND_TEST(ragged)
{
	AT(STEP + 2, EXIT(100, 100));
	AT(STEP + 1, FORK(100, 100, 1, 1));
	PRUNE(0);
	return TEST_OK;
}

/* Records that arrive so late that the state is newer */
SIDEBAND_TEST(late)
{
	u64 before = now * STEP, between;

	now++;
	FORK(100, 100, 1, 1);
	between = now * STEP + 1;
	EXEC(100, "new");
	MMAP(100, 100, 2, 1, "/bin/new");
	THREAD(100, 101);
	PRUNE(4);
	AT(before, EXIT(100, 100));
	AT(before, EXIT(100, 101));
	AT(between, MMAP(100, 100, 1, 1, "/bin/old"));
	AT(between, EXEC(100, "old"));
	PRUNE(4);
	PLAY();
	ASSERT_COMM(100, 100, "new");
	ASSERT_COMM(100, 101, "new");
	ASSERT_MAP(100, 100, 1, "");
	ASSERT_MAP(100, 100, 2, "/bin/new");

	/* a late exec must not end newer threads and mappings */
	FORK(200, 200, 1, 1);
	between = now * STEP + 1;
	THREAD(200, 201);
	MMAP(200, 200, 1, 1, "/bin/newer");
	PRUNE(7);
	AT(between, EXEC(200, "late"));
	PRUNE(8);
	PLAY();
	ASSERT_MAP(200, 201, 1, "/bin/newer");
	return TEST_OK;
}

/* A fork that arrives late belongs to the task that is known from newer records */
SIDEBAND_TEST(late_forks)
{
	u64 before = now * STEP;

	now++;
	EXEC(100, "known");
	PRUNE(1);
	AT(before, FORK(100, 100, 1, 1));
	PRUNE(2);
	PLAY();
	ASSERT_COMM(100, 100, "known");
	/* about a thread, and not about the process that has its tid */
	AT(before, THREAD(200, 100));
	prune();
	ASSERT_TASKS(1);
	PLAY();
	ASSERT_COMM(100, 100, "known");
	return TEST_OK;
}

/* Records that arrive late may be about an earlier owner of the id */
SIDEBAND_TEST(late_owners)
{
	u64 before = now * STEP, between;

	now++;
	FORK(100, 100, 1, 1);
	between = now * STEP + 1;
	THREAD(100, 101);
	PRUNE(2);
	AT(before, COMM(100, 100, "earlier process"));
	AT(between, COMM(100, 101, "earlier thread"));
	PRUNE(2);

	/* an exec before the last one doesn't bring the leader back */
	FORK(200, 200, 1, 1);
	between = now * STEP + 1;
	EXEC(200, "last");
	THREAD(200, 201);
	EXIT(200, 200);
	prune();
	AT(between, EXEC(200, "before"));
	prune();
	EXIT(200, 201);
	PRUNE(2);
	ASSERT_TASKS(2);
	return TEST_OK;
}

static struct test_case tests__order[] = {
	TEST_CASE("synthesized records", untimed),
	TEST_CASE("synthesized records only", only_untimed),
	TEST_CASE("records of the same time", same_time),
	TEST_CASE("records out of order", ragged),
	TEST_CASE("records that arrive late", late),
	TEST_CASE("forks that arrive late", late_forks),
	TEST_CASE("records of earlier owners", late_owners),
	{ .name = NULL, }
};

SIDEBAND_SUITE(order, "order");
