/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_RCUPDATE_H
#define _OUTPUT_LINUX_RCUPDATE_H

struct rcu_head { void *next; };

/* Nothing goes away while the test's threads run. */
#define rcu_read_lock()		barrier()
#define rcu_read_unlock()	barrier()
#define rcu_dereference(p)	READ_ONCE(p)

#endif
