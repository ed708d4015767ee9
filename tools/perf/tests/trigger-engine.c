// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers of the memory ring: what the user may write, and when they fire.
 *
 * Expected: threads that move between CPUs, whose buffers are read one after the other
 * while they run, fire a trigger for each call that is too long, and for no other, in
 * order of time. An engine that believes in the order of reading, that takes one call's
 * entry for another's, or that doesn't forget in time, fails here.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "debug.h"
#include "duration.h"
#include "tests.h"
#include "trigger-calls.h"
#include "trigger-engine.h"
#include "trigger-window.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

#define MAX_FIRED	CALLS_MAX

struct fired {
	char	name[DUMP_TRIGGER_MAX_NAME + 1];
	int	tid;
	u64	time;
	u64	since;
	u64	value;
	bool	open;
};

struct log {
	struct fired	fired[MAX_FIRED];
	unsigned int	nr;
};

/* What fired, and what should have */
static struct log seen, wanted;

static void note(struct log *log, const char *name, int tid, u64 time, u64 since, u64 value,
		 bool open)
{
	struct fired *fired = &log->fired[log->nr];

	if (log->nr == MAX_FIRED)
		return;
	memset(fired, 0, sizeof(*fired));
	strncpy(fired->name, name, DUMP_TRIGGER_MAX_NAME);
	fired->tid = tid;
	fired->time = time;
	fired->since = since;
	fired->value = value;
	fired->open = open;
	log->nr++;
}

static void on_fired(void *priv, const struct trigger_firing *firing)
{
	note(priv, firing->trigger->name, firing->last.tid, firing->last.time, firing->since,
	     firing->value, firing->open);
}

static int compare(const void *a, const void *b)
{
	const struct fired *l = a, *r = b;

	return l->since < r->since ? -1 : l->since > r->since;
}

static struct trigger_engine *engine_for(const char *const *triggers)
{
	struct trigger_engine *engine = trigger_engine__new(on_fired, &seen);
	char error[256];

	seen.nr = 0;
	wanted.nr = 0;
	for (; engine && *triggers; triggers++) {
		if (trigger_engine__add(engine, *triggers, error, sizeof(error))) {
			pr_debug("%s: %s\n", *triggers, error);
			trigger_engine__delete(engine);
			return NULL;
		}
	}
	return engine;
}

/* ---- what the user writes */

static int test_duration(void)
{
	static const struct {
		const char	*str;
		u64		ns;
		const char	*rest;
	} good[] = {
		{ "1ns", 1, "" }, { "20us", 20000, "" }, { "10ms", 10000000, "" },
		{ "30s", 30 * NSEC_PER_SEC, "" }, { "2m", 120 * NSEC_PER_SEC, "" },
		{ "1h", 3600 * NSEC_PER_SEC, "" }, { "5s NAME", 5 * NSEC_PER_SEC, " NAME" },
		{ "9223372036854775807ns", INT64_MAX, "" },
	};
	static const char *const bad[] = { "", "s", "10", "-1s", " 1s", "1.5s", "1 s", "1sec",
					   "1S" };
	static const char *const out[] = { "0s", "9223372036854775808ns", "9223372037s",
					   "99999999999999999999999ns" };
	const char *end = NULL;
	u64 ns = 42;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(duration__parse(bad[i], &end, &ns) == -EINVAL);
	for (i = 0; i < ARRAY_SIZE(out); i++)
		CHECK(duration__parse(out[i], &end, &ns) == -ERANGE);
	CHECK(ns == 42 && !end);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK(!duration__parse(good[i].str, &end, &ns));
		CHECK(ns == good[i].ns && !strcmp(end, good[i].rest));
	}
	return TEST_OK;
}

/* Is it refused, with all of @says in the message? */
static bool is_refused(const char *str, const char *says)
{
	struct dump_trigger trigger;
	char error[256] = "";
	int err = dump_trigger__parse(&trigger, str, error, sizeof(error));

	if (!err)
		dump_trigger__exit(&trigger);
	if (err == -EINVAL && strstr(error, says))
		return true;
	pr_debug("'%s': %d, '%s'\n", str, err, error);
	return false;
}

