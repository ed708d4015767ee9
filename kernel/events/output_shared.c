// SPDX-License-Identifier: GPL-2.0
/*
 * Output of many CPUs into one perf buffer.
 *
 * A private buffer is written by one CPU, or by one task, at a time: its writers
 * nest, and the outermost one publishes (see ring_buffer.c). A shared buffer is
 * written by any number of CPUs, and by every context on each of them, NMI included.
 * No writer ever waits for another.
 *
 * A writer that is delayed in the middle of a record, for example by a hypervisor
 * that preempts its vCPU, keeps its reservation. The others write on until the rest
 * of the buffer is full. From then on their records are lost, and counted, until the
 * delayed writer commits. In overwrite mode they go past it, and lose nothing but the
 * place that it holds: see output_overwrite.c.
 *
 * A CPU that writes much reserves a lease, with room for many records, at a time: see
 * output_lease.c. To what follows here a lease is one record of its CPU.
 *
 * A buffer is shared from its mmap() on (attr.output_shared), or never.
 *
 * Positions
 * =========
 *
 * All positions count bytes from the beginning of the buffer's life; they only
 * grow, and don't wrap in 64 bits. In a backward buffer they count the distance
 * from address 0 downwards: a record at the positions [p, p + size) is stored at
 * the addresses [-(p + size), -p), and data_head is the negative position. There
 * is no other difference.
 *
 * How
 * ===
 *
 * A writer reserves room by advancing sh->reserved, stores its record, and then
 * commits it: the buffer is divided into blocks, each block counts the bytes ever
 * committed in it, and the writer adds its bytes to each block that it wrote to.
 * Then it scans for complete data, from sh->complete on:
 *
 *   - a block is complete when its committed bytes are the size of a block times
 *     the number of laps. Its last record may continue in the next block:
 *     shared_block::cut is where that record begins;
 *   - in the first block that is not complete, all that is reserved is complete if
 *     as many bytes are committed as are reserved.
 *
 * It publishes what it found: the end of the complete blocks in sh->complete, for
 * the other writers, and the end of all complete records in the control page's
 * data_head, for the reader.
 *
 *		      complete		  data_head	       reserved
 *			 |		      |			  |
 *   ... records ... ----+-- complete block --+-- some in flight -+-- free ...
 *
 * So a block is published when its last writer commits, however many writers have
 * begun meanwhile, and everything is published when no writer is left. A writer
 * that is delayed, by an interrupt or by a hypervisor, delays the publication of
 * what follows its record, but delays no other writer.
 *
 * Invariants
 * ==========
 *
 * I1  Bytes committed in a block <= bytes reserved in it.
 * I2  Everything below sh->complete is committed, or in a block that was passed in
 *     overwrite mode. It is the beginning of a block.
 * I3  sh->reserved - sh->complete <= size of the buffer. So all writers in a block
 *     that wasn't passed are of the same lap, and a delayed writer still owns its
 *     memory. No value that the reader stores in data_tail can change that, and in
 *     overwrite mode nothing else keeps the writers from lapping each other.
 * I4  Everything below data_head is committed, or in a passed block, and data_head is the
 *     end of a record and only grows, as long as the reader doesn't write to it. If it
 *     does, the next publication replaces what it wrote, unless that looks like the head
 *     of a faster writer: a value up to ->reserved stays until publication passes it.
 *
 * Order
 * =====
 *
 * The letters are those in the code. Every cmpxchg that succeeds and the add are full
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
 *   head	J  load ->data_head, acquire	R  load ->data_head, acquire
 *		K  load ->reserved		   (loads of records)
 *		L  cmpxchg ->data_head		S  full barrier, store ->data_tail
 *
 * Complete: if R reads from L, and G before this L read from E, then the loads of
 *   records see the stores before E. Relies on E, G, L and R.
 *
 * None in flight: if G and H see the same end, no writer has reserved without having
 *   committed. D comes before E, so a writer that sees E at G sees D at H: I1 holds for
 *   the loaded values, and if another writer had reserved more, H would have seen more.
 *   In the reverse order, writers that came between the two loads could make up for one
 *   in flight.
 *
 * Last one: of two writers that commit at the same time, at least one sees the other's
 *   bytes: each has a full barrier between its E and its G. So one of them publishes
 *   the bytes of both.
 *
 * Reuse: memory is written again by a writer that found at B that it is complete. If B
 *   reads from I, and G before that I read from E, then the old stores before E
 *   are ordered before the new ones after D. In a block that was passed, a writer finds
 *   at G that it is complete: overwrite_is_held() reads from E itself.
 *
 * Reader's reuse: if C reads from S, the reader's loads before the barrier at S come
 *   before the stores after C. Overwrite mode has no C and doesn't promise that.
 *
 * Not back: a writer that reads at J what another one published reads at K at least
 *   the ->reserved that the other one had read. So a value above K's was never published.
 *
 * Progress
 * ========
 *
 * D is retried only if another writer has reserved meanwhile; in overwrite mode also after
 * a block was passed, or a gap written that brings the record closer to the room that
 * overwrite_finds_room() has found. I is retried only if another one has advanced
 * ->complete. L is retried only if another one has published less, which each context can
 * do once, or if the reader writes to data_head; the number of these retries is bounded. A
 * scan passes each block once.
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
#include "output_shared.h"

/*
 * The smaller a block, the sooner it is published under constant overlap, and the
 * less of the buffer is idle because of I3. The larger a block, the longer its leases, the
 * fewer records touch two blocks, and the fewer counters there are: one for each eight pages
 * in buffers of 1 MB to 32 MB. In larger buffers the blocks grow, not their number: an NMI may
 * have to scan all of them if the writer that it interrupted has delayed their publication.
 *
 * In overwrite mode writers that are held up cost a block each, and a gap covers up to 64 kB
 * of them. So the blocks are half as large, and their number grows up to 256 MB, and with
 * it what an NMI may have to scan.
 */
