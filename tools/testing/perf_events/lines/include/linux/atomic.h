/* SPDX-License-Identifier: GPL-2.0 */
/* The harness's, but its local operations are inline assembly, which has no hooks. */
#ifndef _LINES_LINUX_ATOMIC_H
#define _LINES_LINUX_ATOMIC_H

#define local_add	harness_local_add
#define local_cmpxchg	harness_local_cmpxchg
#define local_xchg	harness_local_xchg
#include "../../../output/include/linux/atomic.h"
#undef local_add
#undef local_cmpxchg
#undef local_xchg
#undef local_inc
#undef local_try_cmpxchg

bool lines_local_cmpxchg(long *p, long *old, long new);
long lines_local_add(long *p, long n);
long lines_local_xchg(long *p, long new);

#define local_add(n, v)			((void)lines_local_add(&(v)->counter, n))
#define local_inc(v)			local_add(1, v)
#define local_xchg(v, n)		lines_local_xchg(&(v)->counter, n)
#define local_try_cmpxchg(v, old, new)	\
	lines_local_cmpxchg(&(v)->counter, (long *)(old), new)

static inline long local_cmpxchg(local_t *v, long old, long new)
{
	lines_local_cmpxchg(&v->counter, &old, new);
	return old;
}

#endif
