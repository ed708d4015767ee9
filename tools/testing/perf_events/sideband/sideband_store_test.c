// SPDX-License-Identifier: GPL-2.0
/*
 * perf's sideband-store.c, unchanged, with random histories of a system: each sample of a
 * dump must resolve to the state at its time. Also with records of arbitrary content, and
 * with allocations that fail.
 *
 *	sideband_store_test [HISTORIES [SEED]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "sideband_history.h"
#include "../tap.h"

int tap_count, tap_failed;

static void test_histories(unsigned int nr, u64 seed)
{
	struct history_count count = { 0 };
	unsigned long bad = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct choices choices = { .random = (seed + i) * 0x9e3779b97f4a7c15ULL | 1, };

		history__run(&choices, 2000, &count, !bad);
		if (!bad && count.wrong + count.leaks) {
			printf("# history %" PRIu64 " is the first one that failed\n", seed + i);
			bad = count.wrong + count.leaks;
		}
	}
	tap_result(!count.wrong, "each of %lu samples in %lu dumps resolves, %lu wrong",
		   count.samples, count.dumps, count.wrong);
	tap_result(!count.leaks, "the store holds what lives, %lu times not", count.leaks);
	tap_result(count.samples > 100 * nr && count.superseded > 100 * nr &&
		   count.inherited > nr / 10 && count.reused > 10 * nr && count.gone > nr,
		   "it was worth while: %lu added, %lu superseded, %lu inherited, %lu ids reused, %lu gone",
		   count.added, count.superseded, count.inherited, count.reused, count.gone);
}

static void test_garbage(unsigned int nr, u64 seed)
{
	struct history_count count = { 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct choices choices = { .random = (seed + i) * 0x9e3779b97f4a7c15ULL | 1, };

		garbage__run(&choices, 1000, &count);
	}
	tap_result(!count.leaks && count.superseded,
		   "garbage and no memory: %lu added, %lu superseded, %lu miscounted",
		   count.added, count.superseded, count.leaks);
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? atoi(argv[1]) : 300;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	test_histories(nr, seed);
	test_garbage(nr, seed);
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
