// SPDX-License-Identifier: GPL-2.0
/*
 * Output of many CPUs into one perf buffer.
 *
 * A private buffer is written by one CPU, or by one task, at a time: its writers
 * nest, the outermost one publishes (see ring_buffer.c). Here any number of CPUs
 * write, and every context on each of them, NMI included. None of them ever waits
 * for another.
 *
 * A writer that is held up in the middle of a record, by a hypervisor that takes its
 * CPU away, say, keeps the place of that record. Others write on until they have
 * filled the rest of the buffer. From then on they lose their records, which are
 * counted, until the writer returns. In overwrite mode, too: the records that are
 * lost there are the newest ones, of all CPUs, where a private buffer would tear the
 * one that is held up.
 *
 * A buffer is shared from its mmap() on (attr.output_shared), or never.
 *
 * Positions
 * =========
 *
 * All positions count bytes from the beginning of the buffer's life; they only
 * grow, and don't wrap in 64 bits. In a backward buffer they count the distance
 * from address 0 downwards: a record at the positions [p, p + size) is stored at
 * the addresses [-(p + size), -p), and data_head is the negative position. Nothing
 * else is different.
 *
 * How
 * ===
 *
 * A writer reserves room by moving sh->reserved, stores its record, and then
 * commits it: the buffer is divided into blocks, each with the number of bytes
 * ever committed in it, and a writer adds what it stored to the blocks that it
 * touched. Then it looks what is complete, from sh->complete on:
 *
 *   - a block is complete when as many bytes are committed as the block has,
 *     times the laps. Its last record may go on in the next one: the block knows
 *     where that begins;
 *   - in the first block that isn't, everything reserved is complete if as much
 *     is committed as is reserved.
 *
 * What it finds it publishes: the end of the complete blocks in sh->complete, for
 * the other writers, and the end of all that is complete in the control page's
 * data_head, for the reader.
 *
 *		      complete		  data_head	       reserved
 *			 |		      |			  |
 *   ... records ... ----+-- complete block --+-- some in flight -+-- free ...
 *
 * So a block is published when its last writer leaves, however many have begun
 * meanwhile, and when the last writer of all leaves everything is. A writer that
 * is held up, by an interrupt or by a hypervisor, delays the publication of what
 * follows its record, and no other writer.
 *
 * Invariants
 * ==========
 *
 * I1  Bytes committed in a block <= bytes reserved in it.
 * I2  Everything below sh->complete is committed. It is the beginning of a block.
 * I3  sh->reserved - sh->complete <= size of the buffer. So in each block there
 *     are writers of one lap at most, and a writer that was held up still owns
 *     its memory. What the reader stores in data_tail can't change that, and in
 *     overwrite mode nothing else keeps the writers from lapping each other.
 * I4  Everything below data_head is committed, and data_head is the end of a record
 *     and only grows, as long as the reader doesn't write to it. What it writes
 *     there instead is replaced with the next publication.
 *
 * Order
 * =====
 *
 * Letters are those of the code. All cmpxchg (if they succeed) and the add are full
 * barriers.
 *
 *   writer					reader
 *
 *   reserve	A  load ->reserved, acquire
 *		B  load ->complete, acquire
 *		C  load ->data_tail, acquire
 *		D  cmpxchg ->reserved
 *   (stores of the record, ->cut)
 *   commit	E  add to ->committed
 *   publish	F  load ->complete, acquire
 *		G  load ->committed, acquire
 *		H  load ->reserved
 *		I  cmpxchg ->complete
 *   show	J  load ->data_head, acquire	R  load ->data_head, acquire
 *		K  load ->reserved		   (loads of records)
 *		L  cmpxchg ->data_head		S  full barrier, store ->data_tail
 *
 * Complete: if R reads from L, and G before this L read from E, then the loads of
 *   records see the stores before E. Relies on E, G, L and R.
 *
 * None in flight: if H finds what G found, nobody has reserved and not committed.
 *   D comes before E, so who sees E at G sees D at H: I1 holds for what was loaded,
 *   and had anybody reserved more, H would have found more. The other way round,
 *   writers that came between the two loads could make up for one in flight.
 *
 * Last one: of two writers that commit at once, at least one sees the other's
 *   bytes: each has a full barrier between its E and its G. So what both leave
 *   behind is not left to nobody.
 *
 * Reuse: memory is stored to again by who found at B that it is complete. If B
 *   reads from I, and G before that I read from E, then the old stores before E
 *   are ordered before the new ones after D.
 *
 * Reader's reuse: if C reads from S, the reader's loads before the barrier at S come
 *   before the stores after C. In overwrite mode nobody cares.
 *
 * Not back: who finds at J what another one published sees at K at least what that
 *   one had seen reserved. So a value above K's was never published.
 *
 * Progress
 * ========
 *
 * D is tried again only when another writer has reserved meanwhile, I only when
 * another one has advanced ->complete, L only when another one has published less,
 * which each context can do once, or when the reader writes to data_head, which
 * ends after a bounded number of times. A look passes each block once.
 */
