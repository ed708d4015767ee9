// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-maps.c: Which mapping of a process is visible at which address
 *
 * As in perf report, a mapping hides the parts of older ones in its range. Their
 * other parts stay. A record is needed as long as one byte of its mapping is visible.
 *
 * There is no record of a munmap. Some JIT compilers map code at ever new addresses,
 * so that the number of mappings grows without bound. SIDEBAND_MAX_MAPS limits it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "sideband-state.h"

static struct sideband_maps *maps__new(struct sideband_store *store)
{
	struct sideband_maps *maps = sideband_store__alloc(store, sizeof(*maps));

	if (!maps)
		return NULL;
	*maps = (struct sideband_maps) { .refs = 1, .segments = RB_ROOT, };
	INIT_LIST_HEAD(&maps->transient);
	INIT_LIST_HEAD(&maps->lasting);
	return maps;
}

/* Preallocate segments for sideband_maps__insert(), so that it can't fail half-way */
static int store__reserve_segments(struct sideband_store *store, unsigned int nr)
{
	struct sideband_segment *seg;

	for (; store->nr_spare < nr; store->nr_spare++) {
		seg = sideband_store__alloc(store, sizeof(*seg));
		if (!seg)
			return -ENOMEM;
		list_add(&seg->age, &store->spare);
	}
	return 0;
}

void sideband_maps__trim(struct sideband_store *store, unsigned int nr)
{
	struct sideband_segment *seg;

	for (; store->nr_spare > nr; store->nr_spare--) {
		seg = list_first_entry(&store->spare, struct sideband_segment, age);
		list_del(&seg->age);
		sideband_store__free(store, seg, sizeof(*seg));
	}
}

/* Does it map an existing file, not anonymous memory or a removed file? */
static bool record__is_lasting(struct sideband_record *rec)
{
	static const char deleted[] = " (deleted)";
	const union perf_event *event = sideband_record__event(rec);
	const char *name = event->header.type == PERF_RECORD_MMAP2 ? event->mmap2.filename :
								      event->mmap.filename;
	size_t len = strlen(name), end = sizeof(deleted) - 1;

	return strncmp(name, "//", 2) && !(len >= end && !strcmp(name + len - end, deleted));
}

/* Add a preallocated segment to @maps, which has none in this range */
static void maps__add(struct sideband_store *store, struct sideband_maps *maps, u64 start,
		      u64 end, struct sideband_record *rec)
{
	struct rb_node **p = &maps->segments.rb_node, *parent = NULL;
	struct sideband_segment *seg;

	seg = list_first_entry(&store->spare, struct sideband_segment, age);
	store->nr_spare--;
	seg->start = start;
	seg->end = end;
	seg->rec = sideband_record__get(rec);
	while (*p) {
		parent = *p;
		if (start < rb_entry(parent, struct sideband_segment, rb)->start)
			p = &parent->rb_left;
		else
			p = &parent->rb_right;
	}
	rb_link_node(&seg->rb, parent, p);
	rb_insert_color(&seg->rb, &maps->segments);
	list_move_tail(&seg->age, record__is_lasting(rec) ? &maps->lasting : &maps->transient);
	maps->nr++;
}

/* Take @seg out of @maps. It keeps its reference to the record. */
static void maps__remove(struct sideband_maps *maps, struct sideband_segment *seg)
{
	rb_erase(&seg->rb, &maps->segments);
	list_del(&seg->age);
	maps->nr--;
}

static void segment__free(struct sideband_store *store, struct sideband_segment *seg)
{
	sideband_record__put(store, seg->rec);
	sideband_store__free(store, seg, sizeof(*seg));
}

static void maps__put(struct sideband_store *store, struct sideband_maps *maps)
{
	struct sideband_segment *seg;

	if (--maps->refs)
		return;
	while ((seg = sideband_maps__first(maps))) {
		maps__remove(maps, seg);
		segment__free(store, seg);
	}
	sideband_store__free(store, maps, sizeof(*maps));
}

static void maps__copy_list(struct sideband_store *store, struct sideband_maps *maps,
			    const struct list_head *list)
{
	struct sideband_segment *seg;

	list_for_each_entry(seg, list, age)
		maps__add(store, maps, seg->start, seg->end, seg->rec);
}

static struct sideband_maps *maps__copy(struct sideband_store *store,
					const struct sideband_maps *old)
{
	struct sideband_maps *maps;

	maps = store__reserve_segments(store, old->nr) ? NULL : maps__new(store);
	if (!maps) {
		sideband_maps__trim(store, 0);
		return NULL;
	}
	maps__copy_list(store, maps, &old->transient);
	maps__copy_list(store, maps, &old->lasting);
	return maps;
}

/* Give @process its own copy of mappings that it shares with others */
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

/* The address range of a MMAP or MMAP2 record: both have it at the same place */
static void record__range(struct sideband_record *rec, u64 *start, u64 *end)
{
	const struct perf_record_mmap *mmap = &sideband_record__event(rec)->mmap;

	*start = mmap->start;
	*end = mmap->start + mmap->len;
	if (*end < *start)
		*end = ~0ULL;
}

struct sideband_segment *sideband_maps__first(const struct sideband_maps *maps)
{
	return maps ? rb_entry_safe(rb_first(&maps->segments), struct sideband_segment, rb) : NULL;
}

