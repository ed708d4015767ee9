/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_WAIT_H
#define _OUTPUT_LINUX_WAIT_H

#include <linux/atomic.h>

/* How often somebody who waits here was woken. */
typedef atomic_t wait_queue_head_t;

#define wake_up_all(queue)	atomic_inc(queue)

#endif