static int test_parse_bad(void)
{
	static const struct {
		const char	*str;
		const char	*says;
	} bad[] = {
		{ "", "'' is not a name" },
		{ ":a:b", "'' is not a name" },
		{ "a b:c", "'a b' is not a name" },
		{ "../x:c", "'../x' is not a name" },
		{ "!a:c", "'!a' is not a name" },
		{ "01234567890123456789012345678901234567890", "is not a name" },
		{ "n", "a condition is missing: n:EVENT" },
		{ "n:", "an event is missing" },
		{ "n:,count=1,within=1s", "an event is missing" },
		{ "n:..b,longer=1s", "an event is missing" },
		{ "n:a..,longer=1s", "an event is missing" },
		{ "n:a..b", "needs longer=TIME" },
		{ "n:a..a,longer=1s", "same event, 'a'" },
		{ "n:a..b,longer=1", "'1' of longer= is not a time" },
		{ "n:a..b,longer=", "'' of longer= is not a time" },
		{ "n:a..b,longer=0s", "'0s' of longer= is out of range" },
		{ "n:a..b,longer=1s2", "'2' follows the time" },
		{ "n:a..b,longer=1s,longer=2s", "longer= is there twice" },
		{ "n:a..b,longer=1s,count=2", "for one event" },
		{ "n:a,longer=1s", "needs a pair" },
		{ "n:a,count=2", "need each other" },
		{ "n:a,within=2s", "need each other" },
		{ "n:a,count=0,within=1s", "'0' of count=" },
		{ "n:a,count=-1,within=1s", "'-1' of count=" },
		{ "n:a,count=2x,within=1s", "'2x' of count=" },
		{ "n:a,count=2,count=3,within=1s", "count= is there twice" },
		{ "n:a,slower=1s", "no term 'slower'" },
		{ "n:a,longer", "no term 'longer'" },
		{ "n:a,", "no term ''" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(is_refused(bad[i].str, bad[i].says));
	return TEST_OK;
}

static int test_parse_good(void)
{
	char error[256], longest[DUMP_TRIGGER_MAX_NAME + sizeof(":a")];
	struct dump_trigger t;

	memset(longest, 'n', DUMP_TRIGGER_MAX_NAME);
	strcpy(longest + DUMP_TRIGGER_MAX_NAME, ":a");
	CHECK(!dump_trigger__parse(&t, longest, error, sizeof(error)));
	CHECK(strlen(t.name) == DUMP_TRIGGER_MAX_NAME);
	dump_trigger__exit(&t);

	CHECK(!dump_trigger__parse(&t, "by-hand_1:a", error, sizeof(error)));
	CHECK(!strcmp(t.name, "by-hand_1") && !strcmp(t.condition, "a"));
	dump_trigger__exit(&t);

	CHECK(!dump_trigger__parse(&t, "app:socket", error, sizeof(error)));
	CHECK(!strcmp(t.condition, "socket") && !t.event && !t.exit);
	dump_trigger__exit(&t);

	CHECK(!dump_trigger__parse(&t, "oom:oom:mark_victim", error, sizeof(error)));
	CHECK(!strcmp(t.name, "oom") && !strcmp(t.condition, "oom:mark_victim"));
	CHECK(!strcmp(t.event, "oom:mark_victim") && !t.exit && t.count == 1 && !t.within);
	dump_trigger__exit(&t);

	CHECK(!dump_trigger__parse(&t, "s:p:f..p:f__return,longer=10ms", error, sizeof(error)));
	CHECK(!strcmp(t.event, "p:f") && !strcmp(t.exit, "p:f__return"));
	CHECK(t.longer == 10 * NSEC_PER_MSEC && !t.count && !t.within);
	dump_trigger__exit(&t);

	/* An error of before is none of this */
	errno = ERANGE;
	CHECK(!dump_trigger__parse(&t, "c:a,count=2,within=1s", error, sizeof(error)));
	CHECK(t.count == 2);
	dump_trigger__exit(&t);

	/* Commas between slashes are the event's */
	CHECK(!dump_trigger__parse(&t, "m:cpu/event=1,umask=2/u,within=2s,count=30", error,
				   sizeof(error)));
	CHECK(!strcmp(t.event, "cpu/event=1,umask=2/u") && !t.exit);
	CHECK(t.count == 30 && t.within == 2 * NSEC_PER_SEC);
	dump_trigger__exit(&t);
	return TEST_OK;
}

static int test_add(void)
{
	static const char *const triggers[] = {
		"one:a", "two:a..b,longer=1s", "three:b,count=2,within=1s", "four:b",
		"app:socket", NULL
	};
	struct trigger_engine *engine = engine_for(triggers);
	char error[256] = "";

	CHECK(engine);
	CHECK(trigger_engine__add(engine, "two:c", error, sizeof(error)) == -EINVAL);
	CHECK(strstr(error, "another one called 'two'"));
	CHECK(trigger_engine__add(engine, "five:c,nonsense", error, sizeof(error)) == -EINVAL);
	/* Each event has one number, whoever names it */
	CHECK(!strcmp(trigger_engine__event(engine, 0), "a"));
	CHECK(!strcmp(trigger_engine__event(engine, 1), "b"));
	CHECK(!trigger_engine__event(engine, 2));
	CHECK(!strcmp(trigger_engine__trigger(engine, 3)->name, "four"));
	CHECK(!trigger_engine__trigger(engine, 5));
	CHECK(trigger_engine__find(engine, "three") == trigger_engine__trigger(engine, 2));
	CHECK(!trigger_engine__find(engine, "thre"));
	trigger_engine__asked(trigger_engine__find(engine, "app"));
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "app")) == 1);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* ---- when they fire */

