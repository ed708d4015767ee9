// SPDX-License-Identifier: GPL-2.0
/*
 * A ring that keeps the newest records in memory; see memory-ring.h
 *
 * Chunks come out of one reservation of address space. Each is in one of three
 * lists: free, ring, taken. A chunk is filled to its last byte, so that a record
 * can continue in the next chunk. If the chunk in which it begins has left the
 * list, the rest of it is still at the front of the list: its size is the list's
 * carry.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "memory-ring.h"

/* Evicting a chunk takes a few tens of us at most. In a large ring, it is 1/64 of the ring. */
#define CHUNK_MIN	((size_t)SZ_4K)
#define CHUNK_MAX	((size_t)SZ_256K)
#define CHUNKS_WANTED	64

/*
 * A chunk has left the caches by the time it is walked. Prefetch this far ahead: a few
 * small records, or two records of the size of the current one.
 */
#define AHEAD_MIN	((size_t)SZ_1K)
#define CACHE_LINE	64

/* @first and @last are the rounds in which its bytes were read */
struct chunk {
	struct list_head	node;
	unsigned char		*data;
	size_t			used;
	u64			first;
	u64			last;
};

struct chunk_list {
	struct list_head	head;
	size_t			nr;
	size_t			carry;
};

/*
 * Side-band whose eviction is deferred while older records are taken. Each record is
 * preceded by the round in which it was read. @used never exceeds @max.
 */
struct deferred {
	unsigned char	*data;
	size_t		used;
	size_t		size;
	size_t		max;
};

struct memory_ring {
	const struct memory_ring_ops	*ops;
	void				*priv;
	struct chunk_list		ring;
	struct chunk_list		taken;
	struct list_head		free;
	bool				is_taken;
	struct deferred			deferred;
	size_t				nr_max;
	size_t				chunk_size;
	u64				round;
	struct memory_ring_count	dropped;
	struct chunk			*chunks;
	void				*mem;
	size_t				mem_size;
	/* For a record that is split between chunks, one for each thread */
	u64				whole[2][MEMORY_RING_MAX_RECORD / sizeof(u64)];
};

/*
 * Callbacks for records: @wanted for those that ops->wants, with the round
 * by which they were read, @sample for samples, @other for the rest
 */
struct visitor {
	int	(*wanted)(void *arg, const union perf_event *event, u64 round);
	void	(*sample)(void *arg, const union perf_event *event);
	int	(*other)(void *arg, const union perf_event *event);
	void	*arg;
};

static size_t chunk_size(size_t size)
{
	size_t sz = CHUNK_MIN;

	while (sz < CHUNK_MAX && sz * CHUNKS_WANTED < size)
		sz *= 2;
	return sz;
}

struct memory_ring *memory_ring__new(size_t size, const struct memory_ring_ops *ops,
				     void *priv)
{
	struct memory_ring *ring = zalloc(sizeof(*ring));
	size_t i, nr;

	if (!ring)
		return NULL;

	ring->mem = MAP_FAILED;
	ring->ops = ops;
	ring->priv = priv;
	ring->chunk_size = chunk_size(size);
	ring->nr_max = size / ring->chunk_size + !!(size % ring->chunk_size);
	ring->deferred.max = max(size, MEMORY_RING_MIN_DEFERRED);
	INIT_LIST_HEAD(&ring->ring.head);
	INIT_LIST_HEAD(&ring->taken.head);
	INIT_LIST_HEAD(&ring->free);

	nr = 2 * ring->nr_max;
	ring->mem_size = nr * ring->chunk_size;
	ring->chunks = calloc(nr, sizeof(*ring->chunks));
	if (ring->chunks)
		ring->mem = mmap(NULL, ring->mem_size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring->mem == MAP_FAILED) {
		memory_ring__delete(ring);
		return NULL;
	}

	/* Each record is written and read, and a dump needs twice the memory at once */
	madvise(ring->mem, ring->mem_size, MADV_HUGEPAGE);

	for (i = 0; i < nr; i++) {
		ring->chunks[i].data = ring->mem + i * ring->chunk_size;
		list_add_tail(&ring->chunks[i].node, &ring->free);
	}
	return ring;
}

void memory_ring__delete(struct memory_ring *ring)
{
	if (!ring)
		return;
	if (ring->mem != MAP_FAILED)
		munmap(ring->mem, ring->mem_size);
	free(ring->deferred.data);
	free(ring->chunks);
	free(ring);
}

