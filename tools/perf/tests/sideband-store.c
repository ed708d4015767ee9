// SPDX-License-Identifier: GPL-2.0
/* Store of side-band records: which records the store keeps, and how it dumps them */
#include "sideband-store-test.h"

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

/* A record is not dropped while a sample in the ring may be older than its successor */
SIDEBAND_TEST(not_yet)
{
	u64 round, time;

	COMM(100, 100, "a");
	COMM(100, 100, "b");
	COMM(100, 100, "c");
	PRUNE(1);

	/* the ring has records of the next round, which may be as old */
	COMM(100, 100, "d");
	round = now;
	sideband_store__prune(store, round + 1, now);
	ASSERT_HELD(2);
	sideband_store__prune(store, round + 2, now);
	COMM(100, 100, "e");
	sideband_store__prune(store, now + 2, now + 2);
	PRUNE(1);

	/* within the lag, nothing is dropped, whatever the round is */
	time = now * STEP;
	now += 10;
	AT(time, COMM(100, 100, "f"));
	now += 10;
	AT(time + SIDEBAND_STORE_LAG - 1, COMM(100, 100, "g"));
	now += 10;
	sideband_store__prune(store, now, now);
	ASSERT_HELD(2);
	PRUNE(1);
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
	prune();
	ASSERT_NEW(3);
	written();
	ASSERT_HELD(2);
	ASSERT_NEW(0);
	TEST_ASSERT_EQUAL("all records", play(SIDEBAND_DUMP_ALL), 3);
	/* the last record of the file is in force */
	CGROUP(1, "/a");
	written();
	prune();
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
	prune();
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
	prune();
	most = stats()->bytes;
	TEST_ASSERT_VAL("some", most > 4 * sizeof(union perf_event));
	EXIT(100, 100);
	KSYMBOL(0x1000, GONE);
	prune();
	TEST_ASSERT_VAL("less", stats()->bytes < most);
	TEST_ASSERT_VAL("at most", stats()->max_bytes >= most);

	/* after a pile of records, memory shrinks when only a few at a time are pending */
	for (i = 0; i < 20000; i++)
		COMM(100, 100, "piled up");
	most = stats()->bytes;
	for (i = 0; i < 40000; i++) {
		COMM(100, 100, "at once");
		if (i % 1000 == 0)
			prune();
	}
	prune();
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

static struct test_case tests__store[] = {
	TEST_CASE("which records are kept", kinds),
	TEST_CASE("malformed records", malformed),
	TEST_CASE("sizes of records", sizes),
	TEST_CASE("records that the ring may need", not_yet),
	TEST_CASE("dumps appended to a file", append),
	TEST_CASE("dumps that fail", failing_dump),
	TEST_CASE("memory", memory),
	TEST_CASE("time stamps", times),
	{ .name = NULL, }
};

SIDEBAND_SUITE(store, "records and dumps");
