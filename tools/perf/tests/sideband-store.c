// SPDX-License-Identifier: GPL-2.0
/*
 * Test the store of side-band records: what it drops, what it keeps, and that
 * perf's own machine makes of a dump what it makes of all that was folded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>

#include "comm.h"
#include "debug.h"
#include "dso.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "sideband-store.h"
#include "symbol.h"
#include "tests.h"
#include "thread.h"

#define SAMPLE_TYPE	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define PAGE		0x1000ULL
/* Steps of time are so large that the store's lag is no matter */
#define STEP		(10 * SIDEBAND_STORE_LAG)

struct trailer {
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
};

/* A store, and the number of the last record: its time, in STEPs, and round */
struct fixture {
	struct sideband_store *store;
	u64 now;
	struct machines machines;
};

static struct fixture *fixture__new(void)
{
	struct fixture *f = zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->store = sideband_store__new(SAMPLE_TYPE);
	f->now = 1;
	machines__init(&f->machines);
	return f;
}

static void fixture__delete(struct fixture *f)
{
	sideband_store__delete(f->store);
	machine__delete_threads(&f->machines.host);
	machines__exit(&f->machines);
	free(f);
}

static const struct sideband_store_stats *stats(struct fixture *f)
{
	return sideband_store__stats(f->store);
}

/* Fold the record whose body has @size bytes, with a time, in a round of its own */
static int fold_at(struct fixture *f, union perf_event *event, size_t size, u64 time)
{
	struct trailer *trailer;

	size = PERF_ALIGN(size, sizeof(u64));
	trailer = (void *)event + size;
	*trailer = (struct trailer) { .pid = event->comm.pid, .tid = event->comm.tid,
				      .time = time, };
	event->header.size = size + sizeof(*trailer);
	return sideband_store__fold(f->store, event, time, f->now);
}

static int fold(struct fixture *f, union perf_event *event, size_t size)
{
	f->now++;
	return fold_at(f, event, size, f->now * STEP);
}

static void add_task(struct fixture *f, u32 type, u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	union perf_event event = { .fork = { .pid = pid, .tid = tid, .ppid = ppid,
					     .ptid = ptid, }, };

	event.header.type = type;
	fold(f, &event, sizeof(event.fork));
}

static void FORK(struct fixture *f, u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	add_task(f, PERF_RECORD_FORK, pid, tid, ppid, ptid);
}

static void EXIT(struct fixture *f, u32 pid, u32 tid)
{
	add_task(f, PERF_RECORD_EXIT, pid, tid, pid, tid);
}

static void add_comm(struct fixture *f, u16 misc, u32 pid, u32 tid, const char *name)
{
	union perf_event event = { .comm = { .pid = pid, .tid = tid, }, };

	event.header.type = PERF_RECORD_COMM;
	event.header.misc = misc;
	strcpy(event.comm.comm, name);
	fold(f, &event, sizeof(event.comm));
}

static void COMM(struct fixture *f, u32 pid, u32 tid, const char *name)
{
	add_comm(f, 0, pid, tid, name);
}

static void EXEC(struct fixture *f, u32 pid, const char *name)
{
	add_comm(f, PERF_RECORD_MISC_COMM_EXEC, pid, pid, name);
}

static void MMAP(struct fixture *f, u32 pid, u32 tid, u64 page, u64 nr, const char *name)
{
	union perf_event event = { .mmap2 = { .pid = pid, .tid = tid, .start = page * PAGE,
					      .len = nr * PAGE, }, };

	event.header.type = PERF_RECORD_MMAP2;
	event.header.misc = PERF_RECORD_MISC_USER;
	strcpy(event.mmap2.filename, name);
	fold(f, &event, offsetof(struct perf_record_mmap2, filename) + strlen(name) + 1);
}

/* All that was folded so far is older than what is in the ring */
static void settle(struct fixture *f)
{
	/* a later record says so: the exit of a process that nobody knows */
	EXIT(f, 1, 1);
	f->now += 2;
	sideband_store__prune(f->store, f->now);
}

