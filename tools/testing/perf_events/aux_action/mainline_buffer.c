// SPDX-License-Identifier: GPL-2.0
/*
 * Getting and putting the buffer: functions of their own, which other code calls
 * too, as in the kernel.
 */
#include <limits.h>

#include "mainline_action.h"

/* A reference count that overflowed stays where it is, forever. */
static void saturate(int *refcount)
{
	WRITE_ONCE(*refcount, INT_MIN / 2);
}

static bool refcount_inc_not_zero(int *refcount)
{
	int old = READ_ONCE(*refcount);

	do {
		if (!old)
			return false;
	} while (!__atomic_compare_exchange_n(refcount, &old, old + 1, 0,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));

	if (unlikely(old < 0 || old == INT_MAX))
		saturate(refcount);

	return true;
}

static bool refcount_dec_and_test(int *refcount)
{
	int old = __atomic_fetch_sub(refcount, 1, __ATOMIC_RELEASE);

	if (old == 1)
		return true;

	if (unlikely(old <= 0))
		saturate(refcount);

	return false;
}

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
