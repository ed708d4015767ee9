// SPDX-License-Identifier: GPL-2.0
/*
 * Overwrite mode of shared buffers: how to go past a writer that is held up.
 *
 * In overwrite mode no reader makes room. A full buffer loses its oldest block, all of
 * which was committed long before. If a writer is still in the middle of it, because its
 * vCPU has no time for example, the others would lose their newest records from then on.
 * So they pass the block: ->complete goes on, and they lose nothing but its place. The
 * writer may write there whenever it returns. So the next lap leaves the block alone, and
 * covers it with a gap: a LOST_SAMPLES record that tells of no loss.
 *
 *		 block	    |	passed block	|   block
 *	... record |<--------------- gap -------------->| record ...
 *		   | margin |			| margin|
 *
 * All that is stored of a gap lies in its margins. They belong to blocks that are free.
 *
 * W1  A passed block has fewer bytes committed than its laps, as long as a writer is in it:
 *     each gap commits what a lap has. That is how the next lap knows it. When the last of
 *     its writers has committed, it is a block like any other.
 * W2  ->reserved is at least a margin below a block with a writer in it, so that there is
 *     room for the beginning of a gap: each record keeps that distance. It does so from a
 *     block that is yet to be passed, too, as that looks the same.
 *
 * A record that ends in a passed block is lost, and its writer counts it. A lease there gets
 * no further records. Gaps are as large as a record can be at most, and writers have to be
 * held up in this many blocks, one after the other, before others lose records again. That
 * is several blocks, unless the buffer is larger than 256 MB. Or they have to leave too little
 * room between them for a record, again and again.
 */
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>

#include "output_shared.h"

/* The size of a record has 16 bits, and is a multiple of 8. */
#define GAP_MAX		65528UL

/* A record that doesn't fit between so many of them is lost: it can't go on for laps. */
#define GAPS_MAX	16

/* The leases in the block take no more records, and those in flight commit themselves. */
static void overwrite_end_leases(struct perf_output_shared *sh, unsigned long block)
{
	struct shared_lease *lease;
	int cpu;

	if (!sh->lease_max)
		return;

	for_each_possible_cpu(cpu) {
		lease = per_cpu_ptr(sh->leases, cpu);
		if (shared_block_start(sh, READ_ONCE(lease->start)) != block)
			continue;
		/* If it has another lease by now, that one does no more than end early. */
		WRITE_ONCE(lease->room, 0);
		WRITE_ONCE(lease->live, 0);
	}
}

static long overwrite_committed(struct perf_output_shared *sh, unsigned long start)
{
	return shared_committed(sh, shared_block(sh, start), start);
}

/**
 * overwrite_pass - make room in a full buffer
 * @rb: shared buffer in overwrite mode
 * @head: ->reserved, where there was no room
 * @size: for a record of that size
 *
 * Context: any, NMI included.
 * Return: true if the caller should look again, false if the record is too large.
 */
bool overwrite_pass(struct perf_buffer *rb, unsigned long head, unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long oldest = atomic_long_read_acquire(&sh->complete);
	long old = oldest;

	if (head + size - oldest <= sh->size)
		return true;

	if ((long)(shared_block_start(sh, head) - oldest) <= 0)
		return false;

	if (overwrite_committed(sh, oldest) >= (long)sh->block_size)
		shared_publish(rb);
	else if (atomic_long_try_cmpxchg(&sh->complete, &old, oldest + sh->block_size))
		overwrite_end_leases(sh, oldest);	/* a full barrier before: lease_open() */

	return true;
}

/* W1 */
static bool overwrite_is_held(struct perf_output_shared *sh, unsigned long start)
{
	return overwrite_committed(sh, start) < 0;
}

/* The first block that is held, of those that a record would touch, or that it comes close to */
static bool overwrite_find_held(struct perf_output_shared *sh, unsigned long head,
				unsigned int size, unsigned long *held)
{
	unsigned long block = shared_block_start(sh, head + sh->block_size - 1);
	unsigned long end = head + size + OVERWRITE_MARGIN;

	for (; (long)(end - block) > 0; block += sh->block_size) {
		if (overwrite_is_held(sh, block)) {
			*held = block;
			return true;
		}
	}
	return false;
}

/*
 * Reserve @size bytes, unless others have reserved meanwhile, and make a record of no loss of
 * them, which leaves its middle alone.
 *
 * Return: number of gaps.
 */
static int overwrite_write_gap(struct perf_buffer *rb, struct perf_event *event,
			       struct perf_sample_data *data, unsigned long head,
			       unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned int id_size = shared_id_size(event);
	long old = head;

	if (!atomic_long_try_cmpxchg(&sh->reserved, &old, head + size))	/* D */
		return 0;

	shared_store_id(rb, event, data, sh->backward ? head : head + size - id_size, id_size);
	shared_store_padding(rb, head, head + size);
	shared_commit(sh, head, size);
	shared_publish(rb);
	return 1;
}

/**
 * overwrite_skip - skip a passed block that a record would touch
 * @rb: shared buffer in overwrite mode
 * @event: event that writes the record; a parent
 * @data: data of the record, with what sample_id_all adds
 * @head: where the record would begin; there is room for it
 * @size: its size
 * @gaps: number of gaps that were written for this record
 *
 * Context: any, NMI included; preemption is disabled.
 * Return: 0 if there is no such block, 1 if the caller has to look again, -ENOSPC if more
 * blocks are held, one after the other, than a gap covers, or too many with too little room
 * between them.
 */
int overwrite_skip(struct perf_buffer *rb, struct perf_event *event,
		   struct perf_sample_data *data, unsigned long head, unsigned int size,
		   unsigned int *gaps)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long held, gap;

	if (likely(!overwrite_find_held(sh, head, size, &held)))
		return 0;

	if (*gaps == GAPS_MAX)
		return -ENOSPC;

	/* A long record may leave more room below the block than a gap has. */
	if (held - head > 2 * OVERWRITE_MARGIN) {
		gap = min(held - head - OVERWRITE_MARGIN, GAP_MAX);
		*gaps += overwrite_write_gap(rb, event, data, head, gap);
		return 1;
	}

	do {
		held += sh->block_size;
		gap = held + OVERWRITE_MARGIN - head;
		if (gap > GAP_MAX)
			return -ENOSPC;
		if (!shared_has_room(rb, head, gap))
			return overwrite_pass(rb, head, gap) ? 1 : -ENOSPC;
	} while (overwrite_is_held(sh, held));

	*gaps += overwrite_write_gap(rb, event, data, head, gap);
	return 1;
}