#define SHARED_BLOCK_MIN_LOG2		9
#define SHARED_BLOCK_MAX_LOG2		15
#define OVERWRITE_BLOCK_MAX_LOG2	14

#define SHARED_BLOCKS_LOG2		5
#define SHARED_BLOCKS_MAX_LOG2		10
#define OVERWRITE_BLOCKS_LOG2		6
#define OVERWRITE_BLOCKS_MAX_LOG2	14

/*
 * Reserve
 */

/*
 * The first test is I3. If @head is stale, ->complete may have passed it. The
 * difference is then huge and there seems to be no room, which the caller detects.
 *
 * The second test assumes an honest reader; for that reader it does what a private
 * buffer does. A dishonest reader may store any number.
 */
bool shared_has_room(struct perf_buffer *rb, unsigned long head, unsigned int size)
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
 * The result "no room" is valid only for the time at which ->reserved was @head, so
 * ->reserved is loaded again. The acquire at A keeps the limits from being older than
 * @head: else a writer that is delayed here would lose its record without need.
 *
 * With @least, what is reserved doesn't go beyond the end of a block, and may be as small
 * as that.
 *
 * Return: what is reserved, 0 if there is no room.
 */
static __always_inline unsigned int
__shared_reserve(struct perf_buffer *rb, struct perf_event *event,
		 struct perf_sample_data *data, unsigned int size, unsigned int least,
		 unsigned long *start)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned int want = size;
	unsigned long head;
	int room;

	for (;;) {
		head = atomic_long_read_acquire(&sh->reserved);	/* A */
		if (least) {
			size = min_t(unsigned long, want, sh->block_size -
				     (head & (sh->block_size - 1)));
			if (size < least)
				return 0;
		}
		if (unlikely(rb->overwrite))
			room = overwrite_make_room(rb, event, data, head, size);
		else
			room = shared_has_room(rb, head, size) ? 1 : -ENOSPC;
		if (room < 0) {
			smp_rmb();	/* as A: the limits first, ->reserved again then */
			if (atomic_long_read(&sh->reserved) == head)
				return 0;
		}
		if (room <= 0)
			continue;
		*start = head;
		if (atomic_long_try_cmpxchg(&sh->reserved, (long *)&head,
					    head + size))	/* D */
			return size;
	}
}

