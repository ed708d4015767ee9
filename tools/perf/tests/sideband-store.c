// SPDX-License-Identifier: GPL-2.0
/*
 * Test the store of side-band records: what it drops, what it keeps, and that
 * perf's own machine resolves the same from a dump as from all records added.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <perf/event.h>

#include "debug.h"
#include "sideband-resolve.h"
#include "sideband-store.h"
#include "tests.h"

#define SAMPLE_TYPE	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define PAGE		0x1000ULL
/* Steps of time are larger than the store's lag */
#define STEP		(10 * SIDEBAND_STORE_LAG)

struct trailer {
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
};

/* State of a test, reset before each one */
static struct sideband_store *store;
/* Number of the last record. It is also its round and, except in AT(), its time in STEPs. */
static u64 now;
static const u64 *at;
static bool failed;
/* Extra records that are due: only with many records the store looks for short-lived tasks */
static int nr_extra;

/* The system's answers, and how often it was asked */
static bool (*is_gone)(u64 id);
static int asked;

static bool task_is_gone(void *priv __maybe_unused, u32 tid)
{
	asked++;
	return is_gone && is_gone(tid);
}

static bool cgroup_is_gone(void *priv __maybe_unused, u64 id)
{
	asked++;
	return is_gone && is_gone(id);
}

static u32 forgotten_bpf;

static void forget_bpf(void *priv __maybe_unused, u32 id)
{
	forgotten_bpf = id;
}

static const struct sideband_ops ops = {
	.task_is_gone	= task_is_gone,
	.cgroup_is_gone	= cgroup_is_gone,
	.forget_bpf	= forget_bpf,
};

#define AT(time, record)						\
	do {								\
		at = &(u64) { time };					\
		record;							\
		at = NULL;						\
	} while (0)

static const struct sideband_store_stats *stats(void)
{
	return sideband_store__stats(store);
}

/* Add a record in a round of its own */
static void add(u32 type, u16 misc, const void *body, size_t size)
{
	u64 buf[(sizeof(union perf_event) + sizeof(struct trailer)) / sizeof(u64)] = { 0 };
	size_t end = PERF_ALIGN(size, sizeof(u64));
	struct trailer *trailer = (void *)buf + end;
	union perf_event *event = (void *)buf;
	u64 time = at ? *at : (now + 1) * STEP;

	memcpy(event, body, size);
	event->header.type = type;
	event->header.misc = misc;
	event->header.size = end + sizeof(*trailer);
	*trailer = (struct trailer) { .pid = event->comm.pid, .tid = event->comm.tid,
				      .time = time, };
	if (sideband_store__add(store, event, time, ++now))
		failed = true;
}

#define ADD(type, misc, record, ...)					\
	do {								\
		struct perf_record_##record body = { __VA_ARGS__ };	\
									\
		add(PERF_RECORD_##type, misc, &body, sizeof(body));	\
	} while (0)

static void FORK(u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	ADD(FORK, 0, fork, .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid);
}

static void THREAD(u32 pid, u32 tid)
{
	FORK(pid, tid, pid, pid);
}

static void EXIT(u32 pid, u32 tid)
{
	ADD(EXIT, 0, fork, .pid = pid, .tid = tid, .ppid = pid, .ptid = tid);
}

static void add_comm(u16 misc, u32 pid, u32 tid, const char *name)
{
	struct perf_record_comm comm = { .pid = pid, .tid = tid, };

	snprintf(comm.comm, sizeof(comm.comm), "%s", name);
	add(PERF_RECORD_COMM, misc, &comm, sizeof(comm));
}

static void COMM(u32 pid, u32 tid, const char *name)
{
	add_comm(0, pid, tid, name);
}

static void EXEC(u32 pid, const char *name)
{
	add_comm(PERF_RECORD_MISC_COMM_EXEC, pid, pid, name);
}

/* Start a new process */
static void START(u32 pid, const char *name)
{
	FORK(pid, pid, 1, 1);
	EXEC(pid, name);
}

#define MMAP(p, t, page, nr, name)	ADD(MMAP2, PERF_RECORD_MISC_USER, mmap2,	\
					    .pid = p, .tid = t, .start = (page) * PAGE,	\
					    .len = (nr) * PAGE, .filename = name)

/* Let all records added so far leave the ring, and prune */
static void settle(void)
{
	int i;

	for (i = 0; i < nr_extra; i++)
		EXIT(1000 + i, 1000 + i);
	/* a newer record, so that these are due: the exit of an unknown process */
	EXIT(1, 1);
	now += 2;
	sideband_store__prune(store, now, now);
}

/* Number of records in the store, without the one that settle() adds */
static int held(void)
{
	return (int)stats()->records - 1;
}

struct player {
	u64	last;
	int	nr;
};

static int play_record(void *arg, const union perf_event *event)
{
	const struct trailer *trailer = (void *)event + event->header.size - sizeof(*trailer);
	struct player *player = arg;

	TEST_ASSERT_VAL("order of time", trailer->time >= player->last);
	player->last = trailer->time;
	player->nr++;
	sideband_resolve__event(event, trailer->time);
	return 0;
}

