/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_EVENTS_MAINLINE_ACTION_H
#define PERF_EVENTS_MAINLINE_ACTION_H

#include <linux/perf_event.h>

struct buffer {
	refcount_t	refcount;
	bool		freed;
	int		in_pause_resume;
};

struct buffer *buffer_get(struct perf_event *event);
void buffer_put(struct buffer *buffer);

void mainline_reset(struct perf_event *event, bool paused);
void mainline_gate(struct perf_event *gate);
bool mainline_hold(struct perf_event *event);
void mainline_release(struct perf_event *event);

#endif
