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
#include <linux/refcount.h>
#include <linux/types.h>

struct perf_aux_threads;
struct perf_event;

/* Bit 0 of perf_aux_level::request and ::done; the rest counts requests. */
#define PERF_AUX_PAUSED		1UL
#define PERF_AUX_REQUEST_SHIFT	1

/* The request after @request: another level, or the same once more */
static inline unsigned long perf_aux_next_request(unsigned long request, bool paused)
{
	return (request | PERF_AUX_PAUSED) + 1 + paused;
}

/* perf_aux_level::driver_state when a nested section leaves the trace's state unknown */
#define PERF_AUX_DRIVER_UNKNOWN	(-1)

/**
 * struct perf_aux_level - what gates asked for, and how much of it is done
 * @request: number of actions requested so far, shifted left by one; bit 0 is
 *	     the level that the last of them asked for (%PERF_AUX_PAUSED or not)
 * @done: value of @request with which the trace was last brought in line
 * @executed: number of requests executed
 * @users: number of events that have this level
 * @driver_state: level that the driver was last given (1 paused, 0 running), or
 *	  %PERF_AUX_DRIVER_UNKNOWN
 *
 * Any CPU may change @request: a tracepoint that perf delivers to another task,
 * such as sched_wakeup, may overflow on the CPU of the waker. So that takes an atomic
 * instruction. @done, @executed and @driver_state are accessed only by the CPU on
 * which the trace is, and there only by contexts that nest: a context that
 * interrupts an access ends before the access goes on. "A level for several CPUs"
 * in kernel/events/aux_action.c says what happens when the task moves to another CPU.
 *
 * When no context is busy, @done equals @request, unless another CPU has left a request
 * to this one. The number of requests that were superseded by a later one is
 * (@done >> %PERF_AUX_REQUEST_SHIFT) - @executed.
 */
struct perf_aux_level {
	unsigned long	request;
	unsigned long	done;
	unsigned long	executed;
	refcount_t	users;
	s8		driver_state;
};

/**
 * struct perf_aux_action - pause state of one AUX area event
 * @level: level of the trace; %NULL if the PMU has no AUX area. Doesn't change once
 *	   the event is in a context
 * @depth: nesting depth of the contexts that are busy with the trace. Accessed as
 *	   perf_aux_level::done is. The CPU of a waker reads it, too, of an event that
 *	   isn't on the hardware: then it is 0
 * @threads: those to which the windows belong; %NULL if they belong to the CPU, or to
 *	     the task of the event. Doesn't change either
 * @thread_entry: in the list of the CPU's events with @threads
 * @switched: the level's last request when a thread left the CPU
 */
struct perf_aux_action {
	struct perf_aux_level	*level;
	u8			depth;
	struct perf_aux_threads	*threads;
	struct hlist_node	thread_entry;
	unsigned long		switched;
};

#ifdef CONFIG_PERF_EVENTS

/* For PMU drivers */
bool perf_aux_action_hold(struct perf_event *event);
void perf_aux_action_release(struct perf_event *event);

/* For the core */
int perf_aux_action_init(struct perf_event *event);
void perf_aux_action_free(struct perf_event *event);
void perf_aux_level_adopt(struct perf_event *event, struct perf_aux_level *level);
bool perf_aux_action_match(struct perf_event *aux);
bool perf_group_has_aux_action(struct perf_event *leader);
bool perf_aux_level_change_from(struct perf_aux_level *level, unsigned long request, bool paused);
bool perf_aux_level_change(struct perf_aux_level *level, bool paused);
void perf_aux_action_follow(struct perf_event *event);
void perf_aux_gate(struct perf_event *gate);

#endif /* CONFIG_PERF_EVENTS */
#endif /* _LINUX_PERF_AUX_ACTION_H */