/* Play back a dump. Return its number of records, negative if it is wrong. */
static int play(enum sideband_dump_mode mode)
{
	struct player player = { .nr = 0 };

	TEST_ASSERT_VAL("dump", !sideband_store__dump(store, mode, play_record, &player));
	return player.nr;
}

/* The last dump is in the file */
static void written(void)
{
	sideband_store__begin_write(store);
	sideband_store__end_write(store, true);
}

#define ASSERT_COMM(pid, tid, name)					\
	TEST_ASSERT_VAL("comm is as expected",				\
			!strcmp(sideband_resolve__comm(pid, tid), name))
#define ASSERT_MAP(pid, tid, page, name)				\
	TEST_ASSERT_VAL("map is as expected",				\
			!strcmp(sideband_resolve__file(pid, tid, (page) * PAGE), name))
#define ASSERT_HELD(nr)		TEST_ASSERT_EQUAL("records held", held(), nr)
#define ASSERT_TASKS(nr)	TEST_ASSERT_EQUAL("tasks", (int)stats()->tasks, nr)
#define ASSERT_PROCESSES(nr)						\
	TEST_ASSERT_EQUAL("processes", (int)stats()->processes, nr)
#define ASSERT_DROPPED(nr)	TEST_ASSERT_EQUAL("dropped", (int)stats()->dropped, nr)
#define ASSERT_NEW(nr)		TEST_ASSERT_EQUAL("new records", play(SIDEBAND_DUMP_NEW), nr)
#define PLAY()			TEST_ASSERT_VAL("play", play(SIDEBAND_DUMP_ALL) >= 0)
#define PLAY_NEW()		TEST_ASSERT_VAL("play", play(SIDEBAND_DUMP_NEW) >= 0)
#define SETTLE(nr)							\
	do {								\
		settle();						\
		ASSERT_HELD(nr);					\
	} while (0)

static int run_with(int (*test)(void), int extra)
{
	int ret;

	nr_extra = extra;
	now = 1;
	is_gone = NULL;
	asked = 0;
	failed = false;
	sideband_resolve__init();
	store = sideband_store__new(SAMPLE_TYPE, &ops, NULL);
	if (!store)
		return TEST_FAIL;
	ret = test();
	failed |= stats()->failed;
	sideband_store__delete(store);
	sideband_resolve__exit();
	return failed ? TEST_FAIL : ret;
}

static int run(int (*test)(void))
{
	return run_with(test, 0) ?: run_with(test, 100);
}

