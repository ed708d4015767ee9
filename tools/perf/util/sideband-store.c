// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-store.c: Keep side-band that has left a ring, as long as samples need it
 *
 * The states of a record:
 *
 *   pending, unsorted   it has left the ring, but the ring may have older records
 *   pending, sorted     all records of the ring are newer, but may be by less than the lag
 *   in force            applied to the state at T
 *   freed               superseded by a newer record that is older than the ring
 *
 * Records about a process that has begun and ended before T are freed without being
 * applied.
 *
 * Records are applied in order of time, not of arrival: a record that arrives late
 * must not supersede a newer one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "sideband-state.h"

struct sideband_store *sideband_store__new(u64 sample_type, const struct sideband_ops *ops,
					   void *priv)
{
	struct sideband_store *store = zalloc(sizeof(*store));
	unsigned int i;

	if (!store)
		return NULL;
	store->sample_type = sample_type;
	store->time_back = sideband_store__trailer_back(sample_type, PERF_SAMPLE_TIME);
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

/* Does the record have all fields of its type? */
static bool event__valid(const union perf_event *event)
{
	size_t size = event->header.size;

	/* records in a file are aligned only if all sizes are multiples of 8 */
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

int sideband_store__add(struct sideband_store *store, const union perf_event *event,
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
	store->stats.added++;
	store->stats.records++;
	return 0;
}

void sideband_store__set_back(struct sideband_store *store, u64 by)
{
	store->set_back += by;
}

static void store__apply(struct sideband_store *store,
			 const struct sideband_pending_record *pending)
{
	struct sideband_record *rec;
	int err;

	store->stats.records--;
	if (sideband_shortlived__is_complete(store, pending)) {
		store->stats.superseded++;
		return;
	}
	if (pending->type == PERF_RECORD_EXIT) {
		sideband_tasks__apply_exit(store, &sideband_pending__event(pending)->fork,
					   pending->time);
		store->stats.superseded++;
		return;
	}
	rec = sideband_record__new(store, pending);
	if (!rec) {
		store->stats.failed++;
		return;
	}
	/* hold it until those who need it have taken references */
	sideband_record__get(rec);
	if (pending->of_task)
		err = sideband_tasks__apply(store, rec);
	else
		err = sideband_objects__apply(store, rec);
	if (!err) {
		sideband_record__put(store, rec);
		return;
	}
	store->stats.failed++;
	sideband_record__free(store, rec);
}

void sideband_store__sort(struct sideband_store *store, u64 oldest_round)
{
	sideband_pending__sort(&store->pending, oldest_round);
}

void sideband_store__prune(struct sideband_store *store, u64 oldest_round, u64 round)
{
	struct sideband_pending *p = &store->pending;
	size_t end;

	sideband_pending__sort(p, oldest_round);
	sideband_pending__advance(p);
	end = sideband_pending__end_of_due(p);
	sideband_shortlived__scan(store, end);
	while (p->first < end) {
		store__apply(store, &p->index[p->first]);
		sideband_pending__pop(store);
	}
	sideband_shortlived__forget(store);
	sideband_ends__apply(store, oldest_round);
	sideband_ends__check(store, round);
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
	sideband_shortlived__exit(store);
	sideband_tasks__exit(store);
	sideband_objects__exit(store);
	sideband_maps__trim(store, 0);
	free(store);
}
