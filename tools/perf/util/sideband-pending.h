/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_PENDING_H
#define __PERF_SIDEBAND_PENDING_H 1

/*
 * Records of a sideband-store that aren't applied to its state yet
 *
 * There are many of them, each for a moment only. They are copied one behind
 * the other into blocks of a log. What has to be looked at before they are
 * applied is in an index, so that the log is written and read once, in order.
 */
#include <linux/sizes.h>
#include <linux/types.h>
#include <perf/event.h>

struct sideband_store;

/* A part of the log */
struct sideband_block {
	size_t			used;
	size_t			nr;		/* records that are pending still */
	u64			data[SZ_64K / sizeof(u64)];
};

/* A record in the log. None is as long as 64 KiB, so one fits into a block. */
struct sideband_logged {
	struct sideband_block	*block;
	u64			event[];
};

/**
 * struct sideband_pending_record - A record's entry of the index
 * @time:   0 if it has none
 * @seq:    number of the record in order of arrival
 * @round:  in which it was read
 * @logged: where it is
 */
struct sideband_pending_record {
	u64			time;
	u64			seq;
	u64			round;
	struct sideband_logged	*logged;
};

/**
 * struct sideband_pending - Log and index
 * @index:   records in order of time from @first on, in order of arrival from
 *	     @sorted on: with these records of the ring may be as old
 * @first:   those before it have been applied
 * @sorted:  see @index
 * @nr:      end of the index
 * @alloc:   there is room for as many, and as many again, to merge in
 * @settled: no record of the ring is older than this
 * @due:     records up to this time can be applied
 * @last:    the block that is being filled
 * @spare:   an empty one
 */
struct sideband_pending {
	struct sideband_pending_record	*index;
	size_t				first;
	size_t				sorted;
	size_t				nr;
	size_t				alloc;
	u64				settled;
	u64				due;
	struct sideband_block		*last;
	struct sideband_block		*spare;
};

static inline const union perf_event *
sideband_pending__event(const struct sideband_pending_record *pending)
{
	return (const union perf_event *)pending->logged->event;
}

/* Copy @event into the log. Return 0 or -ENOMEM. */
int sideband_pending__add(struct sideband_store *store, const union perf_event *event,
			  u64 time, u64 seq, u64 round);
/* No record before @oldest_round is in the ring: so T can move on */
void sideband_pending__settle(struct sideband_pending *pending, u64 oldest_round);
/* Records of the index from @pending->first on, up to this one, can be applied */
size_t sideband_pending__end_of_due(const struct sideband_pending *pending);
/* Drop the oldest one */
void sideband_pending__pop(struct sideband_store *store);
/* A copy of the index in order of time, *@nr of them: free() it. NULL: no memory. */
struct sideband_pending_record *sideband_pending__by_time(const struct sideband_pending *pending,
							  size_t *nr);
void sideband_pending__exit(struct sideband_store *store);

#endif /* __PERF_SIDEBAND_PENDING_H */
