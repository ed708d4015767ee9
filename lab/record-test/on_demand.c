// SPDX-License-Identifier: GPL-2.0
/*
 * Calls a function for each byte that it reads from a FIFO. When the function has
 * returned, it answers with a byte on another FIFO. Exits at the end of the first FIFO,
 * or when it reads 'q'. With a third argument it calls the function again and again,
 * until that has taken so many microseconds of CPU time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long calls;

__attribute__((noinline)) void on_demand(void)
{
	for (int i = 0; i < 100; i++)
		calls += i & 1;
}

static long cpu_time_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void call_for(long us)
{
	long begin = us ? cpu_time_us() : 0;

	do
		on_demand();
	while (us && cpu_time_us() - begin < us);
}

int main(int argc, char **argv)
{
	int in = argc >= 3 ? open(argv[1], O_RDONLY) : -1;
	int out = argc >= 3 ? open(argv[2], O_WRONLY) : -1;
	long us = argc > 3 ? atol(argv[3]) : 0;
	char c;

	if (in < 0 || out < 0) {
		fprintf(stderr, "usage: %s FIFO FIFO [MICROSECONDS]\n", argv[0]);
		return EXIT_FAILURE;
	}

	while (read(in, &c, 1) == 1 && c != 'q') {
		call_for(us);
		if (write(out, &c, 1) != 1)
			return EXIT_FAILURE;
	}

	return EXIT_SUCCESS;
}
