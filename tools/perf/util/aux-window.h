/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is new in an AUX area that the kernel writes over, for snapshots.
 */
#ifndef __PERF_AUX_WINDOW_H
#define __PERF_AUX_WINDOW_H

#include <stdbool.h>
#include <linux/types.h>

struct auxtrace_mmap;
struct evlist;

/**
 * struct aux_window - new data of an AUX area, as positions in all that was ever written
 * @begin: first byte that is new and still in the area
 * @end: end of what was written
 * @overwritten: number of bytes that were new, too, but are no longer in the area
 */
struct aux_window {
	u64	begin;
	u64	end;
	u64	overwritten;
};

/**
 * aux_window__init - the window between two snapshots
 * @window: result
 * @last: number of bytes written as of the last snapshot, 0 if there was none
 * @total: number of bytes written now
 * @len: size of the area
 */
void aux_window__init(struct aux_window *window, u64 last, u64 total, u64 len);

/**
 * aux_window__cut - the newest part of a window, and whole records
 * @window: is cut at its beginning if it is larger than @limit. With an @alignment, it
 *	    begins with a record and ends with the lap: the next one begins with a record, too
 * @len: size of the area
 * @limit: largest size
 * @alignment: size of a record, of which a lap begins with one and need not be full; or 0
 */
void aux_window__cut(struct aux_window *window, u64 len, u64 limit, unsigned int alignment);

/**
 * auxtrace_mmap__window - what is new since the last snapshot, to the byte
 * @mm: area that nothing is written to now. @mm->prev is the end of the last window.
 * @window: result
 *
 * Return: true; false if the kernel doesn't count what is written to this area.
 */
bool auxtrace_mmap__window(const struct auxtrace_mmap *mm, struct aux_window *window);

/**
 * evlist__pause_aux - pause all AUX area events where they run
 * @evlist: its AUX area events
 *
 * Unlike disabled ones they stay scheduled, and so do the events of their groups. Safe
 * in a signal handler.
 *
 * Return: 0; -1 if the kernel can't. Then none of them is paused.
 */
int evlist__pause_aux(struct evlist *evlist);

/**
 * evlist__resume_aux - resume all AUX area events that are paused
 * @evlist: its AUX area events
 *
 * A trace that events pause, and that no event resumes, is resumed even if such an event
 * has paused it. It would end there otherwise.
 *
 * Return: 0; -1 on failure.
 */
int evlist__resume_aux(struct evlist *evlist);

#endif /* __PERF_AUX_WINDOW_H */
