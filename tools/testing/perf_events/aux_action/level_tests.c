// SPDX-License-Identifier: GPL-2.0
/* kernel/events/aux_level.c: who may share a level, and who gets which by inheritance. */
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "../../../../kernel/events/aux_level.h"

#include "aux_action_test.h"
#include "../tap.h"

static struct pmu pmu = { .capabilities = PERF_PMU_CAP_AUX_PAUSE, .has_aux = true };

/* As the kernel does it, but for the locks. */
static void add_to_context(struct perf_event *event, struct perf_event_context *ctx)
{
	event->ctx = ctx;
	list_add_rcu(&event->event_entry, &ctx->event_list);
}

static void open_event(struct perf_event *event, struct perf_event_context *ctx, int cpu)
{
	*event = (struct perf_event) { .pmu = &pmu, .cpu = cpu };
	perf_aux_action_init(event);
	add_to_context(event, ctx);
}

/* Only one of the two may be there. */
static void init_task(struct task_struct *task, struct perf_event_context *ctx,
		      struct perf_event_context *moved)
{
	*task = (struct task_struct) { .ctx = { ctx, moved } };
	*ctx = (struct perf_event_context) { .task = task };
	if (moved)
		*moved = (struct perf_event_context) { .task = task };
}

struct share {
	struct task_struct		task, other_task;
	struct perf_event_context	ctx, moved, other_ctx;
	struct perf_event		with, event;
};

/* In which context of its task is the other event? */
static void share_init(struct share *share, struct perf_event_context *ctx)
{
	share->event = (struct perf_event) { .pmu = &pmu, .cpu = 1 };
	init_task(&share->task, &share->ctx, ctx == &share->moved ? ctx : NULL);
	init_task(&share->other_task, &share->other_ctx, NULL);
	open_event(&share->with, ctx, 0);
}

/* On failure the event keeps the level that it had. */
static void expect(struct share *share, int result, const char *what)
{
	struct perf_event *event = &share->event;
	struct perf_aux_level *before;
	bool ok;

	perf_aux_action_init(event);
	before = event->aux_action.level;
	ok = perf_aux_level_share(event, &share->with, &share->ctx) == result &&
	     event->aux_action.level == (result ? before : share->with.aux_action.level);
	tap_result(ok, "%s", what);
	perf_aux_action_free(event);
	perf_aux_action_free(&share->with);
}

static void sharing(void)
{
	struct pmu same = pmu, no_pause = { .has_aux = true }, no_aux = {
		.capabilities = PERF_PMU_CAP_AUX_PAUSE,
	};
	struct perf_event third;
	struct share share;

	share_init(&share, &share.ctx);
	expect(&share, 0, "an event on another CPU shares the level");

	share_init(&share, &share.other_ctx);
	expect(&share, -EINVAL, "not with that of another task: EINVAL");

	share_init(&share, &share.ctx);
	share.ctx.task = NULL;
	expect(&share, -EINVAL, "not for events of a CPU: EINVAL");

	share_init(&share, &share.ctx);
	share.event.pmu = &same;
	expect(&share, -EINVAL, "not with another PMU: EINVAL");

	share_init(&share, &share.ctx);
	share.event.pmu = &no_pause;
	share.with.pmu = &no_pause;
	expect(&share, -EINVAL, "not for a PMU that can't pause: EINVAL");

	share_init(&share, &share.ctx);
	share.event.pmu = &no_aux;
	share.with.pmu = &no_aux;
	expect(&share, -EINVAL, "not for a PMU without an AUX area: EINVAL");

	share_init(&share, &share.ctx);
	share.event.cpu = -1;
	expect(&share, -EINVAL, "not for an event on any CPU: EINVAL");

	share_init(&share, &share.ctx);
	share.with.cpu = -1;
	expect(&share, -EINVAL, "not with an event on any CPU: EINVAL");

	share_init(&share, &share.ctx);
	share.event.attr.aux_start_paused = 1;
	expect(&share, -EINVAL, "not if one starts paused and one doesn't: EINVAL");

	share_init(&share, &share.ctx);
	share.event.cpu = 0;
	expect(&share, -EBUSY, "not with an event on the same CPU: EBUSY");

	share_init(&share, &share.moved);
	expect(&share, 0, "also with an event in another context of the task");

	share_init(&share, &share.moved);
	share.event.cpu = 0;
	expect(&share, -EBUSY, "nor there on the same CPU: EBUSY");

	share_init(&share, &share.ctx);
	open_event(&third, &share.ctx, 1);
	expect(&share, 0, "an event of this CPU with another level is no obstacle");
	perf_aux_action_free(&third);
}