#define SIDEBAND_TEST(name)						\
static int run_##name(void);						\
static int test__##name(struct test_suite *t __maybe_unused, int subtest __maybe_unused) \
{									\
	return run(run_##name);						\
}									\
static int run_##name(void)

SIDEBAND_TEST(kinds)
{
	static const u32 state[] = {
		PERF_RECORD_MMAP, PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK,
		PERF_RECORD_EXIT, PERF_RECORD_NAMESPACES, PERF_RECORD_CGROUP,
		PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT, PERF_RECORD_TEXT_POKE,
		PERF_RECORD_ITRACE_START, PERF_RECORD_AUX_OUTPUT_HW_ID,
	};
	union perf_event event = { .header = { .size = sizeof(event.header), }, };
	unsigned int i, wanted = 0;

	for (i = 0; i < PERF_RECORD_HEADER_MAX; i++) {
		event.header.type = i;
		wanted += sideband_store__wants(&event);
	}
	TEST_ASSERT_EQUAL("wanted", wanted, (unsigned int)ARRAY_SIZE(state));
	for (i = 0; i < ARRAY_SIZE(state); i++) {
		event.header.type = state[i];
		TEST_ASSERT_VAL("state is wanted", sideband_store__wants(&event));
		/* all of them have more than a header */
		TEST_ASSERT_EQUAL("malformed", sideband_store__add(store, &event, 1, 0),
				  -EINVAL);
	}
	event.header.type = PERF_RECORD_SWITCH;
	TEST_ASSERT_EQUAL("ignored", sideband_store__add(store, &event, 1, 0), 0);
	TEST_ASSERT_EQUAL("records", (int)stats()->records, 0);
	TEST_ASSERT_EQUAL("malformed", (int)stats()->malformed, (int)i);
	return TEST_OK;
}

SIDEBAND_TEST(malformed)
{
	union perf_event event = { .comm = { .pid = 1, .tid = 1, }, };

	event.header.type = PERF_RECORD_COMM;
	event.header.size = sizeof(event.comm);
	memset(event.comm.comm, 'x', sizeof(event.comm.comm));
	TEST_ASSERT_EQUAL("no end of a string",
			  sideband_store__add(store, &event, 1, 1), -EINVAL);
	event.comm.comm[15] = 0;
	event.header.size -= 4;
	TEST_ASSERT_EQUAL("size", sideband_store__add(store, &event, 1, 1), -EINVAL);
	event.header.size += 4;
	TEST_ASSERT_EQUAL("good", sideband_store__add(store, &event, 1, 1), 0);

	event.header.type = PERF_RECORD_NAMESPACES;
	event.namespaces.nr_namespaces = ~0ULL;
	TEST_ASSERT_EQUAL("namespaces", sideband_store__add(store, &event, 1, 1), -EINVAL);

	event.header.type = PERF_RECORD_TEXT_POKE;
	event.text_poke.old_len = 0xffff;
	TEST_ASSERT_EQUAL("poke", sideband_store__add(store, &event, 1, 1), -EINVAL);
	return TEST_OK;
}

/* A record that ends with its body is whole. With eight bytes less it is malformed. */
SIDEBAND_TEST(sizes)
{
	static const struct {
		u32	type;
		size_t	size;
		size_t	string;
	} records[] = {
		{ PERF_RECORD_FORK, sizeof(struct perf_record_fork), 0 },
		{ PERF_RECORD_EXIT, sizeof(struct perf_record_fork), 0 },
		{ PERF_RECORD_BPF_EVENT, sizeof(struct perf_record_bpf_event), 0 },
		{ PERF_RECORD_ITRACE_START, sizeof(struct perf_record_itrace_start), 0 },
		{ PERF_RECORD_AUX_OUTPUT_HW_ID, sizeof(struct perf_record_aux_output_hw_id), 0 },
		{ PERF_RECORD_NAMESPACES, sizeof(struct perf_record_namespaces), 0 },
		{ PERF_RECORD_NAMESPACES, sizeof(struct perf_record_namespaces) +
					  2 * sizeof(struct perf_ns_link_info), 0 },
		{ PERF_RECORD_TEXT_POKE, sizeof(struct perf_record_text_poke_event), 0 },
		{ PERF_RECORD_TEXT_POKE, sizeof(struct perf_record_text_poke_event) + 8, 0 },
		{ PERF_RECORD_COMM, 32, offsetof(struct perf_record_comm, comm) },
		{ PERF_RECORD_MMAP, 64, offsetof(struct perf_record_mmap, filename) },
		{ PERF_RECORD_MMAP2, 96, offsetof(struct perf_record_mmap2, filename) },
		{ PERF_RECORD_CGROUP, 64, offsetof(struct perf_record_cgroup, path) },
		{ PERF_RECORD_KSYMBOL, 64, offsetof(struct perf_record_ksymbol, name) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(records); i++) {
		size_t size = records[i].size;
		union perf_event event = { .header = { .type = records[i].type, .size = size }, };

		if (records[i].string)
			memset((void *)&event + records[i].string, 'x',
			       size - 1 - records[i].string);
		if (event.header.type == PERF_RECORD_NAMESPACES)
			event.namespaces.nr_namespaces = (size - sizeof(event.namespaces)) /
							 sizeof(struct perf_ns_link_info);
		if (event.header.type == PERF_RECORD_TEXT_POKE)
			event.text_poke.old_len =
				size - offsetof(struct perf_record_text_poke_event, bytes);
		TEST_ASSERT_EQUAL("whole", sideband_store__add(store, &event, 1, 1), 0);
		event.header.size -= 8;
		TEST_ASSERT_EQUAL("cut", sideband_store__add(store, &event, 1, 1), -EINVAL);
	}
	TEST_ASSERT_EQUAL("added", (int)stats()->added, (int)i);
	TEST_ASSERT_EQUAL("malformed", (int)stats()->malformed, (int)i);
	return TEST_OK;
}

SIDEBAND_TEST(exec)
{
	FORK(100, 100, 1, 1);
	COMM(100, 100, "old");
	MMAP(100, 100, 1, 1, "/bin/old");
	EXEC(100, "new");
	MMAP(100, 100, 2, 1, "/bin/new");
	SETTLE(3);
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
	SETTLE(2);
	MMAP(100, 100, 12, 1, "/lib/hole");
	SETTLE(3);
	/* the rest of the first one is replaced piece by piece */
	MMAP(100, 100, 11, 1, "/lib/b");
	SETTLE(4);
	MMAP(100, 100, 13, 1, "/lib/c");
	SETTLE(4);
	PLAY();
	ASSERT_MAP(100, 100, 10, "/lib/partly");
	ASSERT_MAP(100, 100, 11, "/lib/b");
	ASSERT_MAP(100, 100, 12, "/lib/hole");
	ASSERT_MAP(100, 100, 13, "/lib/c");
	MMAP(100, 100, 0, 100, "/lib/all");
	SETTLE(1);
	/* first its beginning is replaced, then the rest */
	MMAP(100, 100, 0, 1, "/lib/begin");
	SETTLE(2);
	MMAP(100, 100, 1, 99, "/lib/rest");
	SETTLE(2);
	return TEST_OK;
}

/* Nothing is mapped, or all up to the last address */
SIDEBAND_TEST(edges)
{
	MMAP(100, 100, 1, 0, "/lib/empty");
	SETTLE(0);
	MMAP(100, 100, ~0ULL / PAGE, 1, "/lib/last");
	SETTLE(1);
	MMAP(100, 100, ~0ULL / PAGE, 2, "/lib/beyond");
	SETTLE(1);
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
	SETTLE(4);
	AT(before, MMAP(100, 100, 1, 5, "/lib/three-gaps"));
	AT(before, MMAP(200, 200, 2, 3, "/lib/one-gap"));
	SETTLE(6);
	MMAP(100, 100, 5, 1, "/lib/e");
	SETTLE(7);
	MMAP(100, 100, 1, 1, "/lib/a");
	SETTLE(8);
	MMAP(100, 100, 3, 1, "/lib/c");
	SETTLE(8);
	MMAP(200, 200, 3, 1, "/lib/c");
	SETTLE(8);
	return TEST_OK;
}

SIDEBAND_TEST(comm)
{
	START(100, "first");
	COMM(100, 100, "second");
	COMM(100, 100, "third");
	settle();
	/* the name from an exec is kept: it also says that there was an exec */
	ASSERT_HELD(3);
	PLAY();
	ASSERT_COMM(100, 100, "third");
	return TEST_OK;
}

/* A record is not dropped while a sample in the ring may be older than its successor */
SIDEBAND_TEST(not_yet)
{
	u64 round, time;

	COMM(100, 100, "a");
	COMM(100, 100, "b");
	COMM(100, 100, "c");
	SETTLE(1);

	/* the ring has records of the next round, which may be as old */
	COMM(100, 100, "d");
	round = now;
	sideband_store__prune(store, round + 1, now);
	ASSERT_HELD(2);
	sideband_store__prune(store, round + 2, now);
	COMM(100, 100, "e");
	sideband_store__prune(store, now + 2, now + 2);
	SETTLE(1);

	/* within the lag, nothing is dropped, whatever the round is */
	time = now * STEP;
	now += 10;
	AT(time, COMM(100, 100, "f"));
	now += 10;
	AT(time + SIDEBAND_STORE_LAG - 1, COMM(100, 100, "g"));
	now += 10;
	sideband_store__prune(store, now, now);
	ASSERT_HELD(2);
	SETTLE(1);
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
	settle();
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
	SETTLE(5);
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
	settle();
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
	SETTLE(7);
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
	settle();
	TEST_ASSERT_EQUAL("dump", sideband_store__dump(store, SIDEBAND_DUMP_ALL,
						       check_copy, &nr), 0);
	TEST_ASSERT_EQUAL("two names and a mapping", nr, 3);
	return TEST_OK;
}

/* A thread inherits the name of its creator, even if the creator is renamed later */
SIDEBAND_TEST(threads)
{
	START(100, "main");
	THREAD(100, 101);
	COMM(100, 100, "renamed");
	FORK(100, 102, 100, 101);
	EXIT(100, 101);
	MMAP(100, 102, 1, 1, "/lib/a");
	settle();
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
	settle();
	ASSERT_PROCESSES(1);
	PLAY();
	ASSERT_MAP(100, 102, 1, "/bin/main");
	EXIT(100, 102);
	SETTLE(0);
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
	settle();
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
	settle();
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
	settle();
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
	settle();
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
	settle();
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
	SETTLE(3);
	PLAY();
	ASSERT_MAP(100, 100, 1, "/bin/new");
	EXIT(100, 100);
	SETTLE(0);
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
	settle();
	ASSERT_TASKS(3);
	FORK(100, 100, 200, 200);
	settle();
	/* the forks of 100, 200 and 101 */
	ASSERT_HELD(3);
	PLAY();
	ASSERT_MAP(100, 100, 1, "");
	/* the leader's pid as a thread's tid: the process is gone */
	THREAD(200, 100);
	settle();
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
	settle();
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
	settle();
	PLAY_NEW();
	written();

	EXIT(100, 101);
	FORK(101, 101, 1, 1);
	MMAP(101, 101, 1, 1, "/bin/parent");
	MMAP(101, 101, 2, 1, "/lib/hidden");
	FORK(300, 300, 101, 101);
	MMAP(101, 101, 2, 1, "/lib/over");
	EXIT(101, 101);
	settle();
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
	settle();
	PLAY_NEW();
	written();

	EXIT(100, 101);
	EXIT(100, 100);
	FORK(100, 100, 1, 1);
	MMAP(100, 100, 1, 1, "/bin/after");
	THREAD(100, 101);
	FORK(300, 300, 100, 101);
	EXIT(100, 101);
	settle();
	PLAY_NEW();
	ASSERT_MAP(300, 300, 1, "/bin/after");
	return TEST_OK;
}

/* Processes from before the recording: there is no FORK */
SIDEBAND_TEST(unknown)
{
	COMM(100, 100, "unknown");
	MMAP(100, 105, 1, 1, "/lib/a");
	settle();
	PLAY();
	ASSERT_COMM(100, 100, "unknown");
	ASSERT_MAP(100, 100, 1, "/lib/a");
	EXIT(100, 100);
	SETTLE(0);
	return TEST_OK;
}

/* Synthesized records come first, whenever they are added */
SIDEBAND_TEST(untimed)
{
	EXEC(200, "timed");
	AT(0, FORK(100, 100, 1, 1));
	AT(0, COMM(100, 100, "synthesized"));
	PLAY();
	ASSERT_COMM(100, 100, "synthesized");
	SETTLE(3);
	PLAY();
	ASSERT_COMM(100, 100, "synthesized");
	COMM(100, 100, "later");
	SETTLE(3);
	PLAY();
	ASSERT_COMM(100, 100, "later");

	/* pending, and before and after those that are in force */
	AT(0, FORK(300, 300, 1, 1));
	AT(0, COMM(300, 300, "first"));
	settle();
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
	SETTLE(5);
	ASSERT_TASKS(4);
	return TEST_OK;
}

/* A round reads CPU by CPU, so a child's records can arrive before its FORK */
SIDEBAND_TEST(ragged)
{
	AT(STEP + 2, EXIT(100, 100));
	AT(STEP + 1, FORK(100, 100, 1, 1));
	SETTLE(0);
	return TEST_OK;
}

#define KSYMBOL(a, f)		ADD(KSYMBOL, 0, ksymbol, .addr = a, .len = 64, .flags = f, \
				    .name = "bpf_prog")
#define GONE			PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER

static void TEXT_POKE(u64 addr, u16 len, u8 byte)
{
	struct {
		struct perf_record_text_poke_event poke;
		u8 bytes[16];
	} body = { .poke = { .addr = addr, .old_len = len, .new_len = len, }, };

	memset(body.poke.bytes, byte, 2 * len);
	add(PERF_RECORD_TEXT_POKE, 0, &body, sizeof(body.poke) + 2 * len);
}

SIDEBAND_TEST(kernel_code)
{
	KSYMBOL(0x1000, 0);
	KSYMBOL(0x2000, 0);
	TEXT_POKE(0x1010, 5, 1);
	TEXT_POKE(0x1010, 5, 2);
	TEXT_POKE(0x1010, 1, 3);
	TEXT_POKE(0x3000, 5, 4);
	SETTLE(5);
	/* without the code, its changes are dropped */
	KSYMBOL(0x1000, GONE);
	SETTLE(2);
	KSYMBOL(0x2000, 0);
	SETTLE(2);
	KSYMBOL(0x4000, GONE);
	SETTLE(2);
	return TEST_OK;
}

/* A file that has a symbol is told that it is gone, once */
SIDEBAND_TEST(gone_symbols)
{
	KSYMBOL(0x1000, 0);
	KSYMBOL(0x2000, 0);
	KSYMBOL(0x3000, 0);
	settle();
	written();
	KSYMBOL(0x2000, GONE);
	KSYMBOL(0x1000, GONE);
	sideband_store__begin_write(store);
	KSYMBOL(0x3000, GONE);
	SETTLE(3);
	sideband_store__end_write(store, true);
	ASSERT_HELD(1);
	return TEST_OK;
}

#define BPF(t, i)		ADD(BPF_EVENT, 0, bpf_event, .type = PERF_BPF_EVENT_PROG_##t, \
				    .id = i)
