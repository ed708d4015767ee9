// SPDX-License-Identifier: GPL-2.0
/*
 * lines [CPUS]: the cache lines that a record costs on up to CPUS CPUs, as comma-separated
 * values.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>

#include "world.h"

#define CPUS		1024
#define CPUS_NO_PAUSE	128	/* with more it takes too long until counts settle */
#define PAUSE		625	/* cycles per byte: 4.8 MB per second of a CPU with 3 GHz */

static const struct scheme schemes[] = {
	{ "Private",			false, false, PAUSE },
	{ "No leases",			true, false, PAUSE },
	{ "Leases",			true, true, PAUSE },
	{ "No leases without pause",	true, false, 0 },
	{ "Leases without pause",	true, true, 0 },
};

#define SCHEMES		ARRAY_SIZE(schemes)

static void print_head(void)
{
	printf("CPUs,Bytes");
	for (unsigned int i = 0; i < SCHEMES; i++)
		printf(",%s", schemes[i].name);
	printf("\n");
}

static void print_count(const struct scheme *scheme, unsigned int cpus, unsigned int size)
{
	double count;

	printf(",");
	if (!scheme->pause && cpus > CPUS_NO_PAUSE)
		return;
	count = world_count(scheme, cpus, size);
	printf(count < 100 ? "%.2g" : "%.0f", count);
}

static void print_row(unsigned int cpus, unsigned int size)
{
	printf("%u,%u", cpus, size);
	for (unsigned int i = 0; i < SCHEMES; i++)
		print_count(&schemes[i], cpus, size);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 48, 512 };
	int most = argc > 1 ? atoi(argv[1]) : CPUS;

	if (most < 2 || most > CPUS)
		return 2;
	print_head();
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (unsigned int cpus = 2; cpus <= most; cpus *= 2)
			print_row(cpus, sizes[i]);
	}
	return 0;
}
