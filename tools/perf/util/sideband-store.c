// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-store.c: Side-band that has left a ring, as long as samples need it
 *
 * A record goes from hand to hand:
 *
 *   pending, unsettled   it has left the ring, which may have records as old
 *   pending, settled     the ring has newer ones only, but not by much
 *   in force             applied to the state at T, which is as it says
 *   freed                something newer is so, and older than the ring
 *
 * What is about a process that has begun and ended by then is freed at once.
 *
 * Applied are records in order of time, so that a record of a round that comes
 * late is not taken for a newer one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "sideband-state.h"

/* The fields behind the body of a record, the last of them first */
static const u64 trailer_fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_ID,
	PERF_SAMPLE_TIME, PERF_SAMPLE_TID,
};

/* How far before the end of a record @field begins, 0: there is none */
static size_t trailer_back(u64 sample_type, u64 field)
{
	size_t back = 0, i;

	if (!(sample_type & field))
		return 0;
	for (i = 0; i < ARRAY_SIZE(trailer_fields); i++) {
		if (sample_type & trailer_fields[i])
			back += sizeof(u64);
		if (trailer_fields[i] == field)
			break;
	}
	return back;
}

struct sideband_store *sideband_store__new(u64 sample_type, const struct sideband_ops *ops,
					   void *priv)
{
	struct sideband_store *store = zalloc(sizeof(*store));
	unsigned int i;

	if (!store)
		return NULL;
	store->sample_type = sample_type;
	store->time_back = trailer_back(sample_type, PERF_SAMPLE_TIME);
	store->ops = ops;
	store->priv = priv;
	store->tasks = RB_ROOT;
	store->objects = RB_ROOT;
	INIT_LIST_HEAD(&store->untimed);
	INIT_LIST_HEAD(&store->timed);
	INIT_LIST_HEAD(&store->spare);
	INIT_LIST_HEAD(&store->watched);
	INIT_LIST_HEAD(&store->gone);
	for (i = 0; i < SIDEBAND_KINDS; i++)
		INIT_LIST_HEAD(&store->kinds[i].list);
	return store;
}

void *sideband_store__alloc(struct sideband_store *store, size_t size)
{
	struct sideband_store_stats *stats = &store->stats;
	void *ptr = malloc(size);

	if (!ptr)
		return NULL;
	stats->bytes += size;
	if (stats->max_bytes < stats->bytes)
		stats->max_bytes = stats->bytes;
	return ptr;
}

void sideband_store__free(struct sideband_store *store, void *ptr, size_t size)
{
	if (ptr)
		store->stats.bytes -= size;
	free(ptr);
}

static size_t record__size(struct sideband_record *rec)
{
	return sizeof(*rec) + sideband_record__event(rec)->header.size;
}

static void record__free(struct sideband_store *store, struct sideband_record *rec)
{
	list_del(&rec->list);
	store->stats.records--;
	sideband_store__free(store, rec, record__size(rec));
}

struct sideband_record *sideband_store__get(struct sideband_record *rec)
{
	rec->refs++;
	return rec;
}

void sideband_store__put(struct sideband_store *store, struct sideband_record *rec)
{
	if (!rec || --rec->refs)
		return;
	record__free(store, rec);
	store->stats.superseded++;
}

/* No record that has one is shorter without */
#define TRAILER_MIN	(sizeof(struct perf_event_header) + 2 * sizeof(u32))

void *sideband_store__trailer(const struct sideband_store *store, union perf_event *event,
			      u64 field)
{
	size_t back = trailer_back(store->sample_type, field);

	if (!back || event->header.size < TRAILER_MIN + back)
		return NULL;
	return (void *)event + event->header.size - back;
}

/* For each record: so where the time is was found out before */
u64 sideband_store__time(const struct sideband_store *store, const union perf_event *event)
{
	size_t size = event->header.size;

	if (!store->time_back || size < TRAILER_MIN + store->time_back)
		return 0;
	return *(const u64 *)((const void *)event + size - store->time_back);
}

bool sideband_store__wants(const union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_TEXT_POKE:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return true;
	default:
		return false;
	}
}

/* Does @event have a string at @offset that ends inside of it? */
static bool event__has_string(const union perf_event *event, size_t offset)
{
	size_t size = event->header.size;

	return size > offset && memchr((const char *)event + offset, 0, size - offset);
}