static const char *const slow[] = { "slow:in..out,longer=100ns", NULL };

#define IN	0
#define OUT	1

static void tell_cpu(struct trigger_engine *engine, unsigned int event, int tid, int cpu,
		     u64 time)
{
	struct trigger_occurrence what = {
		.event = event, .pid = tid, .tid = tid, .cpu = cpu, .time = time, .weight = 1,
	};

	trigger_engine__occurred(engine, &what);
}

static void tell(struct trigger_engine *engine, unsigned int event, int tid, u64 time)
{
	tell_cpu(engine, event, tid, 0, time);
}

/* A call that is just not too long, one that is, nested ones, and one without an entry */
static int test_calls(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell(engine, IN, 1, 1000);
	tell(engine, OUT, 1, 1100);
	tell(engine, IN, 1, 2000);
	tell(engine, IN, 2, 2001);
	tell(engine, OUT, 1, 2101);
	tell(engine, OUT, 2, 2002);
	tell(engine, IN, 1, 3000);
	tell(engine, IN, 1, 3010);
	tell(engine, IN, 1, 3020);
	tell(engine, OUT, 1, 3021);
	tell(engine, OUT, 1, 3111);
	tell(engine, OUT, 1, 3112);
	tell(engine, OUT, 1, 9000);
	trigger_engine__finish(engine);

	CHECK(seen.nr == 3);
	CHECK(seen.fired[0].since == 2000 && seen.fired[0].time == 2101);
	CHECK(seen.fired[0].value == 101 && seen.fired[0].tid == 1);
	CHECK(seen.fired[1].since == 3010 && seen.fired[1].time == 3111);
	CHECK(seen.fired[2].since == 3000 && seen.fired[2].time == 3112);
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "slow")) == 3);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Ends without an exit: another thread of that number doesn't continue the call */
static int test_thread_ended(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell(engine, IN, 1, 1000);
	tell(engine, IN, 1, 1001);
	tell(engine, IN, 2, 1002);
	tell(engine, TRIGGER_THREAD_ENDED, 1, 1010);
	tell(engine, OUT, 1, 2000);
	tell(engine, OUT, 1, 2001);
	tell(engine, OUT, 2, 2002);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 1 && seen.fired[0].tid == 2);
	trigger_engine__delete(engine);
	return TEST_OK;
}

static void tell_of(struct trigger_engine *engine, unsigned int event, int pid, int tid,
		    u64 time)
{
	struct trigger_occurrence what = {
		.event = event, .pid = pid, .tid = tid, .time = time, .weight = 1,
	};

	trigger_engine__occurred(engine, &what);
}

/*
 * A thread that isn't its process's first calls exec, and has the number of that one then:
 * what it has left open isn't slow, but a call that returns is
 */
static int test_exec(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell_of(engine, IN, 5, 5, 1000);
	tell_of(engine, IN, 5, 7, 1010);
	tell_of(engine, IN, 5, 7, 1020);
	tell_of(engine, IN, 6, 6, 1021);
	tell_of(engine, TRIGGER_THREAD_ENDED, 5, 5, 1030);
	tell_of(engine, TRIGGER_EXEC, 5, 5, 1040);
	tell_of(engine, OUT, 5, 5, 1050);
	/* Another thread has the number that is free now, and the new program calls, too */
	tell_of(engine, IN, 9, 7, 1060);
	tell_of(engine, OUT, 9, 7, 1070);
	tell_of(engine, IN, 5, 5, 1080);
	tell_of(engine, OUT, 5, 5, 1090);
	tell_of(engine, OUT, 6, 6, 1100);
	tell_of(engine, IN, 8, 8, 9000);
	trigger_engine__finish(engine);
	CHECK(!seen.nr);

	/* The first of them, which never returns, ends with its thread */
	tell_of(engine, OUT, 5, 5, 9010);
	tell_of(engine, OUT, 5, 5, 9020);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 1 && seen.fired[0].since == 1010 && seen.fired[0].value == 8000);
	CHECK(!seen.fired[0].open);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* One that was too long by then has fired, and doesn't fire again when it returns */
static int test_exec_late(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell_of(engine, IN, 5, 7, 1000);
	tell_of(engine, IN, 5, 7, 1150);
	tell_of(engine, TRIGGER_EXEC, 5, 5, 1200);
	tell_of(engine, OUT, 5, 5, 1210);
	tell_of(engine, OUT, 5, 5, 1300);
	tell_of(engine, IN, 5, 5, 1310);
	tell_of(engine, OUT, 5, 5, 1500);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 2);
	CHECK(seen.fired[0].open && seen.fired[0].since == 1000 && seen.fired[0].time == 1200);
	CHECK(!seen.fired[1].open && seen.fired[1].since == 1310);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* The new program calls exec, too: of all that is left, the newest still returns first */
