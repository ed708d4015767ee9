// SPDX-License-Identifier: GPL-2.0
/* Code with hooks, for the test of the machine: what it does is known. */
#include <stdlib.h>

#include <linux/atomic.h>

#include "ring.h"
#include "lines_code.h"

void add_plain(unsigned long *counter)
{
	*counter = *counter + 1;
}

void add_atomic(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

void add_exchange(unsigned long *counter)
{
	unsigned long old = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(counter, &old, old + 1, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
}

void add_local(unsigned long *counter)
{
	local_inc((local_t *)counter);
}

void clear(unsigned long *counter)
{
	*counter = 0;
}

unsigned long look(unsigned long *counter)
{
	return *counter;
}

/* A ring with a fault: two writers can reserve the same place. */
struct broken {
	unsigned long	head, tail, size;
	unsigned char	data[];
};

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct broken *broken = ring;
	unsigned long pos = READ_ONCE(broken->head);

	(void)writer;
	if (pos + size - READ_ONCE(broken->tail) > broken->size)
		return false;
	WRITE_ONCE(broken->head, pos + size);
	memcpy(broken->data + pos % broken->size, record, size);
	return true;
}

static void read_records(void *ring, struct sink *sink)
{
	struct broken *broken = ring;

	for (; (long)(broken->head - broken->tail) > 0; broken->tail += 64)
		sink_take(sink, broken->data + broken->tail % broken->size, 64);
}

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct broken *broken = ring_alloc(sizeof(*broken) + bytes);

	(void)writers;
	(void)size;
	broken->size = bytes;
	return broken;
}

const struct ring broken_ring = {
	.name	 = "two writers reserve the same place",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = free,
};
