/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_PREEMPT_H
#define _OUTPUT_LINUX_PREEMPT_H

#include <linux/compiler.h>

/* The test's: what this thread has disabled and not yet enabled. */
extern __thread int preempt_count;

#define preempt_disable()	do { preempt_count++; barrier(); } while (0)
#define preempt_enable()	do { barrier(); preempt_count--; } while (0)

#endif