static int test_exec_twice(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell_of(engine, IN, 5, 7, 1000);
	tell_of(engine, IN, 5, 7, 1150);
	tell_of(engine, TRIGGER_EXEC, 5, 5, 1200);
	tell_of(engine, IN, 5, 8, 1300);
	tell_of(engine, IN, 5, 8, 1350);
	tell_of(engine, TRIGGER_EXEC, 5, 5, 1440);
	tell_of(engine, OUT, 5, 5, 1500);
	tell_of(engine, OUT, 5, 5, 1510);
	tell_of(engine, OUT, 5, 5, 1520);
	tell_of(engine, OUT, 5, 5, 1530);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 4);
	CHECK(seen.fired[0].open && seen.fired[0].since == 1000);
	CHECK(seen.fired[1].open && seen.fired[1].since == 1300);
	CHECK(seen.fired[2].since == 1350 && seen.fired[2].time == 1500);
	CHECK(seen.fired[3].since == 1150 && seen.fired[3].time == 1520);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* So many processes that they share buckets: exec is about the calls of one */
static int test_exec_others(void)
{
	struct trigger_engine *engine = engine_for(slow);
	unsigned int i, nr = CALLS_MAX / 2;

	CHECK(engine);
	for (i = 1; i <= nr; i++)
		tell(engine, IN, i, 1000);
	for (i = 1; i <= nr; i += 2)
		tell(engine, TRIGGER_EXEC, i, 1001);
	tell(engine, OUT, nr + 1, 2000);
	trigger_engine__finish(engine);
	CHECK(seen.nr == nr / 2);
	for (i = 0; i < seen.nr; i++)
		CHECK(seen.fired[i].open && seen.fired[i].tid == 2 * ((int)i + 1));
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Calls that a program left open by exec make room for others */
static int test_exec_many(void)
{
	struct trigger_engine *engine = engine_for(slow);
	unsigned int i;

	CHECK(engine);
	for (i = 0; i < CALLS_MAX; i++)
		tell_of(engine, IN, 1, i + 1, 1000);
	tell_of(engine, TRIGGER_EXEC, 1, 1, 1001);
	for (i = 0; i < CALLS_MAX; i++)
		tell_of(engine, IN, 2, CALLS_MAX + 1 + i, 1002);
	for (i = 0; i < CALLS_MAX; i++)
		tell_of(engine, OUT, 2, CALLS_MAX + 1 + i, 1200);
	trigger_engine__finish(engine);
	CHECK(seen.nr == CALLS_MAX);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* The user has asked for one CPU: what begins there counts, wherever it ends */
static int test_elsewhere(void)
{
	static const char *const triggers[] = {
		"slow:in..out,longer=100ns", "each:in", NULL
	};
	struct trigger_engine *engine = engine_for(triggers);
	struct trigger_occurrence what = { .pid = 1, .tid = 1, .weight = 1, .elsewhere = true };

	CHECK(engine);
	/* It enters here, and calls and returns elsewhere */
	tell(engine, IN, 1, 1000);
	what.time = 1010;
	what.event = IN;
	trigger_engine__occurred(engine, &what);
	what.time = 1020;
	what.event = OUT;
	trigger_engine__occurred(engine, &what);
	what.time = 1050;
	trigger_engine__occurred(engine, &what);
	/* Then it enters elsewhere: too long, and open */
	what.time = 2000;
	what.event = IN;
	trigger_engine__occurred(engine, &what);
	tell(engine, OUT, 1, 2200);
	what.time = 3000;
	trigger_engine__occurred(engine, &what);
	tell(engine, IN, 2, 9000);
	tell(engine, IN, 3, 9200);
	trigger_engine__finish(engine);
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "each")) == 3);
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "slow")) == 1);
	CHECK(seen.nr == 4 && seen.fired[3].tid == 2 && seen.fired[3].open);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* All idle threads have the number 0, and threads that are gone have none */
static int test_no_thread(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell_cpu(engine, IN, 0, 0, 1000);
	tell_cpu(engine, IN, 0, 1, 1195);
	tell_cpu(engine, OUT, 0, 0, 1200);
	tell_cpu(engine, OUT, 0, 1, 1210);
	tell_cpu(engine, IN, -1, 0, 2000);
	tell_cpu(engine, OUT, -1, 1, 3000);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 1 && seen.fired[0].since == 1000 && seen.fired[0].time == 1200);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Two triggers of one thread: their calls overlap without being nested */
static int test_two_triggers(void)
{
	static const char *const both[] = {
		"slow:in..out,longer=100ns", "other:open..close,longer=300ns", NULL
	};
	struct trigger_engine *engine = engine_for(both);

	CHECK(engine);
	tell(engine, IN, 1, 1000);
	tell(engine, 2, 1, 1050);
	tell(engine, OUT, 1, 1150);
	tell(engine, 3, 1, 1360);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 2);
	CHECK(!strcmp(seen.fired[0].name, "slow") && seen.fired[0].since == 1000);
	CHECK(!strcmp(seen.fired[1].name, "other") && seen.fired[1].since == 1050);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* What the thread left open was too long, or wasn't, when it ended */
