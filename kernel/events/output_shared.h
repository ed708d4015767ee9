/* SPDX-License-Identifier: GPL-2.0 */
/* What output_shared.c, output_lease.c and output_overwrite.c share. */
#ifndef _KERNEL_EVENTS_OUTPUT_SHARED_H
#define _KERNEL_EVENTS_OUTPUT_SHARED_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <asm/local.h>

#include "internal.h"

/**
 * struct shared_block - state of one block of the buffer
 * @committed: bytes ever committed
 * @cut: beginning of the record that continues in the next block, or the end of the
 *	 block if a record ends there; from the last lap in which this was stored
 */
struct shared_block {
	atomic_long_t		committed;
	unsigned long		cut;
};

/**
 * struct shared_lease - a stretch of the buffer that one CPU fills; see output_lease.c
 * @pos: where its next record begins, or LEASE_NONE, LEASE_BUSY, LEASE_ASKED
 * @committed: its beginning, and the bytes that are committed in it; or LEASE_NONE
 * @start: its beginning
 * @size: its size
 * @live: the same, or 0 if its records commit themselves; see output_overwrite.c
 * @room: end of the part that is for records, or 0
 * @id_size: bytes at the end of the padding that have its time and event
 * @tick: the tick of @written
 * @written: bytes of records that this CPU wrote in that tick, less the padding
 * @before: the same of the tick before
 * @work: closes it at the next tick
 * @asked: closes it because other CPUs wait for what it hides
 * @sh: what it is a part of
 *
 * Others read @pos, to know whether there is a lease, and set @live and @room to 0. Only its
 * CPU writes to all else.
 */
struct shared_lease {
	local_t			pos;
	local_t			committed;
	unsigned long		start;
	unsigned long		room;
	unsigned int		size;
	unsigned int		live;
	unsigned int		id_size;
	unsigned int		written;
	unsigned int		before;
	unsigned long		tick;
	struct irq_work		work;
	struct irq_work		asked;
	struct perf_output_shared *sh;
} ____cacheline_aligned_in_smp;

/* Larger than any position: no comparison of positions takes these for one. */
#define LEASE_NONE	LONG_MAX
#define LEASE_BUSY	(LONG_MAX - 1)
#define LEASE_ASKED	(LONG_MAX - 2)

/**
 * struct perf_output_shared - what the writers of a buffer share
 * @size: size of the buffer
 * @block_size: size of a block
 * @block_log2: binary logarithm of @block_size
 * @blocks_log2: binary logarithm of the number of blocks
 * @backward: the buffer is written from its end
 * @paused: output is paused, PERF_EVENT_IOC_PAUSE_OUTPUT
 * @no_leases: a reader wants to be woken for samples, so none may be late
 * @lease_max: size of the largest lease; 0 if the buffer is too small for leases
 * @rb: the buffer
 * @leases: of each CPU
 * @lost: records lost and not yet reported by a LOST record
 * @flushing: flushes that are under way
 * @barred: no lease begins below it meanwhile; beginning of a block
 * @free_work: frees the buffer when @wakeup_work is done
 * @reserved: everything below is reserved or was written
 * @complete: everything below is committed, or passed; beginning of a block
 * @asked: leases that begin below it were asked to close; beginning of a block
 * @events: samples since the last wakeup by attr.wakeup_events
 * @wakeup: the last multiple of the watermark that woke the reader
 * @wanted: end of the last sample for which the reader is to be woken
 * @woken: end of what was published when it was last woken for @wanted
 * @page_busy: a context writes to the counter part of the control page
 * @wakeup_work: wakes the readers that poll the buffer's events
 * @ask_work: asks the leases below @asked to close
 * @blocks: the blocks
 *
 * Fields that are mostly read, fields that change with every record, fields that change with
 * every block at most, and fields for wakeups by samples have cache lines of their own.
 */