#include <linux/circ_buf.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "internal.h"

/*
 * The smaller a block the sooner it is published under constant overlap, and the
 * less of the buffer lies idle because of I3. The larger, the fewer records touch
 * two, and the fewer counters there are: one for each eight pages in buffers of 2 MB
 * to 32 MB. Larger buffers have larger blocks, as an NMI may have to look at all of
 * them: when the writer that it interrupts has kept them from being published.
 */
#define SHARED_BLOCKS_LOG2		6
#define SHARED_BLOCKS_MAX_LOG2		10
#define SHARED_BLOCK_MIN_LOG2		9
#define SHARED_BLOCK_MAX_LOG2		15

/*
 * perf_output_sample() counts samples in perf_buffer::events and looks further
 * when there are attr.wakeup_events of them: for a shared buffer there always are,
 * up to this number.
 */
#define SHARED_EVENTS			(INT_MAX / 2)

/**
 * struct shared_block - what is written to a part of the buffer
 * @committed: bytes ever
 * @cut: beginning of the record that goes on in the next block, or its end if it
 * ends with the block; of the last lap in which this was stored
 */
struct shared_block {
	atomic_long_t		committed;
	unsigned long		cut;
};

/**
 * struct perf_output_shared - what writers of a buffer share
 * @size: of the buffer
 * @block_size: of a block
 * @block_log2: the same
 * @blocks_log2: number of blocks
 * @backward: the buffer is written from its end
 * @paused: nothing is to be written, PERF_EVENT_IOC_PAUSE_OUTPUT
 * @rb: the buffer
 * @wakeup_work: wakes who waits for the reader's events
 * @free_work: frees the buffer when @wakeup_work is done
 * @reserved: everything below belongs to a writer or was written
 * @complete: everything below is written; beginning of a block
 * @lost: records lost and not yet reported by a LOST record
 * @events: samples since the last wakeup by attr.wakeup_events
 * @wakeup: the last multiple of the watermark that woke the reader
 * @wanted: end of the last sample for which the reader is to be woken
 * @woken: what was published when it was woken for @wanted
 * @page_busy: somebody writes to the control page's counter part
 * @blocks: of the buffer
 *
 * What all read and hardly anybody writes, what changes with every record, and what
 * changes with every block at most, each have cache lines of their own.
 */
struct perf_output_shared {
	unsigned long		size;
	unsigned long		block_size;
	unsigned char		block_log2;
	unsigned char		blocks_log2;
	bool			backward;
	bool			paused;
	struct perf_buffer	*rb;
	struct irq_work		wakeup_work;
	struct work_struct	free_work;

	atomic_long_t		reserved ____cacheline_aligned_in_smp;

	atomic_long_t		complete ____cacheline_aligned_in_smp;
	atomic_long_t		lost;
	atomic_long_t		events;
	atomic_long_t		wakeup;
	atomic_long_t		wanted;
	atomic_long_t		woken;
	atomic_t		page_busy;

	struct shared_block	blocks[] ____cacheline_aligned_in_smp;
};

/* From a position to the control page's heads and tails, and back. */
static inline unsigned long shared_flip(const struct perf_output_shared *sh,
					unsigned long pos)
{
	return unlikely(sh->backward) ? -pos : pos;
}

