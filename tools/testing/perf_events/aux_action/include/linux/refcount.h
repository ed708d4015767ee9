/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_REFCOUNT_H
#define _PERF_EVENTS_LINUX_REFCOUNT_H

#include <limits.h>
#include <linux/compiler.h>
#include <linux/types.h>

typedef struct { int refs; } refcount_t;

#define REFCOUNT_INIT(n)	{ .refs = (n) }

/* A reference count that overflowed stays where it is, forever. */
static inline void refcount_saturate(refcount_t *count)
{
	WRITE_ONCE(count->refs, INT_MIN / 2);
}

static inline void refcount_set(refcount_t *count, int refs)
{
	WRITE_ONCE(count->refs, refs);
}

static inline int refcount_read(const refcount_t *count)
{
	return READ_ONCE(count->refs);
}

static inline void refcount_inc(refcount_t *count)
{
	int old = __atomic_fetch_add(&count->refs, 1, __ATOMIC_RELAXED);

	if (unlikely(old <= 0 || old == INT_MAX))
		refcount_saturate(count);
}

static inline bool refcount_inc_not_zero(refcount_t *count)
{
	int old = READ_ONCE(count->refs);

	do {
		if (!old)
			return false;
	} while (!__atomic_compare_exchange_n(&count->refs, &old, old + 1, 0,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));

	if (unlikely(old < 0 || old == INT_MAX))
		refcount_saturate(count);

	return true;
}

static inline bool refcount_dec_and_test(refcount_t *count)
{
	int old = __atomic_fetch_sub(&count->refs, 1, __ATOMIC_ACQ_REL);

	if (old == 1)
		return true;

	if (unlikely(old <= 0))
		refcount_saturate(count);

	return false;
}

#endif
