// SPDX-License-Identifier: GPL-2.0
/*
 * One buffer in blocks, and a word for each block with what is reserved and what is
 * committed in it, as in BBQ (Wang and others, "BBQ: A Block-based Bounded Queue for
 * Exchanging Data and Profiling", USENIX ATC 2022). Written from the paper's description.
 * A writer adds to the word to reserve, and again to commit. Who passes the end of the
 * block fills its rest with padding, and opens the next one.
 *
 * What perf needs and BBQ has not: one head for a reader that knows nothing of blocks. Who
 * completes something publishes, as kernel/events/output_shared.c does.
 *
 * A prototype, to count what it costs: padding may have 8 bytes, and a record has to be
 * smaller than a block.
 */
#include <stdlib.h>

#include <linux/atomic.h>

#include "ring.h"

/* A word: number of the lap, reserved, committed; the last two in units of 8 bytes */
#define FIELD		20
#define FIELD_MASK	((1ul << FIELD) - 1)
#define RESERVED(word)	(((word) >> FIELD & FIELD_MASK) * 8)
#define COMMITTED(word)	(((word) & FIELD_MASK) * 8)
#define LAP(word)	((word) >> (2 * FIELD))

#define PADDING		2	/* PERF_RECORD_LOST */

struct word_buffer {
	unsigned long	size, block, blocks, lap_mask;
	unsigned char	*data;

	_Alignas(CACHE_LINE) unsigned long current;	/* block, counted from the beginning */
	_Alignas(CACHE_LINE) unsigned long complete;	/* all blocks below are */
	_Alignas(CACHE_LINE) unsigned long head;
	unsigned long	tail;

	_Alignas(CACHE_LINE) unsigned long words[];
};

static unsigned long *word_of(struct word_buffer *buffer, unsigned long block)
{
	return &buffer->words[block % buffer->blocks];
}

static unsigned long lap_of(const struct word_buffer *buffer, unsigned long block)
{
	return block / buffer->blocks & buffer->lap_mask;
}

static void advance(unsigned long *value, unsigned long to)
{
	unsigned long old = __atomic_load_n(value, __ATOMIC_ACQUIRE);

	while ((long)(to - old) > 0 &&
	       !__atomic_compare_exchange_n(value, &old, to, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_ACQUIRE))
		;
}

/* All that is committed without a gap becomes visible. */
static void publish(struct word_buffer *buffer)
{
	unsigned long was = __atomic_load_n(&buffer->complete, __ATOMIC_ACQUIRE);
	unsigned long block = was, end, word;

	for (;; block++) {
		word = __atomic_load_n(word_of(buffer, block), __ATOMIC_ACQUIRE);
		if (LAP(word) != lap_of(buffer, block)) {
			/* Not yet opened, or somebody was faster */
			end = 0;
			break;
		}
		end = COMMITTED(word);
		if (end < buffer->block) {
			if (RESERVED(word) != end)
				end = 0;
			break;
		}
	}
	if (block != was)
		advance(&buffer->complete, block);
	if (block != was || end)
		advance(&buffer->head, block * buffer->block + end);
}

static void commit(struct word_buffer *buffer, unsigned long block, unsigned long size)
{
	__atomic_fetch_add(word_of(buffer, block), size / 8, __ATOMIC_SEQ_CST);
	publish(buffer);
}

/* The next block: all of the last lap has to be committed, and read. */
static bool open_next(struct word_buffer *buffer, unsigned long block)
{
	unsigned long next = block + 1, *word = word_of(buffer, next);
	unsigned long old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&buffer->current, __ATOMIC_ACQUIRE) != block)
		return true;
	if ((next + 1) * buffer->block - smp_load_acquire(&buffer->tail) > buffer->size)
		return false;
	if (LAP(old) != lap_of(buffer, next)) {
		if (next >= buffer->blocks && COMMITTED(old) != buffer->block)
			return false;
		__atomic_compare_exchange_n(word, &old, lap_of(buffer, next) << 2 * FIELD, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
	__atomic_compare_exchange_n(&buffer->current, &block, next, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
	return true;
}

static void pad(struct word_buffer *buffer, unsigned long block, unsigned long from)
{
	struct record_header header = { PADDING, 0, buffer->block - from };

	memcpy(buffer->data + block * buffer->block % buffer->size + from, &header,
	       sizeof(header));
	commit(buffer, block, buffer->block - from);
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct word_buffer *buffer = ring;
	unsigned long block, word, from;

	(void)writer;
	for (;;) {
		block = __atomic_load_n(&buffer->current, __ATOMIC_ACQUIRE);
		word = __atomic_load_n(word_of(buffer, block), __ATOMIC_ACQUIRE);
		from = RESERVED(word);
		if (LAP(word) == lap_of(buffer, block) && from < buffer->block) {
			word = __atomic_fetch_add(word_of(buffer, block),
						  (unsigned long)size / 8 << FIELD,
						  __ATOMIC_SEQ_CST);
			from = RESERVED(word);
			if (from + size <= buffer->block)
				break;
			if (from < buffer->block)
				pad(buffer, block, from);
		}
		if (!open_next(buffer, block))
			return false;
	}

	memcpy(buffer->data + block * buffer->block % buffer->size + from, record, size);
	commit(buffer, block, size);
	return true;
}

static void read_records(void *ring, struct sink *sink)
{
	struct word_buffer *buffer = ring;
	unsigned long head = smp_load_acquire(&buffer->head), tail = buffer->tail;
	unsigned char whole[RECORD_MAX];
	struct record_header header;

	while (tail != head) {
		const unsigned char *at = buffer->data + tail % buffer->size;

		memcpy(&header, at, sizeof(header));
		if (header.type != PADDING) {
			memcpy(whole, at, header.size);
			sink_take(sink, whole, header.size);
		}
		tail += header.size;
	}
	smp_store_release(&buffer->tail, tail);
}

/* As many blocks as output_shared.c has, but no larger than a lease is. */
static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	unsigned long block = 4096;
	struct word_buffer *buffer;

	(void)writers;
	(void)size;
	while (block > bytes / 8)
		block /= 2;
	buffer = ring_alloc(sizeof(*buffer) + bytes / block * sizeof(buffer->words[0]));
	buffer->size = bytes;
	buffer->block = block;
	buffer->blocks = bytes / block;
	buffer->lap_mask = (1ul << (64 - 2 * FIELD)) - 1;
	buffer->data = ring_alloc(bytes);
	/* Blocks that were never opened have a lap that none has soon. */
	for (unsigned long i = 1; i < buffer->blocks; i++)
		buffer->words[i] = buffer->lap_mask << 2 * FIELD;
	return buffer;
}

static void destroy(void *ring)
{
	struct word_buffer *buffer = ring;

	free(buffer->data);
	free(buffer);
}

const struct ring word_ring = {
	.name	 = "a word for each block",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = destroy,
};
