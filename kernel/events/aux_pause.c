// SPDX-License-Identifier: GPL-2.0
/*
 * Pause and resume of an AUX area event by user space: PERF_EVENT_IOC_PAUSE_AUX.
 *
 * A reader of an overwritten AUX area wants nothing to be written while it reads. It
 * could disable the event, but that takes the whole group off the hardware: the gates
 * of a gated trace, too, and what they ask for meanwhile is lost. A paused event stays
 * scheduled, and so do its gates. Only its driver is stopped: ->stop() ends the AUX
 * transaction, which publishes the position and the total.
 *
 * What is paused
 * ==============
 *
 * perf_event::aux_user_paused of the event that user space has opened says what user
 * space wants, for that event and for all that were inherited from it. So a child that
 * is forked meanwhile begins paused, and needs nothing to be copied.
 *
 * perf_event::aux_kept_stopped says of each event whether it is stopped because user
 * space has paused it. It is accessed with the lock of the context held or on the CPU
 * where the event is active, with interrupts disabled.
 *
 * Each event is made to follow:
 *
 *   - one that is active, by event_function_call(): on its CPU, and synchronously;
 *   - one that is not active has no transaction. event_sched_in() reads
 *     aux_user_paused (perf_aux_may_start()) with the lock of the context held, which
 *     event_function_call() takes, too: either the new value is read, or the event is
 *     active when event_function_call() has the lock;
 *   - other places in the core start events that are active. They run on the event's
 *     CPU with interrupts disabled, as the function of event_function_call() does;
 *   - one that exits is stopped by its exit. Only after that event_function_call() finds
 *     that it is gone;
 *   - one that is being inherited is in the list of children, or is added to it with
 *     the same mutex held, before it can be scheduled.
 *
 * Gates
 * =====
 *
 * A gate stores its request in perf_event::aux_action as always, and a driver doesn't
 * resume an event that is stopped. So a gate can't end the pause. The ->start() at the end
 * of the pause finds the level that the last gate asked for.
 *
 * A trace whose gates only pause it, to keep what led to an event, has no gate that resumes
 * it. Its reader can do as such a gate does (PERF_AUX_GATE_RESUME). That is a request like
 * any other: the next gate counts, and of a gate at the same time one or the other is the
 * last.
 */
#include <linux/lockdep.h>
#include <linux/perf_event.h>

#include "aux_pause.h"
#include "aux_total.h"

/* A child that is inherited meanwhile begins as attr.aux_start_paused says. */
static void aux_gate_resume(struct perf_event *event)
{
	struct perf_event *child;

	mutex_lock(&event->child_mutex);
	perf_aux_level_change(event->aux_action.level, false);
	list_for_each_entry(child, &event->child_list, child_list)
		perf_aux_level_change(child->aux_action.level, false);
	mutex_unlock(&event->child_mutex);
}

/**
 * perf_aux_user_request - note what user space asks of an AUX area event
 * @event: event that user space has opened
 * @how: argument of the ioctl: one of enum perf_event_pause_aux
 *
 * Then perf_aux_follow_user() has to be called for @event and for each of its children.
 *
 * Context: may sleep. Holds the mutex of the event's context.
 * Return: 0, -EOPNOTSUPP (the PMU has no AUX area, or @how is PERF_AUX_GATE_RESUME
 * and windows belong to threads), -EINVAL (another argument).
 */
int perf_aux_user_request(struct perf_event *event, unsigned long how)
{
	if (!has_aux(event) || (how == PERF_AUX_GATE_RESUME && event->aux_action.threads))
		return -EOPNOTSUPP;

	if (how > PERF_AUX_GATE_RESUME)
		return -EINVAL;

	if (how == PERF_AUX_GATE_RESUME)
		aux_gate_resume(event);
	else
		WRITE_ONCE(event->aux_user_paused, how == PERF_AUX_PAUSE);

	return 0;
}

/*
 * If the driver's ->stop() has ended the transaction, nobody else writes to the control
 * page's fields: another transaction of this area would need the same hardware, and while
 * this CPU is here, the area isn't unmapped (perf_pmu_output_stop() waits for this CPU).
 */
static void aux_publish_paused(struct perf_event *event)
{
	struct perf_buffer *rb = ring_buffer_get(event);

	if (!rb)
		return;

	if (atomic_read(&rb->aux_mmap_count) && !READ_ONCE(rb->aux_nest))
		perf_aux_publish(rb, PERF_AUX_STATE_PAUSED);
	ring_buffer_put(rb);
}

/**
 * perf_aux_follow_user - make an event follow what user space has asked for
 * @event: the event, or a child of it
 *
 * Context: interrupts disabled. On the CPU of @event if it is active, and holding the
 * lock of its context.
 */
void perf_aux_follow_user(struct perf_event *event)
{
	bool was_stopped = event->aux_kept_stopped;

	lockdep_assert_irqs_disabled();

	if (event->state != PERF_EVENT_STATE_ACTIVE)
		return;

	if (perf_aux_may_start(event)) {
		if (was_stopped)
			event->pmu->start(event, 0);
		else
			perf_aux_action_follow(event);
		return;
	}

	if (!was_stopped)
		event->pmu->stop(event, PERF_EF_UPDATE);
	/* If it was scheduled in after user space had paused it, it was never started. */
	aux_publish_paused(event);
}