/* Copy a record that begins at @pos of @chunk. false: its end is missing. */
static bool put_together(struct chunk_list *list, struct chunk *chunk, size_t pos,
			 size_t size, void *to)
{
	while (size) {
		size_t n = min(size, chunk->used - pos);

		memcpy(to, chunk->data + pos, n);
		to += n;
		size -= n;
		pos = 0;
		if (size && list_is_last(&chunk->node, &list->head))
			return false;
		chunk = list_next_entry(chunk, node);
	}
	return true;
}

static void count_lost(struct memory_ring_count *count, const union perf_event *event)
{
	const struct perf_event_header *hdr = &event->header;

	if (hdr->type == PERF_RECORD_LOST && hdr->size >= sizeof(event->lost))
		count->lost += event->lost.lost;
	else if (hdr->type == PERF_RECORD_LOST_SAMPLES &&
		 hdr->size >= sizeof(event->lost_samples))
		count->lost += event->lost_samples.lost;
}

/* Of most samples only the header is read, side-band is read to its end */
static void fetch_ahead(const void *event, size_t size, bool is_sample)
{
	const void *ahead = event + max(2 * size, AHEAD_MIN);

	__builtin_prefetch(ahead);
	if (!is_sample) {
		__builtin_prefetch(ahead + CACHE_LINE);
		__builtin_prefetch(ahead + 2 * CACHE_LINE);
	}
}

/*
 * Visit the records that begin in @chunk. @carry is how far the record before them
 * reaches into it, and on return how far the last of them reaches into the next chunk.
 * Most records are samples. If nobody visits them, only their headers are read.
 */
static int walk_chunk(struct memory_ring *ring, struct chunk_list *list, struct chunk *chunk,
		      size_t *carry, struct memory_ring_count *count, void *whole,
		      const struct visitor *visitor)
{
	size_t pos = *carry;

	while (pos < chunk->used) {
		const union perf_event *event = (void *)chunk->data + pos;
		bool is_sample = event->header.type == PERF_RECORD_SAMPLE;
		size_t size = event->header.size;
		int err;

		if (size < sizeof(event->header) || size % sizeof(u64))
			return -EINVAL;
		fetch_ahead(event, size, is_sample);

		if (is_sample && !visitor->sample) {
			count->samples++;
			pos += size;
			continue;
		}
		if (pos + size > chunk->used) {
			if (!put_together(list, chunk, pos, size, whole))
				return -EINVAL;
			event = whole;
		}
		pos += size;
		if (is_sample) {
			count->samples++;
			visitor->sample(visitor->arg, event);
			continue;
		}
		if (ring->ops->wants(event)) {
			count->wanted++;
			err = visitor->wanted ?
			      visitor->wanted(visitor->arg, event, chunk->last) : 0;
		} else {
			count_lost(count, event);
			err = visitor->other ? visitor->other(visitor->arg, event) : 0;
		}
		if (err)
			return err;
	}
	*carry = pos - chunk->used;
	return 0;
}

static struct visitor evictor(struct memory_ring *ring)
{
	return (struct visitor){ .wanted = ring->ops->evict, .arg = ring->priv };
}

static int defer(void *arg, const union perf_event *event, u64 round)
{
	struct memory_ring *ring = arg;
	struct deferred *deferred = &ring->deferred;
	size_t size = sizeof(u64) + event->header.size;

	if (deferred->used + size > deferred->max) {
		ring->dropped.overrun++;
		return 0;
	}
	if (deferred->used + size > deferred->size) {
		size_t new_size = max(2 * deferred->size, MEMORY_RING_MAX_RECORD * 2);
		void *data = realloc(deferred->data, new_size);

		if (!data)
			return -ENOMEM;
		deferred->data = data;
		deferred->size = new_size;
	}
	memcpy(deferred->data + deferred->used, &round, sizeof(u64));
	memcpy(deferred->data + deferred->used + sizeof(u64), event, event->header.size);
	deferred->used += size;
	return 0;
}

static int walk_deferred(struct memory_ring *ring, const struct visitor *visitor)
{
	struct deferred *deferred = &ring->deferred;
	size_t pos = 0;
	int err = 0;

	while (pos < deferred->used && !err) {
		const u64 *round = (void *)deferred->data + pos;
		const union perf_event *event = (const void *)(round + 1);

		err = visitor->wanted(visitor->arg, event, *round);
		pos += sizeof(*round) + event->header.size;
	}
	return err;
}

