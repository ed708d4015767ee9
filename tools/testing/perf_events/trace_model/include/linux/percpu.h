/* SPDX-License-Identifier: GPL-2.0 */
/* One CPU. What is one instruction in the kernel is one here. */
#ifndef _PERF_EVENTS_LINUX_PERCPU_H
#define _PERF_EVENTS_LINUX_PERCPU_H

#include <linux/compiler.h>

/* checkpatch takes (type) before a name for a cast. */
#define DECLARE_PER_CPU(type, name)	extern __typeof__(type)(name)
#define DEFINE_PER_CPU(type, name)	__typeof__(type)(name)

#define this_cpu_ptr(ptr)		(ptr)
#define per_cpu_ptr(ptr, cpu)		((void)(cpu), (ptr))
#define per_cpu(name, cpu)		(*per_cpu_ptr(&(name), cpu))

#define this_cpu_read(x)		READ_ONCE(x)
#define this_cpu_write(x, value)	WRITE_ONCE(x, value)
#define this_cpu_add(x, n)		((void)__atomic_fetch_add(&(x), n, __ATOMIC_RELAXED))
#define this_cpu_inc(x)			this_cpu_add(x, 1)
#define this_cpu_dec(x)			this_cpu_add(x, -1)
#define this_cpu_inc_return(x)		__atomic_add_fetch(&(x), 1, __ATOMIC_RELAXED)

#define compare_exchange(ptr, old, new)						\
	({									\
		__auto_type at_ = (ptr);					\
		__typeof__(*at_) seen_ = (old);					\
										\
		__atomic_compare_exchange_n(at_, &seen_, new, 0,		\
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);\
		seen_;								\
	})

#ifndef this_cpu_cmpxchg
#define this_cpu_cmpxchg(x, old, new)	compare_exchange(&(x), old, new)
#endif

#endif
