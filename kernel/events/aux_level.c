// SPDX-License-Identifier: GPL-2.0
/*
 * One level for the AUX area events of a task.
 *
 * A tool that wants an AUX area per CPU opens an event per CPU for the same task.
 * Then the gates on one CPU act on the event of that CPU. If each had a level of
 * its own, a task that moves between resume and pause would not be traced on the
 * new CPU, and the event of the old one would stay resumed.
 *
 * With PERF_FLAG_FD_AUX_LEVEL a new event gets the level of one that is there
 * already. It gets it before it is in a context, and keeps it. So the level of an
 * event doesn't change while gates act on it, whatever is forked, closed or executed
 * meanwhile. aux_action.c explains how CPUs take turns with a level.
 *
 * Locks
 * =====
 *
 *  1. Events are given a level with the mutex of their context held, before they
 *     are added to it. For an inherited event that is the mutex of the parent's
 *     context; the child's is not visible to others yet.
 *  2. A level is freed with the last event that has it, after a grace period. So
 *     code that finds an event in a list under RCU may use its level.
 */
#include <linux/lockdep.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>

#include "aux_level.h"

static bool may_share_level(struct perf_event *event, struct perf_event *with)
{
	return perf_aux_action_match(event) && event->pmu == with->pmu &&
	       event->cpu != -1 && with->cpu != -1 &&
	       event->attr.aux_start_paused == with->attr.aux_start_paused;
}

/* Two events on one CPU would both be on the hardware, and call their driver in turn. */
static bool level_has_cpu(struct perf_aux_level *level, int cpu,
			  struct perf_event_context *ctx)
{
	struct perf_event *event;

	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->aux_action.level == level && event->cpu == cpu)
			return true;
	}

	return false;
}

/**
 * perf_aux_level_share - give a new event the level of another one, on request
 * @event: new event that is to be added to @ctx
 * @with: event whose level it gets
 * @ctx: context of @event
 *
 * Context: may sleep. The mutex of @ctx is held.
 * Return: 0, -EINVAL (not the same task or PMU; no task; a PMU without an AUX area, or
 * that can't pause; an event for any CPU; one of them starts paused and one doesn't),
 * -EBUSY (an event of that CPU has the level already).
 */
int perf_aux_level_share(struct perf_event *event, struct perf_event *with,
			 struct perf_event_context *ctx)
{
	lockdep_assert_held(&ctx->mutex);

	if (!ctx->task || READ_ONCE(with->ctx) != ctx || !may_share_level(event, with))
		return -EINVAL;

	if (level_has_cpu(with->aux_action.level, event->cpu, ctx))
		return -EBUSY;

	perf_aux_level_adopt(event, with->aux_action.level);

	return 0;
}

/**
 * perf_aux_level_inherit - give an inherited event the level of its task
 * @child: new event with its parent set, not in @ctx yet
 * @ctx: context of the child task, with the events that were inherited before
 *
 * Events share a level in the child if their parents do. But the child's level is not
 * that of the parents. The first of these events keeps the level that it was allocated
 * with, and the others get it from that event. New events are added at the head of the
 * list, so it is near the head.
 *
 * Context: may sleep. The mutex of the parent task's context is held.
 */
void perf_aux_level_inherit(struct perf_event *child, struct perf_event_context *ctx)
{
	struct perf_aux_level *parents = child->parent->aux_action.level;
	struct perf_event *event;

	if (!parents || refcount_read(&parents->users) == 1)
		return;

	rcu_read_lock();
	list_for_each_entry_rcu(event, &ctx->event_list, event_entry) {
		if (event->parent->aux_action.level == parents) {
			perf_aux_level_adopt(child, event->aux_action.level);
			break;
		}
	}
	rcu_read_unlock();
}
