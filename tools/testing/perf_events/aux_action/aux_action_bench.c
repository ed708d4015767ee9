// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions for one pause and one resume with a driver that does nothing:
 * kernel/events/aux_action.c, and mainline's algorithm. Counted one by one under
 * the single-step trap, so the figures are exact and the same in every run.
 *
 * Fails when ours takes more than 1.1 times mainline's.
 */
#include <stdio.h>

#include "mainline_action.h"
#include "../single_step.h"

__thread int this_cpu;

static void idle_start(struct perf_event *event, int flags)
{
	(void)event;
	(void)flags;
}

static struct pmu pmu = {
	.capabilities	= PERF_PMU_CAP_AUX_PAUSE,
	.has_aux	= true,
	.start		= idle_start,
	.stop		= idle_start,
};

static struct perf_event event = { .pmu = &pmu, .state = PERF_EVENT_STATE_ACTIVE };
static struct perf_event pause_gate = {
	.attr.aux_pause = 1, .aux_event = &event,
};

static struct perf_event resume_gate = {
	.attr.aux_resume = 1, .aux_event = &event,
};

static void kernel_pair(void *arg)
{
	(void)arg;
	perf_aux_gate(&pause_gate);
	perf_aux_gate(&resume_gate);
}

static void mainline_pair(void *arg)
{
	(void)arg;
	mainline_gate(&pause_gate);
	mainline_gate(&resume_gate);
}

int main(void)
{
	const char *unsupported = single_step_unsupported();
	unsigned long ours, mainline;

	if (unsupported) {
		printf("1..0 # SKIP %s\n", unsupported);
		return 0;
	}

	single_step_init();
	perf_aux_action_init(&event);
	mainline_reset(&event, false);
	ours = single_step_count(kernel_pair, NULL);
	mainline = single_step_count(mainline_pair, NULL);

	printf("TAP version 13\n1..1\n");
	printf("# instructions per pause/resume pair: %lu, mainline's algorithm %lu\n",
	       ours, mainline);
	printf("%s 1 - %.2f times mainline's instructions (at most 1.10)\n",
	       ours * 10 <= mainline * 11 ? "ok" : "not ok",
	       (double)ours / mainline);
	return ours * 10 > mainline * 11;
}
