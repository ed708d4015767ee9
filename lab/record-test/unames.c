// SPDX-License-Identifier: GPL-2.0
/*
 * A process tree that calls uname(2) an exact number of times, on all CPUs at once.
 *
 * usage: unames [-t] [-w] PROCESSES EACH
 *
 * -t: threads instead of processes. -w: first start all, then wait for a line on standard
 * input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static int each;
static pthread_barrier_t *begin;

static void pin(int n)
{
	cpu_set_t all, one;
	int cpu;

	sched_getaffinity(0, sizeof(all), &all);
	n %= CPU_COUNT(&all);
	for (cpu = 0; n || !CPU_ISSET(cpu, &all); cpu++)
		n -= CPU_ISSET(cpu, &all);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *work(void *arg)
{
	struct utsname name;
	char comm[16];
	long n = (long)arg;

	pin(n);
	snprintf(comm, sizeof(comm), "unames-%ld", n);
	prctl(PR_SET_NAME, comm);
	pthread_barrier_wait(begin);
	for (int i = 0; i < each; i++)
		uname(&name);
	return NULL;
}

static void begin_one(int threads, long n)
{
	pthread_t thread;

	if (threads) {
		if (pthread_create(&thread, NULL, work, (void *)n))
			exit(EXIT_FAILURE);
	} else if (!fork()) {
		work((void *)n);
		_exit(0);
	}
}

static pthread_barrier_t *shared_barrier(int count)
{
	pthread_barrier_t *barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	if (barrier == MAP_FAILED)
		exit(EXIT_FAILURE);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &attr, count);
	return barrier;
}

int main(int argc, char **argv)
{
	int opt, threads = 0, wait_first = 0, nr;

	while ((opt = getopt(argc, argv, "tw")) != -1) {
		threads |= opt == 't';
		wait_first |= opt == 'w';
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: %s [-t] [-w] PROCESSES EACH\n", argv[0]);
		return EXIT_FAILURE;
	}
	nr = atoi(argv[optind]);
	each = atoi(argv[optind + 1]);

	begin = shared_barrier(nr + 1);
	for (long n = 0; n < nr; n++)
		begin_one(threads, n);
	if (wait_first)
		getchar();
	pthread_barrier_wait(begin);
	if (threads)
		pthread_exit(NULL);
	while (wait(NULL) > 0)
		;
	return EXIT_SUCCESS;
}
