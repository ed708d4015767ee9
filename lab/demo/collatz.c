// SPDX-License-Identifier: GPL-2.0
/*
 * The demo's program: prepares, works, prints, and repeats. Only the work should be
 * traced.
 */
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS	4
#ifndef NUMBERS
#define NUMBERS	20000
#endif

static volatile unsigned long start;

__attribute__((noinline)) static void prepare(unsigned int round)
{
	start = 1 + round * NUMBERS;
}

__attribute__((noinline)) unsigned long longest_chain(unsigned long from, unsigned long to)
{
	unsigned long best = 0, best_length = 0;

	for (unsigned long n = from; n < to; n++) {
		unsigned long length = 1;

		for (unsigned long x = n; x != 1; length++)
			x = x & 1 ? 3 * x + 1 : x / 2;
		if (length > best_length) {
			best_length = length;
			best = n;
		}
	}

	return best;
}

int main(void)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		prepare(round);
		printf("longest chain from %lu on: %lu\n", start,
		       longest_chain(start, start + NUMBERS));
	}

	return EXIT_SUCCESS;
}
