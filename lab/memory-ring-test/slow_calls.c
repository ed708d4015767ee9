// SPDX-License-Identifier: GPL-2.0
/*
 * The load for triggers of perf record -M: calls of request(), nearly all of them fast,
 * and some slow, on threads that change the CPU in the middle of each call.
 *
 * For each call that took longer than 40 ms prints "TID SINCE UNTIL", in CLOCK_MONOTONIC
 * nanoseconds, right outside of it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS	1000000L
#define PRINTED	(40 * MS)
#define SLOW	(100 * MS)

static const char usage[] =
	"usage: slow_calls CALLS EACH THREADS\n"
	"\n"
	"  CALLS of request() by each of THREADS, of which each EACH-th takes 100 ms, others a\n"
	"  few 10 us. In the middle of a slow call one that never returns is made by a thread\n"
	"  that ends in it.\n";

static int calls, each, cpus;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void pause_for(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

/* To another CPU, if there is one */
static void move(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((sched_getcpu() + 1) % cpus, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int request(long ns, int depth);

static int timed_request(long ns, int depth)
{
	uint64_t since = now(), until;
	int ret = request(ns, depth);

	until = now();
	if (until - since > PRINTED)
		printf("%ld %lu %lu\n", syscall(SYS_gettid), since, until);
	return ret;
}

/* Nested ones are fast. One without a time doesn't return. */
__attribute__((noinline)) int request(long ns, int depth)
{
	int ret = depth;

	if (depth)
		ret += timed_request(10000, depth - 1);
	move();
	if (ns < 0)
		pthread_exit(NULL);
	pause_for(ns);
	__asm__ volatile("" : "+r"(ret));
	return ret;
}

static void *end_inside(void *arg)
{
	request(-1, 0);
	return arg;
}

static void slow_call(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, end_inside, NULL);
	timed_request(SLOW, 2);
	pthread_join(thread, NULL);
}

static void *work(void *arg)
{
	int i;

	for (i = 1; i <= calls; i++) {
		if (i % each)
			timed_request(20000, i % 3);
		else
			slow_call();
		pause_for(MS);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int i, nr;

	if (argc != 4 || (calls = atoi(argv[1])) <= 0 || (each = atoi(argv[2])) <= 0 ||
	    (nr = atoi(argv[3])) <= 0 || nr > 64) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	for (i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return EXIT_SUCCESS;
}
