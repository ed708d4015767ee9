// SPDX-License-Identifier: GPL-2.0
/*
 * sideband_store_test's histories and garbage, with libFuzzer's inputs:
 *
 *	sideband_store_fuzz			until something is found
 *	sideband_store_fuzz -runs=N -seed=1	N inputs
 */
#include <stdio.h>
#include <stdlib.h>
#include "sideband_history.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct choices choices = { .data = data, .size = size, .random = size | 1, };
	struct history_count count = { 0 };

	if (choose(&choices, 2))
		history__run(&choices, size / 4, &count, false);
	else
		garbage__run(&choices, size / 64, &count);
	if (count.wrong || count.leaks) {
		printf("%lu wrong, %lu leaks\n", count.wrong, count.leaks);
		abort();
	}
	return 0;
}
