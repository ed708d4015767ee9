// SPDX-License-Identifier: GPL-2.0
/* kernel/events/aux_action.c as the algorithm under test. */
#include "trace.h"

/* All events have the level of the first. */
static void kernel_reset(struct perf_event *event, bool paused)
{
	struct perf_event *first = &trace.cpus[0].event;

	event->attr.aux_start_paused = paused;
	perf_aux_action_init(event);
	if (event != first)
		perf_aux_level_adopt(event, first->aux_action.level);
	watched_variable = &first->aux_action.level->done;
	watched_stores = 0;
}

static bool kernel_may_touch(const struct perf_event *event)
{
	return event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE;
}

static unsigned long kernel_arrivals(const struct perf_event *event)
{
	return READ_ONCE(event->aux_action.level->request) >> PERF_AUX_REQUEST_SHIFT;
}

static bool kernel_busy(const struct perf_event *event)
{
	return READ_ONCE(event->aux_action.depth);
}

/*
 * What the level counts, against what was counted outside: requests by the
 * caller, actions executed by watching the stores to ->done.
 */
static const char *audit_level(const struct perf_aux_level *level)
{
	if ((level->request & PERF_AUX_PAUSED) != trace.wanted)
		return "the level is not that of the last request";
	if (level->request >> PERF_AUX_REQUEST_SHIFT != trace.requested)
		return "requests are not all counted";
	if (level->executed != watched_stores)
		return "actions executed are not all counted";
	if (level->executed > trace.requested)
		return "more actions executed than requested";
	return NULL;
}

/* Requests wait for an event that is off the hardware, and those of wakers always. */
static const char *kernel_audit(const struct perf_event *event)
{
	const struct perf_aux_action *act = &event->aux_action;
	const struct perf_aux_level *level = act->level;

	if (act->depth)
		return "a context is marked busy after all have returned";
	if (event->state == PERF_EVENT_STATE_ACTIVE && !trace.left_over &&
	    level->request != level->done)
		return "a request is left over";
	if (level->driver_state != (s8)(level->done & PERF_AUX_PAUSED))
		return "the driver was given another level";
	if (here()->engine != (!level->driver_state && !here()->stopped))
		return "the engine is not as the driver was told";
	return audit_level(level);
}

const struct algorithm kernel_algorithm = {
	.name		= "aux_action",
	.moves		= true,
	.reset		= kernel_reset,
	.gate		= perf_aux_gate,
	.hold		= perf_aux_action_hold,
	.release	= perf_aux_action_release,
	.may_touch	= kernel_may_touch,
	.arrivals	= kernel_arrivals,
	.busy		= kernel_busy,
	.audit		= kernel_audit,
};
