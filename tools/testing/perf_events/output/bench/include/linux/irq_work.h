/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _BENCH_LINUX_IRQ_WORK_H
#define _BENCH_LINUX_IRQ_WORK_H

#include <linux/types.h>

/* As large as the kernel's, which adds what other CPUs need to queue it */
struct irq_work {
	struct irq_work	*next;
	int		pending;
	bool		lazy;
	void		(*func)(struct irq_work *work);
	void		*unused;
};

#define IRQ_WORK_INIT_LAZY(function)	((struct irq_work) { .func = function, .lazy = true })

#define init_irq_work(work, function)	((work)->func = (function))

void irq_work_queue(struct irq_work *work);
void irq_work_queue_on(struct irq_work *work, int cpu);
void irq_work_sync(struct irq_work *work);

#endif
