// SPDX-License-Identifier: GPL-2.0
/*
 * Getting and putting the buffer: functions of their own, which other code calls
 * too, as in the kernel.
 */
#include <linux/refcount.h>

#include "mainline_action.h"

/* An inherited event has its parent's buffer. */
struct buffer *buffer_get(struct perf_event *event)
{
	struct buffer *buffer;

	if (event->parent)
		event = event->parent;

	buffer = READ_ONCE(event->rb);
	if (buffer && !refcount_inc_not_zero(&buffer->refcount))
		buffer = NULL;

	return buffer;
}

void buffer_put(struct buffer *buffer)
{
	if (refcount_dec_and_test(&buffer->refcount))
		buffer->freed = true;
}
