// SPDX-License-Identifier: GPL-2.0
/*
 * perf's buffers: the series' ring_buffer.c with output_shared.c and output_lease.c, and,
 * with STOCK defined, the base's ring_buffer.c. Compiled with each, so the same code calls
 * them.
 */
#include <stdlib.h>

#include <linux/perf_event.h>

#include "internal.h"
#include "bench.h"

struct perf_ring {
	unsigned int		buffers;
	struct perf_buffer	**buffer;
	struct perf_event	**event;	/* of each writer */
	unsigned int		writers;
};

/* A child, as events that perf record inherits are. Its parent has the buffer. */
static struct perf_event *new_event(struct perf_event *parent, struct perf_buffer *rb)
{
	struct perf_event *event = ring_alloc(sizeof(*event));

	event->parent = parent;
	event->rb = parent ? NULL : rb;
	return event;
}

static void *create(unsigned int writers, unsigned int buffers, size_t bytes)
{
	struct perf_ring *ring = ring_alloc(sizeof(*ring));
	unsigned int pages = bytes / buffers / PAGE_SIZE;

	ring->writers = writers;
	ring->buffers = buffers;
	ring->buffer = ring_alloc(buffers * sizeof(*ring->buffer));
	ring->event = ring_alloc((writers + buffers) * sizeof(*ring->event));
	for (unsigned int i = 0; i < buffers; i++) {
		ring->buffer[i] = rb_alloc(pages, 0, -1, RING_BUFFER_WRITABLE);
		ring->event[writers + i] = new_event(NULL, ring->buffer[i]);
	}
	for (unsigned int i = 0; i < writers; i++)
		ring->event[i] = new_event(ring->event[writers + i % buffers], NULL);
	return ring;
}

static void *create_private(unsigned int writers, size_t bytes, unsigned int size)
{
	(void)size;
	return create(writers, writers, bytes);
}

static void destroy(void *arg)
{
	struct perf_ring *ring = arg;

	for (unsigned int i = 0; i < ring->buffers; i++) {
		/* A shared one is more than its pages. */
		rb_free_rcu(&ring->buffer[i]->rcu_head);
	}
	for (unsigned int i = 0; i < ring->writers + ring->buffers; i++)
		free(ring->event[i]);
	free(ring->event);
	free(ring->buffer);
	free(ring);
}

static bool write_record(void *arg, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct perf_ring *ring = arg;
	struct perf_output_handle handle;
	struct perf_sample_data data;

	if (perf_output_begin(&handle, &data, ring->event[writer], size))
		return false;
	perf_output_copy(&handle, record, size);
	perf_output_end(&handle);
	return true;
}

/* Pages are not next to each other: a record may have two parts. */
static void read_record(struct perf_buffer *rb, unsigned long at, unsigned int size,
			struct sink *sink)
{
	unsigned char whole[RECORD_MAX];
	unsigned long left = PAGE_SIZE - at % PAGE_SIZE;
	unsigned int page = at / PAGE_SIZE % rb->nr_pages;
	void *record = (char *)rb->data_pages[page] + at % PAGE_SIZE;

	if (size > left) {
		memcpy(whole, record, left);
		memcpy(whole + left, rb->data_pages[(page + 1) % rb->nr_pages],
		       size - left);
		record = whole;
	}
	sink_take(sink, record, size);
}

static void read_buffer(struct perf_buffer *rb, struct sink *sink)
{
	/* What is below was stored before. */
	u64 head = smp_load_acquire(&rb->user_page->data_head);
	u64 tail = rb->user_page->data_tail;

	while (tail != head) {
		const struct perf_event_header *header =
			rb->data_pages[tail / PAGE_SIZE % rb->nr_pages] +
			tail % PAGE_SIZE;

		if (header->type == PERF_RECORD_SAMPLE)
			read_record(rb, tail, header->size, sink);
		tail += header->size;
	}
	/* What is below was read before. */
	smp_store_release(&rb->user_page->data_tail, tail);
}

static void read_buffers(void *arg, struct sink *sink)
{
	struct perf_ring *ring = arg;

	for (unsigned int i = 0; i < ring->buffers; i++)
		read_buffer(ring->buffer[i], sink);
}

#ifdef STOCK
const struct ring stock_ring = {
	.name	 = "stock, a buffer for each writer",
	.create	 = create_private,
	.write	 = write_record,
	.read	 = read_buffers,
	.destroy = destroy,
};
#else
const struct ring private_ring = {
	.name	 = "a buffer for each writer",
	.create	 = create_private,
	.write	 = write_record,
	.read	 = read_buffers,
	.destroy = destroy,
};

static void *create_shared(unsigned int writers, size_t bytes, unsigned int size)
{
	struct perf_ring *ring = create(writers, 1, bytes);

	(void)size;
	cpus_possible(writers);
	if (perf_output_share(ring->buffer[0], false))
		abort();
	return ring;
}

/* poll() of an event */
static void poll_shared(void *arg)
{
	struct perf_ring *ring = arg;

	perf_output_flush_shared(ring->buffer[0]);
}

const struct ring shared_ring = {
	.name	 = "one buffer",
	.create	 = create_shared,
	.write	 = write_record,
	.poll	 = poll_shared,
	.read	 = read_buffers,
	.destroy = destroy,
};
#endif