#define CGROUP(i, name)		ADD(CGROUP, 0, cgroup, .id = i, .path = name)
#define HW_ID(i)		ADD(AUX_OUTPUT_HW_ID, 0, aux_output_hw_id, .hw_id = i)
#define NAMESPACES(p, t)	ADD(NAMESPACES, 0, namespaces, .pid = p, .tid = t)
#define ITRACE_START(p, t)	ADD(ITRACE_START, 0, itrace_start, .pid = p, .tid = t)

SIDEBAND_TEST(by_id)
{
	BPF(LOAD, 1);
	BPF(LOAD, 2);
	BPF(UNLOAD, 1);
	SETTLE(1);
	CGROUP(1, "/a");
	CGROUP(2, "/b");
	CGROUP(1, "/c");
	SETTLE(3);
	HW_ID(1);
	HW_ID(2);
	HW_ID(1);
	SETTLE(5);
	NAMESPACES(100, 100);
	ITRACE_START(100, 100);
	NAMESPACES(100, 100);
	ITRACE_START(100, 100);
	SETTLE(7);
	EXIT(100, 100);
	SETTLE(5);
	return TEST_OK;
}

/* An object that is known from a newer record stays as it is */
SIDEBAND_TEST(late_objects)
{
	u64 before = now * STEP;

	now++;
	CGROUP(1, "/a");
	CGROUP(2, "/b");
	BPF(LOAD, 1);
	SETTLE(3);
	AT(before, CGROUP(1, "/late"));
	AT(before, BPF(UNLOAD, 1));
	SETTLE(3);
	return TEST_OK;
}

