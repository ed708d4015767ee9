/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PERF_EVENT_IOC_PAUSE_AUX: user space pauses an AUX area event and resumes it, see
 * aux_pause.c.
 */
#ifndef _KERNEL_EVENTS_AUX_PAUSE_H
#define _KERNEL_EVENTS_AUX_PAUSE_H

#include <linux/perf_event.h>

int perf_aux_user_request(struct perf_event *event, unsigned long how);
void perf_aux_follow_user(struct perf_event *event);

/* Has user space paused this event? Its children are paused with it. */
static inline bool perf_aux_user_paused(struct perf_event *event)
{
	struct perf_event *root = event->parent ?: event;

	return READ_ONCE(root->aux_user_paused);
}

/*
 * May the event start now? The answer is kept in aux_kept_stopped: if it is no,
 * perf_aux_follow_user() starts the event later. So call it only to act on it.
 *
 * Context: interrupts disabled, the CPU that @event is scheduled on, or holding the
 * lock of its context.
 */
static inline bool perf_aux_may_start(struct perf_event *event)
{
	if (!has_aux(event))
		return true;

	event->aux_kept_stopped = perf_aux_user_paused(event);

	return !event->aux_kept_stopped;
}

/* ->start(), unless user space has paused the event */
static inline void perf_event_start(struct perf_event *event, int flags)
{
	if (perf_aux_may_start(event))
		event->pmu->start(event, flags);
}

/* ->add(), with the event started unless user space has paused it */
static inline int perf_event_add(struct perf_event *event)
{
	return event->pmu->add(event, perf_aux_may_start(event) ? PERF_EF_START : 0);
}

#endif /* _KERNEL_EVENTS_AUX_PAUSE_H */