/* Two copies, so that a record doesn't pay for what only a lease needs. */
static bool shared_reserve(struct perf_buffer *rb, struct perf_event *event,
			   struct perf_sample_data *data, unsigned int size,
			   unsigned long *start)
{
	return __shared_reserve(rb, event, data, size, 0, start);
}

unsigned int shared_reserve_in_block(struct perf_buffer *rb, struct perf_event *event,
				     struct perf_sample_data *data, unsigned int size,
				     unsigned int least, unsigned long *start)
{
	return __shared_reserve(rb, event, data, size, least, start);
}

/*
 * Padding
 */

/* Store what sample_id_all adds to a record at the positions [@start, @start + @size). */
void shared_store_id(struct perf_buffer *rb, struct perf_event *event,
		     struct perf_sample_data *data, unsigned long start, unsigned int size)
{
	struct perf_output_handle handle;

	handle.rb = rb;
	handle.shared_start = start;
	handle.shared_size = size;
	shared_locate(&handle);
	perf_event__output_id_sample(event, &handle, data);
}

/* Make a record that reports no loss of the positions [@start, @end). */
void shared_store_padding(struct perf_buffer *rb, unsigned long start, unsigned long end)
{
	struct shared_padding padding = {
		.header = { .type = PERF_RECORD_LOST_SAMPLES, .size = end - start },
	};
	unsigned long address = rb->shared->backward ? -end : start;
	unsigned int i;

	for (i = 0; i < sizeof(padding); i += 8)
		*shared_at(rb, address + i) = *(u64 *)((void *)&padding + i);
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
 * The writer that takes the losses reports them, or gives them back if it finds no
 * room either. So each is reported once.
 */
static unsigned long shared_take_lost(struct perf_output_shared *sh)
{
	if (likely(!atomic_long_read(&sh->lost)))
		return 0;

	return atomic_long_xchg(&sh->lost, 0);
}

/*
 * A record that doesn't go into this CPU's lease ends it: what the CPU writes later lies
 * behind that record. An interrupt may open a lease at any time, so look again after the
 * reservation.
 */
static noinline bool shared_reserve_anew(struct perf_buffer *rb, struct perf_event *event,
					 struct perf_sample_data *data, unsigned int size,
					 unsigned long *start)
{
	bool reserved;

	while (lease_renew(rb, event, data, size)) {
		if (lease_take(rb->shared, size, start))
			return true;
	}

	reserved = shared_reserve(rb, event, data, size, start);
	lease_close(rb);
	return reserved;
}

/* Begin a record at @handle->shared_start that reports @lost records first. */
static __always_inline void shared_begin(struct perf_output_handle *handle,
					 struct perf_event *event, struct perf_buffer *rb,
					 unsigned int size, unsigned long lost)
{
	handle->event = event;
	handle->rb = rb;
	handle->flags = 0;
	handle->shared_size = size;
	handle->shared_lost = lost;
	shared_locate(handle);
}

/*
 * For a record that the lease has no room for, or that follows losses. Not inlined, so that the
 * others, which fit into a lease, needn't save registers.
 */
static noinline int shared_begin_anew(struct perf_output_handle *handle,
				      struct perf_sample_data *data,
				      struct perf_event *event, struct perf_buffer *rb,
				      unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long lost = 0;

	if (!rb->nr_pages)
		goto no_room;

	if (READ_ONCE(sh->paused))
		goto lose;

	lost = shared_take_lost(sh);
	if (lost)
		size += perf_output_lost_size(event);

	if (!lease_take(sh, size, &handle->shared_start) &&
	    !shared_reserve_anew(rb, event, data, size, &handle->shared_start))
		goto lose;

	shared_begin(handle, event, rb, size, lost);
	if (lost)
		perf_output_report_lost(handle, data, lost);

	return 0;

lose:
	shared_lose(sh, event, lost + 1);
no_room:
	preempt_enable();
	return -ENOSPC;
}

/**
 * perf_output_begin_shared - perf_output_begin() for a shared buffer
 * @handle: to be filled in
 * @data: data of the record, for the id of a LOST record before it
 * @event: event that writes; a parent
 * @rb: shared buffer of @event
 * @size: size of the record
 *
 * A pause closes all leases before it returns, and a buffer without pages has none. So
 * shared_begin_anew() looks for both.
 *
 * Context: any, NMI included. Holds the rcu_read_lock() under which @rb was found.
 * Return: 0, and preemption is disabled. -ENOSPC (the record is lost and counted, or the
 * buffer has no room for records at all).
 */
int perf_output_begin_shared(struct perf_output_handle *handle,
			     struct perf_sample_data *data,
			     struct perf_event *event, struct perf_buffer *rb,
			     unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;

	preempt_disable();

	if (unlikely(atomic_long_read(&sh->lost)) ||
	    unlikely(!lease_take(sh, size, &handle->shared_start)))
		return shared_begin_anew(handle, data, event, rb, size);

	shared_begin(handle, event, rb, size, 0);

	return 0;
}

/*
 * Commit and publish
 */

/* Commit all that is committed at once of a lease, which ends at @end: within a block. */
void shared_commit_bytes(struct perf_output_shared *sh, unsigned long end, unsigned int bytes)
{
	struct shared_block *block = shared_block(sh, end - 1);

	if (end == shared_block_start(sh, end))
		WRITE_ONCE(block->cut, end);
	atomic_long_add_return(bytes, &block->committed);	/* E */
}

void shared_commit(struct perf_output_shared *sh, unsigned long start, unsigned int size)
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
 * Find the end of what is committed without a gap from *@complete on. Moves *@complete
 * to the end of the complete blocks.
 *
 * If *@complete is stale, the blocks have more than one lap's bytes. A cut may then be
 * from a later lap, above what was scanned. In this case the writers that have raised
 * ->complete update data_head. A cut from an earlier lap is that of a writer whom others
 * passed. It is the end of a record, too, but one below ->complete.
 *
 * One lap is enough: when ->complete had the value of F, nothing beyond that lap was
 * reserved (I3), so what follows comes from writers that scan themselves.
 *
 * Return: the end of a record up to which all are committed; the old *@complete if
 * there is none after it.
 */
static unsigned long shared_scan_complete(struct perf_output_shared *sh,
					  unsigned long *complete)
{
	unsigned long was = *complete, end = was + sh->size;
	unsigned long pos, cut = was;
	struct shared_block *block;
	long bytes;

	for (pos = was; pos != end; pos += sh->block_size) {
		block = shared_block(sh, pos);
		bytes = shared_committed(sh, block, pos);
		if (bytes < (long)sh->block_size)
			break;
		cut = READ_ONCE(block->cut);
	}

	*complete = pos;
	if (pos != end && atomic_long_read(&sh->reserved) - pos == bytes)	/* H */
		return pos + bytes;

	return (long)(cut - pos) > 0 ? was : cut;
}

/*
 * Raise data_head to at least @until.
 *
 * What is read from the control page only decides what is written there. Values
 * from @until to ->reserved are left alone: another writer was faster. All others are
 * older, or were not written by the kernel.
 *
 * A writer that published less can make the cmpxchg fail, once for each of the four
 * contexts of a CPU. Any further failure is the reader's doing, and its own loss.
 *
 * Return: true if this call raised data_head.
 */
static bool shared_update_head(struct perf_buffer *rb, unsigned long until)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long *data_head = shared_word(&rb->user_page->data_head);
	unsigned long reserved, seen, old;
	unsigned int tries = 4 * nr_cpu_ids;

	old = smp_load_acquire(data_head);	/* J */
	do {
		reserved = atomic_long_read(&sh->reserved);	/* K */
		seen = shared_flip(sh, old);
		if (seen - until <= reserved - until)
			return false;
		if (try_cmpxchg(data_head, &old, shared_flip(sh, until)))	/* L */
			return true;
		smp_rmb();	/* as J */
	} while (tries--);

	return false;
}

