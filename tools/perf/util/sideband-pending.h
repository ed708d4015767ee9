/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_PENDING_H
#define __PERF_SIDEBAND_PENDING_H 1

/*
 * Records of a sideband-store that aren't applied to its state yet
 *
 * There are many of them, but each is kept for a short time only. They are appended to
 * a log, which consists of blocks. An index has what is needed of each record before it
 * is applied. The entry is made while the record is in the caches. So the log is read
 * again only by a dump, and for records that are applied.
 */
#include <linux/sizes.h>
#include <linux/types.h>
#include <perf/event.h>

struct sideband_store;

/* A record in the log, and its number in order of arrival */
struct sideband_logged {
	u64			seq;
	u64			event[];
};

/* A part of the log. Each record fits into one, because it is shorter than 64 KiB. */
struct sideband_block {
	struct sideband_block	*next;		/* free block */
	size_t			used;
	size_t			nr;		/* records that are still pending */
	u64			data[SZ_64K / sizeof(u64)];
};

/**
 * struct sideband_pending_record - A record's entry in the index
 * @time:    time stamp, 0 if it has none
 * @block:   block of the log that has the record
 * @pid:     pid, if it is about a task
 * @tid:     tid, if it is about a task
 * @round:   round in which it was read, modulo 2^32
 * @pos:     position in the block, in u64
 * @type:    PERF_RECORD_*
 * @of_task: it is about a task
 */
struct sideband_pending_record {
	u64			time;
	struct sideband_block	*block;
	u32			pid;
	u32			tid;
	u32			round;
	u16			pos;
	u8			type;
	bool			of_task;
};

/**
 * struct sideband_pending - Log and index
 * @index:   entries from @first to @sorted are in order of time. Those from @sorted on
 *	     are in order of arrival: the ring may have older records.
 * @first:   entries before it have been applied
 * @sorted:  see @index
 * @nr:      end of the index
 * @alloc:   allocated entries. As many again follow, as a buffer for merging.
 * @complete: all records up to this time have left the ring
 * @due:     records up to this time can be applied
 * @last:    the block that is being filled
 * @nr_used: number of blocks with records
 * @free:    empty blocks, to be used again
 * @nr_free: number of them
 */
struct sideband_pending {
	struct sideband_pending_record	*index;
	size_t				first;
	size_t				sorted;
	size_t				nr;
	size_t				alloc;
	u64				complete;
	u64				due;
	struct sideband_block		*last;
	size_t				nr_used;
	struct sideband_block		*free;
	size_t				nr_free;
};

static inline const struct sideband_logged *
sideband_pending__logged(const struct sideband_pending_record *pending)
{
	return (const struct sideband_logged *)(pending->block->data + pending->pos);
}

static inline const union perf_event *
sideband_pending__event(const struct sideband_pending_record *pending)
{
	return (const union perf_event *)sideband_pending__logged(pending)->event;
}

/* Copy @event into the log. Return 0 or -ENOMEM. */
int sideband_pending__add(struct sideband_store *store, const union perf_event *event,
			  u64 time, u64 seq, u64 round);
/* Sort records that are older than all of the ring, which begins with @oldest_round */
void sideband_pending__sort(struct sideband_pending *pending, u64 oldest_round);
/* Advance T */
void sideband_pending__advance(struct sideband_pending *pending);
/* Records of the index from @pending->first up to the returned position can be applied */
size_t sideband_pending__end_of_due(const struct sideband_pending *pending);
/* Drop the first record of the index */
void sideband_pending__pop(struct sideband_store *store);
/* A copy of the index in order of time, with *@nr entries: free() it. NULL: no memory. */
struct sideband_pending_record *sideband_pending__by_time(const struct sideband_pending *pending,
							  size_t *nr);
void sideband_pending__exit(struct sideband_store *store);

#endif /* __PERF_SIDEBAND_PENDING_H */
