// SPDX-License-Identifier: GPL-2.0
/*
 * One buffer and a spin lock that knows its owner, of the kind that perf had in 2009:
 * who finds its own CPU in it is an interrupt of the owner and goes ahead, all others
 * spin. owner_lock.pml shows what is wrong with it; here it is how fast it is.
 */
#include <stdlib.h>

#include "ring.h"

#define NOBODY	-1

struct owner_buffer {
	int owner, nest;
	unsigned long reserved;

	_Alignas(CACHE_LINE) unsigned long head;
	_Alignas(CACHE_LINE) unsigned long tail;
	_Alignas(CACHE_LINE) unsigned long size;
	unsigned char data[];
};

static void lock(struct owner_buffer *buffer, int cpu)
{
	int owner = NOBODY;

	while (!__atomic_compare_exchange_n(&buffer->owner, &owner, cpu, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (owner == cpu)
			break;
		cpu_relax();
		owner = NOBODY;
	}
	buffer->nest++;
}

/* The outermost one publishes for all. */
static void unlock(struct owner_buffer *buffer)
{
	if (--buffer->nest)
		return;
	__atomic_store_n(&buffer->head, buffer->reserved, __ATOMIC_RELEASE);
	__atomic_store_n(&buffer->owner, NOBODY, __ATOMIC_RELEASE);
}

static void store(struct owner_buffer *buffer, unsigned long pos, const void *record,
		  unsigned int size)
{
	unsigned long offset = pos & (buffer->size - 1), left = buffer->size - offset;

	if (size > left) {
		memcpy(buffer->data, record + left, size - left);
		size = left;
	}
	memcpy(buffer->data + offset, record, size);
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct owner_buffer *buffer = ring;
	unsigned long pos;
	bool room;

	lock(buffer, writer);
	pos = buffer->reserved;
	room = pos + size - __atomic_load_n(&buffer->tail, __ATOMIC_ACQUIRE) <= buffer->size;
	if (room) {
		buffer->reserved = pos + size;
		store(buffer, pos, record, size);
	}
	unlock(buffer);
	return room;
}

static void read_records(void *ring, struct sink *sink)
{
	struct owner_buffer *buffer = ring;
	unsigned long head = __atomic_load_n(&buffer->head, __ATOMIC_ACQUIRE);
	unsigned long tail = buffer->tail;

	while (tail != head) {
		unsigned long offset = tail & (buffer->size - 1);
		unsigned long left = buffer->size - offset;
		const struct record_header *header = (void *)(buffer->data + offset);
		unsigned char whole[RECORD_MAX];
		const void *record = header;

		if (header->size > left) {
			memcpy(whole, record, left);
			memcpy(whole + left, buffer->data, header->size - left);
			record = whole;
		}
		sink_take(sink, record, header->size);
		tail += header->size;
	}
	__atomic_store_n(&buffer->tail, tail, __ATOMIC_RELEASE);
}

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct owner_buffer *buffer = ring_alloc(sizeof(*buffer) + bytes);

	(void)writers;
	(void)size;
	buffer->owner = NOBODY;
	buffer->size = bytes;
	return buffer;
}

const struct ring owner_ring = {
	.name	 = "owner lock",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = free,
};
