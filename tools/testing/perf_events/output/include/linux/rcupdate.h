/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_RCUPDATE_H
#define _OUTPUT_LINUX_RCUPDATE_H

struct rcu_head { void *next; };

/* The test's. */
void rcu_read_lock(void);
void rcu_read_unlock(void);
void synchronize_rcu(void);

#define rcu_dereference(p)	READ_ONCE(p)

#endif
