// SPDX-License-Identifier: GPL-2.0
/* The functions for AUX areas that ring_buffer.c calls. No buffer here has one. */
#include <linux/perf_event.h>

#include "../../../../kernel/events/internal.h"

struct perf_buffer *ring_buffer_get(struct perf_event *event)
{
	(void)event;
	return NULL;
}

void ring_buffer_put(struct perf_buffer *rb)
{
	(void)rb;
}

void perf_event_aux_event(struct perf_event *event, unsigned long head,
			  unsigned long size, u64 flags)
{
	(void)event;
	(void)head;
	(void)size;
	(void)flags;
}