/* The events of two CPUs, and two events of a CPU, can have the same number in hardware */
SIDEBAND_TEST(hw_ids)
{
	static const u64 id_and_cpu[][2] = { { 5, 0 }, { 5, 1 }, { 6, 0 }, { 5, 0 } };
	struct sideband_store *own;
	union perf_event event = { .header = { .size = 0 }, };
	struct {
		struct perf_record_aux_output_hw_id hw_id;
		u64 time, id, cpu;
	} body = { .hw_id = { .header = { .type = PERF_RECORD_AUX_OUTPUT_HW_ID,
					  .size = sizeof(body), }, .hw_id = 1, }, };
	u32 i;

	own = sideband_store__new(PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU, NULL, NULL);
	TEST_ASSERT_VAL("store", own);
	for (i = 0; i < ARRAY_SIZE(id_and_cpu); i++) {
		body.id = id_and_cpu[i][0];
		body.cpu = id_and_cpu[i][1];
		memcpy(&event, &body, sizeof(body));
		TEST_ASSERT_VAL("add", !sideband_store__add(own, &event, 0, i));
	}
	sideband_store__prune(own, i + 2, i + 2);
	TEST_ASSERT_EQUAL("records", (int)sideband_store__stats(own)->records, 3);
	sideband_store__delete(own);
	return TEST_OK;
}

