/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Atomic accesses, ordered as in the kernel or more. Before each of them a test may
 * do something, or hold the caller up: all that contexts see of each other goes
 * through one of these.
 */
#ifndef _OUTPUT_LINUX_ATOMIC_H
#define _OUTPUT_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic_long_t;
typedef struct { long counter; } atomic64_t;
typedef struct { long counter; } local_t;

#define atomic_at(order, access)	({ access_step(); (access); })

#define load_at(p, order)		atomic_at(order, __atomic_load_n(p, order))
#define store_at(p, value, order)	atomic_at(order, __atomic_store_n(p, value, order))

/* A failed one orders nothing in the kernel. */
#define try_cmpxchg(p, old, new)						\
	atomic_at(, __atomic_compare_exchange_n(p, old, new, 0, __ATOMIC_SEQ_CST,\
						__ATOMIC_RELAXED))

#define atomic_read(v)			load_at(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_read_acquire(v)		load_at(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_set(v, i)		store_at(&(v)->counter, i, __ATOMIC_RELAXED)
#define atomic_inc(v)			((void)atomic_at(, __atomic_fetch_add(&(v)->counter, 1, __ATOMIC_RELAXED)))
#define atomic_dec(v)			((void)atomic_at(, __atomic_fetch_sub(&(v)->counter, 1, __ATOMIC_RELAXED)))
/* ThreadSanitizer knows no fences. */
#define smp_mb()								\
	({ int one_ = 0; (void)atomic_at(, __atomic_exchange_n(&one_, 1, __ATOMIC_SEQ_CST)); })
#define smp_mb__after_atomic()		smp_mb()
#define smp_mb__before_atomic()		smp_mb()
#define atomic_set_release(v, i)	store_at(&(v)->counter, i, __ATOMIC_RELEASE)
#define atomic_cmpxchg_acquire(v, old, new)					\
	({									\
		int seen_ = (old);						\
										\
		access_step();							\
		__atomic_compare_exchange_n(&(v)->counter, &seen_, new, 0,	\
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);\
		seen_;								\
	})

#define atomic_long_read(v)		load_at(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_long_read_acquire(v)	load_at(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_long_set(v, i)		store_at(&(v)->counter, i, __ATOMIC_RELAXED)
#define atomic_long_add(i, v)		((void)atomic_at(, __atomic_fetch_add(&(v)->counter, i, __ATOMIC_RELAXED)))
#define atomic_long_add_return(i, v)	atomic_at(, __atomic_add_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_xchg(v, i)		atomic_at(, __atomic_exchange_n(&(v)->counter, i, __ATOMIC_SEQ_CST))
#define atomic_long_try_cmpxchg(v, old, new) try_cmpxchg(&(v)->counter, old, new)

#define atomic64_inc(v)			((void)atomic_at(, __atomic_fetch_add(&(v)->counter, 1, __ATOMIC_RELAXED)))
#define atomic64_read(v)		load_at(&(v)->counter, __ATOMIC_RELAXED)

/* Those of one CPU: no lock prefix, where there is such a thing. */
#define local_read(v)			READ_ONCE((v)->counter)
#define local_set(v, i)			WRITE_ONCE((v)->counter, i)
#define local_inc(v)			local_add(1, v)

static inline void local_add(long i, local_t *v)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	asm volatile("addq %1, %0" : "+m" (v->counter) : "er" (i));
#else
	__atomic_fetch_add(&v->counter, i, __ATOMIC_RELAXED);
#endif
}

static inline long local_cmpxchg(local_t *v, long old, long new)
{
	access_step();
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	asm volatile("cmpxchgq %2, %1"
		     : "+a" (old), "+m" (v->counter) : "r" (new) : "memory");
#else
	__atomic_compare_exchange_n(&v->counter, &old, new, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
#endif
	return old;
}

static inline bool local_try_cmpxchg_long(local_t *v, long *old, long new)
{
	long was = local_cmpxchg(v, *old, new);
	bool done = was == *old;

	*old = was;
	return done;
}

/* As the kernel's, for signed and unsigned values */
#define local_try_cmpxchg(v, old, new)	local_try_cmpxchg_long(v, (long *)(old), new)

static inline long local_xchg(local_t *v, long new)
{
	access_step();
	return __atomic_exchange_n(&v->counter, new, __ATOMIC_RELAXED);
}

#endif
