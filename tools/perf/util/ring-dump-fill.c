// SPDX-License-Identifier: GPL-2.0
/* perf record -M: what goes into the ring, and what leaves it; see ring-dump.h */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "evlist.h"
#include "ring-dump.h"
#include "ring-dump-state.h"

/* Prune the store of side-band when this many records have been added to it */
#define PRUNE_AT	4096

static bool wants(const union perf_event *event)
{
	return sideband_store__wants(event);
}

/* If the events' trailers differ, the record's event has to be found first */
static u64 time_of(struct ring_dump *dump, const union perf_event *event)
{
	u64 time;

	if (dump->same_trailers)
		return sideband_store__time(dump->store, event);
	if (evlist__parse_sample_timestamp(dump->evlist, (union perf_event *)event, &time))
		return 0;
	return time;
}

static int evict(void *priv, const union perf_event *event, u64 round)
{
	struct ring_dump *dump = priv;
	u64 time = time_of(dump, event);
	int err;

	/* The store takes all records for older than the step */
	if (dump->step.by && time >= dump->step.from && time <= dump->step.to)
		time += dump->step.by;
	dump->unpruned++;
	err = sideband_store__add(dump->store, event, time, round);
	/* If one record can't be stored, don't lose all others */
	return err == -ENOMEM || err == -EINVAL ? 0 : err;
}

/* Prune rarely: processes that have begun and ended since the last time cost least */
static void advance(void *priv, u64 oldest_round)
{
	struct ring_dump *dump = priv;

	sideband_store__sort(dump->store, oldest_round);
	if (dump->unpruned < PRUNE_AT)
		return;
	dump->unpruned = 0;
	sideband_store__prune(dump->store, oldest_round, memory_ring__round(dump->ring));
}

const struct memory_ring_ops ring_dump__ring_ops = {
	.wants	 = wants,
	.evict	 = evict,
	.advance = advance,
};

int ring_dump__take_synthesized(struct ring_dump *dump, const union perf_event *event)
{
	if (event->header.type >= PERF_RECORD_USER_TYPE_START)
		return 0;
	return sideband_store__add(dump->store, event, 0, 0) ?: 1;
}

int ring_dump__append(struct ring_dump *dump, const void *buf, size_t size)
{
	int err = memory_ring__append(dump->ring, buf, size);

	if (err)
		pr_err("Failed to put records into the memory ring: %s\n",
		       err == -EINVAL ? "malformed record" : strerror(-err));
	return err;
}

void ring_dump__end_round(struct ring_dump *dump)
{
	memory_ring__end_round(dump->ring);
	clock_watch__check(&dump->clock, &dump->noticed);
	dump->mixed = dump->noticed.by;
}

/*
 * Time stamps from before and after the step can't be sorted, neither in the ring nor in
 * a file. While a dump is being made, this has to wait.
 */
int ring_dump__check_clock(struct ring_dump *dump)
{
	int err = 0;

	clock_watch__check(&dump->clock, &dump->noticed);
	if (!dump->noticed.by || dump->state != DUMP_IDLE)
		return 0;
	dump->old_samples = memory_ring__dropped(dump->ring)->samples;
	/* No round since the step: the whole ring is from before it, whatever its times are */
	if (!dump->mixed)
		err = memory_ring__drop(dump->ring);
	return err ?: 1;
}

int ring_dump__apply_clock_step(struct ring_dump *dump)
{
	int err;

	clock_watch__check(&dump->clock, &dump->noticed);
	dump->step = dump->noticed;
	err = memory_ring__drop(dump->ring);
	pr_warning("The clock was set back by %.3f s: dropped %" PRIu64 " samples from before that\n",
		   dump->step.by / (double)NSEC_PER_SEC,
		   memory_ring__dropped(dump->ring)->samples - dump->old_samples);
	sideband_store__set_back(dump->store, dump->step.by);
	dump->step.by = 0;
	dump->noticed.by = 0;
	dump->mixed = false;
	return err;
}

int ring_dump__add_auxtrace(struct ring_dump *dump, const union perf_event *event,
			    const void *data1, size_t len1, const void *data2, size_t len2)
{
	size_t size = event->header.size, total = size + roundup(len1 + len2, sizeof(u64));
	struct aux_data *aux = zalloc(sizeof(*aux) + total);
	void *to;

	if (!aux) {
		pr_err("Not enough memory for %zu bytes of the AUX area\n", total);
		return -ENOMEM;
	}
	aux->size = total;
	to = aux->event;
	memcpy(to, event, size);
	memcpy(to + size, data1, len1);
	if (len2)
		memcpy(to + size + len1, data2, len2);
	list_add_tail(&aux->node, &dump->aux);
	return 0;
}

void ring_dump__free_aux(struct list_head *list)
{
	struct aux_data *aux, *tmp;

	list_for_each_entry_safe(aux, tmp, list, node) {
		list_del_init(&aux->node);
		free(aux);
	}
}
