/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accesses that the compiler may neither split, merge nor drop, made as the kernel
 * makes them, so that the code is the kernel's. Only ThreadSanitizer has to be told
 * that they are marked, which relaxed atomics are.
 *
 * With WATCH_STORES, a test counts the stores to one variable: that tells how
 * often a thing happened without believing the code's own count of it. The
 * counting comes before the store, so a context that comes between the two
 * must not read the count; where it is read nobody is in such a place.
 */
#ifndef _PERF_EVENTS_LINUX_COMPILER_H
#define _PERF_EVENTS_LINUX_COMPILER_H

#define unlikely(x)	__builtin_expect(!!(x), 0)
#define barrier()	__atomic_signal_fence(__ATOMIC_SEQ_CST)

#ifdef MARKED_AS_ATOMICS
#define READ_ONCE(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define write_marked(to, value)		__atomic_store_n(to, value, __ATOMIC_RELAXED)
#else
#define marked(x)			(*(volatile __typeof__(x) *)&(x))
#define READ_ONCE(x)			((__typeof__(x))marked(x))
#define write_marked(to, value)		(marked(*(to)) = (value))
#endif

#ifdef WATCH_STORES
extern const void *watched_variable;
extern unsigned long watched_stores;

static inline void count_store(const void *variable)
{
	if (variable == watched_variable)
		write_marked(&watched_stores, READ_ONCE(watched_stores) + 1);
}
#else
static inline void count_store(const void *variable)
{
	(void)variable;
}
#endif

#define WRITE_ONCE(x, value)						\
	do {								\
		__auto_type write_once_to = &(x);			\
									\
		count_store(write_once_to);				\
		write_marked(write_once_to, value);			\
	} while (0)

#endif
