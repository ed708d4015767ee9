/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_WORKQUEUE_H
#define _OUTPUT_LINUX_WORKQUEUE_H

struct work_struct {
	void	(*func)(struct work_struct *work);
};

#define INIT_WORK(work, function)	((work)->func = (function))
/* At once: who queues it here may sleep. */
#define queue_work(queue, work)		((work)->func(work))

#endif
