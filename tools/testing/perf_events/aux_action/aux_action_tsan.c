// SPDX-License-Identifier: GPL-2.0
/*
 * What ThreadSanitizer can say about kernel/events/aux_action.c. Not much: its
 * contexts share one CPU, here one thread, where nothing is concurrent; and it
 * delays signals to places of its choice. What does happen between CPUs is
 *
 *   - that an event moves from one to another, in order, as scheduling out and in
 *     does it: plain accesses to its state must be enough;
 *   - that the link from a gate to its AUX area event is cleared at any time.
 *
 * Expected: no report. Reports make the exit status 66.
 */
#include <pthread.h>
#include <stdio.h>

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

static struct perf_event event = { .pmu = &pmu, .state = PERF_EVENT_STATE_ACTIVE };
static struct perf_event gates[2] = {
	{ .attr.aux_pause = 1, .aux_event = &event },
	{ .attr.aux_resume = 1, .aux_event = &event },
};

static pthread_mutex_t on_cpu = PTHREAD_MUTEX_INITIALIZER;

static int cpus_running = 2;
static unsigned long cleared;	/* links found cleared, by the owner of on_cpu */

/* Until links were found cleared, or when that won't happen. */
static void *cpu(void *arg)
{
	bool more = true;

	(void)arg;
	for (int i = 0; more; i++) {
		pthread_mutex_lock(&on_cpu);
		perf_aux_action_hold(&event);
		perf_aux_action_release(&event);
		perf_aux_gate(&gates[i % 2]);
		cleared += !READ_ONCE(gates[0].aux_event);
		more = i < ROUNDS || (!cleared && i < MOST_ROUNDS);
		pthread_mutex_unlock(&on_cpu);
	}
	__atomic_sub_fetch(&cpus_running, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *teardown(void *arg)
{
	(void)arg;
	while (READ_ONCE(cpus_running)) {
		WRITE_ONCE(gates[0].aux_event, NULL);
		WRITE_ONCE(gates[0].aux_event, &event);
	}
	return NULL;
}

int main(void)
{
	void *(*const functions[])(void *arg) = { cpu, cpu, teardown };
	pthread_t threads[3];
	unsigned long requests;
	bool ok;

	perf_aux_action_init(&event);
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&threads[i], NULL, functions[i], NULL)) {
			perror("pthread_create");
			return 1;
		}
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);

	requests = event.aux_action.request >> PERF_AUX_REQUEST_SHIFT;
	ok = event.aux_action.request == event.aux_action.done &&
	     requests >= ROUNDS && cleared;
	printf("TAP version 13\n1..1\n");
	printf("%s 1 - event moved between CPUs, link cleared (%lu requests, %lu cleared)\n",
	       ok ? "ok" : "not ok", requests, cleared);
	return !ok;
}
