/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pause and resume of AUX area tracing by other events.
 *
 * An event with attr.aux_pause or attr.aux_resume is a gate: each time it
 * overflows, the AUX area event that leads its group pauses or resumes. The
 * protocol is described at the top of kernel/events/aux_action.c; what a PMU
 * driver has to do is described in Documentation/trace/perf-aux-action.rst.
 */
#ifndef _LINUX_PERF_AUX_ACTION_H
#define _LINUX_PERF_AUX_ACTION_H

#include <linux/compiler.h>
#include <linux/types.h>

struct perf_event;

/* Bit 0 of perf_aux_action::request and ::done; the rest counts requests. */
#define PERF_AUX_PAUSED		1UL
#define PERF_AUX_REQUEST_SHIFT	1

/* perf_aux_action::driver_state when a nested section leaves the trace's state unknown */
#define PERF_AUX_DRIVER_UNKNOWN	(-1)

/**
 * struct perf_aux_action - pause state of one AUX area event
 * @request: number of actions requested so far, shifted left by one; bit 0 is
 *	     the level that the last of them asked for (%PERF_AUX_PAUSED or not)
 * @done: value of @request with which the trace was last brought in line
 * @executed: number of requests executed
 * @driver_state: level that the driver was last given (1 paused, 0 running), or
 *	  %PERF_AUX_DRIVER_UNKNOWN
 * @depth: nesting depth of the contexts that are busy with the trace
 *
 * Every field is accessed only by the CPU that the event is scheduled on, and
 * there only by contexts that nest: a context that interrupts an access ends
 * before the access goes on. So no field needs an SMP barrier or a lock prefix.
 *
 * When no context is busy, @done equals @request, and the requests that are not in
 * @executed were superseded by a later one: (@request >> 1) - @executed.
 */
struct perf_aux_action {
	unsigned long	request;
	unsigned long	done;
	unsigned long	executed;
	s8		driver_state;
	u8		depth;
};

#ifdef CONFIG_PERF_EVENTS

/* For PMU drivers */
bool perf_aux_action_hold(struct perf_event *event);
void perf_aux_action_release(struct perf_event *event);

/* For the core */
int perf_aux_action_init(struct perf_event *event);
bool perf_aux_action_match(struct perf_event *aux);
bool perf_group_has_aux_action(struct perf_event *leader);
void perf_aux_gate(struct perf_event *gate);

#endif /* CONFIG_PERF_EVENTS */
#endif /* _LINUX_PERF_AUX_ACTION_H */
