/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_RCULIST_H
#define _PERF_EVENTS_LINUX_RCULIST_H

#include <stddef.h>

struct list_head {
	struct list_head *next;
};

/* A list without its back links: tests add at the head, and take nothing away. */
#define list_add_rcu(new, head)						\
	do {								\
		(new)->next = (head)->next;				\
		(head)->next = (new);					\
	} while (0)

#define list_for_each_entry(pos, head, member)				\
	for (struct list_head *at_ = (head)->next;			\
	     at_ && ((pos) = (void *)((char *)at_ -			\
				      offsetof(__typeof__(*(pos)), member)));	\
	     at_ = at_->next)

#define list_for_each_entry_rcu(pos, head, member)	list_for_each_entry(pos, head, member)

#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)

#endif
