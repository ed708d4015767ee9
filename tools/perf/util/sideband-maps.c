// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-maps.c: Which mapping of a process is visible at which address
 *
 * That's as perf report sees it: a mapping hides what older ones have in its
 * range, the rest of them stays. A record is needed as long as one byte of its
 * mapping can be seen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sideband-state.h"

static struct sideband_maps *maps__new(struct sideband_store *store)
{
	struct sideband_maps *maps = sideband_store__alloc(store, sizeof(*maps));

	if (maps)
		*maps = (struct sideband_maps) { .refs = 1, };
	return maps;
}

static void maps__put(struct sideband_store *store, struct sideband_maps *maps)
{
	unsigned int i;

	if (--maps->refs)
		return;
	for (i = 0; i < maps->nr; i++)
		sideband_store__put(store, maps->seg[i].rec);
	sideband_store__free(store, maps->seg, maps->alloc * sizeof(*maps->seg));
	sideband_store__free(store, maps, sizeof(*maps));
}

/* Make room for @nr segments */
static int maps__reserve(struct sideband_store *store, struct sideband_maps *maps,
			 unsigned int nr)
{
	struct sideband_segment *seg;

	if (nr <= maps->alloc)
		return 0;
	nr += nr / 4;
	seg = sideband_store__alloc(store, nr * sizeof(*seg));
	if (!seg)
		return -ENOMEM;
	if (maps->nr)
		memcpy(seg, maps->seg, maps->nr * sizeof(*seg));
	sideband_store__free(store, maps->seg, maps->alloc * sizeof(*seg));
	maps->seg = seg;
	maps->alloc = nr;
	return 0;
}

static struct sideband_maps *maps__copy(struct sideband_store *store,
					const struct sideband_maps *old)
{
	struct sideband_maps *maps = maps__new(store);
	unsigned int i;

	if (!maps)
		return NULL;
	if (maps__reserve(store, maps, old->nr)) {
		maps__put(store, maps);
		return NULL;
	}
	for (i = 0; i < old->nr; i++) {
		maps->seg[i] = old->seg[i];
		sideband_store__get(old->seg[i].rec);
	}
	maps->nr = old->nr;
	return maps;
}

/* Let @process have mappings that are nobody else's */
static int process__own_maps(struct sideband_store *store, struct sideband_process *process)
{
	struct sideband_maps *maps = process->maps;

	if (maps && maps->refs == 1)
		return 0;
	maps = maps ? maps__copy(store, maps) : maps__new(store);
	if (!maps)
		return -ENOMEM;
	if (process->maps)
		maps__put(store, process->maps);
	process->maps = maps;
	return 0;
}

/* The address range of a MMAP or MMAP2 record: their beginnings are the same */
static void record__range(struct sideband_record *rec, u64 *start, u64 *end)
{
	const struct perf_record_mmap *mmap = &sideband_record__event(rec)->mmap;

	*start = mmap->start;
	*end = mmap->start + mmap->len;
	if (*end < *start)
		*end = ~0ULL;
}

