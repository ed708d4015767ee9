/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_RCUPDATE_H
#define _OUTPUT_LINUX_RCUPDATE_H

struct rcu_head { void *next; };

#include <linux/preempt.h>

/* As without preemption of readers. Nothing goes away while the test's threads run. */
#define rcu_read_lock()		preempt_disable()
#define rcu_read_unlock()	preempt_enable()
#define rcu_dereference(p)	READ_ONCE(p)

#endif