/* How many records the store holds, besides what settle() folds */
static int held(struct fixture *f)
{
	return (int)stats(f)->records - 1;
}

static int play(struct fixture *f, enum sideband_dump_mode mode, int *nr)
{
	struct sideband_dump dump;
	struct perf_sample sample = { .cpumode = PERF_RECORD_MISC_USER, };
	union perf_event *event;
	struct trailer *trailer;
	u64 last = 0;
	void *pos;

	TEST_ASSERT_VAL("dump", !sideband_store__dump(f->store, mode, &dump));
	*nr = dump.nr;
	for (pos = dump.data; pos < dump.data + dump.size; pos += event->header.size) {
		event = pos;
		trailer = pos + event->header.size - sizeof(*trailer);
		sample.time = trailer->time;
		TEST_ASSERT_VAL("order of time", sample.time >= last);
		last = sample.time;
		machine__process_event(&f->machines.host, event, &sample);
	}
	free(dump.data);
	return 0;
}

static int play_all(struct fixture *f)
{
	int nr;

	return play(f, SIDEBAND_DUMP_ALL, &nr);
}

static const char *comm_of(struct fixture *f, u32 pid, u32 tid)
{
	struct thread *thread = machine__find_thread(&f->machines.host, pid, tid);
	const char *comm = thread ? thread__comm_str(thread) : "";

	thread__put(thread);
	return comm;
}

/* The file that is mapped at @page, "" if none is */
static const char *map_at(struct fixture *f, u32 pid, u32 tid, u64 page)
{
	struct thread *thread = machine__find_thread(&f->machines.host, pid, tid);
	struct addr_location al = { .map = NULL, };
	const char *name = "";

	if (thread && thread__find_map(thread, PERF_RECORD_MISC_USER, page * PAGE, &al))
		name = al.map->dso->long_name;
	thread__put(thread);
	return name;
}

#define ASSERT_COMM(f, pid, tid, name)					\
	TEST_ASSERT_VAL("comm is as expected", !strcmp(comm_of(f, pid, tid), name))
#define ASSERT_MAP(f, pid, tid, page, name)				\
	TEST_ASSERT_VAL("map is as expected", !strcmp(map_at(f, pid, tid, page), name))
#define ASSERT_HELD(f, nr)						\
	TEST_ASSERT_EQUAL("records held", held(f), nr)
#define PLAY(f)	TEST_ASSERT_EQUAL("play", play_all(f), 0)

/* Each test gets a fixture of its own */
#define SIDEBAND_TEST(name)						\
static int run_##name(struct fixture *f);				\
static int test__##name(struct test_suite *t __maybe_unused, int subtest __maybe_unused) \
{									\
	struct fixture *f = fixture__new();				\
	int ret;							\
									\
	if (!f)								\
		return TEST_FAIL;					\
	ret = run_##name(f);						\
	fixture__delete(f);						\
	return ret;							\
}									\
static int run_##name(struct fixture *f)

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
		/* and none of them is as short as a header */
		TEST_ASSERT_EQUAL("malformed", sideband_store__fold(f->store, &event, 1, 0),
				  -EINVAL);
	}
	event.header.type = PERF_RECORD_SWITCH;
	TEST_ASSERT_EQUAL("ignored", sideband_store__fold(f->store, &event, 1, 0), 0);
	TEST_ASSERT_EQUAL("records", (int)stats(f)->records, 0);
	TEST_ASSERT_EQUAL("malformed", (int)stats(f)->malformed, (int)i);
	return TEST_OK;
}

