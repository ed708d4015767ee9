// SPDX-License-Identifier: GPL-2.0
/*
 * Moves to the other CPU between two system calls, a number of times: a resume gate
 * on one and a pause gate on the other are on different CPUs.
 *
 * usage: wander TIMES
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void move_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		perror("sched_setaffinity");
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < times; i++) {
		move_to(i % 2);
		sched_get_priority_max(SCHED_OTHER);
		move_to(1 - i % 2);
		sched_get_priority_min(SCHED_OTHER);
	}
	return EXIT_SUCCESS;
}