/* The first segment that ends behind @addr */
static unsigned int maps__search(const struct sideband_maps *maps, u64 addr)
{
	unsigned int low = 0, high = maps->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (maps->seg[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

bool sideband_maps__has(const struct sideband_maps *maps, struct sideband_record *rec)
{
	u64 start, end;
	unsigned int i;

	if (!maps)
		return false;
	record__range(rec, &start, &end);
	for (i = maps__search(maps, start); i < maps->nr && maps->seg[i].start < end; i++) {
		if (maps->seg[i].rec == rec)
			return true;
	}
	return false;
}

static void add_piece(struct sideband_segment *pieces, unsigned int *nr, u64 start, u64 end,
		      struct sideband_record *rec)
{
	if (start >= end)
		return;
	pieces[(*nr)++] = (struct sideband_segment) { start, end, sideband_store__get(rec) };
}

/*
 * What is to be seen instead of @nr segments that overlap with [start, end) when
 * @rec is mapped there. Return the number of pieces, at most 2 * nr + 3.
 */
static unsigned int cut_segments(struct sideband_segment *pieces,
				 const struct sideband_segment *seg, unsigned int nr,
				 struct sideband_record *rec, u64 start, u64 end)
{
	unsigned int n = 0, i;
	u64 done = start;

	for (i = 0; i < nr; i++) {
		if (!sideband_record__older(rec, seg[i].rec)) {
			add_piece(pieces, &n, seg[i].start, start, seg[i].rec);
			continue;
		}
		add_piece(pieces, &n, done, seg[i].start, rec);
		add_piece(pieces, &n, seg[i].start, seg[i].end, seg[i].rec);
		done = seg[i].end;
	}
	add_piece(pieces, &n, done, end, rec);
	/* only the last one can reach beyond the end, and be older */
	if (nr && !sideband_record__older(rec, seg[nr - 1].rec))
		add_piece(pieces, &n, end, seg[nr - 1].end, seg[nr - 1].rec);
	return n;
}

/* Have @pieces and then as many old segments as @nr in store->scratch */
static int store__reserve_scratch(struct sideband_store *store, unsigned int nr)
{
	struct sideband_segment *scratch;

	if (nr <= store->nr_scratch)
		return 0;
	nr += nr / 4;
	scratch = sideband_store__alloc(store, nr * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	sideband_store__free(store, store->scratch, store->nr_scratch * sizeof(*scratch));
	store->scratch = scratch;
	store->nr_scratch = nr;
	return 0;
}

/* @process has lost these segments. Their records may have others left. */
static void process__lost(struct sideband_store *store, struct sideband_process *process,
			  const struct sideband_segment *seg, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (seg[i].rec->owner == process->serial &&
		    !sideband_maps__has(process->maps, seg[i].rec))
			seg[i].rec->orphan = true;
	}
	for (i = 0; i < nr; i++)
		sideband_store__put(store, seg[i].rec);
}

int sideband_maps__insert(struct sideband_store *store, struct sideband_process *process,
			  struct sideband_record *rec)
{
	struct sideband_segment *pieces, *lost;
	unsigned int first, last, nr_lost, nr;
	struct sideband_maps *maps;
	u64 start, end;

	record__range(rec, &start, &end);
	if (start == end)
		return 0;
	if (process__own_maps(store, process))
		return -ENOMEM;
	maps = process->maps;

	first = maps__search(maps, start);
	for (last = first; last < maps->nr && maps->seg[last].start < end; last++)
		;
	nr_lost = last - first;
	if (store__reserve_scratch(store, 3 * nr_lost + 3) ||
	    maps__reserve(store, maps, maps->nr + nr_lost + 3))
		return -ENOMEM;

	lost = store->scratch;
	pieces = lost + nr_lost;
	if (nr_lost)
		memcpy(lost, maps->seg + first, nr_lost * sizeof(*lost));
	nr = cut_segments(pieces, lost, nr_lost, rec, start, end);

	memmove(maps->seg + first + nr, maps->seg + last, (maps->nr - last) * sizeof(*pieces));
	memcpy(maps->seg + first, pieces, nr * sizeof(*pieces));
	maps->nr += nr - nr_lost;
	rec->owner = process->serial;
	process__lost(store, process, lost, nr_lost);
	return 0;
}

/* All mappings go, or those older than an exec that comes late */
void sideband_maps__clear(struct sideband_store *store, struct sideband_process *process,
			  const struct sideband_record *rec)
{
	struct sideband_maps *old = process->maps;
	struct sideband_record *kept;
	unsigned int i;

	if (!old)
		return;
	process->maps = NULL;
	for (i = 0; i < old->nr; i++) {
		kept = old->seg[i].rec;
		if (rec && sideband_record__older(rec, kept) && kept->owner == process->serial)
			/* without memory it is lost, as any record then */
			sideband_maps__insert(store, process, kept);
		if (kept->owner == process->serial && !sideband_maps__has(process->maps, kept))
			kept->orphan = true;
	}
	maps__put(store, old);
}
