// SPDX-License-Identifier: GPL-2.0
/*
 * Spends SECONDS of CPU time in one function, whose name is HOT. Two such programs under
 * the same path, in two mount namespaces, differ in that name only.
 *
 * usage: PROGRAM SECONDS
 */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static unsigned int HOT(unsigned int x)
{
	unsigned int i;

	for (i = 0; i < 1000000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	volatile unsigned int x = 0;

	while (clock() < seconds * CLOCKS_PER_SEC)
		x = HOT(x);
	return EXIT_SUCCESS;
}