static int test_thread_ended_late(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell(engine, IN, 1, 1000);
	tell(engine, IN, 1, 1001);
	tell(engine, TRIGGER_THREAD_ENDED, 1, 1101);
	tell(engine, IN, 1, 2000);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 1 && seen.fired[0].open);
	CHECK(seen.fired[0].since == 1000 && seen.fired[0].value == 101);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* A call that doesn't return fires once, as soon as it is known to be too long */
static int test_open(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell(engine, IN, 1, 1000);
	tell(engine, IN, 1, 1050);
	trigger_engine__end_round(engine, 0, 0);
	tell(engine, IN, 2, 1100);
	trigger_engine__end_round(engine, 0, 0);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(!seen.nr);
	tell(engine, IN, 2, 1101);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(!seen.nr);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(seen.nr == 1 && seen.fired[0].open && seen.fired[0].tid == 1);
	CHECK(seen.fired[0].since == 1000 && seen.fired[0].time == 1101);
	CHECK(seen.fired[0].value == 101);

	/* The return of the inner one is noticed, that of the outer one is known */
	tell(engine, OUT, 1, 1200);
	tell(engine, OUT, 1, 1300);
	tell(engine, OUT, 2, 1301);
	tell(engine, OUT, 2, 1302);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 4 && seen.fired[1].since == 1050 && !seen.fired[1].open);
	CHECK(seen.fired[2].tid == 2 && seen.fired[3].tid == 2);
	CHECK(!trigger_engine__stats(engine).forgotten);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* A round that begins too early after another one may miss the return */
