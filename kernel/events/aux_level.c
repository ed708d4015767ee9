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
 * A task may have several contexts, one for each kind of PMU. The events of a level are all of
 * one PMU, but a gate of another kind moves the group that it joins to another context of the
 * task.
 *
 * Locks
 * =====
 *
 *  1. Events are given a level with the mutex of their context held, before they
 *     are added to it. For an inherited event that is the mutex of the parent's
 *     context; the child's is not visible to others yet. Who asks for a level opens
 *     an event without a group, so it comes to the context of its PMU. Who moves a
 *     group from there holds that mutex, too. So no event with the level is overlooked.
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

/*
 * An event of @task that has this level, or whose parent has it; on @cpu, or with -1 on any.
 * Under rcu_read_lock().
 */
static struct perf_event *find_event(struct task_struct *task, const struct perf_aux_level *level,
				     int cpu)
{
	struct perf_event_context *ctx;
	struct perf_event *event;
	int nr;

	for (nr = 0; nr < PERF_NR_TASK_CONTEXTS; nr++) {
		ctx = perf_task_context(task, nr);
		if (!ctx)
			continue;
		list_for_each_entry_rcu(event, &ctx->event_list, event_entry) {
			if ((event->parent ?: event)->aux_action.level == level &&
			    (cpu == -1 || event->cpu == cpu))
				return event;
		}
	}

	return NULL;
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
	struct perf_aux_level *level = with->aux_action.level;
	int err = 0;

	lockdep_assert_held(&ctx->mutex);

	if (!ctx->task || !may_share_level(event, with))
		return -EINVAL;

	rcu_read_lock();
	if (READ_ONCE(with->ctx)->task != ctx->task)
		err = -EINVAL;
	/* Both would be on the hardware of this CPU, and call their driver in turn. */
	else if (find_event(ctx->task, level, event->cpu))
		err = -EBUSY;
	rcu_read_unlock();
	if (err)
		return err;

	perf_aux_level_adopt(event, level);

	return 0;
}

/**
 * perf_aux_level_inherit - give an inherited event the level of its task
 * @child: new event with its parent set, not in @ctx yet
 * @ctx: context of the child task
 *
 * Events share a level in the child if their parents do. But the child's level is not
 * that of the parents. The first of these events keeps the level that it was allocated
 * with, and the others get it from that event. New events are added at the head of their
 * list, so it is near a head.
 *
 * Context: may sleep. The mutex of the parent task's context is held.
 */
void perf_aux_level_inherit(struct perf_event *child, struct perf_event_context *ctx)
{
	struct perf_aux_level *parents = child->parent->aux_action.level;
	struct perf_event *first;

	if (!parents || refcount_read(&parents->users) == 1)
		return;

	rcu_read_lock();
	first = find_event(ctx->task, parents, -1);
	if (first)
		perf_aux_level_adopt(child, first->aux_action.level);
	rcu_read_unlock();
}
