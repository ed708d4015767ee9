/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/list.h>

#define list_for_each_entry_rcu(pos, head, member)				\
	for (pos = container_of((head)->next, __typeof__(*(pos)), member);	\
	     &(pos)->member != (head);						\
	     pos = container_of((pos)->member.next, __typeof__(*(pos)), member))