static int test_hidden(void)
{
	struct trigger_engine *engine = engine_for(slow);
	u64 now;

	CHECK(engine);
	trigger_engine__end_round(engine, 500, 100);
	tell(engine, IN, 1, 1000);
	tell(engine, IN, 2, 1200);
	trigger_engine__end_round(engine, 1200, 100);
	trigger_engine__end_round(engine, 1210, 100);
	for (now = 1220; now < 1310; now += 10)
		trigger_engine__end_round(engine, now, 100);
	CHECK(!seen.nr);
	tell(engine, OUT, 1, 1090);
	trigger_engine__end_round(engine, 1310, 100);
	trigger_engine__end_round(engine, 1320, 100);
	trigger_engine__end_round(engine, 1430, 100);
	CHECK(!seen.nr);
	trigger_engine__end_round(engine, 1550, 100);
	CHECK(seen.nr == 1 && seen.fired[0].open && seen.fired[0].tid == 2);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Nothing else occurs: another clock tells that the call is too long */
static int test_open_alone(void)
{
	static const char *const second[] = { "slow:in..out,longer=1s", NULL };
	struct trigger_engine *engine = engine_for(second);
	u64 now = 77 * NSEC_PER_SEC, since = 5 * NSEC_PER_SEC;
	unsigned int rounds;

	CHECK(engine);
	trigger_engine__end_round(engine, now, 0);
	tell(engine, IN, 1, since);
	for (rounds = 0; !seen.nr && rounds < 100; rounds++) {
		now += NSEC_PER_SEC / 10;
		trigger_engine__end_round(engine, now, 0);
	}
	/* The event's round, 10 until the limit, one for accuracy, and one to be sure */
	CHECK(rounds == 13);
	CHECK(seen.nr == 1 && seen.fired[0].open && seen.fired[0].since == since);
	CHECK(seen.fired[0].value > NSEC_PER_SEC && seen.fired[0].value < 1.1 * NSEC_PER_SEC);
	trigger_engine__end_round(engine, now + 9 * NSEC_PER_SEC, 0);
	trigger_engine__end_round(engine, now + 9 * NSEC_PER_SEC, 0);
	CHECK(seen.nr == 1);

	/* It returns just in time, and is read later than that: the clock ran ahead */
	now += 9 * NSEC_PER_SEC;
	tell(engine, OUT, 1, since + 10 * NSEC_PER_SEC);
	tell(engine, IN, 2, since + 11 * NSEC_PER_SEC);
	trigger_engine__end_round(engine, now, 0);
	now += NSEC_PER_SEC + 1000;
	tell(engine, OUT, 2, since + 12 * NSEC_PER_SEC);
	trigger_engine__end_round(engine, now, 0);
	trigger_engine__end_round(engine, now, 0);
	CHECK(seen.nr == 1);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* @nr calls of a thread each; the first CALLS_MAX / 2 are overdue when the others begin */
static void open_calls(struct trigger_engine *engine, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < CALLS_MAX / 2; i++)
		tell(engine, IN, i + 1, 1000);
	tell(engine, TRIGGER_THREAD_ENDED, -2, 1200);
	for (; i < nr; i++)
		tell(engine, IN, i + 1, 1200);
}

/* Overdue calls make room first: their returns are of no interest */
static int test_many_open(void)
{
	struct trigger_engine *engine = engine_for(slow);
	unsigned int i;

	CHECK(engine);
	open_calls(engine, CALLS_MAX + 10);
	for (i = 0; i < CALLS_MAX + 10; i++)
		tell(engine, OUT, i + 1, 1250);
	trigger_engine__finish(engine);
	CHECK(seen.nr == CALLS_MAX / 2);
	CHECK(!trigger_engine__stats(engine).forgotten);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Then the oldest calls that aren't overdue, which are counted */
static int test_more_open(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	open_calls(engine, CALLS_MAX / 2 + CALLS_MAX + 10);
	trigger_engine__finish(engine);
	CHECK(seen.nr == CALLS_MAX / 2);
	CHECK(trigger_engine__stats(engine).forgotten == 10);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* A lost entry: the exit isn't that of the call before. The next call is seen again. */
static int test_lost(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell(engine, IN, 1, 1000);
	tell(engine, IN, 2, 1001);
	tell(engine, TRIGGER_LOST, -1, 5000);
	tell(engine, OUT, 1, 5001);
	tell(engine, IN, 1, 6000);
	tell(engine, OUT, 1, 6200);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 1 && seen.fired[0].since == 6000);
	CHECK(trigger_engine__stats(engine).losses == 1);
	CHECK(trigger_engine__stats(engine).forgotten == 2);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Exit read in a round, entry in the next. And nothing is fired before it is complete. */
static int test_two_rounds(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell_cpu(engine, OUT, 1, 1, 1200);
	trigger_engine__end_round(engine, 0, 0);
	tell_cpu(engine, IN, 1, 0, 1000);
	tell_cpu(engine, IN, 2, 0, 1300);
	CHECK(!seen.nr);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(seen.nr == 1 && seen.fired[0].since == 1000 && seen.fired[0].time == 1200);
	tell_cpu(engine, OUT, 2, 0, 1500);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(seen.nr == 1);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(seen.nr == 2 && seen.fired[1].since == 1300);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* The clock went back: no call of before ends after it, and what comes is not too old */
static int test_forget(void)
{
	struct trigger_engine *engine = engine_for(slow);

	CHECK(engine);
	tell(engine, IN, 1, 10000);
	tell(engine, IN, 3, 10000);
	trigger_engine__end_round(engine, 0, 0);
	trigger_engine__end_round(engine, 0, 0);
	tell(engine, OUT, 2, 10300);
	tell(engine, OUT, 3, 5000);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(!seen.nr);
	tell(engine, IN, 2, 10400);
	trigger_engine__forget(engine);
	tell_cpu(engine, OUT, 2, 1, 1200);
	tell(engine, OUT, 1, 1300);
	trigger_engine__end_round(engine, 0, 0);
	tell_cpu(engine, IN, 2, 0, 1000);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(seen.nr == 1 && seen.fired[0].tid == 2 && seen.fired[0].since == 1000);
	CHECK(!seen.fired[0].open && seen.fired[0].value == 200);
	/* Again in two rounds, of which the first isn't complete */
	tell(engine, OUT, 3, 1500);
	trigger_engine__end_round(engine, 0, 0);
	tell(engine, IN, 3, 1350);
	trigger_engine__end_round(engine, 0, 0);
	CHECK(seen.nr == 2 && seen.fired[1].since == 1350);
	tell(engine, OUT, 2, 10600);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 2 && trigger_engine__stats(engine).forgotten == 1);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* The same for a count, and for what the other clock says */
static int test_forget_count(void)
{
	static const char *const triggers[] = {
		"three:e,count=3,within=100ns", "slow:in..out,longer=100ns", NULL
	};
	struct trigger_engine *engine = engine_for(triggers);

	CHECK(engine);
	tell(engine, 0, 1, 1000);
	tell(engine, 0, 1, 1050);
	trigger_engine__end_round(engine, 0, 0);
	trigger_engine__end_round(engine, 0, 0);
	trigger_engine__forget(engine);
	trigger_engine__end_round(engine, 50000, 0);
	tell(engine, 0, 1, 1060);
	tell(engine, 1, 2, 1061);
	trigger_engine__end_round(engine, 50100, 0);
	trigger_engine__end_round(engine, 50200, 0);
	CHECK(!seen.nr);
	tell(engine, 0, 1, 1062);
	tell(engine, 0, 1, 1063);
	trigger_engine__finish(engine);
	CHECK(seen.nr == 1 && !strcmp(seen.fired[0].name, "three") && seen.fired[0].since == 1060);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* Calls without a return take a bounded room, and the newest are those that are kept */
static int test_many_calls(void)
{
	struct trigger_engine *engine = engine_for(slow);
	unsigned int i, more = 10;

	CHECK(engine);
	for (i = 0; i < CALLS_MAX + more; i++)
		tell(engine, IN, i + 1, 1000);
	for (i = 0; i < CALLS_MAX + more; i++)
		tell(engine, OUT, i + 1, 2000);
	trigger_engine__finish(engine);
	CHECK(seen.nr == CALLS_MAX);
	CHECK(seen.fired[0].tid == (int)more + 1);
	CHECK(trigger_engine__stats(engine).forgotten == more);
	trigger_engine__delete(engine);
	return TEST_OK;
}

static int test_count(void)
{
	static const char *const triggers[] = {
		"each:e", "three:e,count=3,within=100ns", "rate:c,count=1000,within=100ns", NULL
	};
	struct trigger_engine *engine = engine_for(triggers);
	struct trigger_occurrence counter = { .event = 1, .weight = 400, .tid = 7 };
	u64 time;

	CHECK(engine);
	/* Three in 101 ns, then in 100 ns; these don't count again */
	tell(engine, 0, 1, 1000);
	tell(engine, 0, 2, 1050);
	tell(engine, 0, 3, 1101);
	tell(engine, 0, 4, 1150);
	tell(engine, 0, 5, 1160);
	tell(engine, 0, 6, 1170);
	trigger_engine__finish(engine);
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "each")) == 6);
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "three")) == 1);
	CHECK(seen.nr == 7 && !strcmp(seen.fired[4].name, "three"));
	CHECK(seen.fired[4].since == 1050 && seen.fired[4].value == 3);
	CHECK(seen.fired[4].time == 1150 && seen.fired[4].tid == 4);

	/* A sample of a counter stands for its period */
	for (time = 2000; time < 2200; time += 40) {
		counter.time = time;
		CHECK(!trigger_engine__occurred(engine, &counter));
	}
	trigger_engine__finish(engine);
	CHECK(trigger_engine__nr_fired(trigger_engine__find(engine, "rate")) == 1);
	CHECK(seen.nr == 8 && seen.fired[7].value == 1200 && seen.fired[7].since == 2000);
	trigger_engine__delete(engine);
	return TEST_OK;
}