/* The header describes a BPF program as long as ring or file may have samples of it */
SIDEBAND_TEST(bpf)
{
	forgotten_bpf = 0;
	BPF(LOAD, 1);
	BPF(LOAD, 2);
	settle();
	BPF(UNLOAD, 1);
	TEST_ASSERT_EQUAL("not yet", (int)forgotten_bpf, 0);
	settle();
	TEST_ASSERT_EQUAL("forgotten", (int)forgotten_bpf, 1);
	written();
	BPF(UNLOAD, 2);
	settle();
	TEST_ASSERT_EQUAL("in the file", (int)forgotten_bpf, 1);
	BPF(LOAD, 3);
	settle();
	sideband_store__begin_write(store);
	sideband_store__end_write(store, false);
	BPF(UNLOAD, 3);
	settle();
	TEST_ASSERT_EQUAL("not in the file", (int)forgotten_bpf, 3);
	return TEST_OK;
}

/* A file that dumps are appended to has each record once */
SIDEBAND_TEST(append)
{
	FORK(100, 100, 1, 1);
	KSYMBOL(0x1000, 0);
	ASSERT_NEW(2);
	sideband_store__begin_write(store);
	COMM(100, 100, "during");
	sideband_store__end_write(store, false);
	ASSERT_NEW(3);
	sideband_store__begin_write(store);
	COMM(100, 100, "after");
	sideband_store__end_write(store, true);
	ASSERT_NEW(1);
	/* the file has the symbol, so it needs the record that the symbol is gone */
	KSYMBOL(0x1000, GONE);
	settle();
	ASSERT_NEW(3);
	written();
	ASSERT_HELD(2);
	ASSERT_NEW(0);
	TEST_ASSERT_EQUAL("all records", play(SIDEBAND_DUMP_ALL), 3);
	/* the last record of the file is in force */
	CGROUP(1, "/a");
	written();
	settle();
	ASSERT_NEW(1);
	return TEST_OK;
}

static int fail_later(void *arg, const union perf_event *event __maybe_unused)
{
	return (*(int *)arg)-- ? 0 : -EIO;
}

/* When the callback fails, the dump ends and returns the error */
SIDEBAND_TEST(failing_dump)
{
	int i, nr, left;

	START(100, "parent");
	MMAP(100, 100, 1, 1, "/bin/parent");
	MMAP(100, 100, 2, 1, "/lib/a");
	FORK(200, 200, 100, 100);
	EXIT(100, 100);
	settle();
	COMM(200, 200, "child");
	nr = play(SIDEBAND_DUMP_ALL);
	TEST_ASSERT_VAL("with what is inherited, and what is pending", nr >= 5);
	for (i = 0; i < nr; i++) {
		left = i;
		TEST_ASSERT_EQUAL("error", sideband_store__dump(store, SIDEBAND_DUMP_ALL,
								fail_later, &left), -EIO);
		TEST_ASSERT_EQUAL("no more records", left, -1);
	}
	return TEST_OK;
}

/* @arg: the times of the last two records */
static int add_time(void *arg, const union perf_event *event)
{
	u64 *times = arg;

	times[0] = times[1];
	memcpy(&times[1], (void *)event + event->header.size - sizeof(u64), sizeof(u64));
	return 0;
}

/* @bytes grows and shrinks with the records, and @max_bytes is its maximum */
SIDEBAND_TEST(memory)
{
	u64 most;
	int i;

	TEST_ASSERT_VAL("none", !stats()->bytes);
	START(100, "main");
	MMAP(100, 100, 1, 1, "/bin/main");
	KSYMBOL(0x1000, 0);
	settle();
	most = stats()->bytes;
	TEST_ASSERT_VAL("some", most > 4 * sizeof(union perf_event));
	EXIT(100, 100);
	KSYMBOL(0x1000, GONE);
	settle();
	TEST_ASSERT_VAL("less", stats()->bytes < most);
	TEST_ASSERT_VAL("at most", stats()->max_bytes >= most);

	/* after a pile of records, memory shrinks when only a few at a time are pending */
	for (i = 0; i < 20000; i++)
		COMM(100, 100, "piled up");
	most = stats()->bytes;
	for (i = 0; i < 40000; i++) {
		COMM(100, 100, "at once");
		if (i % 1000 == 0)
			settle();
	}
	settle();
	TEST_ASSERT_VAL("little", stats()->bytes < most / 4);
	TEST_ASSERT_VAL("at most", stats()->max_bytes >= most);
	return TEST_OK;
}

