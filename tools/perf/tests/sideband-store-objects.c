// SPDX-License-Identifier: GPL-2.0
/* Store of side-band records: kernel symbols, text pokes, cgroups, BPF programs, ids of events */
#include "sideband-store-test.h"

SIDEBAND_TEST(kernel_code)
{
	KSYMBOL(0x1000, 0);
	KSYMBOL(0x2000, 0);
	TEXT_POKE(0x1010, 5, 1);
	TEXT_POKE(0x1010, 5, 2);
	TEXT_POKE(0x1010, 1, 3);
	TEXT_POKE(0x3000, 5, 4);
	PRUNE(5);
	/* without the code, its changes are dropped */
	KSYMBOL(0x1000, GONE);
	PRUNE(2);
	KSYMBOL(0x2000, 0);
	PRUNE(2);
	KSYMBOL(0x4000, GONE);
	PRUNE(2);
	return TEST_OK;
}

/* A file that has a symbol gets the record of its end, once */
SIDEBAND_TEST(gone_symbols)
{
	KSYMBOL(0x1000, 0);
	KSYMBOL(0x2000, 0);
	KSYMBOL(0x3000, 0);
	prune();
	written();
	KSYMBOL(0x2000, GONE);
	KSYMBOL(0x1000, GONE);
	sideband_store__begin_write(store);
	KSYMBOL(0x3000, GONE);
	PRUNE(3);
	sideband_store__end_write(store, true);
	ASSERT_HELD(1);
	return TEST_OK;
}

SIDEBAND_TEST(by_id)
{
	BPF(LOAD, 1);
	BPF(LOAD, 2);
	BPF(UNLOAD, 1);
	PRUNE(1);
	CGROUP(1, "/a");
	CGROUP(2, "/b");
	CGROUP(1, "/c");
	PRUNE(3);
	HW_ID(1);
	HW_ID(2);
	HW_ID(1);
	PRUNE(5);
	NAMESPACES(100, 100);
	ITRACE_START(100, 100);
	NAMESPACES(100, 100);
	ITRACE_START(100, 100);
	PRUNE(7);
	EXIT(100, 100);
	PRUNE(5);
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
	PRUNE(3);
	AT(before, CGROUP(1, "/late"));
	AT(before, BPF(UNLOAD, 1));
	PRUNE(3);
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
	prune();
	BPF(UNLOAD, 1);
	TEST_ASSERT_EQUAL("not yet", (int)forgotten_bpf, 0);
	prune();
	TEST_ASSERT_EQUAL("forgotten", (int)forgotten_bpf, 1);
	written();
	BPF(UNLOAD, 2);
	prune();
	TEST_ASSERT_EQUAL("in the file", (int)forgotten_bpf, 1);
	BPF(LOAD, 3);
	prune();
	sideband_store__begin_write(store);
	sideband_store__end_write(store, false);
	BPF(UNLOAD, 3);
	prune();
	TEST_ASSERT_EQUAL("not in the file", (int)forgotten_bpf, 3);
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
	prune();
	ASSERT_HELD(SIDEBAND_MAX_OBJECTS);
	ASSERT_DROPPED(SIDEBAND_MAX_OBJECTS);
	for (i = 0; i < SIDEBAND_MAX_POKES; i++)
		TEXT_POKE(i * 16, 5, 1);
	prune();
	ASSERT_DROPPED(SIDEBAND_MAX_OBJECTS);
	return TEST_OK;
}

static struct test_case tests__objects[] = {
	TEST_CASE("kernel symbols and text pokes", kernel_code),
	TEST_CASE("symbols that are gone", gone_symbols),
	TEST_CASE("objects with an id", by_id),
	TEST_CASE("objects whose records arrive late", late_objects),
	TEST_CASE("hardware's numbers of events", hw_ids),
	TEST_CASE("BPF programs", bpf),
	TEST_CASE("too many objects", many_objects),
	{ .name = NULL, }
};

SIDEBAND_SUITE(objects, "objects");
