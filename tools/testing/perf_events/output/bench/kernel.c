// SPDX-License-Identifier: GPL-2.0
/* What ring_buffer.c needs of the rest of the kernel. */
#include <linux/perf_event.h>

/* Somebody would be woken. */
void irq_work_queue(struct irq_work *work)
{
	WRITE_ONCE(work->event, container_of(work, struct perf_event, pending_irq));
}

/* There are no AUX areas. */
struct perf_buffer *ring_buffer_get(struct perf_event *event)
{
	(void)event;
	return NULL;
}

void ring_buffer_put(struct perf_buffer *rb)
{
	(void)rb;
}

void perf_event_aux_event(struct perf_event *event, unsigned long head,
			  unsigned long size, u64 flags)
{
	(void)event;
	(void)head;
	(void)size;
	(void)flags;
}
