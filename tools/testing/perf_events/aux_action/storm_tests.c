// SPDX-License-Identifier: GPL-2.0
/*
 * Signals as NMIs, at random instructions: three timers send them, and they nest. A
 * signal blocks itself and those below it, so contexts nest the way those of a CPU
 * do. A handler does as many operations as take a part of the timers' periods, so
 * that it is often interrupted itself.
 *
 * The storm goes on until there were enough requests, and enough of what it is
 * for: requests left to an interrupted context, sections in sections, second
 * passes, three levels. When that takes too long, the test fails and says so.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <linux/kernel.h>

#include "aux_action_test.h"
#include "../tap.h"
#include "trace.h"

#define LEVELS		3
#define SECONDS		60
#define ENOUGH_REQUESTS	2000000UL
#define ENOUGH_NESTED	1000UL

static const int signals[LEVELS] = { SIGUSR1, SIGUSR2, SIGURG };

/* No common divisor, so that the signals meet in all ways. In microseconds. */
static const int periods[LEVELS] = { 53, 71, 97 };
#define HANDLER_TIME	12

static int operations_per_handler;

/* Not while the test does its bookkeeping: such a signal counts for nothing. */
static int deaf;

/* One generator per level: a level does not interrupt itself. */
static unsigned long seeds[LEVELS + 1];

static unsigned long draw(int level)
{
	unsigned long x = seeds[level];

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return seeds[level] = x;
}

static void be_deaf(int change)
{
	barrier();
	WRITE_ONCE(deaf, READ_ONCE(deaf) + change);
	barrier();
}

static void run(enum operation op)
{
	struct in_flight self;

	be_deaf(1);
	trace_begin(&self, op);
	be_deaf(-1);

	trace_call(op);

	be_deaf(1);
	trace_end(&self);
	be_deaf(-1);
}

static void on_signal(int signal)
{
	static const enum operation ops[] = {
		GATE_PAUSE, GATE_RESUME, GATE_PAUSE, GATE_RESUME, DRIVER_HANDLER,
		GATE_PAUSE, GATE_RESUME, DRIVER_HANDLER_FULL,
		GATE_PAUSE, GATE_RESUME, DRIVER_HANDLER_IDLE,
		WAKE_PAUSE, WAKE_RESUME,
	};
	/* The last two are for a level that belongs to the task. */
	int count = ARRAY_SIZE(ops) - (trace.algorithm->moves ? 0 : 2);
	int level = signal == SIGUSR1 ? 1 : signal == SIGUSR2 ? 2 : 3;

	if (READ_ONCE(deaf))
		return;

	for (int i = 0; i < operations_per_handler; i++)
		run(ops[draw(level) % count]);
}

static void task_operation(void)
{
	unsigned long number = draw(0);

	if (here()->stopped && number % 2)
		run(DRIVER_START);
	else if (number % 16 == 4 && trace.algorithm->moves)
		run(MIGRATE);
	else if (number % 16 == 0)
		run(DRIVER_STOP);
	else if (number % 16 == 2)
		run(DRIVER_HANDLER);
	else
		run(number & 32 ? GATE_PAUSE : GATE_RESUME);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Builds differ in speed by a factor of ten. */
static void measure_operations(void)
{
	const int count = 100000;
	double start = now();

	for (int i = 0; i < count; i++)
		task_operation();
	operations_per_handler = 1 + HANDLER_TIME * count / ((now() - start) * 1e6);
}

static void set_handlers(void (*handler)(int signal))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	for (int i = 0; i < LEVELS; i++) {
		sigaddset(&action.sa_mask, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
}

static void start_storm(timer_t *timers)
{
	for (int i = 0; i <= LEVELS; i++)
		seeds[i] = 88172645463325252UL + i;
	measure_operations();
	set_handlers(on_signal);

	for (int i = 0; i < LEVELS; i++) {
		struct sigevent event = {
			.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signals[i],
		};
		struct timespec period = { .tv_nsec = periods[i] * 1000 };
		struct itimerspec time = { period, period };

		if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]) ||
		    timer_settime(timers[i], 0, &time, NULL)) {
			perror("timer");
			exit(1);
		}
	}
}

static void end_storm(timer_t *timers)
{
	for (int i = 0; i < LEVELS; i++)
		timer_delete(timers[i]);
	set_handlers(SIG_IGN);
}

static bool enough(void)
{
	return trace.requested >= ENOUGH_REQUESTS && trace.deferred >= ENOUGH_NESTED &&
	       trace.nested_sections >= ENOUGH_NESTED &&
	       trace.more_passes >= ENOUGH_NESTED && trace.wakes >= ENOUGH_NESTED &&
	       trace.moves >= ENOUGH_NESTED && trace.max_depth == LEVELS + 1;
}

static void storm(const struct algorithm *algorithm, bool (*done)(void))
{
	double end = now() + SECONDS;
	timer_t timers[LEVELS];

	trace_reset(algorithm, false, false);
	start_storm(timers);
	do {
		for (int i = 0; i < 1000; i++)
			task_operation();
	} while (!done() && now() < end);
	end_storm(timers);
}

static bool lost_some(void)
{
	return trace.failures;
}

void storm_tests(void)
{
	storm(&kernel_algorithm, enough);
	printf("# %lu requests, %lu left to the interrupted context, %lu nested sections,\n",
	       trace.requested, trace.deferred, trace.nested_sections);
	printf("# %lu wakeups, %lu moves to another CPU,\n", trace.wakes, trace.moves);
	printf("# %lu second passes, %d contexts deep, %lu checks of the idle state\n",
	       trace.more_passes, trace.max_depth, trace.checks);
	tap_result(!trace.failures, "random NMIs: no gate lost, counts exact%s%s",
		   trace.failure ? ": " : "", trace.failure ?: "");
	tap_result(enough(), "random NMIs: enough of them nested");

	storm(&mainline_algorithm, lost_some);
	tap_result(trace.failures,
		   "mainline's algorithm loses gates to random NMIs (%lu requests: %s)",
		   trace.requested, trace.failure ?: "none lost");
}
