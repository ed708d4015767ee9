/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_MEMORY_RING_H
#define __PERF_MEMORY_RING_H 1

/*
 * A ring that keeps the newest records in memory
 *
 * Records are appended as they come out of the kernel's buffers: as bytes, in
 * order of arrival, into chunks of equal size. They are not parsed then. When
 * all chunks are in use, the oldest is evicted. Only then its records are walked,
 * once. Samples are counted and dropped; side-band goes to the owner of the ring,
 * see struct memory_ring_ops.
 *
 * memory_ring__take() hands over all records of the ring. Then one thread can read
 * them while another continues to append:
 *
 *	appending thread			reading thread
 *	----------------			--------------
 *	append() ... append()
 *	take()
 *	append() ... walk_new()
 *	append() ...				read_taken(), walk_taken(),
 *	  evicts: side-band is deferred		evict_taken()
 *	append() ...
 *	give_back() or release()
 *
 * Taken records are older than deferred ones, and these are older than those in the
 * ring. At most as many bytes are deferred as the ring holds, or
 * MEMORY_RING_MIN_DEFERRED if that is more. If the reading thread takes so long that
 * this is not enough, side-band is lost, and counted.
 *
 * While records are taken, the ops are called by the reading thread only, else by the
 * appending thread only. So their data needs no lock. The caller has to synchronize
 * the hand-over between the threads.
 *
 * When a call that evicts has failed, the ring can only be deleted.
 */
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union perf_event;
struct memory_ring;

/* The largest record: its size is a u16, rounded up */
#define MEMORY_RING_MAX_RECORD	((size_t)SZ_64K)
/* The smallest ring: the largest record fits, wherever it begins in a chunk */
#define MEMORY_RING_MIN_SIZE		(MEMORY_RING_MAX_RECORD + 1)
/* The ring and the taken records have to fit into the address space */
#define MEMORY_RING_MAX_SIZE		(SIZE_MAX / 8)
/* This much side-band can be deferred even if the ring is smaller, in bytes */
#define MEMORY_RING_MIN_DEFERRED	((size_t)SZ_4M)

/**
 * struct memory_ring_ops - What the owner of a ring does with records
 * @wants:   does the owner want the record when it leaves the ring?
 * @evict:   a wanted record leaves the ring. @round is the round in which it was read
 *	     or a later one. The record is valid during the call only.
 * @advance: the oldest record in the ring is of round @oldest_round or a later one
 */
struct memory_ring_ops {
	bool (*wants)(const union perf_event *event);
	int (*evict)(void *priv, const union perf_event *event, u64 round);
	void (*advance)(void *priv, u64 oldest_round);
};

/**
 * struct memory_ring_count - Numbers of the records that were walked
 * @samples:	samples
 * @wanted:	records that ops->wants
 * @lost:	records and samples that the kernel lost, according to its records
 * @overrun:	of @wanted, those that were lost because too much was deferred
 */
struct memory_ring_count {
	u64	samples;
	u64	wanted;
	u64	lost;
	u64	overrun;
};

/**
 * struct memory_ring_visitor - Callbacks for records; each can be NULL
 * @wanted: for a record that ops->wants. Non-zero: stop, and return that.
 * @sample: for a sample
 * @other: for any other record. Non-zero: ditto.
 */
struct memory_ring_visitor {
	int	(*wanted)(void *arg, const union perf_event *event);
	void	(*sample)(void *arg, const union perf_event *event);
	int	(*other)(void *arg, const union perf_event *event);
	void	*arg;
};

typedef int (*memory_ring_piece_t)(void *arg, void *buf, size_t size);

/**
 * memory_ring__new - Make a ring
 * @size: in bytes, from MEMORY_RING_MIN_SIZE to MEMORY_RING_MAX_SIZE. Rounded up
 *	  to whole chunks. Twice as much address space is reserved, for the ring and
 *	  for taken records. Memory is allocated only as it is filled.
 *
 * Return NULL if there is no memory.
 */
struct memory_ring *memory_ring__new(size_t size, const struct memory_ring_ops *ops,
				     void *priv);
void memory_ring__delete(struct memory_ring *ring);

/**
 * memory_ring__append - Add records, evict old ones to make room
 * @buf:  whole records, except that the last one may continue in the next call
 * @size: a multiple of 8, like the size of each record
 *
 * Return 0, or the error of ops->evict, or -EINVAL if a record to be evicted is
 * malformed, or -ENOMEM.
 */
int memory_ring__append(struct memory_ring *ring, const void *buf, size_t size);

/* All of the kernel's buffers have been read once more */
void memory_ring__end_round(struct memory_ring *ring);
/* The round that is being read now */
u64 memory_ring__round(const struct memory_ring *ring);

/**
 * memory_ring__take - Hand over all records of the ring
 *
 * The last record must be complete. Nothing may be taken already.
 */
void memory_ring__take(struct memory_ring *ring);

/**
 * memory_ring__read_taken - Read the taken records, in order
 * @piece: called with a piece of memory that has records. A record can be split
 *	   between two pieces. Non-zero: stop, and return that.
 */
int memory_ring__read_taken(struct memory_ring *ring, memory_ring_piece_t piece,
			    void *arg);

/* Walk the taken records, and count them */
int memory_ring__walk_taken(struct memory_ring *ring, struct memory_ring_count *count,
			    const struct memory_ring_visitor *v);

/**
 * memory_ring__walk_new - Walk the records appended since memory_ring__take()
 * @v: evicted samples are not visited
 *
 * The appending thread may call it before another thread begins to read. The last
 * record must be complete.
 */
int memory_ring__walk_new(struct memory_ring *ring, const struct memory_ring_visitor *v);

/**
 * memory_ring__walk - Walk the records that are in the ring, and count them
 *
 * Those that are taken are not among them. The appending thread may call it at any time at
 * which the last record is complete.
 */
int memory_ring__walk(struct memory_ring *ring, struct memory_ring_count *count,
		      const struct memory_ring_visitor *v);

/* After a walk, so many times as long as it took belong to other work: 95 % */
#define MEMORY_RING_REST	19

/**
 * memory_ring__walk_seldom - Walk like memory_ring__walk(), if the last walk is long enough ago
 * @clock: nanoseconds that never go back
 * @next:  the earliest time of the next walk, 0 at first
 *
 * The appending thread can't append while it walks a large ring, so it doesn't walk each time
 * that somebody asks. Return -EAGAIN, with @count unchanged, if it is too early.
 */
int memory_ring__walk_seldom(struct memory_ring *ring, u64 (*clock)(void), u64 *next,
			     struct memory_ring_count *count,
			     const struct memory_ring_visitor *v);
/* Bytes of the records in the ring, for the appending thread */
size_t memory_ring__used(const struct memory_ring *ring);

/**
 * memory_ring__evict_taken - Evict the taken records
 *
 * Calls ops->evict for them, and frees their memory. After that the only call for
 * taken records is memory_ring__release().
 */
int memory_ring__evict_taken(struct memory_ring *ring);

/* End the use of the taken records, and evict what was deferred in the meantime */
int memory_ring__release(struct memory_ring *ring);

/* Put the taken records back to the beginning of the ring, as far as there is room */
int memory_ring__give_back(struct memory_ring *ring);

/* Evict all records. None may be taken. */
int memory_ring__drop(struct memory_ring *ring);

/* Numbers of the records evicted so far */
const struct memory_ring_count *memory_ring__dropped(const struct memory_ring *ring);

#endif /* __PERF_MEMORY_RING_H */