/*
 * A head or a tail of the control page, in one access. On 32 bits that is half of it,
 * which is why there are no shared buffers.
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

/* What was committed in the block of @pos when its present lap began. */
static inline unsigned long shared_lap(const struct perf_output_shared *sh,
				       unsigned long pos)
{
	return (pos & -sh->size) >> sh->blocks_log2;
}

/* Raise @value to at least @to. Whoever is faster must be ahead. */
static void shared_advance(atomic_long_t *value, unsigned long to)
{
	unsigned long old = atomic_long_read(value);

	do {
		if ((long)(to - old) <= 0)
			return;
	} while (!atomic_long_try_cmpxchg(value, (long *)&old, to));
}

/*
 * Reserve
 */

/*
 * The first test is I3. If @head is old, ->complete may have passed it: then the
 * difference is huge and there seems to be no room, which the caller will see
 * through.
 *
 * The second one is for an honest reader, with whom it is what a private buffer
 * does. From another one any number may come.
 */
static bool shared_has_room(struct perf_buffer *rb, unsigned long head,
			    unsigned int size)
{
	unsigned long *data_tail = shared_word(&rb->user_page->data_tail);
	struct perf_output_shared *sh = rb->shared;
	unsigned long complete, tail;

	complete = atomic_long_read_acquire(&sh->complete);	/* B */
	if (head + size - complete > sh->size)
		return false;

	if (rb->overwrite)
		return true;

	tail = shared_flip(sh, smp_load_acquire(data_tail));	/* C */
	return CIRC_SPACE(head, tail, sh->size) >= size;
}

/*
 * There was no room if there was none at a time when ->reserved was @head: so it
 * is loaded again. Acquire (A) keeps the limits from being older than @head, which
 * would let a writer that is held up here lose its record without need.
 */
static bool shared_reserve(struct perf_buffer *rb, unsigned int size,
			   unsigned long *start)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long head;

	for (;;) {
		head = atomic_long_read_acquire(&sh->reserved);	/* A */
		if (!shared_has_room(rb, head, size)) {
			smp_rmb();	/* as A: the limits first, ->reserved again then */
			if (atomic_long_read(&sh->reserved) == head)
				return false;
			continue;
		}
		*start = head;
		if (atomic_long_try_cmpxchg(&sh->reserved, (long *)&head,
					    head + size))	/* D */
			return true;
	}
}

/* Where to store the record: as perf_output_copy() wants it. */
static void shared_locate(struct perf_output_handle *handle)
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

/*
 * Losses
 */

static void shared_lose(struct perf_output_shared *sh, struct perf_event *event,
			unsigned long records)
{
	atomic_long_add(records, &sh->lost);
	atomic64_inc(&event->lost_samples);
}

/*
 * Who takes the losses reports them, or gives them back if it finds no room
 * either. So each is reported once.
 */
static unsigned long shared_take_lost(struct perf_output_shared *sh)
{
	if (likely(!atomic_long_read(&sh->lost)))
		return 0;

	return atomic_long_xchg(&sh->lost, 0);
}

/**
 * perf_output_report_lost - write a LOST record, into a private or a shared buffer
 * @handle: with perf_output_lost_size() bytes more than its record needs
 * @data: of the record
 * @lost: records that were lost
 *
 * Not where perf_output_begin() is: there, each record would pay for the registers
 * and the stack that this one needs.
 *
 * Context: any, NMI included.
 */
void perf_output_report_lost(struct perf_output_handle *handle,
			     struct perf_sample_data *data, unsigned long lost)
{
	struct perf_event *event = handle->event;
	struct perf_lost_record record = {
		.header = {
			.type	= PERF_RECORD_LOST,
			.size	= sizeof(record),
		},
		.id	= event->id,
		.lost	= lost,
	};

	perf_event_header__init_id(&record.header, data, event);
	perf_output_put(handle, record);
	perf_event__output_id_sample(event, handle, data);
}

/**
 * perf_output_begin_shared - perf_output_begin() for a shared buffer
 * @handle: to be filled in
 * @data: of the record, for the id of a LOST record before it
 * @event: what writes; a parent
 * @rb: shared buffer of @event
 * @size: of the record
 *
 * Context: any, NMI included. Holds rcu_read_lock(), which has brought @rb.
 * Return: 0, -ENOSPC (the record is lost and counted, or the buffer can't have
 * records at all).
 */
