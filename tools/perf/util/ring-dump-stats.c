// SPDX-License-Identifier: GPL-2.0
/* perf record -M: what there is in memory, and what has been so far; see ring-dump.h */
#include <errno.h>
#include <linux/kernel.h>
#include "evlist.h"
#include "ring-dump.h"
#include "ring-dump-state.h"
#include "time-utils.h"

/* The times of the first and the last sample of the ring */
struct times {
	struct evlist	*evlist;
	u64		first;
	u64		last;
};

static void note_time(void *arg, const union perf_event *event)
{
	struct times *times = arg;
	u64 time;

	if (evlist__parse_sample_timestamp(times->evlist, (union perf_event *)event, &time))
		return;
	if (!times->first || time < times->first)
		times->first = time;
	times->last = max(times->last, time);
}

static u64 read_clock(void)
{
	return rdclock();
}

static void note_ring(struct ring_dump *dump, struct ring_dump_stats *stats)
{
	const struct memory_ring_count *dropped = memory_ring__dropped(dump->ring);
	struct times times = { .evlist = dump->evlist };
	struct memory_ring_visitor visitor = { .sample = note_time, .arg = &times };
	struct memory_ring_count count = {};

	stats->used = memory_ring__used(dump->ring);
	/* The rest is of one moment: else what has left the ring since would count twice */
	if (memory_ring__walk_seldom(dump->ring, read_clock, &dump->next_walk, &count,
				     &visitor) == -EAGAIN)
		return;
	stats->samples = count.samples;
	stats->span = times.last - times.first;
	/* What a dump is writing now is in none of these: it doesn't count backwards */
	stats->seen = max(stats->seen, count.samples + dropped->samples + dump->dumped.samples +
				       dump->nr_skipped);
	stats->lost = max(stats->lost, count.lost + dropped->lost + dump->dumped.lost);
}

static bool is_idle(struct ring_dump *dump)
{
	return __atomic_load_n(&dump->state, __ATOMIC_ACQUIRE) == DUMP_IDLE;
}

void ring_dump__note_store(struct ring_dump *dump)
{
	const struct sideband_store_stats *store = sideband_store__stats(dump->store);

	dump->stats.sideband_bytes = store->bytes;
	dump->stats.sideband_records = store->records;
	dump->stats.sideband_dropped = store->dropped + memory_ring__dropped(dump->ring)->overrun;
}

void ring_dump__stats(struct ring_dump *dump, struct ring_dump_stats *stats)
{
	if (dump->store) {
		note_ring(dump, &dump->stats);
		if (is_idle(dump))
			ring_dump__note_store(dump);
	}
	*stats = dump->stats;
	stats->size = dump->opts.size;
	stats->dumping = !is_idle(dump);
	stats->nr_waited = dump->nr_waited;
	stats->nr_refused = dump->nr_refused;
}