struct perf_output_shared {
	unsigned long		size;
	unsigned long		block_size;
	unsigned char		block_log2;
	unsigned char		blocks_log2;
	bool			backward;
	bool			paused;
	bool			no_leases;
	unsigned int		lease_max;
	struct perf_buffer	*rb;
	struct shared_lease __percpu *leases;
	struct work_struct	free_work;
	atomic_long_t		lost;
	atomic_t		flushing;
	atomic_long_t		barred;

	atomic_long_t		reserved ____cacheline_aligned_in_smp;

	atomic_long_t		complete ____cacheline_aligned_in_smp;
	atomic_long_t		wakeup;
	atomic_long_t		wanted;
	atomic_long_t		woken;
	unsigned long		asked;

	atomic_long_t		events ____cacheline_aligned_in_smp;
	atomic_t		page_busy;
	struct irq_work		wakeup_work;
	struct irq_work		ask_work;

	struct shared_block	blocks[] ____cacheline_aligned_in_smp;
};

/* Raise @value to at least @to; if it is beyond @to already, leave it. */
static inline void shared_advance(atomic_long_t *value, unsigned long to)
{
	unsigned long old = atomic_long_read(value);

	do {
		if ((long)(to - old) <= 0)
			return;
	} while (!atomic_long_try_cmpxchg(value, (long *)&old, to));
}

/* Convert a position to a head or tail of the control page, and back. */
static inline unsigned long shared_flip(const struct perf_output_shared *sh,
					unsigned long pos)
{
	return unlikely(sh->backward) ? -pos : pos;
}

/*
 * A head or a tail of the control page, for a single access. On 32 bits that would be
 * half of it, so 32-bit kernels have no shared buffers.
 */
static inline unsigned long *shared_word(__u64 *pos)
{
	return (unsigned long *)pos;
}

static inline unsigned long shared_block_start(const struct perf_output_shared *sh,
					       unsigned long pos)
{
	return pos & -sh->block_size;
}

static inline struct shared_block *shared_block(struct perf_output_shared *sh,
						unsigned long pos)
{
	return &sh->blocks[(pos & (sh->size - 1)) >> sh->block_log2];
}

/* Bytes committed in the block of @pos when the current lap began. */
static inline unsigned long shared_lap(const struct perf_output_shared *sh,
				       unsigned long pos)
{
	return (pos & -sh->size) >> sh->blocks_log2;
}

/*
 * Bytes committed in the block of @pos in its lap. Fewer than 0 if some are missing from
 * laps before: see output_overwrite.c.
 */
static inline long shared_committed(const struct perf_output_shared *sh,
				    const struct shared_block *block, unsigned long pos)
{
	return atomic_long_read_acquire(&block->committed) - shared_lap(sh, pos);	/* G */
}

/* Where the byte of a buffer is that has this address; all are multiples of 8. */
static inline u64 *shared_at(struct perf_buffer *rb, unsigned long address)
{
	int shift = PAGE_SHIFT + page_order(rb);
	unsigned long page = (address >> shift) & (rb->nr_pages - 1);

	return rb->data_pages[page] + (address & ((1UL << shift) - 1));
}

/* Set where perf_output_copy() stores the record. */
static inline void shared_locate(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;
	int shift = PAGE_SHIFT + page_order(rb);
	unsigned long offset = handle->shared_start;

	if (unlikely(rb->shared->backward))
		offset = -(offset + handle->shared_size);

	handle->page = (offset >> shift) & (rb->nr_pages - 1);
	offset &= (1UL << shift) - 1;
	handle->addr = rb->data_pages[handle->page] + offset;
	handle->size = (1UL << shift) - offset;
}

/* A LOST_SAMPLES record, without what sample_id_all adds */
struct shared_padding {
	struct perf_event_header	header;
	u64				lost;
};

/* Size of what sample_id_all adds to a record */
static inline unsigned int shared_id_size(const struct perf_event *event)
{
	return event->attr.sample_id_all ? event->id_header_size : 0;
}