/* The window finds what is in it after it has grown and gone round */
static int test_window(void)
{
	struct trigger_window window = { .size = 0 };
	u64 time, within = 1000;

	/* It has gone round before it grows */
	for (time = 10; time < 10000; time += 10)
		CHECK(!trigger_window__add(&window, time, 2, 30));
	CHECK(window.nr == 4);
	trigger_window__clear(&window);
	window.first = window.size - 3;

	for (time = 10; time < 100000; time += 10) {
		CHECK(!trigger_window__add(&window, time, 2, within));
		CHECK(window.nr == min(time, within + 10) / 10);
		CHECK(window.sum == 2 * window.nr);
		CHECK(trigger_window__since(&window) == (time > within ? time - within : 10));
	}
	CHECK(!trigger_window__add(&window, time + within + 1, 5, within));
	CHECK(window.nr == 1 && window.sum == 5);
	trigger_window__exit(&window);

	/* What leaves it takes its own weight along */
	CHECK(!trigger_window__add(&window, 10, 5, 15));
	CHECK(!trigger_window__add(&window, 20, 1, 15));
	CHECK(!trigger_window__add(&window, 30, 1, 15));
	CHECK(window.nr == 2 && window.sum == 2);
	trigger_window__exit(&window);

	/* All the same time: the oldest makes room */
	for (time = 0; time < WINDOW_MAX + 3; time++)
		CHECK(!trigger_window__add(&window, 1, 1, within));
	CHECK(window.nr == WINDOW_MAX && window.sum == WINDOW_MAX && window.size == WINDOW_MAX);
	trigger_window__exit(&window);
	return TEST_OK;
}

/* ---- threads that move, and buffers that are read while they do */

#define CPUS		4
#define THREADS		12
#define DEPTH		6
#define ROOM		4096
#define STEPS		60000

struct cpu_buffer {
	struct trigger_occurrence	what[ROOM];
	unsigned int			nr;
};

static struct machine_model {
	struct cpu_buffer	cpus[CPUS];
	struct {
		u64		since[DEPTH];
		unsigned int	depth;
		int		cpu;
	} threads[THREADS];
	u64			time;
	u64			newest;
	int			next;
	unsigned int		random;
	unsigned int		migrated;
	bool			has_clock;
} model;

static unsigned int rnd(unsigned int below)
{
	model.random = model.random * 1103515245 + 12345;
	return (model.random >> 8) % below;
}

static void record(unsigned int event, int thread)
{
	int cpu = model.threads[thread].cpu;
	struct cpu_buffer *buffer = &model.cpus[cpu];

	buffer->what[buffer->nr++] = (struct trigger_occurrence){
		.event = event, .pid = thread + 1, .tid = thread + 1, .cpu = cpu,
		.time = model.time, .weight = 1,
	};
	model.newest = model.time;
}

