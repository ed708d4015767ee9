/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_ATOMIC_H
#define _PERF_EVENTS_LINUX_ATOMIC_H

typedef struct {
	int counter;
} atomic_t;

#define xchg(ptr, new)		__atomic_exchange_n(ptr, new, __ATOMIC_SEQ_CST)
#define atomic_xchg(v, new)	xchg(&(v)->counter, new)

#endif
