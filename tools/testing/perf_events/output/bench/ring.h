/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OUTPUT_BENCH_RING_H
#define OUTPUT_BENCH_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CACHE_LINE	64
#define RECORD_MAX	4096

/* What all records begin with: a struct perf_event_header. */
struct record_header {
	uint32_t	type;
	uint16_t	misc;
	uint16_t	size;
};

/* Where a reader puts each record, as one that writes a file would. */
struct sink {
	unsigned long	records;
	unsigned char	record[RECORD_MAX];
};

static inline void sink_take(struct sink *sink, const void *record, unsigned int size)
{
	memcpy(sink->record, record, size);
	sink->records++;
}

/**
 * struct ring - a way to hand records from many writers to one reader
 * @name: in the table
 * @create: for so many writers, in so many bytes, for records of one size
 * @write: writer number @writer stores a record. Returns false if there is no room
 * @poll: what a reader has to call before it sleeps and when it was woken; or NULL
 * @read: all that is there goes into the sink
 * @destroy: undoes @create
 *
 * What @create returns is the first argument of the others.
 */
struct ring {
	const char *name;
	void *(*create)(unsigned int writers, size_t bytes, unsigned int size);
	bool (*write)(void *ring, unsigned int writer, const void *record,
		      unsigned int size);
	void (*poll)(void *ring);
	void (*read)(void *ring, struct sink *sink);
	void (*destroy)(void *ring);
};

static inline void ring_poll(const struct ring *ring, void *buffer)
{
	if (ring->poll)
		ring->poll(buffer);
}

extern const struct ring stock_ring, private_ring, shared_ring, owner_ring;
extern const struct ring bbq_ring, rts_ring, wfcq_ring, lttng_ring;

void *ring_alloc(size_t bytes);

static inline void cpu_relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#else
	__asm__ __volatile__("" : : : "memory");
#endif
}

#endif