bool shared_has_room(struct perf_buffer *rb, unsigned long head, unsigned int size);
unsigned int shared_reserve_in_block(struct perf_buffer *rb, struct perf_event *event,
				     struct perf_sample_data *data, unsigned int size,
				     unsigned int least, unsigned long *start);
void shared_store_id(struct perf_buffer *rb, struct perf_event *event,
		     struct perf_sample_data *data, unsigned long start, unsigned int size);
void shared_store_padding(struct perf_buffer *rb, unsigned long start, unsigned long end);
void shared_commit(struct perf_output_shared *sh, unsigned long start, unsigned int size);
void shared_commit_bytes(struct perf_output_shared *sh, unsigned long end, unsigned int bytes);
void shared_publish(struct perf_buffer *rb);

int lease_init(struct perf_output_shared *sh);
void lease_exit(struct perf_output_shared *sh);
bool lease_renew(struct perf_buffer *rb, struct perf_event *event,
		 struct perf_sample_data *data, unsigned int size);
void lease_close(struct perf_buffer *rb);
void lease_close_all(struct perf_buffer *rb);

/*
 * Room that is kept free below and behind a passed block: for a LOST_SAMPLES record and all
 * that sample_id_all can add to it, or one of both.
 */
#define OVERWRITE_MARGIN	64

int overwrite_make_room(struct perf_buffer *rb, struct perf_event *event,
			struct perf_sample_data *data, unsigned long head, unsigned int size);

/* Have others reserved the next lap of the place of a record? */
static inline bool overwrite_is_covered(struct perf_output_shared *sh, unsigned long start)
{
	return atomic_long_read(&sh->reserved) - start > sh->size;
}

/* Have others passed a lease? */
static inline bool overwrite_is_passed(struct perf_buffer *rb, unsigned long start)
{
	unsigned long complete;

	if (likely(!rb->overwrite))
		return false;

	complete = atomic_long_read(&rb->shared->complete);
	return (long)(complete - start) > 0;
}

/* As local_try_cmpxchg(), which not all bases have. */
static __always_inline bool lease_cmpxchg(local_t *v, long *old, long new)
{
	long expected = *old;

	*old = local_cmpxchg(v, expected, new);
	return *old == expected;
}

/*
 * Take room from this CPU's lease. Positions are never used twice, so the cmpxchg fails
 * if an interrupt has taken room since, or has closed the lease and opened another one.
 * Without a lease the difference is negative.
 */
static __always_inline bool lease_take(struct perf_output_shared *sh, unsigned int size,
				       unsigned long *start)
{
	struct shared_lease *lease = this_cpu_ptr(sh->leases);
	long pos = local_read(&lease->pos);

	do {
		if ((long)(READ_ONCE(lease->room) - pos) < (long)size)
			return false;
	} while (!lease_cmpxchg(&lease->pos, &pos, pos + size));

	*start = pos;
	return true;
}

/*
 * Is a record of this position in the lease, and hasn't it been passed? An interrupt may open
 * another lease between the loads: if ->live was loaded before, it is that of the record's.
 */
static __always_inline bool lease_holds(const struct shared_lease *lease, unsigned long start)
{
	unsigned int live = READ_ONCE(lease->live);

	return start - READ_ONCE(lease->start) < live;
}

/*
 * Commit a record in this CPU's lease.
 *
 * Return: false if it isn't in the lease: it never was, or an interrupt has closed the
 * lease meanwhile, and committed all of it but this record. Or others have passed the lease,
 * and who closes it will commit all but this record.
 */
static __always_inline bool lease_commit(struct perf_output_shared *sh, unsigned long start,
					 unsigned int size)
{
	struct shared_lease *lease = this_cpu_ptr(sh->leases);
	long committed = local_read(&lease->committed);

	do {
		if (committed == LEASE_NONE || !lease_holds(lease, start))
			return false;
	} while (!lease_cmpxchg(&lease->committed, &committed, committed + size));

	return true;
}

#endif
