/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_KERNEL_H
#define _OUTPUT_LINUX_KERNEL_H

#include <limits.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/types.h>

#define CONFIG_64BIT		1
/* The test's. Weak: in other programs it is off. */
extern bool preempt_rt __weak;
#define CONFIG_PREEMPT_RT	(&preempt_rt && preempt_rt)
#define IS_ENABLED(option)	(option)
#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define MAX_ORDER		11
#define MAX_PAGE_ORDER		(MAX_ORDER - 1)
#define U32_MAX			UINT_MAX
#define SMP_CACHE_BYTES		64

#define ____cacheline_aligned_in_smp	__attribute__((aligned(SMP_CACHE_BYTES)))

#define EXPORT_SYMBOL_GPL(symbol)	extern int export_##symbol
#define WARN_ON_ONCE(condition)		({ bool warn_ = (condition); warn_; })

#define __min(a, b)		((a) < (b) ? (a) : (b))
#define __max(a, b)		((a) > (b) ? (a) : (b))
#define min(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); __min(a_, b_); })
#define max(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); __max(a_, b_); })
#define max_t(type, a, b)	({ type a_ = (a); type b_ = (b); __max(a_, b_); })
#define min_t(type, a, b)	({ type a_ = (a); type b_ = (b); __min(a_, b_); })
#define clamp(v, lo, hi)							\
	({ __auto_type v_ = (v); __auto_type lo_ = (lo); __auto_type hi_ = (hi);	\
	   __min(__max(v_, lo_), hi_); })
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))
#define rounddown(x, to)	((x) - (x) % (to))
#define container_of(ptr, type, member)						\
	((type *)((char *)(ptr) - offsetof(type, member)))
#define struct_size(p, member, n)						\
	(sizeof(*(p)) + sizeof((p)->member[0]) * (n))

#define in_atomic()		false
#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))
#define cpu_to_node(cpu)	0

#define ilog2(n)		(63 - __builtin_clzl(n))
#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0)
#define get_order(size)		order_base_2(((size) + PAGE_SIZE - 1) >> PAGE_SHIFT)

#endif
