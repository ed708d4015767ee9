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

#ifdef SINK_TAKE
void sink_take(struct sink *sink, const void *record, unsigned int size);
#else
static inline void sink_take(struct sink *sink, const void *record, unsigned int size)
{
	memcpy(sink->record, record, size);
	sink->records++;
}
#endif

/**
 * struct ring - a way to hand records from many writers to one reader
 * @name: in the table
 * @create: for so many writers, in so many bytes, for records of one size
 * @write: writer number @writer stores a record. Returns false if there is no room
 * @read: all that is there goes into the sink
 * @tick: writer number @writer has a timer interrupt. May be NULL
 * @destroy: undoes @create
 *
 * What @create returns is the first argument of the others.
 */
struct ring {
	const char *name;
	void *(*create)(unsigned int writers, size_t bytes, unsigned int size);
	bool (*write)(void *ring, unsigned int writer, const void *record,
		      unsigned int size);
	void (*read)(void *ring, struct sink *sink);
	void (*tick)(void *ring, unsigned int writer);
	void (*destroy)(void *ring);
};

extern const struct ring stock_ring, private_ring, shared_ring, owner_ring;
extern const struct ring rts_ring, wfcq_ring;

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
