// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that are nothing but their two system calls, which are gates. Prints how many of
 * them took place per second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#define REQUESTS	20000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);

	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void)
{
	double began = now();

	for (int i = 0; i < REQUESTS; i++) {
		syscall(SYS_getppid);
		syscall(SYS_getpgid, 0);
	}
	printf("%.0f\n", REQUESTS / (now() - began));

	return EXIT_SUCCESS;
}
