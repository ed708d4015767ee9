// SPDX-License-Identifier: GPL-2.0
/* The interface without interrupts: what is refused, and single actions. */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "aux_action_test.h"
#include "../tap.h"
#include "trace.h"

static int init_result(struct perf_event_attr attr, int capabilities)
{
	struct pmu pmu = { .capabilities = capabilities, .has_aux = capabilities };
	struct perf_event event = { .attr = attr, .pmu = &pmu };
	int result = perf_aux_action_init(&event);

	perf_aux_action_free(&event);
	return result;
}

static void refusals(void)
{
	const int can = PERF_PMU_CAP_AUX_PAUSE;
	const struct perf_event_attr none = { 0 };
	const struct perf_event_attr start_paused = { .aux_start_paused = 1 };
	const struct perf_event_attr pause = { .aux_pause = 1 };
	const struct perf_event_attr resume = { .aux_resume = 1 };
	const struct perf_event_attr both = { .aux_pause = 1, .aux_resume = 1 };
	const struct perf_event_attr pause_output = { .aux_pause = 1, .aux_output = 1 };
	const struct perf_event_attr resume_output = { .aux_resume = 1, .aux_output = 1 };
	const struct perf_event_attr all = { .aux_pause = 1, .aux_resume = 1, .aux_output = 1 };

	tap_result(init_result(none, 0) == 0, "no action");
	tap_result(init_result(start_paused, can) == 0, "start paused");
	tap_result(init_result(start_paused, 0) == -EOPNOTSUPP,
		   "start paused on a PMU that can't pause: EOPNOTSUPP");
	tap_result(init_result(pause, 0) == 0, "pause");
	tap_result(init_result(resume, 0) == 0, "resume");
	tap_result(init_result(both, 0) == -EINVAL, "pause and resume: EINVAL");
	tap_result(init_result(pause_output, 0) == -EOPNOTSUPP,
		   "pause with aux_output: EOPNOTSUPP");
	tap_result(init_result(resume_output, 0) == -EOPNOTSUPP,
		   "resume with aux_output: EOPNOTSUPP");
	tap_result(init_result(all, 0) == -EOPNOTSUPP,
		   "pause and resume with aux_output: EOPNOTSUPP");
}

static void without_memory(void)
{
	struct pmu pmu = { .has_aux = true };
	struct perf_event event = { .pmu = &pmu };

	slab_is_empty = true;
	tap_result(perf_aux_action_init(&event) == -ENOMEM, "no memory for a level: ENOMEM");
	slab_is_empty = false;
	perf_aux_action_free(&event);
}

static void leaders(void)
{
	struct pmu pmu = { .capabilities = PERF_PMU_CAP_AUX_PAUSE, .has_aux = true };
	struct perf_event event = { .pmu = &pmu };

	tap_result(perf_aux_action_match(&event), "a gate's leader can pause");
	pmu.has_aux = false;
	tap_result(!perf_aux_action_match(&event), "a leader without an AUX area");
	pmu.has_aux = true;
	pmu.capabilities = 0;
	tap_result(!perf_aux_action_match(&event), "a leader that can't pause");
}

static void groups(void)
{
	struct perf_aux_level level = { .users = REFCOUNT_INIT(1) };
	struct perf_event last = { 0 };
	struct perf_event first = { .next = &last };
	struct perf_event leader = { .next = &first };

	tap_result(!perf_group_has_aux_action(&leader), "a group without an action");
	last.attr.aux_resume = 1;
	tap_result(perf_group_has_aux_action(&leader), "a group with a gate that resumes");
	last.attr.aux_resume = 0;
	last.attr.aux_pause = 1;
	tap_result(perf_group_has_aux_action(&leader), "a group with a gate that pauses");
	last.attr.aux_pause = 0;
	leader.aux_action.level = &level;
	tap_result(!perf_group_has_aux_action(&leader), "a group with an AUX area event only");
	refcount_set(&level.users, 2);
	tap_result(perf_group_has_aux_action(&leader), "a group that shares its level");
	refcount_set(&level.users, 1);
	level.request = PERF_AUX_PAUSED;
	tap_result(perf_group_has_aux_action(&leader), "a group that starts paused");
	level.request = 1UL << PERF_AUX_REQUEST_SHIFT;
	tap_result(perf_group_has_aux_action(&leader), "a group whose gates are closed");
}

