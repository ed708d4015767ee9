// SPDX-License-Identifier: GPL-2.0
/*
 * The instructions of a task that are missing in its trace around a snapshot. The task runs a
 * loop, traced by Intel BTS in overwrite mode, while another CPU takes snapshots of the area:
 * a tenth of it is new each time.
 *
 * Prints the mean per snapshot, if the trace is paused and as much is copied as is new, and
 * if the event is disabled and the whole area is copied. The model counts the instructions that
 * it traces; the loop counts those that it executes.
 *
 * usage: snapshot_lost ROUNDS
 */
#define _GNU_SOURCE
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aux_area.h"

#define AREA		(1UL << 20)
#define RECORD		24	/* bytes per branch */
#define NEW_BRANCHES	(AREA / RECORD / 10)

#define IOC_PAUSE_AUX	_IOW('$', 0xf0, unsigned int)

/* Instructions of an iteration, the last of which is its only branch */
#define PER_ITERATION	2

static volatile unsigned long *iterations;
static struct aux_area area;
static char *copy;

static pid_t start_loop(void)
{
	pid_t child = fork();

	if (child < 0)
		err(125, "fork");
	if (child)
		return child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_on(1);
	raise(SIGSTOP);
	for (;;)
		asm volatile("1: incq %0; jmp 1b" : "+m" (*iterations));
}

static void stop_loop(pid_t child, int sig)
{
	int status;

	if (sig)
		kill(child, sig);
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		errx(125, "the loop doesn't stop");
}

static void snapshot_paused(void)
{
	aux_area_request(&area, IOC_PAUSE_AUX, 1);
	memcpy(copy, area.bytes, AREA / 10);
	aux_area_request(&area, IOC_PAUSE_AUX, 0);
}

static void snapshot_disabled(void)
{
	aux_area_request(&area, PERF_EVENT_IOC_DISABLE, 0);
	memcpy(copy, area.bytes, AREA);
	aux_area_request(&area, PERF_EVENT_IOC_ENABLE, 0);
}

static unsigned long lost(pid_t child, void (*snapshot)(void), int rounds)
{
	unsigned long steps = model_stat("user_steps"), begin = *iterations, executed;
	int i;

	aux_area_request(&area, PERF_EVENT_IOC_ENABLE, 0);
	kill(child, SIGCONT);
	for (i = 0; i < rounds; i++) {
		unsigned long from = *iterations;

		while (*iterations - from < NEW_BRANCHES)
			;
		snapshot();
	}
	stop_loop(child, SIGSTOP);
	aux_area_request(&area, PERF_EVENT_IOC_DISABLE, 0);
	executed = (*iterations - begin) * PER_ITERATION;

	return (executed - (model_stat("user_steps") - steps)) / rounds;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	unsigned long paused, disabled;
	pid_t child;

	if (rounds <= 0)
		errx(125, "usage: snapshot_lost ROUNDS");

	iterations = mmap(NULL, sizeof(*iterations), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (iterations == MAP_FAILED)
		err(125, "mmap");
	run_on(0);
	child = start_loop();
	stop_loop(child, 0);
	aux_area_open(&area, "intel_bts", 0, child, AREA, true);
	copy = malloc(AREA);
	if (!copy)
		err(125, "malloc");
	memset(copy, 1, AREA);

	paused = lost(child, snapshot_paused, rounds);
	disabled = lost(child, snapshot_disabled, rounds);
	printf("%lu\t%lu\n", paused, disabled);
	kill(child, SIGKILL);

	return EXIT_SUCCESS;
}
