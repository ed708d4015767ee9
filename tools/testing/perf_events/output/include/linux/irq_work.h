/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_IRQ_WORK_H
#define _OUTPUT_LINUX_IRQ_WORK_H

#include <linux/types.h>

struct irq_work {
	void	(*func)(struct irq_work *work);
	bool	lazy;
};

#define IRQ_WORK_INIT_LAZY(function)	((struct irq_work) { function, true })

#define init_irq_work(work, function)	((work)->func = (function))

/* The test's. */
void irq_work_queue(struct irq_work *work);
void irq_work_queue_on(struct irq_work *work, int cpu);
void irq_work_sync(struct irq_work *work);

#endif
