/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_LIST_H
#define _OUTPUT_LINUX_LIST_H

struct list_head {
	struct list_head *next, *prev;
};

#define INIT_LIST_HEAD(head)	((head)->next = (head)->prev = (head))

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	entry->next = head->next;
	entry->prev = head;
	head->next->prev = entry;
	head->next = entry;
}

#endif
