/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows of an AUX area event that are kept only if they lasted long enough; see
 * kernel/events/aux_keep.c.
 */
#ifndef _LINUX_PERF_AUX_KEEP_H
#define _LINUX_PERF_AUX_KEEP_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/types.h>
#include <asm/local64.h>
#include <uapi/linux/perf_event.h>

struct perf_event;

/**
 * struct perf_aux_windows - what became of windows; see struct perf_event_aux_windows
 * @kept: number of windows that lasted long enough
 * @partial: number of windows that were kept because they could not be discarded
 * @discarded: number of windows that were too short
 * @lost: number of windows whose threads could not be noted when they left the CPU
 */
struct perf_aux_windows {
	local64_t	kept;
	local64_t	partial;
	local64_t	discarded;
	local64_t	lost;
};

/**
 * struct perf_aux_keep - which windows of an AUX area event are kept
 * @longer: windows that last longer than this are kept, in ns; 0: all are. Of the event
 *	    that user space opened: its children read it there
 * @began: when the window began, by local_clock()
 * @whole: all of the window is in the AUX transaction that is open, so that it can be
 *	   discarded
 * @continues: the driver is called because a thread leaves the CPU or comes to it. The
 *	       thread's window goes on: only a piece of it ends or begins
 * @overwrites: the transaction that is open writes over old data
 * @windows: those of this event. Written on its CPU
 * @gone: those of children that are gone. Under the event's child_mutex
 * @hand_over: ends the transaction that a kept window is in
 *
 * @began, @whole, @continues and @overwrites are accessed on the CPU of the event, by
 * contexts that nest.
 */
struct perf_aux_keep {
	atomic64_t		longer;
	u64			began;
	bool			whole;
	bool			continues;
	bool			overwrites;
	struct perf_aux_windows	windows;
	struct perf_event_aux_windows	gone;
	struct irq_work		hand_over;
};

#ifdef CONFIG_PERF_EVENTS

/* For PMU drivers */
bool perf_aux_window_begin(struct perf_event *event);
bool perf_aux_window_end(struct perf_event *event);

/* For the core */
void perf_aux_keep_init(struct perf_event *event);
int perf_aux_keep_set(struct perf_event *event, u64 longer);
void perf_aux_keep_sum(struct perf_event *event, struct perf_event_aux_windows *sum);
void perf_aux_keep_child_gone(struct perf_event *child);
void perf_aux_window_cut(struct perf_event *event);

#endif /* CONFIG_PERF_EVENTS */
#endif /* _LINUX_PERF_AUX_KEEP_H */