int perf_output_begin_shared(struct perf_output_handle *handle,
			     struct perf_sample_data *data,
			     struct perf_event *event, struct perf_buffer *rb,
			     unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long lost;

	if (!rb->nr_pages)
		return -ENOSPC;

	if (unlikely(READ_ONCE(sh->paused))) {
		shared_lose(sh, event, 1);
		return -ENOSPC;
	}

	preempt_disable();

	lost = shared_take_lost(sh);
	if (unlikely(lost))
		size += perf_output_lost_size(event);

	if (unlikely(!shared_reserve(rb, size, &handle->shared_start))) {
		shared_lose(sh, event, lost + 1);
		preempt_enable();
		return -ENOSPC;
	}

	handle->event = event;
	handle->rb = rb;
	handle->flags = 0;
	handle->shared_size = size;
	shared_locate(handle);

	if (unlikely(lost))
		perf_output_report_lost(handle, data, lost);

	return 0;
}

/*
 * Commit and publish
 */

static void shared_commit(struct perf_output_shared *sh, unsigned long start,
			  unsigned int size)
{
	unsigned long end = start + size;
	unsigned long next = start, pos, stop;
	struct shared_block *block;

	do {
		pos = next;
		block = shared_block(sh, pos);
		stop = shared_block_start(sh, pos) + sh->block_size;
		next = min(end, stop);
		if (unlikely(next == stop))
			WRITE_ONCE(block->cut, next == end ? end : start);
		atomic_long_add_return(next - pos, &block->committed);	/* E */
	} while (unlikely(next != end));
}

/*
 * How far is everything committed, from *@complete on? Moves *@complete to the end of
 * the complete blocks.
 *
 * If *@complete is old, the blocks have more than one lap's bytes. Then a cut may be
 * one of a later lap, above what was looked at: what is to be shown is the business
 * of others now, who have raised ->complete.
 *
 * One lap is enough: when ->complete was what it was at F, nothing beyond was
 * reserved (I3), so what follows comes from writers that look themselves.
 *
 * Return: the end of a record up to which all are committed; where *@complete was,
 * if there is none behind it.
 */
static unsigned long shared_look(struct perf_output_shared *sh,
				 unsigned long *complete)
{
	unsigned long was = *complete, end = was + sh->size;
	unsigned long pos, bytes, cut = was;
	struct shared_block *block;

	for (pos = was; pos != end; pos += sh->block_size) {
		block = shared_block(sh, pos);
		bytes = atomic_long_read_acquire(&block->committed);	/* G */
		bytes -= shared_lap(sh, pos);
		if (bytes < sh->block_size)
			break;
		cut = READ_ONCE(block->cut);
	}

	*complete = pos;
	if (pos != end && atomic_long_read(&sh->reserved) - pos == bytes)	/* H */
		return pos + bytes;

	return (long)(cut - pos) > 0 ? was : cut;
}

/*
 * Raise data_head to at least @upto.
 *
 * What is read from the control page only decides what is written there. Values
 * from @upto to ->reserved are left alone: somebody was faster. All others are
 * older, or not ours.
 *
 * Someone who published less can make the cmpxchg fail, once for each of the four
 * contexts of a CPU. Beyond that it is the reader, who gets what it asks for.
 *
 * Return: true if it did.
 */
static bool shared_show(struct perf_buffer *rb, unsigned long upto)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long *data_head = shared_word(&rb->user_page->data_head);
	unsigned long reserved, seen, old;
	unsigned int tries = 4 * nr_cpu_ids;

	old = smp_load_acquire(data_head);	/* J */
	do {
		reserved = atomic_long_read(&sh->reserved);	/* K */
		seen = shared_flip(sh, old);
		if (seen - upto <= reserved - upto)
			return false;
		if (try_cmpxchg(data_head, &old, shared_flip(sh, upto)))	/* L */
			return true;
		smp_rmb();	/* as J */
	} while (tries--);

	return false;
}

