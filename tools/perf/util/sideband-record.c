// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-record.c: Memory and records of the store
 *
 * Whatever needs a record takes a reference. Dropping the last one frees the record.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

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

/* Add @rec to the list that a dump walks, after the older records */
static void record__enlist(struct sideband_store *store, struct sideband_record *rec)
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

struct sideband_record *sideband_record__new(struct sideband_store *store,
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
	record__enlist(store, rec);
	store->stats.records++;
	return rec;
}

static size_t record__size(struct sideband_record *rec)
{
	return sizeof(*rec) + sideband_record__event(rec)->header.size;
}

void sideband_record__free(struct sideband_store *store, struct sideband_record *rec)
{
	list_del(&rec->list);
	store->stats.records--;
	sideband_store__free(store, rec, record__size(rec));
}

struct sideband_record *sideband_record__get(struct sideband_record *rec)
{
	rec->refs++;
	return rec;
}

void sideband_record__put(struct sideband_store *store, struct sideband_record *rec)
{
	if (!rec || --rec->refs)
		return;
	sideband_record__free(store, rec);
	store->stats.superseded++;
}

/* The fields after the body of a record, the last one first */
static const u64 trailer_fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_ID,
	PERF_SAMPLE_TIME, PERF_SAMPLE_TID,
};

size_t sideband_store__trailer_back(u64 sample_type, u64 field)
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

/* No record with a trailer is shorter than this without it */
#define TRAILER_MIN	(sizeof(struct perf_event_header) + 2 * sizeof(u32))

void *sideband_store__trailer(const struct sideband_store *store, union perf_event *event,
			      u64 field)
{
	size_t back = sideband_store__trailer_back(store->sample_type, field);

	if (!back || event->header.size < TRAILER_MIN + back)
		return NULL;
	return (void *)event + event->header.size - back;
}

/* This is called for each record, so the position of the time stamp is precomputed */
u64 sideband_store__time(const struct sideband_store *store, const union perf_event *event)
{
	size_t size = event->header.size;

	if (!store->time_back || size < TRAILER_MIN + store->time_back)
		return 0;
	return *(const u64 *)((const void *)event + size - store->time_back);
}
