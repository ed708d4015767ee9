// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of the triggers of perf record -M, without the rest of perf: built in
 * seconds, and with sanitizers. And what takes an allocator of the test's own: there is
 * no memory. TAP on standard output.
 */
#include <errno.h>
#include <stdio.h>
#include <linux/kernel.h>

#include "debug.h"
#include "tests.h"
#include "trigger-calls.h"
#include "trigger-engine.h"
#include "../perf_alloc.h"
#include "../tap.h"

/* How much of malloc()'s memory is in use: of the sanitizer's run-time library */
size_t __sanitizer_get_current_allocated_bytes(void);

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

int tap_count, tap_failed;

static unsigned int nr_fired;

static void fired(void *priv, const struct trigger_firing *firing)
{
	nr_fired++;
}

static int add_both(struct trigger_engine *engine)
{
	char error[64];
	int err = trigger_engine__add(engine, "slow:in..out,longer=100ns", error, sizeof(error));

	return err ?: trigger_engine__add(engine, "many:in,count=3,within=1s", error,
					  sizeof(error));
}

/* Whichever allocation fails, it is said, and nothing is left */
static int test_no_engine(void)
{
	size_t before = __sanitizer_get_current_allocated_bytes();
	int err = -ENOMEM;
	long nr;

	for (nr = 0; err; nr++) {
		struct trigger_engine *engine;

		fail_allocation = nr;
		engine = trigger_engine__new(fired, NULL);
		err = engine ? add_both(engine) : -ENOMEM;
		fail_allocation = -1;
		CHECK(!err || err == -ENOMEM);
		trigger_engine__delete(engine);
		CHECK(__sanitizer_get_current_allocated_bytes() == before);
	}
	CHECK(nr > 4);
	return TEST_OK;
}

static void call(struct trigger_engine *engine, u64 time)
{
	struct trigger_occurrence what = { .tid = 1, .weight = 1, .time = time };

	trigger_engine__occurred(engine, &what);
	what.event = 1;
	what.time += 200;
	trigger_engine__occurred(engine, &what);
	trigger_engine__end_round(engine, 0, 0);
}

/* What there was no memory for is missing, and only that: later calls are seen */
static int test_no_memory(void)
{
	long nr;

	for (nr = 0; nr < 8; nr++) {
		struct trigger_engine *engine = trigger_engine__new(fired, NULL);
		u64 time = 1000000 * nr;

		CHECK(engine && !add_both(engine));
		fail_allocation = nr;
		call(engine, time);
		trigger_engine__finish(engine);
		fail_allocation = -1;
		nr_fired = 0;
		call(engine, time + 1000);
		trigger_engine__finish(engine);
		CHECK(nr_fired == 1);
		trigger_engine__delete(engine);
	}
	return TEST_OK;
}

/* However many calls begin, return or are overdue: they take the room of CALLS_MAX */
static int test_bounded(void)
{
	size_t before = __sanitizer_get_current_allocated_bytes();
	struct trigger_calls *calls = trigger_calls__new();
	struct trigger_occurrence entry = { .tid = 1 }, since;
	unsigned int i;

	CHECK(calls);
	for (i = 0; i < 2 * CALLS_MAX; i++) {
		entry.time = i;
		CHECK(!trigger_calls__enter(calls, &entry));
		CHECK(trigger_calls__leave(calls, &entry, &since) && since.time == i);
	}
	for (i = 0; i < 2 * CALLS_MAX; i++) {
		CHECK(!trigger_calls__enter(calls, &entry));
		CHECK(trigger_calls__overdue(calls, entry.time + 1));
		CHECK(!trigger_calls__leave(calls, &entry, &since));
	}
	CHECK(!trigger_calls__nr(calls));
	for (i = 0; i < 3 * CALLS_MAX; i++) {
		entry.tid = i + 1;
		CHECK(!trigger_calls__enter(calls, &entry));
		CHECK(trigger_calls__nr(calls) == 1);
		CHECK(trigger_calls__overdue(calls, entry.time + 1)->tid == entry.tid);
	}
	CHECK(__sanitizer_get_current_allocated_bytes() - before < CALLS_MAX * 128);
	CHECK(!trigger_calls__nr_forgotten(calls));
	trigger_calls__delete(calls);
	CHECK(__sanitizer_get_current_allocated_bytes() == before);
	return TEST_OK;
}

int main(void)
{
	tap_result(suite__trigger_engine.test_cases->run_case(&suite__trigger_engine, 0) == TEST_OK,
		   "perf's own test of the triggers");
	tap_result(test_no_engine() == TEST_OK, "no memory for the triggers");
	tap_result(test_no_memory() == TEST_OK, "no memory for what occurs");
	tap_result(test_bounded() == TEST_OK, "the room for calls");
	printf("1..%d\n", tap_count);

	return tap_failed;
}