/* A record without room for a time stamp has none, and comes first in a dump */
SIDEBAND_TEST(times)
{
	struct {
		struct perf_record_itrace_start itrace;
		u64 time;
	} body = { .itrace = { .header = { .type = PERF_RECORD_ITRACE_START,
					   .size = sizeof(body), },
			       .pid = 100, .tid = 100, },
		   .time = 5 * STEP, };
	union perf_event event = { .header = { .size = 0 }, };
	struct sideband_store *own = sideband_store__new(PERF_SAMPLE_TIME, NULL, NULL);
	u64 dumped[2] = { 0 };

	TEST_ASSERT_VAL("store", own);
	memcpy(&event, &body, sizeof(body));
	TEST_ASSERT_VAL("has one", sideband_store__time(own, &event) == 5 * STEP);
	event.header.size = sizeof(body.itrace);
	TEST_ASSERT_VAL("has none", !sideband_store__time(own, &event));
	event.header.size = sizeof(body);
	TEST_ASSERT_VAL("add", !sideband_store__add(own, &event, 5 * STEP, 1));
	event.itrace_start.tid = 101;
	TEST_ASSERT_VAL("add", !sideband_store__add(own, &event, ~0ULL, 1));
	sideband_store__set_back(own, STEP);
	TEST_ASSERT_VAL("dump", !sideband_store__dump(own, SIDEBAND_DUMP_ALL, add_time, dumped));
	TEST_ASSERT_VAL("none is first", !dumped[0]);
	TEST_ASSERT_VAL("time of the present clock", dumped[1] == 4 * STEP);
	sideband_store__set_back(own, 9 * STEP);
	TEST_ASSERT_VAL("dump", !sideband_store__dump(own, SIDEBAND_DUMP_ALL, add_time, dumped));
	TEST_ASSERT_VAL("from before its beginning", dumped[1] == 1);
	sideband_store__delete(own);
	/* NULL is allowed */
	sideband_store__delete(NULL);
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
	SETTLE(4);
	AT(before, EXIT(100, 100));
	AT(before, EXIT(100, 101));
	AT(between, MMAP(100, 100, 1, 1, "/bin/old"));
	AT(between, EXEC(100, "old"));
	SETTLE(4);
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
	SETTLE(7);
	AT(between, EXEC(200, "late"));
	SETTLE(8);
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
	SETTLE(1);
	AT(before, FORK(100, 100, 1, 1));
	SETTLE(2);
	PLAY();
	ASSERT_COMM(100, 100, "known");
	/* about a thread, and not about the process that has its tid */
	AT(before, THREAD(200, 100));
	settle();
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
	SETTLE(2);
	AT(before, COMM(100, 100, "earlier process"));
	AT(between, COMM(100, 101, "earlier thread"));
	SETTLE(2);

	/* an exec before the last one doesn't bring the leader back */
	FORK(200, 200, 1, 1);
	between = now * STEP + 1;
	EXEC(200, "last");
	THREAD(200, 201);
	EXIT(200, 200);
	settle();
	AT(between, EXEC(200, "before"));
	settle();
	EXIT(200, 201);
	SETTLE(2);
	ASSERT_TASKS(2);
	return TEST_OK;
}

/* Records from after the clock was set back are newer, whatever their times are */
SIDEBAND_TEST(set_back)
{
	u64 by;

	START(100, "before");
	MMAP(100, 100, 1, 1, "/bin/before");
	FORK(200, 200, 100, 100);
	FORK(300, 300, 100, 100);
	settle();
	EXIT(300, 300);
	by = now * STEP - STEP / 2;
	sideband_store__set_back(store, by);
	AT(now * STEP - by + 1, EXEC(100, "after"));
	AT(now * STEP - by + 1, MMAP(100, 100, 2, 1, "/bin/after"));
	PLAY();
	ASSERT_COMM(100, 100, "after");
	SETTLE(6);
	PLAY();
	ASSERT_COMM(100, 100, "after");
	ASSERT_MAP(100, 100, 1, "");
	ASSERT_MAP(100, 100, 2, "/bin/after");
	ASSERT_COMM(200, 200, "before");
	ASSERT_MAP(200, 200, 1, "/bin/before");
	return TEST_OK;
}

/* A task that the last settle() found to be gone ends when the next round is applied */
static void settle_gone(void)
{
	settle();
	settle();
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
			settle();
		most = max(most, stats()->tasks);
	}
	settle_gone();
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
		settle();
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
	SETTLE(2);
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
	settle();
	ASSERT_TASKS(1);
	return TEST_OK;
}