static int evict_deferred(struct memory_ring *ring)
{
	struct visitor visitor = evictor(ring);
	struct deferred *deferred = &ring->deferred;
	int err = walk_deferred(ring, &visitor);

	free(deferred->data);
	*deferred = (struct deferred){ .max = deferred->max };
	return err;
}

/* The round of the oldest record in the ring, or an earlier one */
static u64 oldest_round(struct memory_ring *ring)
{
	if (list_empty(&ring->ring.head))
		return ring->round;
	return list_first_entry(&ring->ring.head, struct chunk, node)->first;
}

/* Evict the oldest chunk, and return it to be filled anew */
static int evict(struct memory_ring *ring)
{
	struct chunk *chunk = list_first_entry(&ring->ring.head, struct chunk, node);
	struct visitor later = { .wanted = defer, .arg = ring };
	struct visitor now = evictor(ring);
	int err = walk_chunk(ring, &ring->ring, chunk, &ring->ring.carry, &ring->dropped,
			     ring->whole[0], ring->is_taken ? &later : &now);

	if (err)
		return err;
	/* To the front of the list, as its memory is allocated and in the caches */
	list_move(&chunk->node, &ring->free);
	ring->ring.nr--;
	if (!ring->is_taken && ring->ops->advance)
		ring->ops->advance(ring->priv, oldest_round(ring));
	return 0;
}

static struct chunk *new_chunk(struct memory_ring *ring, int *err)
{
	struct chunk *chunk;

	if (ring->ring.nr >= ring->nr_max) {
		*err = evict(ring);
		if (*err)
			return NULL;
	}
	chunk = list_first_entry(&ring->free, struct chunk, node);
	list_move_tail(&chunk->node, &ring->ring.head);
	ring->ring.nr++;
	chunk->used = 0;
	chunk->first = ring->round;
	return chunk;
}

int memory_ring__append(struct memory_ring *ring, const void *buf, size_t size)
{
	struct chunk *chunk = NULL;

	if (ring->ring.nr)
		chunk = list_last_entry(&ring->ring.head, struct chunk, node);

	while (size) {
		size_t n;
		int err;

		if (!chunk || chunk->used == ring->chunk_size) {
			chunk = new_chunk(ring, &err);
			if (!chunk)
				return err;
		}
		n = min(size, ring->chunk_size - chunk->used);
		memcpy(chunk->data + chunk->used, buf, n);
		chunk->used += n;
		chunk->last = ring->round;
		buf += n;
		size -= n;
	}
	return 0;
}

void memory_ring__end_round(struct memory_ring *ring)
{
	ring->round++;
}

u64 memory_ring__round(const struct memory_ring *ring)
{
	return ring->round;
}

void memory_ring__take(struct memory_ring *ring)
{
	list_splice_tail_init(&ring->ring.head, &ring->taken.head);
	ring->taken.nr = ring->ring.nr;
	ring->taken.carry = ring->ring.carry;
	ring->ring.nr = 0;
	ring->ring.carry = 0;
	ring->is_taken = true;
}

int memory_ring__read_taken(struct memory_ring *ring, memory_ring_piece_t piece,
			    void *arg)
{
	size_t skip = ring->taken.carry;
	struct chunk *chunk;

	list_for_each_entry(chunk, &ring->taken.head, node) {
		size_t from = min(skip, chunk->used);
		int err;

		skip -= from;
		if (from == chunk->used)
			continue;
		err = piece(arg, chunk->data + from, chunk->used - from);
		if (err)
			return err;
	}
	return 0;
}

static int walk_list(struct memory_ring *ring, struct chunk_list *list,
		     struct memory_ring_count *count, void *whole, const struct visitor *visitor)
{
	struct chunk *chunk;
	size_t carry = list->carry;

	list_for_each_entry(chunk, &list->head, node) {
		int err = walk_chunk(ring, list, chunk, &carry, count, whole, visitor);

		if (err)
			return err;
	}
	return 0;
}

static int visit_wanted(void *arg, const union perf_event *event, u64 round __maybe_unused)
{
	const struct memory_ring_visitor *v = arg;

	return v->wanted(v->arg, event);
}

static void visit_sample(void *arg, const union perf_event *event)
{
	const struct memory_ring_visitor *v = arg;

	v->sample(v->arg, event);
}

