/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_IRQ_WORK_H
#define _OUTPUT_LINUX_IRQ_WORK_H

struct irq_work {
	void	(*func)(struct irq_work *work);
};

#define init_irq_work(work, function)	((work)->func = (function))
#define irq_work_sync(work)		((void)(work))

/* The test's. */
void irq_work_queue(struct irq_work *work);

#endif