SIDEBAND_TEST(malformed)
{
	union perf_event event = { .comm = { .pid = 1, .tid = 1, }, };

	event.header.type = PERF_RECORD_COMM;
	event.header.size = sizeof(event.comm);
	memset(event.comm.comm, 'x', sizeof(event.comm.comm));
	TEST_ASSERT_EQUAL("no end of a string",
			  sideband_store__fold(f->store, &event, 1, 1), -EINVAL);
	event.comm.comm[15] = 0;
	event.header.size -= 4;
	TEST_ASSERT_EQUAL("size", sideband_store__fold(f->store, &event, 1, 1), -EINVAL);
	event.header.size += 4;
	TEST_ASSERT_EQUAL("good", sideband_store__fold(f->store, &event, 1, 1), 0);

	event.header.type = PERF_RECORD_NAMESPACES;
	event.namespaces.nr_namespaces = ~0ULL;
	TEST_ASSERT_EQUAL("namespaces", sideband_store__fold(f->store, &event, 1, 1), -EINVAL);

	event.header.type = PERF_RECORD_TEXT_POKE;
	event.text_poke.old_len = 0xffff;
	TEST_ASSERT_EQUAL("poke", sideband_store__fold(f->store, &event, 1, 1), -EINVAL);
	return TEST_OK;
}

SIDEBAND_TEST(exec)
{
	FORK(f, 100, 100, 1, 1);
	COMM(f, 100, 100, "old");
	MMAP(f, 100, 100, 1, 1, "/bin/old");
	EXEC(f, 100, "new");
	MMAP(f, 100, 100, 2, 1, "/bin/new");
	settle(f);
	ASSERT_HELD(f, 3);
	PLAY(f);
	ASSERT_COMM(f, 100, 100, "new");
	ASSERT_MAP(f, 100, 100, 1, "");
	ASSERT_MAP(f, 100, 100, 2, "/bin/new");
	return TEST_OK;
}

SIDEBAND_TEST(overlap)
{
	MMAP(f, 100, 100, 10, 4, "/lib/a");
	MMAP(f, 100, 100, 8, 3, "/lib/partly");
	settle(f);
	ASSERT_HELD(f, 2);
	MMAP(f, 100, 100, 12, 1, "/lib/hole");
	settle(f);
	ASSERT_HELD(f, 3);
	/* what's left of the first one goes piece by piece */
	MMAP(f, 100, 100, 11, 1, "/lib/b");
	settle(f);
	ASSERT_HELD(f, 4);
	MMAP(f, 100, 100, 13, 1, "/lib/c");
	settle(f);
	ASSERT_HELD(f, 4);
	PLAY(f);
	ASSERT_MAP(f, 100, 100, 10, "/lib/partly");
	ASSERT_MAP(f, 100, 100, 11, "/lib/b");
	ASSERT_MAP(f, 100, 100, 12, "/lib/hole");
	ASSERT_MAP(f, 100, 100, 13, "/lib/c");
	MMAP(f, 100, 100, 0, 100, "/lib/all");
	settle(f);
	ASSERT_HELD(f, 1);
	return TEST_OK;
}

SIDEBAND_TEST(comm)
{
	FORK(f, 100, 100, 1, 1);
	EXEC(f, 100, "first");
	COMM(f, 100, 100, "second");
	COMM(f, 100, 100, "third");
	settle(f);
	/* the name that an exec gave has a meaning of its own */
	ASSERT_HELD(f, 3);
	PLAY(f);
	ASSERT_COMM(f, 100, 100, "third");
	return TEST_OK;
}

/* What a sample of the ring can be older than is not dropped */
SIDEBAND_TEST(not_yet)
{
	union perf_event event = { .comm = { .pid = 100, .tid = 100, .comm = "late", }, };
	u64 round;

	COMM(f, 100, 100, "a");
	COMM(f, 100, 100, "b");
	COMM(f, 100, 100, "c");
	round = f->now;
	settle(f);
	ASSERT_HELD(f, 1);

	/* the ring has records of the round after it: as old as it is */
	COMM(f, 100, 100, "d");
	round = f->now;
	sideband_store__prune(f->store, round + 1);
	ASSERT_HELD(f, 2);
	sideband_store__prune(f->store, round + 2);
	COMM(f, 100, 100, "e");
	sideband_store__prune(f->store, f->now + 2);
	settle(f);
	ASSERT_HELD(f, 1);

	/* rounds are no matter as long as the time is within the lag */
	event.header.type = PERF_RECORD_COMM;
	f->now += 10;
	TEST_ASSERT_EQUAL("fold", fold_at(f, &event, sizeof(event.comm), f->now * STEP), 0);
	f->now += 10;
	TEST_ASSERT_EQUAL("fold", fold_at(f, &event, sizeof(event.comm),
					  (f->now - 10) * STEP + SIDEBAND_STORE_LAG - 1), 0);
	f->now += 10;
	sideband_store__prune(f->store, f->now);
	ASSERT_HELD(f, 2);
	settle(f);
	ASSERT_HELD(f, 1);
	return TEST_OK;
}