static int visit_other(void *arg, const union perf_event *event)
{
	const struct memory_ring_visitor *v = arg;

	return v->other(v->arg, event);
}

static struct visitor outside(const struct memory_ring_visitor *v)
{
	return (struct visitor){
		.wanted	= v->wanted ? visit_wanted : NULL,
		.sample	= v->sample ? visit_sample : NULL,
		.other	= v->other ? visit_other : NULL,
		.arg	= (void *)v,
	};
}

int memory_ring__walk_taken(struct memory_ring *ring, struct memory_ring_count *count,
			    const struct memory_ring_visitor *v)
{
	struct visitor visitor = outside(v);

	return walk_list(ring, &ring->taken, count, ring->whole[1], &visitor);
}

int memory_ring__walk_new(struct memory_ring *ring, const struct memory_ring_visitor *v)
{
	struct memory_ring_count count = {};
	struct visitor visitor = outside(v);
	int err = walk_deferred(ring, &visitor);

	return err ?: walk_list(ring, &ring->ring, &count, ring->whole[0], &visitor);
}

int memory_ring__walk(struct memory_ring *ring, struct memory_ring_count *count,
		      const struct memory_ring_visitor *v)
{
	struct visitor visitor = outside(v);

	return walk_list(ring, &ring->ring, count, ring->whole[0], &visitor);
}

int memory_ring__walk_seldom(struct memory_ring *ring, u64 (*clock)(void), u64 *next,
			     struct memory_ring_count *count,
			     const struct memory_ring_visitor *v)
{
	u64 begin = clock(), end;
	int err;

	if (begin < *next)
		return -EAGAIN;
	err = memory_ring__walk(ring, count, v);
	end = clock();
	*next = end + MEMORY_RING_REST * (end - begin);
	return err;
}

size_t memory_ring__used(const struct memory_ring *ring)
{
	struct chunk *chunk;
	size_t used = 0;

	list_for_each_entry(chunk, &ring->ring.head, node)
		used += chunk->used;
	return used - min(used, ring->ring.carry);
}

/* Evict all records of @list */
static int evict_list(struct memory_ring *ring, struct chunk_list *list,
		      struct memory_ring_count *count)
{
	struct visitor visitor = evictor(ring);

	return walk_list(ring, list, count, ring->whole[1], &visitor);
}

/*
 * Free the memory of the chunks, which only a dump needs. Most neighbours in the list
 * are also neighbours in memory. Freed with one call, they don't split huge pages.
 */
static void free_memory(struct memory_ring *ring, const struct chunk_list *list)
{
	unsigned char *from = NULL, *to = NULL;
	struct chunk *chunk;

	list_for_each_entry(chunk, &list->head, node) {
		if (chunk->data != to) {
			madvise(from, to - from, MADV_DONTNEED);
			from = chunk->data;
		}
		to = chunk->data + ring->chunk_size;
	}
	madvise(from, to - from, MADV_DONTNEED);
}

int memory_ring__evict_taken(struct memory_ring *ring)
{
	struct memory_ring_count count = {};
	int err = evict_list(ring, &ring->taken, &count);

	free_memory(ring, &ring->taken);
	return err;
}

int memory_ring__release(struct memory_ring *ring)
{
	int err;

	list_splice_tail_init(&ring->taken.head, &ring->free);
	ring->is_taken = false;

	err = evict_deferred(ring);
	if (!err && ring->ops->advance)
		ring->ops->advance(ring->priv, oldest_round(ring));
	return err;
}

int memory_ring__give_back(struct memory_ring *ring)
{
	int err = 0;

	/* Newer records fill the ring: no room for these, nor for those evicted since */
	if (ring->ring.nr >= ring->nr_max) {
		err = evict_list(ring, &ring->taken, &ring->dropped);
		return err ?: memory_ring__release(ring);
	}

	list_splice_init(&ring->taken.head, &ring->ring.head);
	ring->ring.nr += ring->taken.nr;
	ring->ring.carry = ring->taken.carry;
	ring->is_taken = false;

	while (!err && ring->ring.nr > ring->nr_max)
		err = evict(ring);
	return err;
}

int memory_ring__drop(struct memory_ring *ring)
{
	int err = 0;

	while (!err && ring->ring.nr)
		err = evict(ring);
	return err;
}

const struct memory_ring_count *memory_ring__dropped(const struct memory_ring *ring)
{
	return &ring->dropped;
}
