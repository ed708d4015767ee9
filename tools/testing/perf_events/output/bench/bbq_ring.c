// SPDX-License-Identifier: GPL-2.0
/*
 * One buffer of blocks, as in Wang et al., "BBQ: A Block-based Bounded Queue for
 * Exchanging Data and Profiling", USENIX ATC 2022, for records of any size. A block counts
 * the bytes that are reserved and those that are committed, so only who goes on to the
 * next block looks at what the reader has read. Here both counts are in one word, with
 * the block's lap:
 *
 *	63   lap   48 47   reserved   24 23   committed   0
 *
 * One addition reserves, another commits, one load tells whether all that is reserved is
 * there, and one exchange opens the block anew.
 *
 * Blocks are numbered on and on; the lap says which of its numbers a block has. Who finds
 * its block full opens the next one, if the reader has left that, and moves head. Any
 * writer can do either step for another, so an interrupt can write at any place.
 *
 * What this gives up:
 *
 * - The reader doesn't get past a block with a record that isn't complete. So a writer
 *   that is preempted in one, on any CPU, holds back the records of all others. When the
 *   ring is full behind it, new ones are lost.
 * - Each record takes two atomic additions to a word that all CPUs write to.
 * - A record doesn't cross the end of a block: the rest stays empty.
 * - The reader has to read the words, not one position as that of perf's buffers.
 * - An addition can't look first whether there is room. What all CPUs and their interrupts
 *   may add in vain must not reach the lap, which limits records and blocks.
 * - A writer that is preempted while it opens a block must be back within 65536 laps.
 */
#include <stdlib.h>

#include "ring.h"

#define BLOCK		(16 << 10)
#define COMMITTED	1ull
#define RESERVED	0x1000000ull
#define LAP		0x1000000000000ull
#define PADDING		0	/* a record's type */

struct word {
	_Alignas(CACHE_LINE) uint64_t value;
};

/**
 * struct bbq - the buffer
 * @head: number of the block that is written to
 * @tail: of the first that isn't read
 * @read: so much of that one is read
 * @blocks: how many there are
 */
struct bbq {
	_Alignas(CACHE_LINE) uint64_t head;
	_Alignas(CACHE_LINE) uint64_t tail, read;
	_Alignas(CACHE_LINE) uint64_t blocks;
	unsigned char *data;
	struct word words[];
};

static unsigned int committed(uint64_t word)
{
	return word % RESERVED / COMMITTED;
}

static unsigned int reserved(uint64_t word)
{
	return word % LAP / RESERVED;
}

static uint64_t *word_of(struct bbq *bbq, uint64_t number)
{
	return &bbq->words[number % bbq->blocks].value;
}

/* The block's word, when nothing is reserved in it */
static uint64_t fresh_word(const struct bbq *bbq, uint64_t number)
{
	return number / bbq->blocks * LAP;
}

static void *record_at(struct bbq *bbq, uint64_t number, unsigned int offset)
{
	return bbq->data + number % bbq->blocks * BLOCK + offset;
}

/* Pairs with the reader's load of the word. */
static void commit(struct bbq *bbq, uint64_t number, unsigned int size)
{
	__atomic_fetch_add(word_of(bbq, number), size * COMMITTED, __ATOMIC_RELEASE);
}

/* Whose record is the first that doesn't fit has the rest of the block. */
static void pad(struct bbq *bbq, uint64_t number, unsigned int offset)
{
	struct record_header header = { .type = PADDING, .size = BLOCK - offset };

	memcpy(record_at(bbq, number, offset), &header, sizeof(header));
	commit(bbq, number, BLOCK - offset);
}

/*
 * Returns where in the block the record goes, or BLOCK. Who comes so late that the block is
 * open again may write into it all the same. Pairs with open_block(): nothing is
 * overwritten that isn't read.
 */