/* A child that never called exec has what its ancestors had when they forked */
SIDEBAND_TEST(inherit)
{
	FORK(f, 100, 100, 1, 1);
	EXEC(f, 100, "parent");
	MMAP(f, 100, 100, 1, 4, "/bin/parent");
	MMAP(f, 100, 100, 2, 1, "/lib/hole");
	FORK(f, 200, 200, 100, 100);
	FORK(f, 300, 300, 200, 200);
	EXEC(f, 100, "changed");
	MMAP(f, 100, 100, 1, 4, "/bin/changed");
	EXIT(f, 200, 200);
	settle(f);
	PLAY(f);
	ASSERT_COMM(f, 300, 300, "parent");
	ASSERT_MAP(f, 300, 300, 1, "/bin/parent");
	ASSERT_MAP(f, 300, 300, 2, "/lib/hole");
	ASSERT_MAP(f, 300, 300, 4, "/bin/parent");
	ASSERT_COMM(f, 100, 100, "changed");
	ASSERT_MAP(f, 100, 100, 2, "/bin/changed");

	/* nobody needs them any more */
	EXEC(f, 300, "child");
	settle(f);
	ASSERT_HELD(f, 5);
	return TEST_OK;
}

/* A thread is named like who has created it, whatever that one is named later */
SIDEBAND_TEST(threads)
{
	FORK(f, 100, 100, 1, 1);
	EXEC(f, 100, "main");
	FORK(f, 100, 101, 100, 100);
	COMM(f, 100, 100, "renamed");
	FORK(f, 100, 102, 100, 101);
	EXIT(f, 100, 101);
	MMAP(f, 100, 102, 1, 1, "/lib/a");
	settle(f);
	PLAY(f);
	ASSERT_COMM(f, 100, 102, "main");
	ASSERT_COMM(f, 100, 100, "renamed");
	ASSERT_MAP(f, 100, 100, 1, "/lib/a");
	return TEST_OK;
}

/* The process lives until the last of its threads exits, whichever that is */
SIDEBAND_TEST(exits)
{
	FORK(f, 100, 100, 1, 1);
	EXEC(f, 100, "main");
	MMAP(f, 100, 100, 1, 1, "/bin/main");
	FORK(f, 100, 101, 100, 100);
	FORK(f, 100, 102, 100, 100);
	EXIT(f, 100, 101);
	EXIT(f, 100, 100);
	settle(f);
	TEST_ASSERT_EQUAL("processes", (int)stats(f)->processes, 1);
	PLAY(f);
	ASSERT_MAP(f, 100, 102, 1, "/bin/main");
	EXIT(f, 100, 102);
	settle(f);
	ASSERT_HELD(f, 0);
	TEST_ASSERT_EQUAL("tasks", (int)stats(f)->tasks, 0);
	return TEST_OK;
}

/* A thread's exec: it becomes the leader, which is told to have exited before */
SIDEBAND_TEST(exec_of_thread)
{
	FORK(f, 100, 100, 1, 1);
	FORK(f, 100, 101, 100, 100);
	FORK(f, 100, 102, 100, 100);
	EXIT(f, 100, 102);
	EXIT(f, 100, 100);
	EXEC(f, 100, "new");
	MMAP(f, 100, 100, 1, 1, "/bin/new");
	settle(f);
	ASSERT_HELD(f, 3);
	PLAY(f);
	ASSERT_MAP(f, 100, 100, 1, "/bin/new");
	EXIT(f, 100, 100);
	settle(f);
	ASSERT_HELD(f, 0);
	return TEST_OK;
}

