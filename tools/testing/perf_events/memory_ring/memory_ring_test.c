// SPDX-License-Identifier: GPL-2.0
/*
 * Run perf's own test of the memory ring without the rest of perf, so that
 * it builds in seconds and runs with sanitizers. Then test what needs an allocator of the
 * test's own: failing allocations, and the use of memory. TAP on standard output.
 */
#include <errno.h>
#include <stdio.h>
#include <linux/kernel.h>
#include <perf/event.h>

#include "debug.h"
#include "memory-ring.h"
#include "tests.h"
#include "../perf_alloc.h"
#include "../tap.h"

/* Bytes in use by malloc(); from the sanitizer's run-time library */
size_t __sanitizer_get_current_allocated_bytes(void);

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

int tap_count, tap_failed;

static bool wants(const union perf_event *event)
{
	return true;
}

static int evict(void *priv, const union perf_event *event, u64 round)
{
	return 0;
}

static const struct memory_ring_ops ops = { .wants = wants, .evict = evict };

/* Append twice as much side-band as fits into the ring */
static int overflow(struct memory_ring *ring)
{
	struct perf_record_comm comm = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(comm) },
	};
	size_t size;
	int err = 0;

	for (size = 0; !err && size < 2 * MEMORY_RING_MIN_SIZE; size += sizeof(comm))
		err = memory_ring__append(ring, &comm, sizeof(comm));
	return err;
}

/* Let each allocation fail in turn: there is no ring, and no memory is leaked */
static int test_no_ring(void)
{
	size_t before = __sanitizer_get_current_allocated_bytes();
	struct memory_ring *ring = NULL;
	long nr;

	for (nr = 0; !ring; nr++) {
		CHECK(!mapped);
		CHECK(__sanitizer_get_current_allocated_bytes() == before);
		fail_allocation = nr;
		ring = memory_ring__new(MEMORY_RING_MIN_SIZE, &ops, NULL);
	}
	CHECK(nr > 1);
	fail_allocation = -1;
	memory_ring__delete(ring);
	return TEST_OK;
}

/* Address space is reserved for the ring and for taken records, and no more */
static int test_address_space(void)
{
	size_t size = SZ_16M;
	struct memory_ring *ring = memory_ring__new(size, &ops, NULL);

	CHECK(ring);
	CHECK(mapped == 2 * size);
	memory_ring__delete(ring);
	CHECK(!mapped);
	return TEST_OK;
}

/* Memory for deferred side-band is allocated only while records are taken */
static int test_deferred(void)
{
	size_t before = __sanitizer_get_current_allocated_bytes(), empty;
	struct memory_ring *ring = memory_ring__new(MEMORY_RING_MIN_SIZE, &ops, NULL);

	CHECK(ring);
	empty = __sanitizer_get_current_allocated_bytes();
	CHECK(!overflow(ring));
	CHECK(__sanitizer_get_current_allocated_bytes() == empty);
	memory_ring__take(ring);
	CHECK(!overflow(ring));
	CHECK(__sanitizer_get_current_allocated_bytes() > empty);
	CHECK(!memory_ring__release(ring));
	CHECK(__sanitizer_get_current_allocated_bytes() == empty);

	memory_ring__take(ring);
	CHECK(!overflow(ring));
	memory_ring__delete(ring);
	CHECK(__sanitizer_get_current_allocated_bytes() == before);
	return TEST_OK;
}

static int test_defer_no_memory(void)
{
	struct memory_ring *ring = memory_ring__new(MEMORY_RING_MIN_SIZE, &ops, NULL);

	CHECK(ring);
	memory_ring__take(ring);
	fail_allocation = 0;
	CHECK(overflow(ring) == -ENOMEM);
	CHECK(fail_allocation < 0);
	memory_ring__delete(ring);
	return TEST_OK;
}

static struct {
	const char	*name;
	int		(*run)(void);
} allocations[] = {
	{ "no memory for a ring", test_no_ring },
	{ "address space of a ring", test_address_space },
	{ "memory for deferred side-band", test_deferred },
	{ "no memory for deferred side-band", test_defer_no_memory },
};

int main(void)
{
	const struct test_case *test = suite__memory_ring.test_cases;
	size_t i;

	for (; test->name; test++)
		tap_result(test->run_case(&suite__memory_ring, tap_count) == TEST_OK, "%s",
			   test->desc);
	for (i = 0; i < ARRAY_SIZE(allocations); i++)
		tap_result(allocations[i].run() == TEST_OK, "%s", allocations[i].name);
	printf("1..%d\n", tap_count);

	return tap_failed != 0;
}