static void level_changes(void)
{
	const unsigned long one = 1UL << PERF_AUX_REQUEST_SHIFT;
	struct perf_aux_level level = { 0 };

	tap_result(!perf_aux_level_change(&level, false) && !level.request,
		   "a level that is requested already doesn't change");
	tap_result(perf_aux_level_change(&level, true) &&
		   level.request == (one | PERF_AUX_PAUSED), "a level changes to paused");
	tap_result(!perf_aux_level_change(&level, true) &&
		   level.request == (one | PERF_AUX_PAUSED), "but not twice");
	tap_result(!perf_aux_level_change_from(&level, 0, true) &&
		   !perf_aux_level_change_from(&level, 0, false) &&
		   level.request == (one | PERF_AUX_PAUSED),
		   "nor from what was requested before");
	tap_result(!perf_aux_level_change_from(&level, one | PERF_AUX_PAUSED, true) &&
		   level.request == (one | PERF_AUX_PAUSED), "nor from what is requested");
	tap_result(perf_aux_level_change_from(&level, one | PERF_AUX_PAUSED, false) &&
		   level.request == 2 * one, "but back");
}

static void one_after_another(const enum operation *ops, size_t count, bool paused,
			      bool stopped, const char *what)
{
	struct in_flight self;

	trace_reset(&kernel_algorithm, paused, stopped);
	for (size_t i = 0; i < count; i++) {
		trace_begin(&self, ops[i]);
		trace_call(ops[i]);
		trace_end(&self);
	}
	tap_result(!trace.failures && trace.checks == count, "%s%s%s", what,
		   trace.failure ? ": " : "", trace.failure ?: "");
}

#define ONE_AFTER_ANOTHER(paused, stopped, what, ...)				\
	do {									\
		const enum operation ops[] = { __VA_ARGS__ };			\
										\
		one_after_another(ops, ARRAY_SIZE(ops), paused, stopped, what);	\
	} while (0)

static void cleared_link(void)
{
	trace_reset(&kernel_algorithm, false, false);
	here()->pause.aux_event = NULL;
	trace_call(GATE_PAUSE);
	tap_result(here()->engine && !here()->event.aux_action.level->request,
		   "a gate without its AUX area event does nothing");
}

static int calls;

static void count_call(struct perf_event *event, int flags)
{
	(void)event;
	(void)flags;
	calls++;
}

/* Its driver must not touch the hardware of this CPU, but the level counts later on. */
static void not_here(enum perf_event_state state, int cpu, const char *where)
{
	struct pmu pmu = {
		.capabilities = PERF_PMU_CAP_AUX_PAUSE,
		.has_aux = true,
		.start = count_call,
		.stop = count_call,
	};
	struct perf_event event = { .pmu = &pmu, .state = state, .oncpu = cpu };
	struct perf_event gate = { .attr.aux_pause = 1, .aux_event = &event };

	calls = 0;
	perf_aux_action_init(&event);
	perf_aux_gate(&gate);
	tap_result(!calls, "a gate of an event that is %s calls no driver", where);
	tap_result(perf_aux_action_hold(&event), "which learns of it when it starts");
	perf_aux_action_release(&event);
	perf_aux_action_free(&event);
}

static void nested_without_pause(void)
{
	struct pmu pmu = { .has_aux = true, .start = count_call, .stop = count_call };
	struct perf_event event = { .pmu = &pmu, .state = PERF_EVENT_STATE_ACTIVE };

	calls = 0;
	perf_aux_action_init(&event);
	perf_aux_action_hold(&event);
	perf_aux_action_hold(&event);
	perf_aux_action_release(&event);
	perf_aux_action_release(&event);
	perf_aux_action_free(&event);
	tap_result(!calls, "a PMU that can't pause isn't called after sections that nest");
}

