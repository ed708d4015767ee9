// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs to write a record into perf's buffers, into those of the base, and
 * into what others have. A line for each pair: what, ring, reference, value of the
 * ring, of the reference, ratio, unit, how measured; separated by tabs.
 *
 * Times on a machine that does other things as well are noise: the rings take turns,
 * a ratio is the median of the ratios of all rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

const struct ring *const rings[RINGS_MAX + 1] = {
	&shared_ring, &private_ring, &stock_ring, &owner_ring, &bbq_ring,
#ifdef HAVE_DPDK
	&rts_ring,
#endif
#ifdef HAVE_URCU
	&wfcq_ring,
#endif
#ifdef HAVE_LTTNG
	&lttng_ring,
#endif
};

void *ring_alloc(size_t bytes)
{
	void *p = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) & -CACHE_LINE);

	if (!p)
		abort();
	return memset(p, 0, bytes);
}

uint64_t nanoseconds(int clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void record_fill(void *record, unsigned int size)
{
	struct record_header header = { .type = 9 /* PERF_RECORD_SAMPLE */, .size = size };

	memset(record, 0x5a, size);
	memcpy(record, &header, sizeof(header));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(const double *values, unsigned int n)
{
	double sorted[MANY_ROUNDS];

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	return sorted[n / 2];
}

struct figures compare(double *series, double *reference, unsigned int rounds)
{
	double ratios[MANY_ROUNDS];

	for (unsigned int i = 0; i < rounds; i++)
		ratios[i] = series[i] / reference[i];
	return (struct figures) {
		.series		= median(series, rounds),
		.reference	= median(reference, rounds),
		.ratio		= median(ratios, rounds),
	};
}

void row(const char *what, const struct ring *series, const struct ring *reference,
	 const struct figures *figures, const char *unit, const char *how)
{
	printf("%s\t%s\t%s\t%.4g\t%.4g\t%.3f\t%s\t%s\n", what, series->name,
	       reference->name, figures->series, figures->reference, figures->ratio,
	       unit, how);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "all";
	unsigned int rounds = argc > 2 ? atoi(argv[2]) : WRITER_ROUNDS;

	if (rounds < 1 || rounds > WRITER_ROUNDS) {
		fprintf(stderr, "usage: output_bench [one|many|burst|all] [ROUNDS, up to %u]\n",
			WRITER_ROUNDS);
		return 1;
	}
	cpus_init();
	if (!strcmp(which, "one") || !strcmp(which, "all"))
		bench_one_writer();
	if (!strcmp(which, "many") || !strcmp(which, "all"))
		bench_many_writers(rounds);
	if (!strcmp(which, "burst") || !strcmp(which, "all"))
		bench_burst();
	return 0;
}
