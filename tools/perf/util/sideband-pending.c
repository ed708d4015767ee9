// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-pending.c: Records of a sideband-store until they are applied
 *
 * They arrive as sorted runs: one for each kernel buffer and round. So they are sorted
 * by merging runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "sideband-state.h"

#define INDEX_MIN	64

/* How far ahead memory to be written next is prefetched, in bytes and in records */
#define LOG_AHEAD	512
#define INDEX_AHEAD	8
#define CACHE_LINE	64

/* An empty block, to be filled next */
static struct sideband_block *log__get_block(struct sideband_store *store)
{
	struct sideband_pending *p = &store->pending;
	struct sideband_block *block = p->free;

	if (block) {
		p->free = block->next;
		p->nr_free--;
	} else {
		block = sideband_store__alloc(store, sizeof(*block));
		if (!block)
			return NULL;
	}
	block->used = 0;
	block->nr = 0;
	p->nr_used++;
	p->last = block;
	return block;
}

/* Free the empty blocks but for @keep of them */
static void log__trim(struct sideband_store *store, size_t keep)
{
	struct sideband_pending *p = &store->pending;

	while (p->nr_free > keep) {
		struct sideband_block *block = p->free;

		p->free = block->next;
		p->nr_free--;
		sideband_store__free(store, block, sizeof(*block));
	}
}

/* @block has no pending records. Keep as many free blocks as are in use: new memory is slow. */
static void log__put_block(struct sideband_store *store, struct sideband_block *block)
{
	struct sideband_pending *p = &store->pending;

	block->next = p->free;
	p->free = block;
	p->nr_free++;
	p->nr_used--;
	log__trim(store, p->nr_used);
}

/* Room for a record at the end of the log, in @last */
static struct sideband_logged *log__reserve(struct sideband_store *store, size_t size)
{
	struct sideband_block *block = store->pending.last;

	if (!block || block->used + size > sizeof(block->data)) {
		block = log__get_block(store);
		if (!block)
			return NULL;
	}
	block->used += size;
	block->nr++;
	return (void *)block->data + block->used - size;
}

static void log__release(struct sideband_store *store, struct sideband_block *block)
{
	if (--block->nr)
		return;
	if (block == store->pending.last)
		block->used = 0;
	else
		log__put_block(store, block);
}

static size_t index__size(size_t alloc)
{
	return 2 * alloc * sizeof(struct sideband_pending_record);
}

/* Make room for one more entry, if possible in place of entries that were applied */
static int index__reserve(struct sideband_store *store)
{
	struct sideband_pending *p = &store->pending;
	size_t nr = p->nr - p->first, alloc = max_t(size_t, INDEX_MIN, 2 * nr);
	struct sideband_pending_record *index = p->index;

	if (p->nr < p->alloc)
		return 0;
	if (alloc > p->alloc || alloc < p->alloc / 4) {
		index = sideband_store__alloc(store, index__size(alloc));
		if (!index)
			return -ENOMEM;
	}
	if (nr)
		memmove(index, p->index + p->first, nr * sizeof(*index));
	if (index != p->index) {
		sideband_store__free(store, p->index, index__size(p->alloc));
		p->index = index;
		p->alloc = alloc;
	}
	p->sorted -= p->first;
	p->nr = nr;
	p->first = 0;
	return 0;
}

static u32 tid_of(const union perf_event *event)
{
	if (event->header.type == PERF_RECORD_FORK || event->header.type == PERF_RECORD_EXIT)
		return event->fork.tid;
	/* pid and tid are at the same place in all the others */
	return event->comm.tid;
}

/* Prefetch the memory to be written next, as it has left the caches since its last use */
static void fetch_ahead(const void *logged, const struct sideband_pending_record *pending)
{
	__builtin_prefetch(logged + LOG_AHEAD, 1);
	__builtin_prefetch(logged + LOG_AHEAD + CACHE_LINE, 1);
	__builtin_prefetch(pending + INDEX_AHEAD, 1);
}