/* Also if the record of an exit was lost */
SIDEBAND_TEST(reuse)
{
	FORK(f, 100, 100, 1, 1);
	EXEC(f, 100, "old");
	MMAP(f, 100, 100, 1, 1, "/bin/old");
	FORK(f, 100, 101, 100, 100);
	FORK(f, 200, 200, 1, 1);
	FORK(f, 200, 101, 200, 200);
	settle(f);
	TEST_ASSERT_EQUAL("tasks", (int)stats(f)->tasks, 3);
	FORK(f, 100, 100, 200, 200);
	settle(f);
	/* the forks of 100, 200 and 101 */
	ASSERT_HELD(f, 3);
	PLAY(f);
	ASSERT_MAP(f, 100, 100, 1, "");
	/* the leader's pid as a thread's tid: the process is gone */
	FORK(f, 200, 100, 200, 200);
	settle(f);
	TEST_ASSERT_EQUAL("processes", (int)stats(f)->processes, 1);
	return TEST_OK;
}

/*
 * Mappings of a dead process are kept for its child alone. Its pid was a thread's
 * of another process before: that must not get them, where a file has it still.
 */
SIDEBAND_TEST(earlier_owner)
{
	int nr;

	FORK(f, 100, 100, 1, 1);
	EXEC(f, 100, "other");
	MMAP(f, 100, 100, 1, 1, "/bin/other");
	FORK(f, 100, 101, 100, 100);
	settle(f);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	sideband_store__begin_write(f->store);
	sideband_store__end_write(f->store, true);

	EXIT(f, 100, 101);
	FORK(f, 101, 101, 1, 1);
	MMAP(f, 101, 101, 1, 1, "/bin/parent");
	FORK(f, 300, 300, 101, 101);
	EXIT(f, 101, 101);
	settle(f);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	ASSERT_MAP(f, 300, 300, 1, "/bin/parent");
	ASSERT_MAP(f, 100, 100, 1, "/bin/other");
	return TEST_OK;
}

/* A thread that has forked and exited, of a process whose pid was used before */
SIDEBAND_TEST(earlier_creator)
{
	int nr;

	FORK(f, 100, 100, 1, 1);
	MMAP(f, 100, 100, 1, 1, "/bin/before");
	FORK(f, 100, 101, 100, 100);
	settle(f);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	sideband_store__begin_write(f->store);
	sideband_store__end_write(f->store, true);

	EXIT(f, 100, 101);
	EXIT(f, 100, 100);
	FORK(f, 100, 100, 1, 1);
	MMAP(f, 100, 100, 1, 1, "/bin/after");
	FORK(f, 100, 101, 100, 100);
	FORK(f, 300, 300, 100, 101);
	EXIT(f, 100, 101);
	settle(f);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	ASSERT_MAP(f, 300, 300, 1, "/bin/after");
	return TEST_OK;
}

/* Processes that were there before: nobody has seen their fork */
SIDEBAND_TEST(unknown)
{
	COMM(f, 100, 100, "unknown");
	MMAP(f, 100, 105, 1, 1, "/lib/a");
	settle(f);
	PLAY(f);
	ASSERT_COMM(f, 100, 100, "unknown");
	ASSERT_MAP(f, 100, 100, 1, "/lib/a");
	EXIT(f, 100, 100);
	settle(f);
	ASSERT_HELD(f, 0);
	return TEST_OK;
}

/* Synthesized records come first, whenever they are folded */
SIDEBAND_TEST(untimed)
{
	union perf_event fork = { .fork = { .pid = 100, .tid = 100, .ppid = 1, .ptid = 1, }, };
	union perf_event comm = { .comm = { .pid = 100, .tid = 100, .comm = "synthesized", }, };

	EXEC(f, 200, "timed");
	fork.header.type = PERF_RECORD_FORK;
	fork.header.misc = PERF_RECORD_MISC_FORK_EXEC;
	comm.header.type = PERF_RECORD_COMM;
	TEST_ASSERT_EQUAL("fold", fold_at(f, &fork, sizeof(fork.fork), 0), 0);
	TEST_ASSERT_EQUAL("fold", fold_at(f, &comm, sizeof(comm.comm), 0), 0);
	PLAY(f);
	ASSERT_COMM(f, 100, 100, "synthesized");
	settle(f);
	ASSERT_HELD(f, 3);
	PLAY(f);
	ASSERT_COMM(f, 100, 100, "synthesized");
	COMM(f, 100, 100, "later");
	settle(f);
	ASSERT_HELD(f, 3);
	PLAY(f);
	ASSERT_COMM(f, 100, 100, "later");
	return TEST_OK;
}