/* True if @until passes another multiple of the watermark, and this writer is the first there. */
static bool shared_passes_watermark(struct perf_buffer *rb, unsigned long until)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long old = atomic_long_read(&sh->wakeup);
	unsigned long new;

	do {
		if ((long)(until - old) <= rb->watermark)
			return false;
		new = old + rounddown(until - old - 1, (unsigned long)rb->watermark);
	} while (!atomic_long_try_cmpxchg(&sh->wakeup, (long *)&old, new));

	return true;
}

/*
 * attr.wakeup_events: true if there is a sample that requests a wakeup. If it lies above
 * @until, it requests another one later: a wakeup too many, never one too few. @wanted
 * was stored before E, so the writer that publishes the sample sees it.
 */
static bool shared_is_wanted(struct perf_output_shared *sh, unsigned long until)
{
	unsigned long wanted = atomic_long_read(&sh->wanted);

	if ((long)(wanted - (unsigned long)atomic_long_read(&sh->woken)) <= 0)
		return false;

	shared_advance(&sh->woken, until);
	return true;
}

/*
 * Wake up whoever polls one of the buffer's events. Signals for overflows are sent where
 * the overflows happen, see __perf_event_overflow().
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
 * Use the buffer's own irq_work, which runs on this CPU. The irq_work of an event is for
 * one CPU at a time: perf_pending_irq() goes to the CPU where the event is, and would
 * send from here a SIGTRAP that the event owes its task.
 *
 * irq_work_queue() does nothing if the work is queued already. Then it has yet to
 * run, and those it wakes see the value stored to ->poll here: both are full barriers.
 *
 * Each record reads the line of ->poll, so what is there isn't stored again. A perf_poll()
 * that takes the value from now on sees data_head: L and its xchg() are full barriers.
 */