/* Its last call is over, at the newest time: by a return, or because nothing more comes */
static void end_call(int thread)
{
	u64 since = model.threads[thread].since[--model.threads[thread].depth];

	if (model.newest - since > 100)
		note(&wanted, "slow", thread + 1, model.newest, since, model.newest - since, false);
}

static void end_calls(int thread)
{
	while (model.threads[thread].depth)
		end_call(thread);
}

static void end_thread(int thread)
{
	record(TRIGGER_THREAD_ENDED, thread);
	end_calls(thread);
}

static void enter(int thread)
{
	record(IN, thread);
	model.threads[thread].since[model.threads[thread].depth++] = model.time;
}

static void leave(int thread)
{
	record(OUT, thread);
	end_call(thread);
}

static void run_thread(int thread)
{
	unsigned int what = rnd(20), depth = model.threads[thread].depth;

	model.time += 1 + rnd(6);
	if (what < 4) {
		model.threads[thread].cpu = rnd(CPUS);
		model.migrated += depth > 0;
	} else if (what == 4) {
		end_thread(thread);
	} else if (depth == DEPTH || (depth && what & 1)) {
		leave(thread);
	} else {
		enter(thread);
	}
}

/* Read the next buffer, and end a round with the last one */
static void read_one(struct trigger_engine *engine)
{
	struct cpu_buffer *buffer = &model.cpus[model.next];
	unsigned int i;

	for (i = 0; i < buffer->nr; i++)
		trigger_engine__occurred(engine, &buffer->what[i]);
	buffer->nr = 0;
	model.next = (model.next + 1) % CPUS;
	if (!model.next)
		trigger_engine__end_round(engine, model.has_clock ? model.time : 0, 0);
}

/* Each call that was too long has fired once; if it was open, with a part of its time */
static int check_fired(void)
{
	unsigned int i, nr_open = 0;

	CHECK(seen.nr == wanted.nr);
	for (i = 0; i < seen.nr; i++) {
		const struct fired *fired = &seen.fired[i], *want = &wanted.fired[i];

		CHECK(fired->tid == want->tid && fired->since == want->since);
		CHECK(fired->value > 100 && fired->time == fired->since + fired->value);
		CHECK(fired->open ? fired->value <= want->value : fired->value == want->value);
		nr_open += fired->open;
	}
	CHECK(nr_open > 10 && nr_open < seen.nr - 10);
	return TEST_OK;
}

static int test_moving(unsigned int seed, unsigned int read_each, bool has_clock)
{
	struct trigger_engine *engine = engine_for(slow);
	unsigned int i;

	CHECK(engine);
	memset(&model, 0, sizeof(model));
	model.random = seed;
	model.has_clock = has_clock;
	model.time = 1000;
	for (i = 0; i < STEPS; i++) {
		run_thread(rnd(THREADS));
		if (!rnd(read_each))
			read_one(engine);
	}
	for (i = 0; i < CPUS; i++)
		read_one(engine);
	trigger_engine__finish(engine);
	for (i = 0; i < THREADS; i++)
		end_calls(i);
	qsort(wanted.fired, wanted.nr, sizeof(wanted.fired[0]), compare);
	qsort(seen.fired, seen.nr, sizeof(seen.fired[0]), compare);

	CHECK(model.migrated > 100);
	CHECK(wanted.nr > 100 && wanted.nr < MAX_FIRED);
	CHECK(!check_fired());
	trigger_engine__delete(engine);
	return TEST_OK;
}

static int test__trigger_engine(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	unsigned int seed;

	CHECK(!test_duration());
	CHECK(!test_parse_bad());
	CHECK(!test_parse_good());
	CHECK(!test_add());
	CHECK(!test_calls());
	CHECK(!test_thread_ended());
	CHECK(!test_thread_ended_late());
	CHECK(!test_open());
	CHECK(!test_open_alone());
	CHECK(!test_hidden());
	CHECK(!test_many_open());
	CHECK(!test_more_open());
	CHECK(!test_exec());
	CHECK(!test_exec_late());
	CHECK(!test_exec_twice());
	CHECK(!test_exec_others());
	CHECK(!test_exec_many());
	CHECK(!test_elsewhere());
	CHECK(!test_no_thread());
	CHECK(!test_two_triggers());
	CHECK(!test_lost());
	CHECK(!test_two_rounds());
	CHECK(!test_forget());
	CHECK(!test_forget_count());
	CHECK(!test_many_calls());
	CHECK(!test_count());
	CHECK(!test_window());
	for (seed = 0; seed < 5; seed++) {
		CHECK(!test_moving(seed, 3, false));
		CHECK(!test_moving(seed, 3, true));
		CHECK(!test_moving(seed, 100, true));
	}
	return TEST_OK;
}

DEFINE_SUITE("Triggers of the memory ring", trigger_engine);
