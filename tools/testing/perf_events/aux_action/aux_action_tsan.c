// SPDX-License-Identifier: GPL-2.0
/*
 * What ThreadSanitizer can say about kernel/events/aux_action.c. Not much: its
 * contexts share one CPU, here one thread, where nothing is concurrent; and it
 * delays signals to places of its choice. What does happen between CPUs is
 *
 *   - that a task moves from one to another, in order, as scheduling out and in
 *     does it: plain accesses to the level that its events share must be enough;
 *   - that the task is woken meanwhile, by a CPU on which it doesn't run;
 *   - that the link from a gate to its AUX area event is cleared at any time.
 *
 * Expected: no report. Reports make the exit status 66.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/perf_event.h>

#define ROUNDS		100000
#define MOST_ROUNDS	(1000 * ROUNDS)

static void touch(struct perf_event *event, int flags)
{
	(void)event;
	(void)flags;
}

static struct pmu pmu = {
	.capabilities	= PERF_PMU_CAP_AUX_PAUSE,
	.has_aux	= true,
	.start		= touch,
	.stop		= touch,
};

enum { WAKER = 2, CPUS };

struct cpu {
	struct perf_event event;
	struct perf_event gates[2];
};

static struct cpu cpus[CPUS];

/* A gate whose link comes and goes, on an event that is never on the hardware. */
static struct perf_event torn_event = { .pmu = &pmu };
static struct perf_event torn_gate = { .attr.aux_pause = 1 };

/* What the scheduler orders: the task is on one CPU. */
static pthread_mutex_t task = PTHREAD_MUTEX_INITIALIZER;
static int runs_on;
static unsigned long moves, requests, cleared;

__thread int this_cpu;

static int cpus_running = WAKER;
static unsigned long wakes;

static void init_cpu(int number)
{
	struct cpu *cpu = &cpus[number];

	cpu->event = (struct perf_event) { .pmu = &pmu, .oncpu = number };
	cpu->gates[0] = (struct perf_event) {
		.attr.aux_pause = 1, .aux_event = &cpu->event,
	};
	cpu->gates[1] = (struct perf_event) {
		.attr.aux_resume = 1, .aux_event = &cpu->event,
	};
	perf_aux_action_init(&cpu->event);
	if (number)
		perf_aux_level_adopt(&cpu->event, cpus[0].event.aux_action.level);
}

static void section(struct perf_event *event)
{
	perf_aux_action_hold(event);
	perf_aux_action_release(event);
}

/* The task comes to this CPU, if it was on the other one. */
static void put_on(struct perf_event *event)
{
	WRITE_ONCE(event->state, PERF_EVENT_STATE_ACTIVE);
	section(event);
	moves += runs_on != this_cpu;
	runs_on = this_cpu;
}

static void take_off(struct perf_event *event)
{
	section(event);
	WRITE_ONCE(event->state, PERF_EVENT_STATE_INACTIVE);
}

static bool more(unsigned long round)
{
	return round < ROUNDS || ((!cleared || moves < 100) && round < MOST_ROUNDS);
}

/* Until the task has moved and links were found cleared, or when that won't happen. */
static void *cpu(void *arg)
{
	struct cpu *cpu = arg;

	this_cpu = cpu - cpus;
	for (unsigned long round = 0, go_on = 1; go_on; round++) {
		pthread_mutex_lock(&task);
		put_on(&cpu->event);
		perf_aux_gate(&cpu->gates[round % 2]);
		requests++;
		perf_aux_gate(&torn_gate);
		cleared += !READ_ONCE(torn_gate.aux_event);
		take_off(&cpu->event);
		go_on = more(round);
		pthread_mutex_unlock(&task);
	}
	__atomic_sub_fetch(&cpus_running, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *waker(void *arg)
{
	struct cpu *cpu = arg;

	this_cpu = WAKER;
	while (READ_ONCE(cpus_running))
		perf_aux_gate(&cpu->gates[wakes++ % 2]);
	return NULL;
}

static void *teardown(void *arg)
{
	(void)arg;
	while (READ_ONCE(cpus_running)) {
		WRITE_ONCE(torn_gate.aux_event, NULL);
		WRITE_ONCE(torn_gate.aux_event, &torn_event);
	}
	return NULL;
}

static void start(pthread_t *thread, void *(*function)(void *arg), void *arg)
{
	if (pthread_create(thread, NULL, function, arg)) {
		perror("pthread_create");
		exit(1);
	}
}

static void run(void)
{
	pthread_t threads[4];

	start(&threads[0], cpu, &cpus[0]);
	start(&threads[1], cpu, &cpus[1]);
	start(&threads[2], waker, &cpus[WAKER]);
	start(&threads[3], teardown, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* With the task on a CPU once more, which executes what the waker left behind. */
static bool all_counted(const struct perf_aux_level *level)
{
	unsigned long requested = level->request >> PERF_AUX_REQUEST_SHIFT;

	return requested == requests + wakes && level->done == level->request &&
	       level->executed <= requested;
}

int main(void)
{
	bool ok;

	perf_aux_action_init(&torn_event);
	for (int i = 0; i < CPUS; i++)
		init_cpu(i);
	run();
	this_cpu = 0;
	put_on(&cpus[0].event);

	ok = all_counted(cpus[0].event.aux_action.level) && moves && cleared;
	printf("TAP version 13\n1..1\n");
	printf("%s 1 - task moved and woken, link cleared (%lu requests, %lu wakeups, %lu moves, %lu cleared)\n",
	       ok ? "ok" : "not ok", requests, wakes, moves, cleared);
	return !ok;
}