static unsigned int reserve(struct bbq *bbq, uint64_t number, unsigned int size)
{
	uint64_t *word = word_of(bbq, number);
	unsigned int offset;

	/* So each adds in vain at most once. */
	if (reserved(__atomic_load_n(word, __ATOMIC_RELAXED)) >= BLOCK)
		return BLOCK;
	offset = reserved(__atomic_fetch_add(word, size * RESERVED, __ATOMIC_ACQUIRE));
	if (offset + size <= BLOCK)
		return offset;
	if (offset < BLOCK)
		pad(bbq, number, offset);
	return BLOCK;
}

/* The first one opens it. Until then others may add to it in vain. */
static void open_block(struct bbq *bbq, uint64_t number)
{
	uint64_t *word = word_of(bbq, number), fresh = fresh_word(bbq, number);
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (old / LAP == (fresh - LAP) / LAP &&
	       !__atomic_compare_exchange_n(word, &old, fresh, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

/* Returns false if the reader hasn't left the block that comes behind @number. */
static bool next_block(struct bbq *bbq, uint64_t number)
{
	/* Pairs with leave_block(). Of who comes late, the reader may be ahead. */
	int64_t ahead = number + 1 - __atomic_load_n(&bbq->tail, __ATOMIC_ACQUIRE);

	if (ahead >= (int64_t)bbq->blocks)
		return false;
	open_block(bbq, number + 1);
	/* Pairs with write_record(): who sees this head sees an open block. */
	__atomic_compare_exchange_n(&bbq->head, &number, number + 1, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return true;
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct bbq *bbq = ring;
	unsigned int offset;
	uint64_t number;

	(void)writer;
	for (;;) {
		number = __atomic_load_n(&bbq->head, __ATOMIC_ACQUIRE);
		offset = reserve(bbq, number, size);
		if (offset < BLOCK)
			break;
		if (!next_block(bbq, number))
			return false;
	}
	memcpy(record_at(bbq, number, offset), record, size);
	commit(bbq, number, size);
	return true;
}

/* Returns up to where the block that the reader is in may be read. */
static unsigned int readable(struct bbq *bbq)
{
	uint64_t word = __atomic_load_n(word_of(bbq, bbq->tail), __ATOMIC_ACQUIRE);

	if (word / LAP != fresh_word(bbq, bbq->tail) / LAP)
		return 0;	/* not open yet */
	/* If less, any of them may be missing. */
	if (committed(word) == BLOCK || committed(word) == reserved(word))
		return committed(word);
	return 0;
}

/* It may be overwritten. */
static void leave_block(struct bbq *bbq)
{
	bbq->read = 0;
	__atomic_store_n(&bbq->tail, bbq->tail + 1, __ATOMIC_RELEASE);
}

static void read_records(void *ring, struct sink *sink)
{
	struct bbq *bbq = ring;
	unsigned int end;

	do {
		end = readable(bbq);
		while (bbq->read < end) {
			const struct record_header *header =
				record_at(bbq, bbq->tail, bbq->read);

			if (header->type != PADDING)
				sink_take(sink, header, header->size);
			bbq->read += header->size;
		}
		if (end == BLOCK)
			leave_block(bbq);
	} while (end == BLOCK);
}

/* Block 0 is open. All others are full, and of the lap before the first. */
static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	unsigned int blocks = bytes / BLOCK;
	struct bbq *bbq = ring_alloc(sizeof(*bbq) + blocks * sizeof(*bbq->words));

	(void)writers;
	(void)size;
	bbq->blocks = blocks;
	bbq->data = ring_alloc(bytes);
	for (unsigned int i = 1; i < blocks; i++)
		bbq->words[i].value = BLOCK * (RESERVED + COMMITTED) - LAP;
	return bbq;
}

static void destroy(void *ring)
{
	struct bbq *bbq = ring;

	free(bbq->data);
	free(bbq);
}

const struct ring bbq_ring = {
	.name	 = "BBQ, one word per block",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = destroy,
};
