/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_SLAB_H
#define _OUTPUT_LINUX_SLAB_H

#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#define GFP_KERNEL	0
#define __GFP_ZERO	0
#define __GFP_NOWARN	0
#define __GFP_NORETRY	0

static inline void *kzalloc(size_t size, int flags)
{
	void *p = aligned_alloc(SMP_CACHE_BYTES,
				(size + SMP_CACHE_BYTES - 1) & -SMP_CACHE_BYTES);

	(void)flags;
	return p ? memset(p, 0, size) : p;
}

#define kzalloc_node(size, flags, node)		((void)(node), kzalloc(size, flags))
#define kcalloc_node(n, size, flags, node)	kzalloc_node((n) * (size), flags, node)
#define kfree(p)				free(p)

/* A page is its own memory. */
struct page {
	unsigned long	private;
	void		*mapping;
};

static inline struct page *alloc_pages_node(int node, int flags, int order)
{
	void *p = aligned_alloc(PAGE_SIZE, PAGE_SIZE << order);

	(void)node;
	(void)flags;
	return p ? memset(p, 0, PAGE_SIZE << order) : p;
}

#define page_address(page)		((void *)(page))
#define virt_to_page(addr)		((struct page *)(addr))
#define __free_page(page)		free(page)
#define split_page(page, order)		do { } while (0)
#define page_private(page)		((page)->private)
#define set_page_private(page, n)	((page)->private = (n))
#define SetPagePrivate(page)		do { } while (0)
#define ClearPagePrivate(page)		do { } while (0)

#endif