static void shared_queue_wakeup(struct perf_buffer *rb)
{
	const int in = (__force int)(EPOLLIN | EPOLLRDNORM);

	if (atomic_read(&rb->poll) != in)
		atomic_set(&rb->poll, in);
	irq_work_queue(&rb->shared->wakeup_work);
}

void shared_publish(struct perf_buffer *rb)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long was, complete, until;
	bool passes;

	was = atomic_long_read_acquire(&sh->complete);	/* F */
	complete = was;
	until = shared_scan_complete(sh, &complete);
	if (unlikely(complete != was))
		shared_advance(&sh->complete, complete);	/* I */

	/* If it was before, the writer that raised ->complete to here updates data_head. */
	if (until == was)
		return;

	if (!shared_update_head(rb, until))
		return;

	passes = shared_passes_watermark(rb, until);
	if (shared_is_wanted(sh, until) || passes)
		shared_queue_wakeup(rb);
}

/* A record that others have covered is lost, with the losses that it reports. */
static void shared_lose_covered(struct perf_output_handle *handle)
{
	struct perf_output_shared *sh = handle->rb->shared;

	if (overwrite_is_covered(sh, handle->shared_start))
		shared_lose(sh, handle->event, handle->shared_lost + 1);
}

/* Not inlined, as shared_begin_anew(). */
static noinline void shared_end_alone(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;

	shared_commit(rb->shared, handle->shared_start, handle->shared_size);
	if (unlikely(rb->overwrite))
		shared_lose_covered(handle);
	shared_publish(rb);
}

/*
 * A record was committed in a lease. A reader wants each sample at once, so the lease has to
 * end; or it is overwrite mode, where others may have passed the lease just before. An interrupt
 * may have opened another one since.
 */
static noinline void shared_end_in_lease(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;

	if (READ_ONCE(rb->shared->no_leases))
		lease_close(rb);
	if (rb->overwrite && !lease_holds(this_cpu_ptr(rb->shared->leases), handle->shared_start))
		shared_lose_covered(handle);
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
	struct perf_output_shared *sh = rb->shared;

	if (unlikely(!lease_commit(sh, handle->shared_start, handle->shared_size)))
		shared_end_alone(handle);
	else if (unlikely(READ_ONCE(sh->no_leases) || rb->overwrite))
		shared_end_in_lease(handle);
}

/**
 * perf_output_count_shared - count a sample for attr.wakeup_events
 * @handle: with a sample that is not yet committed
 * @wakeup_events: attr.wakeup_events of its event
 *
 * Context: any, NMI included.
 */
