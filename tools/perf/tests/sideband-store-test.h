/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TESTS_SIDEBAND_STORE_TEST_H
#define __PERF_TESTS_SIDEBAND_STORE_TEST_H 1

/*
 * Tests of the store of side-band records: what it drops, what it keeps, and that perf's own
 * machine resolves the same from a dump as from all records added. A test adds records by
 * FORK(), COMM(), MMAP() and the like, lets them leave the ring by prune(), and plays back
 * a dump by PLAY().
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

static inline bool task_is_gone(void *priv __maybe_unused, u32 tid)
{
	asked++;
	return is_gone && is_gone(tid);
}

static inline bool cgroup_is_gone(void *priv __maybe_unused, u64 id)
{
	asked++;
	return is_gone && is_gone(id);
}

static u32 forgotten_bpf;

static inline void forget_bpf(void *priv __maybe_unused, u32 id)
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

static inline const struct sideband_store_stats *stats(void)
{
	return sideband_store__stats(store);
}

/* Add a record in a round of its own */
static inline void add(u32 type, u16 misc, const void *body, size_t size)
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

static inline void FORK(u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	ADD(FORK, 0, fork, .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid);
}

static inline void THREAD(u32 pid, u32 tid)
{
	FORK(pid, tid, pid, pid);
}

static inline void EXIT(u32 pid, u32 tid)
{
	ADD(EXIT, 0, fork, .pid = pid, .tid = tid, .ppid = pid, .ptid = tid);
}

static inline void add_comm(u16 misc, u32 pid, u32 tid, const char *name)
{
	struct perf_record_comm comm = { .pid = pid, .tid = tid, };

	snprintf(comm.comm, sizeof(comm.comm), "%s", name);
	add(PERF_RECORD_COMM, misc, &comm, sizeof(comm));
}

static inline void COMM(u32 pid, u32 tid, const char *name)
{
	add_comm(0, pid, tid, name);
}

static inline void EXEC(u32 pid, const char *name)
{
	add_comm(PERF_RECORD_MISC_COMM_EXEC, pid, pid, name);
}

/* Start a new process */
static inline void START(u32 pid, const char *name)
{
	FORK(pid, pid, 1, 1);
	EXEC(pid, name);
}

#define MMAP(p, t, page, nr, name)	ADD(MMAP2, PERF_RECORD_MISC_USER, mmap2,	\
					    .pid = p, .tid = t, .start = (page) * PAGE,	\
					    .len = (nr) * PAGE, .filename = name)

#define KSYMBOL(a, f)		ADD(KSYMBOL, 0, ksymbol, .addr = a, .len = 64, .flags = f, \
				    .name = "bpf_prog")
#define GONE			PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
#define BPF(t, i)		ADD(BPF_EVENT, 0, bpf_event, .type = PERF_BPF_EVENT_PROG_##t, \
				    .id = i)
#define CGROUP(i, name)		ADD(CGROUP, 0, cgroup, .id = i, .path = name)
#define HW_ID(i)		ADD(AUX_OUTPUT_HW_ID, 0, aux_output_hw_id, .hw_id = i)
#define NAMESPACES(p, t)	ADD(NAMESPACES, 0, namespaces, .pid = p, .tid = t)
#define ITRACE_START(p, t)	ADD(ITRACE_START, 0, itrace_start, .pid = p, .tid = t)

static inline void TEXT_POKE(u64 addr, u16 len, u8 byte)
{
	struct {
		struct perf_record_text_poke_event poke;
		u8 bytes[16];
	} body = { .poke = { .addr = addr, .old_len = len, .new_len = len, }, };

	memset(body.poke.bytes, byte, 2 * len);
	add(PERF_RECORD_TEXT_POKE, 0, &body, sizeof(body.poke) + 2 * len);
}

/* Let all records added so far leave the ring, and prune */
static inline void prune(void)
{
	int i;

	for (i = 0; i < nr_extra; i++)
		EXIT(1000 + i, 1000 + i);
	/* a newer record, so that these are due: the exit of an unknown process */
	EXIT(1, 1);
	now += 2;
	sideband_store__prune(store, now, now);
}

/* Number of records in the store, without the one that prune() adds */
static inline int held(void)
{
	return (int)stats()->records - 1;
}

struct player {
	u64	last;
	int	nr;
};

static inline int play_record(void *arg, const union perf_event *event)
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
static inline int play(enum sideband_dump_mode mode)
{
	struct player player = { .nr = 0 };

	TEST_ASSERT_VAL("dump", !sideband_store__dump(store, mode, play_record, &player));
	return player.nr;
}

/* The last dump is in the file */
static inline void written(void)
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
#define PRUNE(nr)							\
	do {								\
		prune();						\
		ASSERT_HELD(nr);					\
	} while (0)

static inline int run_with(int (*test)(void), int extra)
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

static inline int run(int (*test)(void))
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

#define SIDEBAND_SUITE(name, what)					\
struct test_suite suite__sideband_##name = {				\
	.desc = "Side-band store: " what,				\
	.test_cases = tests__##name,					\
}

#endif /* __PERF_TESTS_SIDEBAND_STORE_TEST_H */
