// SPDX-License-Identifier: GPL-2.0
/* Keeps a CPU busy for so many rounds, in functions of its own, one of which is inlined. */
#include <stdlib.h>

#define FUNCTION	__attribute__((noipa)) void

static volatile long sum;

static __attribute__((always_inline)) inline void inlined(int rounds)
{
	while (rounds--)
		sum += rounds;
}

FUNCTION leaf(int rounds)
{
	inlined(rounds);
	sum++;
}

FUNCTION often(void)
{
	leaf(3000);
	sum++;
}

FUNCTION seldom(void)
{
	leaf(1000);
	sum++;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;

	while (rounds--) {
		often();
		seldom();
	}
	return 0;
}
