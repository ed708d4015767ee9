/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_LINUX_RCULIST_H
#define _PERF_EVENTS_LINUX_RCULIST_H

#include <stddef.h>
#include <stdlib.h>

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

/* Critical sections of this file that are open. The list is walked in one only. */
static int rcu_sections __attribute__((unused));

#define rcu_read_lock()		(rcu_sections++)
#define rcu_read_unlock()	(rcu_sections--)

#define list_for_each_entry_rcu(pos, head, member)			\
	if (rcu_sections != 1)						\
		abort();						\
	else								\
		list_for_each_entry(pos, head, member)

#endif
