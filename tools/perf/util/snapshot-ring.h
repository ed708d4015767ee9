/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SNAPSHOT_RING_H
#define __PERF_SNAPSHOT_RING_H 1

/*
 * The newest records, in memory
 *
 * Records are appended as they come out of the kernel's buffers: bytes, in
 * order of arrival, put into chunks of equal size. Nobody looks at them then.
 * When all chunks are in use the oldest is evicted: only now its records are
 * walked, once. Samples are counted and forgotten, side-band goes to the owner
 * of the ring, see struct snapshot_ring_ops.
 *
 * snapshot_ring__take() hands over all that the ring has. One thread can then
 * read it, at leisure, while another goes on appending:
 *
 *	appending thread			reading thread
 *	----------------			--------------
 *	append() ... append()
 *	take()
 *	append() ... walk_new()
 *	append() ...				read_taken(), walk_taken(),
 *	  evicts: side-band is set aside	fold_taken()
 *	append() ...
 *	give_back() or release()
 *
 * What is taken is older than what is set aside, and that is older than the
 * ring. As much can be set aside as the ring holds, or SNAPSHOT_RING_MIN_ASIDE: if the
 * reading thread is stuck for longer than that, side-band is lost, and counted.
 *
 * While something is taken all calls of the ops come from the reading thread, else from
 * the appending one: what they work on needs no lock. Handing over between the threads
 * is for the caller to synchronize.
 *
 * When a call that evicts or folds has failed, the ring can only be deleted.
 */
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union perf_event;
struct snapshot_ring;

/* The largest record is this big, as its size is an u16; rounded up */
#define SNAPSHOT_RING_MAX_RECORD	((size_t)SZ_64K)
/* The smallest ring: one such record fits, whatever else is in a chunk */
#define SNAPSHOT_RING_MIN_SIZE		(SNAPSHOT_RING_MAX_RECORD + 1)
/* A ring and what is taken have to fit into the address space */
#define SNAPSHOT_RING_MAX_SIZE		(SIZE_MAX / 8)
/* So many bytes of side-band can be set aside, also if the ring is smaller */
#define SNAPSHOT_RING_MIN_ASIDE		((size_t)SZ_4M)

/**
 * struct snapshot_ring_ops - What the owner of a ring does with records
 * @wants: is it a record to be kept when it leaves the ring?
 * @fold: such a record leaves the ring. @round is the drain round by which it
 *	  was read, not an earlier one. Valid during the call only.
 * @left: nothing of a round before @round is in the ring any more
 */
struct snapshot_ring_ops {
	bool (*wants)(const union perf_event *event);
	int (*fold)(void *priv, const union perf_event *event, u64 round);
	void (*left)(void *priv, u64 round);
};

/**
 * struct snapshot_ring_count - What was in records that were walked
 * @samples:	samples
 * @wanted:	records that ops->wants
 * @lost:	records and samples that the kernel lost, as its records say
 * @overrun:	of @wanted, those for which there was no room aside
 */
struct snapshot_ring_count {
	u64	samples;
	u64	wanted;
	u64	lost;
	u64	overrun;
};

/**
 * struct snapshot_ring_visitor - What is called for records; NULL: nothing
 * @wanted: for a record that ops->wants. Non-zero: stop, and return that.
 * @sample: for a sample
 */
struct snapshot_ring_visitor {
	int	(*wanted)(void *arg, const union perf_event *event);
	void	(*sample)(void *arg, const union perf_event *event);
	void	*arg;
};

typedef int (*snapshot_ring_piece_t)(void *arg, void *buf, size_t size);

/**
 * snapshot_ring__new - Make a ring
 * @size: in bytes, from SNAPSHOT_RING_MIN_SIZE to SNAPSHOT_RING_MAX_SIZE. Rounded up
 *	  to whole chunks. Address space for twice as much is reserved, for the ring
 *	  and for what is taken; memory is used as it is filled.
 *
 * Return NULL if there is no memory.
 */
struct snapshot_ring *snapshot_ring__new(size_t size, const struct snapshot_ring_ops *ops,
					 void *priv);
void snapshot_ring__delete(struct snapshot_ring *ring);

/**
 * snapshot_ring__append - Add records, evict old ones to make room
 * @buf:  whole records, but that the last one may go on in the next call
 * @size: a multiple of 8, as records are
 *
 * Return 0, or what ops->fold returned, or -EINVAL: there is something that
 * isn't a record in what had to be evicted, or -ENOMEM.
 */
int snapshot_ring__append(struct snapshot_ring *ring, const void *buf, size_t size);

/* All of the kernel's buffers have been read once more */
void snapshot_ring__end_round(struct snapshot_ring *ring);
/* The one that is being read now */
u64 snapshot_ring__round(const struct snapshot_ring *ring);

/**
 * snapshot_ring__take - Hand over all records of the ring
 *
 * The last record must be a whole one. Nothing may be taken already.
 */
void snapshot_ring__take(struct snapshot_ring *ring);

/**
 * snapshot_ring__read_taken - Go through what was taken, in order
 * @piece: called for some records at a time, as they lie in memory. A record
 *	   can be in more than one of them. Non-zero: stop, and return that.
 */
int snapshot_ring__read_taken(struct snapshot_ring *ring, snapshot_ring_piece_t piece,
			      void *arg);

/* Go through the records that were taken, and count */
int snapshot_ring__walk_taken(struct snapshot_ring *ring, struct snapshot_ring_count *count,
			      const struct snapshot_ring_visitor *v);

/**
 * snapshot_ring__walk_new - Go through what was appended since snapshot_ring__take()
 * @v: for samples only as far as they have not been evicted
 *
 * For the appending thread, before it lets another one read. The last record must
 * be a whole one.
 */
int snapshot_ring__walk_new(struct snapshot_ring *ring, const struct snapshot_ring_visitor *v);

/**
 * snapshot_ring__fold_taken - What was taken leaves the ring
 *
 * Calls the ops for it, and frees the memory: nothing but snapshot_ring__release()
 * can be called for it then.
 */
int snapshot_ring__fold_taken(struct snapshot_ring *ring);

/* Forget what was taken, fold what was set aside in the meantime */
int snapshot_ring__release(struct snapshot_ring *ring);

/* Put what was taken back to the ring's beginning, as far as it fits there */
int snapshot_ring__give_back(struct snapshot_ring *ring);

/* Evict all. Nothing may be taken */
int snapshot_ring__drop(struct snapshot_ring *ring);

/* What was evicted so far */
const struct snapshot_ring_count *snapshot_ring__dropped(const struct snapshot_ring *ring);

#endif /* __PERF_SNAPSHOT_RING_H */