enum { NR = 3 };

static void inherit(struct perf_event *children, struct perf_event *parents,
		    struct task_struct *task)
{
	for (int i = 0; i < NR; i++) {
		children[i] = (struct perf_event) {
			.attr = parents[i].attr,
			.pmu = &pmu,
			.cpu = i,
			.parent = parents[i].parent ?: &parents[i],
		};
		perf_aux_action_init(&children[i]);
		perf_aux_level_inherit(&children[i], task->ctx[i % 2]);
		add_to_context(&children[i], task->ctx[i % 2]);
	}
}

/* The first @shared of them, and nobody else. */
static bool share_one(const struct perf_event *events, int shared)
{
	for (int i = 0; i < NR; i++) {
		for (int k = 0; k < i; k++) {
			bool same = events[i].aux_action.level == events[k].aux_action.level;
			bool expected = i < shared;

			if (same != expected)
				return false;
		}
	}
	return true;
}

/* Each second one was moved. */
static void open_parents(struct perf_event *events, struct task_struct *task, int shared)
{
	for (int i = 0; i < NR; i++) {
		events[i] = (struct perf_event) {
			.pmu = &pmu, .cpu = i, .attr.aux_start_paused = 1,
		};
		perf_aux_action_init(&events[i]);
		if (i && i < shared)
			perf_aux_level_share(&events[i], &events[0], task->ctx[0]);
		add_to_context(&events[i], task->ctx[i % 2]);
	}
}

static void inheritance(int shared, const char *what)
{
	struct perf_event_context ctx[3][2];
	struct perf_event events[3][NR];
	struct task_struct tasks[3];
	bool own = true, paused = true;

	for (int i = 0; i < 3; i++)
		init_task(&tasks[i], &ctx[i][0], &ctx[i][1]);
	open_parents(events[0], &tasks[0], shared);
	events[0][0].aux_action.level->request = 1UL << PERF_AUX_REQUEST_SHIFT;
	inherit(events[1], events[0], &tasks[1]);
	inherit(events[2], events[1], &tasks[2]);

	for (int i = 1; i < 3; i++) {
		own &= events[i][0].aux_action.level != events[i - 1][0].aux_action.level;
		paused &= events[i][0].aux_action.level->request == PERF_AUX_PAUSED;
	}
	tap_result(share_one(events[1], shared) && share_one(events[2], shared),
		   "children and grandchildren share theirs as their parents do: %s", what);
	tap_result(own && paused, "which begins as the attribute says: %s", what);

	for (int i = 0; i < 3 * NR; i++)
		perf_aux_action_free(&events[i / NR][i % NR]);
}

/* Its siblings share a level; it has none, as its PMU has no AUX area. */
static void inheritance_without_level(void)
{
	struct pmu no_aux = {};
	struct perf_event_context ctx;
	struct task_struct task;
	struct perf_event parent = { .pmu = &no_aux }, other;
	struct perf_event child = { .pmu = &no_aux, .parent = &parent };

	init_task(&task, &ctx, NULL);
	open_event(&other, &ctx, 0);
	other.parent = &other;
	perf_aux_action_init(&child);
	perf_aux_level_inherit(&child, &ctx);
	tap_result(!child.aux_action.level, "an event without a level inherits none");
	perf_aux_action_free(&child);
	perf_aux_action_free(&other);
}

void level_tests(void)
{
	int before = slab_objects;

	sharing();
	inheritance(NR, "all");
	inheritance(2, "two");
	inheritance(0, "none");
	inheritance_without_level();
	tap_result(slab_objects == before, "each level is freed with its last event");
}
