// SPDX-License-Identifier: GPL-2.0
/* What ring_buffer.c needs of the rest of the kernel. */
#include <linux/perf_event.h>
#include <linux/slab.h>

bool memory_fails;
long allocated;

/* Somebody would be woken. */
void irq_work_queue(struct irq_work *work)
{
	WRITE_ONCE(work->func, NULL);
}

void irq_work_sync(struct irq_work *work)
{
	(void)work;
}
