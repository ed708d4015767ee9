// SPDX-License-Identifier: GPL-2.0
/*
 * The load for a latency trigger of perf record -M: RATE calls of getppid() a second, each
 * an entry and an exit, for SECONDS. Prints how many there were a second.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS	1000000

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t begin = now(), time, done = 0;
	int rate, seconds;

	if (argc != 3 || (rate = atoi(argv[1])) <= 0 || (seconds = atoi(argv[2])) <= 0) {
		fputs("usage: pairs RATE SECONDS\n", stderr);
		return EXIT_FAILURE;
	}
	while ((time = now() - begin) < seconds * 1000ULL * MS) {
		uint64_t due = time / 1000 * rate / MS;

		for (; done < due; done++)
			syscall(SYS_getppid);
		usleep(1000);
	}
	printf("%lu\n", (unsigned long)(done / seconds));
	return EXIT_SUCCESS;
}