/* A round reads CPU by CPU, so a child's records can come before its FORK */
SIDEBAND_TEST(ragged)
{
	union perf_event exit = { .fork = { .pid = 100, .tid = 100, .ppid = 100, }, };
	union perf_event fork = { .fork = { .pid = 100, .tid = 100, .ppid = 1, .ptid = 1, }, };
	u64 time;

	f->now++;
	time = f->now * STEP;
	exit.header.type = PERF_RECORD_EXIT;
	fork.header.type = PERF_RECORD_FORK;
	TEST_ASSERT_EQUAL("fold", fold_at(f, &exit, sizeof(exit.fork), time + 2), 0);
	f->now++;
	TEST_ASSERT_EQUAL("fold", fold_at(f, &fork, sizeof(fork.fork), time + 1), 0);
	settle(f);
	ASSERT_HELD(f, 0);
	return TEST_OK;
}

static void KSYMBOL(struct fixture *f, u64 addr, bool unregister)
{
	union perf_event event = { .ksymbol = { .addr = addr, .len = 64, .name = "bpf_prog", }, };

	event.header.type = PERF_RECORD_KSYMBOL;
	event.ksymbol.flags = unregister ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0;
	fold(f, &event, offsetof(struct perf_record_ksymbol, name) + 16);
}

static void TEXT_POKE(struct fixture *f, u64 addr, u16 len, u8 byte)
{
	union { union perf_event event; char buf[512]; } u = { .event = { .text_poke = {
		.addr = addr, .old_len = len, .new_len = len, }, }, };

	u.event.header.type = PERF_RECORD_TEXT_POKE;
	memset(u.event.text_poke.bytes, byte, 2 * len);
	fold(f, &u.event, sizeof(u.event.text_poke) + 2 * len);
}

SIDEBAND_TEST(kernel_code)
{
	KSYMBOL(f, 0x1000, false);
	KSYMBOL(f, 0x2000, false);
	TEXT_POKE(f, 0x1010, 5, 1);
	TEXT_POKE(f, 0x1010, 5, 2);
	TEXT_POKE(f, 0x1010, 1, 3);
	TEXT_POKE(f, 0x3000, 5, 4);
	settle(f);
	ASSERT_HELD(f, 5);
	/* with the code its changes go */
	KSYMBOL(f, 0x1000, true);
	settle(f);
	ASSERT_HELD(f, 2);
	KSYMBOL(f, 0x2000, false);
	settle(f);
	ASSERT_HELD(f, 2);
	KSYMBOL(f, 0x4000, true);
	settle(f);
	ASSERT_HELD(f, 2);
	return TEST_OK;
}

static void add_bpf(struct fixture *f, u16 type, u32 id)
{
	union perf_event event = { .bpf = { .type = type, .id = id, }, };

	event.header.type = PERF_RECORD_BPF_EVENT;
	fold(f, &event, sizeof(event.bpf));
}

static void add_cgroup(struct fixture *f, u64 id, const char *path)
{
	union perf_event event = { .cgroup = { .id = id, }, };

	event.header.type = PERF_RECORD_CGROUP;
	strcpy(event.cgroup.path, path);
	fold(f, &event, offsetof(struct perf_record_cgroup, path) + strlen(path) + 1);
}

static void add_hw_id(struct fixture *f, u64 hw_id)
{
	union perf_event event = { .aux_output_hw_id = { .hw_id = hw_id, }, };

	event.header.type = PERF_RECORD_AUX_OUTPUT_HW_ID;
	fold(f, &event, sizeof(event.aux_output_hw_id));
}