/* Is all there that the record's type says it has? */
static bool event__valid(const union perf_event *event)
{
	size_t size = event->header.size;

	/* in a file records are aligned, by their sizes alone */
	if (size % sizeof(u64))
		return false;
	switch (event->header.type) {
	case PERF_RECORD_MMAP:
		return event__has_string(event, offsetof(struct perf_record_mmap, filename));
	case PERF_RECORD_MMAP2:
		return event__has_string(event, offsetof(struct perf_record_mmap2, filename));
	case PERF_RECORD_COMM:
		return event__has_string(event, offsetof(struct perf_record_comm, comm));
	case PERF_RECORD_CGROUP:
		return event__has_string(event, offsetof(struct perf_record_cgroup, path));
	case PERF_RECORD_KSYMBOL:
		return event__has_string(event, offsetof(struct perf_record_ksymbol, name));
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return size >= sizeof(event->fork);
	case PERF_RECORD_NAMESPACES:
		return size >= sizeof(event->namespaces) &&
		       event->namespaces.nr_namespaces <=
		       (size - sizeof(event->namespaces)) / sizeof(struct perf_ns_link_info);
	case PERF_RECORD_BPF_EVENT:
		return size >= sizeof(event->bpf);
	case PERF_RECORD_TEXT_POKE:
		return size >= sizeof(event->text_poke) &&
		       event->text_poke.old_len + event->text_poke.new_len <=
		       size - offsetof(struct perf_record_text_poke_event, bytes);
	case PERF_RECORD_ITRACE_START:
		return size >= sizeof(event->itrace_start);
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return size >= sizeof(event->aux_output_hw_id);
	default:
		return false;
	}
}

int sideband_store__fold(struct sideband_store *store, const union perf_event *event,
			 u64 time, u64 round)
{
	if (!sideband_store__wants(event))
		return 0;
	if (!event__valid(event)) {
		store->stats.malformed++;
		return -EINVAL;
	}
	if (!time || time == ~0ULL)
		time = 0;
	else
		time += store->set_back;
	if (sideband_pending__add(store, event, time, store->seq + 1, round)) {
		store->stats.failed++;
		return -ENOMEM;
	}
	store->seq++;
	store->stats.folded++;
	store->stats.records++;
	return 0;
}

void sideband_store__set_back(struct sideband_store *store, u64 by)
{
	store->set_back += by;
}

/* Let @rec be where a dump finds it: after the older ones */
static void store__enlist(struct sideband_store *store, struct sideband_record *rec)
{
	struct list_head *pos = &store->untimed;

	if (rec->time) {
		list_for_each_prev(pos, &store->timed) {
			if (sideband_record__older(list_entry(pos, struct sideband_record, list),
						   rec))
				break;
		}
		list_add(&rec->list, pos);
	} else {
		list_add_tail(&rec->list, pos);
	}
}

static struct sideband_record *store__new_record(struct sideband_store *store,
						 const struct sideband_pending_record *pending)
{
	const union perf_event *event = sideband_pending__event(pending);
	size_t size = event->header.size;
	struct sideband_record *rec = sideband_store__alloc(store, sizeof(*rec) + size);

	if (!rec)
		return NULL;
	*rec = (struct sideband_record) {
		.time = pending->time,
		.seq  = sideband_pending__logged(pending)->seq,
	};
	memcpy(rec->data, event, size);
	store__enlist(store, rec);
	store->stats.records++;
	return rec;
}

static void store__apply(struct sideband_store *store,
			 const struct sideband_pending_record *pending)
{
	struct sideband_record *rec;
	int err;

	store->stats.records--;
	if (sideband_lives__over(store, pending)) {
		store->stats.superseded++;
		return;
	}
	if (pending->type == PERF_RECORD_EXIT) {
		sideband_tasks__apply_exit(store, &sideband_pending__event(pending)->fork,
					   pending->time);
		store->stats.superseded++;
		return;
	}
	rec = store__new_record(store, pending);
	if (!rec) {
		store->stats.failed++;
		return;
	}
	/* so that it stays as long as it takes to see who needs it */
	sideband_store__get(rec);
	if (pending->of_task)
		err = sideband_tasks__apply(store, rec);
	else
		err = sideband_objects__apply(store, rec);
	if (!err) {
		sideband_store__put(store, rec);
		return;
	}
	store->stats.failed++;
	record__free(store, rec);
}

void sideband_store__settle(struct sideband_store *store, u64 oldest_round)
{
	sideband_pending__settle(&store->pending, oldest_round);
}

void sideband_store__prune(struct sideband_store *store, u64 oldest_round, u64 round)
{
	struct sideband_pending *p = &store->pending;
	size_t end;

	sideband_pending__settle(p, oldest_round);
	sideband_pending__advance(p);
	end = sideband_pending__end_of_due(p);
	sideband_lives__look(store, end);
	while (p->first < end) {
		store__apply(store, &p->index[p->first]);
		sideband_pending__pop(store);
	}
	sideband_lives__forget(store);
	sideband_ends__apply(store, oldest_round);
	sideband_ends__look(store, round);
}

void sideband_store__begin_write(struct sideband_store *store)
{
	store->writing = store->seq;
}

void sideband_store__end_write(struct sideband_store *store, bool written)
{
	if (written)
		store->written = store->writing;
	else
		store->writing = store->written;
	sideband_objects__written(store);
}

const struct sideband_store_stats *sideband_store__stats(const struct sideband_store *store)
{
	return &store->stats;
}

void sideband_store__delete(struct sideband_store *store)
{
	if (!store)
		return;
	sideband_pending__exit(store);
	sideband_lives__exit(store);
	sideband_tasks__exit(store);
	sideband_objects__exit(store);
	sideband_maps__trim(store, 0);
	free(store);
}