/* When a task is gone, its child that inherits is still pending */
SIDEBAND_TEST(gone_parent)
{
	set_gone(100);
	START(100, "parent");
	MMAP(100, 100, 1, 1, "/bin/parent");
	settle();
	FORK(200, 200, 100, 100);
	settle_gone();
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
	settle_gone();
	ASSERT_TASKS(1);
	EXEC(100, "again");
	MMAP(100, 100, 1, 1, "/bin/again");
	START(300, "other");
	settle();
	/* not due yet in the next settle() */
	AT((now + 2) * STEP - 1, FORK(200, 200, 100, 100));
	settle_gone();
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
	settle();
	/* the fork was not recorded either */
	is_gone = NULL;
	EXEC(100, "after");
	MMAP(100, 100, 1, 1, "/bin/after");
	settle_gone();
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
	settle();
	is_gone = NULL;
	COMM(100, 101, "back");
	settle_gone();
	ASSERT_TASKS(2);

	set_gone(200);
	START(200, "leader");
	THREAD(200, 201);
	settle();
	is_gone = NULL;
	COMM(200, 201, "back");
	settle_gone();
	ASSERT_TASKS(4);
	/* the leader lives, too */
	EXIT(200, 201);
	settle();
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
	settle();
	settle_gone();
	ASSERT_TASKS(2);
	EXIT(100, 100);
	set_gone(102);
	START(200, "other");
	START(201, "other");
	settle();
	settle_gone();
	ASSERT_TASKS(3);
	/* further tasks make the store check these */
	set_gone(100);
	START(202, "other");
	START(203, "other");
	START(204, "other");
	settle();
	settle_gone();
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
	settle();
	settle_gone();
	START(201, "other");
	settle();
	PLAY();
	ASSERT_COMM(100, 100, "asked");
	ASSERT_COMM(200, 200, "replaced");
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
	settle();
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
	settle();
	ASSERT_DROPPED((int)nr + 2);
	return TEST_OK;
}

/* Text changes and cgroups whose ends are never known */
SIDEBAND_TEST(many_objects)
{
	int i;

	for (i = 0; i < 2 * SIDEBAND_MAX_OBJECTS; i++) {
		CGROUP(i, "/a");
		if (i % 2)
			CGROUP(1, "/used");
	}
	settle();
	ASSERT_HELD(SIDEBAND_MAX_OBJECTS);
	ASSERT_DROPPED(SIDEBAND_MAX_OBJECTS);
	for (i = 0; i < SIDEBAND_MAX_POKES; i++)
		TEXT_POKE(i * 16, 5, 1);
	settle();
	ASSERT_DROPPED(SIDEBAND_MAX_OBJECTS);
	return TEST_OK;
}

static struct test_case tests__sideband_store[] = {
	TEST_CASE("which records are kept", kinds),
	TEST_CASE("malformed records", malformed),
	TEST_CASE("sizes of records", sizes),
	TEST_CASE("exec", exec),
	TEST_CASE("overlapping mappings", overlap),
	TEST_CASE("edges of the address space", edges),
	TEST_CASE("mappings that arrive late", late_maps),
	TEST_CASE("names of tasks", comm),
	TEST_CASE("records that the ring may need", not_yet),
	TEST_CASE("fork without exec", inherit),
	TEST_CASE("fork and more mappings", inherit_and_map),
	TEST_CASE("records that are not changed", unchanged),
	TEST_CASE("ids of what is inherited", ids_of_copies),
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
	TEST_CASE("synthesized records", untimed),
	TEST_CASE("synthesized records only", only_untimed),
	TEST_CASE("records of the same time", same_time),
	TEST_CASE("records out of order", ragged),
	TEST_CASE("records that arrive late", late),
	TEST_CASE("forks that arrive late", late_forks),
	TEST_CASE("records of earlier owners", late_owners),
	TEST_CASE("a clock that is set back", set_back),
	TEST_CASE("kernel symbols and text pokes", kernel_code),
	TEST_CASE("symbols that are gone", gone_symbols),
	TEST_CASE("objects with an id", by_id),
	TEST_CASE("objects whose records arrive late", late_objects),
	TEST_CASE("hardware's numbers of events", hw_ids),
	TEST_CASE("BPF programs", bpf),
	TEST_CASE("dumps appended to a file", append),
	TEST_CASE("dumps that fail", failing_dump),
	TEST_CASE("memory", memory),
	TEST_CASE("time stamps", times),
	TEST_CASE("ends that are not recorded", unrecorded_ends),
	TEST_CASE("checks of live tasks", live_tasks),
	TEST_CASE("samples of tasks that are gone", not_yet_gone),
	TEST_CASE("children of tasks that are gone", gone_parent),
	TEST_CASE("children of tasks that are gone twice", gone_again),
	TEST_CASE("pids of tasks that are gone", gone_and_back),
	TEST_CASE("threads that are back", threads_are_back),
	TEST_CASE("threads that are gone", gone_threads),
	TEST_CASE("threads that are gone because they exec", gone_for_exec),
	TEST_CASE("too many mappings", many_maps),
	TEST_CASE("too many objects", many_objects),
	{ .name = NULL, }
};

struct test_suite suite__sideband_store = {
	.desc = "Store of side-band records",
	.test_cases = tests__sideband_store,
};
