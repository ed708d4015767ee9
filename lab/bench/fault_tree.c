// SPDX-License-Identifier: GPL-2.0
/*
 * The load for perf record --one-buffer at a rate: a process tree in which each CPU has RATE
 * page faults per second, for SECONDS. They come when the program wants them, while the
 * timers of an emulated machine fall behind the rate of a profiler.
 *
 * It begins when it has read a line. When the processes have ended it prints how many minor
 * faults the tree had, and in how many microseconds. It ends at the end of its input.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND	1000000000ULL
/* In a second. One fault at a time would need as many timers as a profiler. */
#define BURSTS	250

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void sleep_until(uint64_t end)
{
	struct timespec time = { .tv_sec = end / SECOND, .tv_nsec = end % SECOND };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

/* A process that is late goes on without a sleep, so no fault is left out. */
static void have_faults(int rate, uint64_t begin)
{
	size_t page = sysconf(_SC_PAGESIZE), size = rate / BURSTS * page, at;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int burst;

	if (memory == MAP_FAILED)
		fail("mmap");
	for (burst = 0; burst < BURSTS; burst++) {
		sleep_until(begin + burst * (SECOND / BURSTS));
		for (at = 0; at < size; at += page)
			*(volatile char *)(memory + at) = 1;
		madvise(memory, size, MADV_DONTNEED);
	}
}

static void wait_for_child(void)
{
	int status;

	if (wait(&status) < 0 || status)
		fail("a process of the tree");
}

/* On one CPU, with a new process each second */
static void work(int cpu, int rate, int seconds, uint64_t begin)
{
	cpu_set_t set;
	int second;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
	for (second = 0; second < seconds; second++) {
		if (!fork()) {
			have_faults(rate, begin + second * SECOND);
			_exit(EXIT_SUCCESS);
		}
		wait_for_child();
	}
}

static long minor_faults(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return self.ru_minflt + children.ru_minflt;
}

int main(int argc, char **argv)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), rate, seconds, cpu;
	uint64_t begin;
	long faults;

	if (argc != 3 || (rate = atoi(argv[1])) < BURSTS || rate % BURSTS ||
	    (seconds = atoi(argv[2])) <= 0) {
		fputs("usage: fault_tree RATE SECONDS, RATE a multiple of 250\n", stderr);
		return EXIT_FAILURE;
	}
	getchar();
	/* perf's file may have a few more: those before and after. */
	faults = minor_faults();
	begin = now();
	for (cpu = 0; cpu < cpus; cpu++) {
		if (!fork()) {
			work(cpu, rate, seconds, begin);
			_exit(EXIT_SUCCESS);
		}
	}
	for (cpu = 0; cpu < cpus; cpu++)
		wait_for_child();
	printf("%ld %llu\n", minor_faults() - faults, (unsigned long long)(now() - begin) / 1000);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return EXIT_SUCCESS;
}
