// SPDX-License-Identifier: GPL-2.0
/* kernel/events/aux_action.c as the algorithm under test. */
#include "trace.h"

static void kernel_reset(struct perf_event *event, bool paused)
{
	event->attr.aux_start_paused = paused;
	perf_aux_action_init(event);
	watched_variable = &event->aux_action.done;
	watched_stores = 0;
}

static bool kernel_may_touch(const struct perf_event *event)
{
	return event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE;
}

static unsigned long kernel_arrivals(const struct perf_event *event)
{
	return READ_ONCE(event->aux_action.request) >> PERF_AUX_REQUEST_SHIFT;
}

static bool kernel_busy(const struct perf_event *event)
{
	return READ_ONCE(event->aux_action.depth);
}

/*
 * What the event counts, against what was counted outside: requests by the
 * caller, actions executed by watching the stores to ->done.
 */
static const char *kernel_audit(const struct perf_event *event)
{
	const struct perf_aux_action *act = &event->aux_action;

	if (act->depth)
		return "a context is marked busy after all have returned";
	if (act->request != act->done)
		return "a request is left over";
	if (act->driver_state != (s8)(act->request & PERF_AUX_PAUSED))
		return "the driver was given another level";
	if ((act->request & PERF_AUX_PAUSED) != trace.wanted)
		return "the level is not that of the last request";
	if (act->request >> PERF_AUX_REQUEST_SHIFT != trace.requested)
		return "requests are not all counted";
	if (act->executed != watched_stores)
		return "actions executed are not all counted";
	if (act->executed > trace.requested)
		return "more actions executed than requested";
	return NULL;
}

const struct algorithm kernel_algorithm = {
	.name		= "aux_action",
	.reset		= kernel_reset,
	.gate		= perf_aux_gate,
	.hold		= perf_aux_action_hold,
	.release	= perf_aux_action_release,
	.may_touch	= kernel_may_touch,
	.arrivals	= kernel_arrivals,
	.busy		= kernel_busy,
	.audit		= kernel_audit,
};