void perf_output_count_shared(struct perf_output_handle *handle, int wakeup_events)
{
	struct perf_output_shared *sh = handle->rb->shared;
	long old = atomic_long_read(&sh->events);
	bool wake;

	if (unlikely(!READ_ONCE(sh->no_leases)))
		WRITE_ONCE(sh->no_leases, true);

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
 * perf_output_page_begin - may this context write the counter part of the page?
 * @rb: shared buffer
 *
 * A context that comes while another one writes, in an NMI or on another CPU, skips
 * its update: its values may be newer, and come with the next update.
 *
 * Context: any, NMI included.
 * Return: true if it may, until perf_output_page_end().
 */
bool perf_output_page_begin(struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->user_page;

	if (atomic_cmpxchg_acquire(&rb->shared->page_busy, 0, 1))
		return false;

	/* Make it odd, whatever the reader may have stored there. */
	WRITE_ONCE(page->lock, READ_ONCE(page->lock) | 1);
	smp_wmb();	/* with the reader's, before it reads what follows */
	return true;
}

/**
 * perf_output_page_end - end the update that perf_output_page_begin() allowed
 * @rb: shared buffer
 *
 * The counter of a shared buffer belongs to no single CPU: only read() has its value.
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

	lease_exit(sh);
	irq_work_sync(&sh->wakeup_work);
	rb_free(sh->rb);
	kfree(sh);
}

/**
 * perf_output_free_shared - free a shared buffer
 * @rb: buffer without writers: all of them have left their RCU read-side sections
 *
 * Context: any but NMI. The irq_work that they queued may still run, a tick later at
 * most. A workqueue waits for it, and keeps no CPU's other work from running.
 */
void perf_output_free_shared(struct perf_buffer *rb)
{
	queue_work(system_unbound_wq, &rb->shared->free_work);
}

/* The size of a block, in a buffer of @size_log2; as logarithms */
static unsigned int shared_block_log2(int size_log2, bool overwrite)
{
	int blocks = SHARED_BLOCKS_LOG2, blocks_max = SHARED_BLOCKS_MAX_LOG2;
	int block_max = SHARED_BLOCK_MAX_LOG2;

	if (overwrite) {
		blocks = OVERWRITE_BLOCKS_LOG2;
		blocks_max = OVERWRITE_BLOCKS_MAX_LOG2;
		block_max = OVERWRITE_BLOCK_MAX_LOG2;
	}
	return max(clamp(size_log2 - blocks, SHARED_BLOCK_MIN_LOG2, block_max),
		   size_log2 - blocks_max);
}

static struct perf_output_shared *shared_alloc(struct perf_buffer *rb, bool backward)
{
	unsigned long size = perf_data_size(rb);
	unsigned int block_log2 = shared_block_log2(size ? ilog2(size) : 0, rb->overwrite);
	size_t nr_blocks = size >> block_log2;
	struct perf_output_shared *sh;

	/* The buffer is locked memory, which has a limit. This isn't, so a cgroup pays for it. */
	sh = kzalloc(struct_size(sh, blocks, nr_blocks), GFP_KERNEL_ACCOUNT);
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
	if (lease_init(sh)) {
		kfree(sh);
		return NULL;
	}
	return sh;
}

/**
 * perf_output_share - make a buffer a shared one
 * @rb: buffer that is not visible to others yet
 * @backward: it is written from its end
 *
 * The code for private buffers sees a shared one as paused and nested.
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

	/*
	 * Both are bits of one word, which perf_output_page_end() may change on another CPU
	 * as soon as the event has its buffer. So set them here: perf_event_init_userpage()
	 * comes later.
	 */
	rb->user_page->cap_bit0_is_deprecated = 1;
	rb->user_page->cap_output_shared = 1;
	rb->shared = sh;
	return 0;
}

/**
 * perf_output_pause_shared - stop and start output into a shared buffer
 * @rb: shared buffer
 * @pause: true to stop, false to start
 *
 * Records are lost and counted meanwhile. What was written before can be read, in overwrite
 * mode after a grace period: perf_ioctl() waits for it.
 *
 * Context: interrupts are enabled.
 */
void perf_output_pause_shared(struct perf_buffer *rb, bool pause)
{
	WRITE_ONCE(rb->shared->paused, pause);
	if (pause)
		lease_close_all(rb);
}
