/* SPDX-License-Identifier: GPL-2.0 */
/* The work is done at once. */
#ifndef _PERF_EVENTS_LINUX_IRQ_WORK_H
#define _PERF_EVENTS_LINUX_IRQ_WORK_H

#include <stddef.h>

#define container_of(ptr, type, member)						\
	((type *)((char *)(ptr) - offsetof(type, member)))

struct irq_work {
	void (*func)(struct irq_work *work);
};

static inline void init_irq_work(struct irq_work *work, void (*func)(struct irq_work *work))
{
	work->func = func;
}

static inline void irq_work_queue(struct irq_work *work)
{
	work->func(work);
}

#endif
