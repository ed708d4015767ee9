// SPDX-License-Identifier: GPL-2.0
/*
 * A ring for each CPU, all in one mapping that one descriptor has. A writer is as in
 * perf's private buffers: local operations, the outermost context publishes. The reader
 * looks at each ring's head, and merges. A prototype, to count what it costs.
 */
#include <stdlib.h>

#include <linux/atomic.h>

#include "ring.h"

struct percpu {
	/* The control page's */
	_Alignas(CACHE_LINE) unsigned long published;
	unsigned long	tail;

	/* The kernel's */
	_Alignas(CACHE_LINE) local_t head;
	int		nest;
	unsigned char	*data;
};

struct percpu_rings {
	unsigned int	writers;
	unsigned long	size;
	struct percpu	*percpu;
};

static void copy_to(const struct percpu_rings *rings, const struct percpu *percpu,
		    unsigned long pos, const void *record, unsigned int size)
{
	unsigned long offset = pos & (rings->size - 1), left = rings->size - offset;

	if (size > left) {
		memcpy(percpu->data, record + left, size - left);
		size = left;
	}
	memcpy(percpu->data + offset, record, size);
}

static void publish(struct percpu *percpu)
{
	unsigned long head;

	/* An interrupt that comes behind the load of its head makes another round. */
	do {
		head = local_read(&percpu->head);
		__atomic_store_n(&percpu->published, head, __ATOMIC_RELEASE);
		WRITE_ONCE(percpu->nest, 0);
		if (local_read(&percpu->head) == head)
			return;
		WRITE_ONCE(percpu->nest, 1);
	} while (true);
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct percpu_rings *rings = ring;
	struct percpu *percpu = &rings->percpu[writer];
	long pos = local_read(&percpu->head);
	int nest = READ_ONCE(percpu->nest);

	WRITE_ONCE(percpu->nest, nest + 1);
	do {
		if (pos + size - smp_load_acquire(&percpu->tail) > rings->size) {
			WRITE_ONCE(percpu->nest, nest);
			return false;
		}
	} while (!local_try_cmpxchg(&percpu->head, &pos, pos + size));

	copy_to(rings, percpu, pos, record, size);
	if (nest)
		WRITE_ONCE(percpu->nest, nest);
	else
		publish(percpu);
	return true;
}

static void read_one(struct percpu_rings *rings, struct percpu *percpu, struct sink *sink)
{
	unsigned long head = smp_load_acquire(&percpu->published);
	unsigned long tail = percpu->tail;
	unsigned char whole[RECORD_MAX];

	if (tail == head)
		return;
	while (tail != head) {
		unsigned long offset = tail & (rings->size - 1), left = rings->size - offset;
		struct record_header header;

		memcpy(&header, percpu->data + offset, sizeof(header));
		memcpy(whole, percpu->data + offset, header.size < left ? header.size : left);
		if (header.size > left)
			memcpy(whole + left, percpu->data, header.size - left);
		sink_take(sink, whole, header.size);
		tail += header.size;
	}
	smp_store_release(&percpu->tail, tail);
}

static void read_records(void *ring, struct sink *sink)
{
	struct percpu_rings *rings = ring;

	for (unsigned int i = 0; i < rings->writers; i++)
		read_one(rings, &rings->percpu[i], sink);
}

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct percpu_rings *rings = ring_alloc(sizeof(*rings));
	unsigned char *data = ring_alloc(bytes);

	(void)size;
	rings->writers = writers;
	rings->size = bytes / writers;
	rings->percpu = ring_alloc(writers * sizeof(*rings->percpu));
	for (unsigned int i = 0; i < writers; i++)
		rings->percpu[i].data = data + i * rings->size;
	return rings;
}

static void destroy(void *ring)
{
	struct percpu_rings *rings = ring;

	free(rings->percpu[0].data);
	free(rings->percpu);
	free(rings);
}

const struct ring percpu_ring = {
	.name	 = "a ring for each CPU in one mapping",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = destroy,
};