/*
 * A gate has stored its request and is interrupted before it acts. The section of a
 * handler, which pauses for it, is where another gate resumes.
 */
static void interrupted_gate(void)
{
	struct pmu pmu = {
		.capabilities = PERF_PMU_CAP_AUX_PAUSE,
		.has_aux = true,
		.start = count_call,
		.stop = count_call,
	};
	struct perf_event event = { .pmu = &pmu, .state = PERF_EVENT_STATE_ACTIVE };
	struct perf_event resume = { .attr.aux_resume = 1, .aux_event = &event };

	calls = 0;
	perf_aux_action_init(&event);
	event.aux_action.level->request = 1UL << PERF_AUX_REQUEST_SHIFT | PERF_AUX_PAUSED;
	tap_result(perf_aux_action_hold(&event), "a section acts for the gate it interrupts");
	perf_aux_gate(&resume);
	perf_aux_action_release(&event);
	perf_aux_action_free(&event);
	tap_result(calls == 1, "and the driver is called with what another one asks for meanwhile");
}

#define FOR_EVER	1000000

static struct perf_event answers[2];	/* that pauses, and that resumes */
static bool answering, engine_on;

static void start_and_pause(struct perf_event *event, int flags)
{
	count_call(event, flags);
	engine_on = true;
	if (answering && calls < FOR_EVER)
		perf_aux_gate(&answers[0]);
}

static void stop_and_resume(struct perf_event *event, int flags)
{
	count_call(event, flags);
	engine_on = false;
	if (answering && calls < FOR_EVER)
		perf_aux_gate(&answers[1]);
}

/* Where the driver pauses a gate resumes, and where it resumes another one pauses. */
static void answered_by_gates(void)
{
	struct pmu pmu = {
		.capabilities = PERF_PMU_CAP_AUX_PAUSE,
		.has_aux = true,
		.start = start_and_pause,
		.stop = stop_and_resume,
	};
	struct perf_event event = { .pmu = &pmu, .state = PERF_EVENT_STATE_ACTIVE };

	answers[0] = (struct perf_event){ .attr.aux_pause = 1, .aux_event = &event };
	answers[1] = (struct perf_event){ .attr.aux_resume = 1, .aux_event = &event };
	calls = 0;
	engine_on = true;
	perf_aux_action_init(&event);

	answering = true;
	perf_aux_gate(&answers[0]);
	answering = false;
	tap_result(calls > 1 && calls < FOR_EVER, "gates that request each other end");
	perf_aux_gate(&answers[1]);
	tap_result(engine_on, "and the next one acts: a resume");
	perf_aux_gate(&answers[0]);
	tap_result(!engine_on, "a pause");
	perf_aux_action_free(&event);
}

void call_tests(void)
{
	refusals();
	without_memory();
	leaders();
	groups();
	level_changes();
	ONE_AFTER_ANOTHER(false, false, "pause, resume", GATE_PAUSE, GATE_RESUME);
	ONE_AFTER_ANOTHER(true, false, "from paused: resume, pause",
			  GATE_RESUME, GATE_PAUSE);
	ONE_AFTER_ANOTHER(false, false, "each twice", GATE_PAUSE, GATE_PAUSE,
			  GATE_RESUME, GATE_RESUME);
	ONE_AFTER_ANOTHER(false, false, "paused over stop and start", GATE_PAUSE,
			  DRIVER_STOP, DRIVER_START, GATE_RESUME);
	ONE_AFTER_ANOTHER(true, true, "resumed while it is not on the hardware",
			  GATE_RESUME, DRIVER_START, GATE_PAUSE);
	ONE_AFTER_ANOTHER(false, false, "resume does not start what is stopped",
			  DRIVER_HANDLER_FULL, GATE_PAUSE, GATE_RESUME,
			  DRIVER_START);
	cleared_link();
	not_here(PERF_EVENT_STATE_INACTIVE, 0, "off the hardware");
	not_here(PERF_EVENT_STATE_ACTIVE, 1, "on another CPU");
	nested_without_pause();
	interrupted_gate();
	answered_by_gates();
}
