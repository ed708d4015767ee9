// SPDX-License-Identifier: GPL-2.0
/*
 * A service of packaging/test-fleet: handles requests, and writes how long the last one took
 * to DIRECTORY/metrics. While there is DIRECTORY/slow, it rebuilds an index for each of them.
 *
 * usage: fleet-service DIRECTORY
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOOKUP_NS	1000000
#define REBUILD_NS	300000000

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void __attribute__((noinline)) work(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		;
}

static void __attribute__((noinline)) look_up(void)
{
	volatile unsigned long key;

	for (key = 0; key < 100000; key++)
		;
	work(LOOKUP_NS / 1e9);
}

/* Its own instructions take the time, not those of a function that it calls. */
static void __attribute__((noinline)) rebuild_index(void)
{
	double end = now() + REBUILD_NS / 1e9;
	volatile unsigned long entry;

	do {
		for (entry = 0; entry < 1000000; entry++)
			;
	} while (now() < end);
}

/* A reader sees the old file or the new one. */
static int write_metrics(double seconds)
{
	FILE *file = fopen("metrics.new", "w");

	if (!file)
		return -1;
	fprintf(file, "# TYPE request_seconds gauge\nrequest_seconds %.6f\n", seconds);
	return fclose(file) || rename("metrics.new", "metrics");
}

int main(int argc, char **argv)
{
	double start;

	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: fleet-service DIRECTORY\n");
		return 1;
	}
	for (;;) {
		start = now();
		look_up();
		if (!access("slow", F_OK))
			rebuild_index();
		if (write_metrics(now() - start)) {
			perror("metrics");
			return 1;
		}
		usleep(100000);
	}
}