/* Watermark: is there another multiple of it, and is it this writer's to tell? */
static bool shared_passes_watermark(struct perf_buffer *rb, unsigned long upto)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long old = atomic_long_read(&sh->wakeup);
	unsigned long new;

	do {
		if ((long)(upto - old) <= rb->watermark)
			return false;
		new = old + rounddown(upto - old - 1, (unsigned long)rb->watermark);
	} while (!atomic_long_try_cmpxchg(&sh->wakeup, (long *)&old, new));

	return true;
}

/*
 * attr.wakeup_events: is there a sample that wants it? It may lie above @upto and
 * will want it again then: a wakeup too much, never one too few. Its request was
 * stored before E, so whoever publishes it sees it.
 */
static bool shared_is_wanted(struct perf_output_shared *sh, unsigned long upto)
{
	unsigned long wanted = atomic_long_read(&sh->wanted);

	if ((long)(wanted - (unsigned long)atomic_long_read(&sh->woken)) <= 0)
		return false;

	shared_advance(&sh->woken, upto);
	return true;
}

/*
 * Whoever polls one of the buffer's events. Their owners are told of overflows by
 * signals where these happen, see __perf_event_overflow().
 *
 * Context: interrupt, or a thread with interrupts enabled on PREEMPT_RT.
 */
static void shared_wakeup(struct irq_work *work)
{
	struct perf_output_shared *sh =
		container_of(work, struct perf_output_shared, wakeup_work);
	struct perf_event *event;

	rcu_read_lock();
	list_for_each_entry_rcu(event, &sh->rb->event_list, rb_entry)
		wake_up_all(&event->waitq);
	rcu_read_unlock();
}

/*
 * With the buffer's own irq_work, which runs on this CPU. That of an event is for one
 * CPU at a time: perf_pending_irq() goes to the one where the event is, and a SIGTRAP
 * that the event owes its task would be sent from here.
 *
 * irq_work_queue() does nothing if the work is queued already. Then it has yet to
 * run, and who it wakes sees what is stored to ->poll here: both are full barriers.
 */
static void shared_queue_wakeup(struct perf_buffer *rb)
{
	atomic_set(&rb->poll, EPOLLIN | EPOLLRDNORM);
	irq_work_queue(&rb->shared->wakeup_work);
}

static void shared_publish(struct perf_buffer *rb)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long was, complete, upto;
	bool passes;

	was = atomic_long_read_acquire(&sh->complete);	/* F */
	complete = was;
	upto = shared_look(sh, &complete);
	if (unlikely(complete != was))
		shared_advance(&sh->complete, complete);	/* I */

	/* If it was before, who raised ->complete to here shows it. */
	if (upto == was)
		return;

	if (!shared_show(rb, upto))
		return;

	passes = shared_passes_watermark(rb, upto);
	if (shared_is_wanted(sh, upto) || passes)
		shared_queue_wakeup(rb);
}

/**
 * perf_output_end_shared - perf_output_end() for a shared buffer
 * @handle: from perf_output_begin_shared()
 *
 * The caller enables preemption and unlocks RCU.
 *
 * Context: any, NMI included.
 */
void perf_output_end_shared(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;

	shared_commit(rb->shared, handle->shared_start, handle->shared_size);
	shared_publish(rb);
}

/**
 * perf_output_count_shared - count a sample for attr.wakeup_events
 * @handle: with a sample that is not yet committed
 * @wakeup_events: of its event
 *
 * Context: any, NMI included.
 */
void perf_output_count_shared(struct perf_output_handle *handle, int wakeup_events)
{
	struct perf_output_shared *sh = handle->rb->shared;
	long old = atomic_long_read(&sh->events);
	bool wake;

	local_set(&handle->rb->events, SHARED_EVENTS);

	do {
		wake = old + 1 >= wakeup_events;
	} while (!atomic_long_try_cmpxchg(&sh->events, &old,
					  old + 1 - (wake ? wakeup_events : 0)));

	if (wake)
		shared_advance(&sh->wanted, handle->shared_start + handle->shared_size);
}

/*
 * The control page
 */

/**
 * perf_output_page_begin - may this context write what describes a counter?
 * @rb: shared buffer
 *
 * Whoever comes while it is being written, in an NMI or on another CPU, leaves it
 * alone: what it would have written may be newer, and comes with the next update.
 *
 * Context: any, NMI included.
 * Return: true if it may, until perf_output_page_end().
 */
