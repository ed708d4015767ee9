// SPDX-License-Identifier: GPL-2.0
/* Prints the CPU time of a process, in ns, with all its threads, ended ones included. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec time;
	clockid_t clock;

	if (argc != 2) {
		fputs("usage: cpu_time PID\n", stderr);
		return EXIT_FAILURE;
	}
	if (clock_getcpuclockid(atoi(argv[1]), &clock) || clock_gettime(clock, &time)) {
		fprintf(stderr, "cpu_time: no process %s\n", argv[1]);
		return EXIT_FAILURE;
	}
	printf("%lld\n", time.tv_sec * 1000000000LL + time.tv_nsec);
	return EXIT_SUCCESS;
}
