/* SPDX-License-Identifier: GPL-2.0 */
/* As a kernel without preemption has it: readers do nothing. */
#ifndef _BENCH_LINUX_RCUPDATE_H
#define _BENCH_LINUX_RCUPDATE_H

struct rcu_head { void *next; };

#define rcu_read_lock()		barrier()
#define rcu_read_unlock()	barrier()
#define synchronize_rcu()	barrier()
#define rcu_dereference(p)	READ_ONCE(p)

#endif