bool perf_output_page_begin(struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->user_page;

	if (atomic_cmpxchg_acquire(&rb->shared->page_busy, 0, 1))
		return false;

	/* Odd, whatever the reader may have made of it. */
	WRITE_ONCE(page->lock, READ_ONCE(page->lock) | 1);
	smp_wmb();	/* with the reader's, before it reads what follows */
	return true;
}

/**
 * perf_output_page_end - end what perf_output_page_begin() allowed
 * @rb: shared buffer
 *
 * No CPU has the counter of a shared buffer for itself: read() tells its value.
 */
void perf_output_page_end(struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->user_page;

	page->cap_user_rdpmc = 0;
	smp_wmb();	/* with the reader's, before it reads ->lock again */
	WRITE_ONCE(page->lock, READ_ONCE(page->lock) + 1);
	atomic_set_release(&rb->shared->page_busy, 0);
}

/*
 * Beginning and end
 */

static void shared_free(struct work_struct *work)
{
	struct perf_output_shared *sh =
		container_of(work, struct perf_output_shared, free_work);

	irq_work_sync(&sh->wakeup_work);
	rb_free(sh->rb);
	kfree(sh);
}

/**
 * perf_output_free_shared - free a shared buffer
 * @rb: buffer without writers: those who found it have left their RCU read sections
 *
 * Context: any but NMI. What they queued may still run, which takes a task to wait
 * for.
 */
void perf_output_free_shared(struct perf_buffer *rb)
{
	schedule_work(&rb->shared->free_work);
}

static struct perf_output_shared *shared_alloc(struct perf_buffer *rb, bool backward)
{
	unsigned long size = perf_data_size(rb);
	unsigned int size_log2 = size ? ilog2(size) : 0;
	unsigned int block_log2 = clamp_t(int, (int)size_log2 - SHARED_BLOCKS_LOG2,
					  SHARED_BLOCK_MIN_LOG2,
					  SHARED_BLOCK_MAX_LOG2);
	struct perf_output_shared *sh;
	size_t nr_blocks;

	if (size_log2 > block_log2 + SHARED_BLOCKS_MAX_LOG2)
		block_log2 = size_log2 - SHARED_BLOCKS_MAX_LOG2;
	nr_blocks = size >> block_log2;

	sh = kzalloc(struct_size(sh, blocks, nr_blocks), GFP_KERNEL);
	if (!sh)
		return NULL;

	sh->size = size;
	sh->block_size = 1UL << block_log2;
	sh->block_log2 = block_log2;
	sh->blocks_log2 = nr_blocks ? ilog2(nr_blocks) : 0;
	sh->backward = backward;
	sh->rb = rb;
	init_irq_work(&sh->wakeup_work, shared_wakeup);
	INIT_WORK(&sh->free_work, shared_free);
	return sh;
}

/**
 * perf_output_share - make a buffer a shared one
 * @rb: buffer that nobody else knows yet
 * @backward: it is written from its end
 *
 * To the code for private buffers a shared one is paused, nested and due.
 *
 * Context: sleeps.
 * Return: 0, -ENOMEM.
 */
int perf_output_share(struct perf_buffer *rb, bool backward)
{
	struct perf_output_shared *sh = shared_alloc(rb, backward);

	if (!sh)
		return -ENOMEM;

	rb->paused = 1;
	rb->nest = PERF_NEST_SHARED;
	local_set(&rb->events, SHARED_EVENTS);

	/*
	 * In one word, which perf_output_page_end() may change on another CPU as soon as
	 * the event has its buffer: there nothing is left for perf_event_init_userpage()
	 * to set in it.
	 */
	rb->user_page->cap_bit0_is_deprecated = 1;
	rb->user_page->cap_output_shared = 1;
	rb->shared = sh;
	return 0;
}

/**
 * perf_output_pause_shared - stop and start output into a shared buffer
 * @rb: buffer
 * @pause: which
 *
 * What is written meanwhile is lost and counted.
 *
 * Context: any.
 */
void perf_output_pause_shared(struct perf_buffer *rb, bool pause)
{
	WRITE_ONCE(rb->shared->paused, pause);
}