/* NAMESPACES and ITRACE_START have pid and tid at the same place */
static void add_to_task(struct fixture *f, u32 type, u32 pid, u32 tid)
{
	union perf_event event = { .namespaces = { .pid = pid, .tid = tid, }, };

	event.header.type = type;
	fold(f, &event, sizeof(event.namespaces));
}

SIDEBAND_TEST(by_id)
{
	add_bpf(f, PERF_BPF_EVENT_PROG_LOAD, 1);
	add_bpf(f, PERF_BPF_EVENT_PROG_LOAD, 2);
	add_bpf(f, PERF_BPF_EVENT_PROG_UNLOAD, 1);
	settle(f);
	ASSERT_HELD(f, 1);
	add_cgroup(f, 1, "/a");
	add_cgroup(f, 2, "/b");
	add_cgroup(f, 1, "/c");
	settle(f);
	ASSERT_HELD(f, 3);
	add_hw_id(f, 1);
	add_hw_id(f, 2);
	add_hw_id(f, 1);
	settle(f);
	ASSERT_HELD(f, 5);
	add_to_task(f, PERF_RECORD_NAMESPACES, 100, 100);
	add_to_task(f, PERF_RECORD_ITRACE_START, 100, 100);
	add_to_task(f, PERF_RECORD_NAMESPACES, 100, 100);
	add_to_task(f, PERF_RECORD_ITRACE_START, 100, 100);
	settle(f);
	ASSERT_HELD(f, 7);
	EXIT(f, 100, 100);
	settle(f);
	ASSERT_HELD(f, 5);
	return TEST_OK;
}

/* A file that dumps are appended to has each record once */
SIDEBAND_TEST(append)
{
	int nr;

	FORK(f, 100, 100, 1, 1);
	KSYMBOL(f, 0x1000, false);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	TEST_ASSERT_EQUAL("first", nr, 2);
	sideband_store__begin_write(f->store);
	COMM(f, 100, 100, "during");
	sideband_store__end_write(f->store, false);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	TEST_ASSERT_EQUAL("again", nr, 3);
	sideband_store__begin_write(f->store);
	COMM(f, 100, 100, "after");
	sideband_store__end_write(f->store, true);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	TEST_ASSERT_EQUAL("new", nr, 1);
	/* the file has the symbol: it must learn that it's gone */
	KSYMBOL(f, 0x1000, true);
	settle(f);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	TEST_ASSERT_EQUAL("gone", nr, 3);
	sideband_store__begin_write(f->store);
	sideband_store__end_write(f->store, true);
	ASSERT_HELD(f, 2);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_NEW, &nr), 0);
	TEST_ASSERT_EQUAL("nothing", nr, 0);
	TEST_ASSERT_EQUAL("play", play(f, SIDEBAND_DUMP_ALL, &nr), 0);
	TEST_ASSERT_EQUAL("all", nr, 3);
	return TEST_OK;
}

static struct test_case tests__sideband_store[] = {
	TEST_CASE("which records are kept", kinds),
	TEST_CASE("malformed records", malformed),
	TEST_CASE("exec", exec),
	TEST_CASE("overlapping mappings", overlap),
	TEST_CASE("names", comm),
	TEST_CASE("what the ring may need", not_yet),
	TEST_CASE("fork without exec", inherit),
	TEST_CASE("threads", threads),
	TEST_CASE("exits", exits),
	TEST_CASE("exec of a thread", exec_of_thread),
	TEST_CASE("reuse of ids", reuse),
	TEST_CASE("earlier owner of an id", earlier_owner),
	TEST_CASE("earlier thread that forks", earlier_creator),
	TEST_CASE("tasks without a fork", unknown),
	TEST_CASE("synthesized records", untimed),
	TEST_CASE("records out of order", ragged),
	TEST_CASE("kernel symbols and text pokes", kernel_code),
	TEST_CASE("records with an id", by_id),
	TEST_CASE("dumps appended to a file", append),
	{ .name = NULL, }
};

struct test_suite suite__sideband_store = {
	.desc = "Store of side-band records",
	.test_cases = tests__sideband_store,
};