int sideband_pending__add(struct sideband_store *store, const union perf_event *event,
			  u64 time, u64 seq, u64 round)
{
	struct sideband_pending *p = &store->pending;
	bool of_task = sideband_store__is_of_task(event);
	struct sideband_logged *logged;
	size_t size = event->header.size;

	if (index__reserve(store))
		return -ENOMEM;
	logged = log__reserve(store, sizeof(*logged) + size);
	if (!logged)
		return -ENOMEM;
	fetch_ahead(logged, &p->index[p->nr]);
	logged->seq = seq;
	memcpy(logged->event, event, size);
	p->index[p->nr++] = (struct sideband_pending_record) {
		.time	 = time,
		.round	 = round,
		.block	 = p->last,
		.pid	 = of_task ? event->comm.pid : 0,
		.tid	 = of_task ? tid_of(event) : 0,
		.pos	 = (u64 *)logged - p->last->data,
		.type	 = event->header.type,
		.of_task = of_task,
	};
	return 0;
}

/* The end of the run that begins at @i */
static size_t end_of_run(const struct sideband_pending_record *index, size_t i, size_t nr)
{
	while (++i < nr && index[i - 1].time <= index[i].time)
		;
	return min(i, nr);
}

/*
 * Merge two adjacent runs. Entries that are newer or older than the whole other run aren't
 * moved: that is most of them if the runs are of different rounds.
 */
static void merge(struct sideband_pending_record *index, size_t from, size_t mid, size_t to,
		  struct sideband_pending_record *tmp)
{
	size_t nr;

	while (to > mid && mid > from && index[to - 1].time >= index[mid - 1].time)
		to--;
	nr = to - mid;
	memcpy(tmp, index + mid, nr * sizeof(*tmp));
	while (nr) {
		if (mid > from && index[mid - 1].time > tmp[nr - 1].time)
			index[--to] = index[--mid];
		else
			index[--to] = tmp[--nr];
	}
}

/*
 * Sort the entries from @first to @nr by time, those of the same time by arrival. Those up
 * to @sorted are sorted already. @tmp has room for the others.
 */
static void sort(struct sideband_pending_record *index, size_t first, size_t sorted, size_t nr,
		 struct sideband_pending_record *tmp)
{
	size_t from, mid, to;

	do {
		from = sorted;
		while ((mid = end_of_run(index, from, nr)) < nr) {
			to = end_of_run(index, mid, nr);
			merge(index, from, mid, to, tmp);
			from = to;
		}
	} while (from != sorted);
	merge(index, first, sorted, nr, tmp);
}

/* Is its round so old that all records of the ring are newer? */
static bool is_older_than_ring(const struct sideband_pending_record *pending, u64 oldest_round)
{
	return (s32)((u32)oldest_round - pending->round) >= 2;
}

void sideband_pending__sort(struct sideband_pending *p, u64 oldest_round)
{
	size_t end = p->sorted;

	for (; end < p->nr && is_older_than_ring(&p->index[end], oldest_round); end++)
		p->complete = max(p->complete, p->index[end].time);
	if (end == p->sorted)
		return;
	sort(p->index, p->first, p->sorted, end, p->index + p->alloc);
	p->sorted = end;
}

void sideband_pending__advance(struct sideband_pending *p)
{
	size_t i;

	p->due = p->complete - min_t(u64, p->complete, SIDEBAND_STORE_LAG);
	for (i = p->sorted; i < p->nr; i++) {
		if (p->index[i].time)
			p->due = min(p->due, p->index[i].time);
	}
}

size_t sideband_pending__end_of_due(const struct sideband_pending *p)
{
	size_t end = p->sorted, from = p->first;

	while (from < end) {
		size_t mid = from + (end - from) / 2;

		if (p->index[mid].time <= p->due)
			from = mid + 1;
		else
			end = mid;
	}
	return end;
}

void sideband_pending__pop(struct sideband_store *store)
{
	struct sideband_pending *p = &store->pending;

	log__release(store, p->index[p->first++].block);
}

struct sideband_pending_record *sideband_pending__by_time(const struct sideband_pending *p,
							  size_t *nr)
{
	struct sideband_pending_record *index;

	*nr = p->nr - p->first;
	index = malloc(index__size(*nr + 1));
	if (!index || !*nr)
		return index;
	memcpy(index, p->index + p->first, *nr * sizeof(*index));
	sort(index, 0, p->sorted - p->first, *nr, index + *nr);
	return index;
}

void sideband_pending__exit(struct sideband_store *store)
{
	struct sideband_pending *p = &store->pending;

	while (p->first < p->nr)
		sideband_pending__pop(store);
	sideband_store__free(store, p->last, sizeof(*p->last));
	log__trim(store, 0);
	sideband_store__free(store, p->index, index__size(p->alloc));
}