struct sideband_segment *sideband_maps__next(const struct sideband_segment *seg)
{
	return rb_entry_safe(rb_next(&seg->rb), struct sideband_segment, rb);
}

/* The first segment that ends after @addr */
static struct sideband_segment *maps__search(const struct sideband_maps *maps, u64 addr)
{
	struct rb_node *node = maps->segments.rb_node;
	struct sideband_segment *found = NULL;

	while (node) {
		struct sideband_segment *seg = rb_entry(node, struct sideband_segment, rb);

		if (seg->end > addr) {
			found = seg;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

bool sideband_maps__has(const struct sideband_maps *maps, struct sideband_record *rec)
{
	struct sideband_segment *seg;
	u64 start, end;

	if (!maps)
		return false;
	record__range(rec, &start, &end);
	for (seg = maps__search(maps, start); seg && seg->start < end;
	     seg = sideband_maps__next(seg)) {
		if (seg->rec == rec)
			return true;
	}
	return false;
}

/* @process loses @seg. The record may have other segments. */
static void process__lost(struct sideband_store *store, struct sideband_process *process,
			  struct sideband_segment *seg)
{
	if (seg->rec->owner == process->serial && !sideband_maps__has(process->maps, seg->rec))
		seg->rec->orphan = true;
	segment__free(store, seg);
}

/* The maximum number of new segments for mapping @rec in [start, end) */
static unsigned int maps__needs(const struct sideband_maps *maps, struct sideband_record *rec,
				u64 start, u64 end)
{
	struct sideband_segment *seg;
	unsigned int nr = 2;	/* the last one, and the second part of one that is split */

	for (seg = maps__search(maps, start); seg && seg->start < end;
	     seg = sideband_maps__next(seg))
		nr += sideband_record__older(rec, seg->rec);
	return nr;
}

/* Cut [start, end) out of @seg. If nothing is left, move @seg to @lost. */
static void maps__cut(struct sideband_store *store, struct sideband_maps *maps,
		      struct sideband_segment *seg, u64 start, u64 end, struct list_head *lost)
{
	if (seg->start < start && seg->end > end) {
		maps__add(store, maps, end, seg->end, seg->rec);
		seg->end = start;
	} else if (seg->start < start) {
		seg->end = start;
	} else if (seg->end > end) {
		seg->start = end;
	} else {
		maps__remove(maps, seg);
		list_add(&seg->age, lost);
	}
}

/*
 * Drop the oldest mappings when there are too many. Drop mappings of files last: they
 * may be a program's libraries.
 */
static void process__limit_maps(struct sideband_store *store, struct sideband_process *process)
{
	struct sideband_maps *maps = process->maps;
	struct sideband_segment *seg;
	struct list_head *list;

	while (maps->nr > SIDEBAND_MAX_MAPS) {
		list = &maps->transient;
		if (list_empty(list) || list_is_singular(list))
			list = &maps->lasting;
		seg = list_first_entry(list, struct sideband_segment, age);
		maps__remove(maps, seg);
		process__lost(store, process, seg);
		store->stats.dropped++;
	}
}

int sideband_maps__insert(struct sideband_store *store, struct sideband_process *process,
			  struct sideband_record *rec)
{
	struct sideband_segment *seg, *next;
	struct sideband_maps *maps;
	u64 start, end, done;
	LIST_HEAD(lost);

	record__range(rec, &start, &end);
	if (start == end)
		return 0;
	if (process__own_maps(store, process))
		return -ENOMEM;
	maps = process->maps;
	if (store__reserve_segments(store, maps__needs(maps, rec, start, end)))
		return -ENOMEM;

	rec->owner = process->serial;
	done = start;
	for (seg = maps__search(maps, start); seg && seg->start < end; seg = next) {
		next = sideband_maps__next(seg);
		if (!sideband_record__older(rec, seg->rec)) {
			maps__cut(store, maps, seg, start, end, &lost);
			continue;
		}
		/* @rec arrives late: the newer @seg hides a part of it */
		if (done < seg->start)
			maps__add(store, maps, done, seg->start, rec);
		done = seg->end;
	}
	if (done < end)
		maps__add(store, maps, done, end, rec);
	list_for_each_entry_safe(seg, next, &lost, age)
		process__lost(store, process, seg);
	process__limit_maps(store, process);
	return 0;
}

/* Drop all mappings, or if an exec arrives late, those that are older than it */
void sideband_maps__clear(struct sideband_store *store, struct sideband_process *process,
			  const struct sideband_record *rec)
{
	struct sideband_maps *old = process->maps;
	struct sideband_segment *seg;
	struct sideband_record *kept;

	if (!old)
		return;
	process->maps = NULL;
	for (seg = sideband_maps__first(old); seg; seg = sideband_maps__next(seg)) {
		kept = seg->rec;
		if (rec && sideband_record__older(rec, kept) && kept->owner == process->serial)
			/* if there is no memory, it is lost, like any other record */
			sideband_maps__insert(store, process, kept);
		if (kept->owner == process->serial && !sideband_maps__has(process->maps, kept))
			kept->orphan = true;
	}
	maps__put(store, old);
}
