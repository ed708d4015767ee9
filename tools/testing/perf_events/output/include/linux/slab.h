/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_SLAB_H
#define _OUTPUT_LINUX_SLAB_H

#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		0
#define __GFP_NOWARN		0
#define __GFP_NORETRY		0

/* The test's: which allocation from now on fails (0: none), and how many are not yet freed? */
extern unsigned int allocation_fails;
extern long allocated;

static inline void *zeroed(size_t align, size_t size)
{
	void *p;

	if (allocation_fails && !--allocation_fails)
		return NULL;
	p = aligned_alloc(align, (size + align - 1) & -align);
	allocated += !!p;
	return p ? memset(p, 0, size) : p;
}

static inline void kfree(void *p)
{
	allocated -= !!p;
	free(p);
}

#define kzalloc(size, flags)			zeroed(SMP_CACHE_BYTES, size)

#define kzalloc_node(size, flags, node)		((void)(node), kzalloc(size, flags))
#define kcalloc_node(n, size, flags, node)	kzalloc_node((n) * (size), flags, node)

/* A page is its own memory. */
struct page {
	unsigned long	private;
	void		*mapping;
};

static inline struct page *alloc_pages_node(int node, int flags, int order)
{
	(void)node;
	(void)flags;
	return zeroed(PAGE_SIZE, PAGE_SIZE << order);
}

#define page_address(page)		((void *)(page))
#define virt_to_page(addr)		((struct page *)(addr))
#define __free_page(page)		kfree(page)
#define split_page(page, order)		do { } while (0)
#define page_private(page)		((page)->private)
#define set_page_private(page, n)	((page)->private = (n))
#define SetPagePrivate(page)		do { } while (0)
#define ClearPagePrivate(page)		do { } while (0)

#endif
