// SPDX-License-Identifier: GPL-2.0
/*
 * Overwrite mode of shared buffers: how to go past a writer that is held up.
 *
 * In overwrite mode no reader makes room. A full buffer loses its oldest block, all of
 * which was committed long before. If a writer is still in the middle of it, because its
 * vCPU has no time for example, the others would lose their newest records from then on.
 * So they pass the block: ->complete goes on, and they lose nothing but its place. The
 * writer may write there whenever it returns. So the next lap leaves the block alone, and
 * covers it with a gap: a LOST_SAMPLES record that reports no loss.
 *
 *		 block	    |	passed block	|   block
 *	... record |<--------------- gap -------------->| record ...
 *		   | margin |			| margin|
 *
 * All that is stored of a gap lies in its margins. They belong to blocks that are free.
 *
 * W1  As long as a writer is in a passed block, the block has fewer bytes committed than
 *     its laps have: a gap commits no more than a lap. That is how the next lap knows it.
 *     When the last of its writers has committed, it is a block like any other.
 * W2  ->reserved is at least a margin below the next place of a block with a writer in it, so
 *     that there is room for the beginning of a gap: each record keeps that distance. It
 *     does so from a block that is yet to be passed, too, as that looks the same.
 *
 * A record is covered when others have reserved the next lap of its place. If that happens
 * before it ends, it is lost, and its writer counts it. A lease that is covered gets no further
 * records. While a writer is held up, its block stops publication once a lap, until the buffer
 * is full again.
 *
 * Gaps are as large as a record can be at most. While writers are held up in more blocks than
 * that, one after the other, the records of others are lost: in four of 16 kB, in buffers from
 * 1 MB to 256 MB, and in fewer that are larger beyond. So is a record that fits nowhere
 * between held blocks in the next half of the buffer. It covers nothing then.
 */
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>

#include "output_shared.h"

/* The size of a record has 16 bits, and is a multiple of 8. */
#define GAP_MAX		65528UL

/*
 * A gap of @size bytes at @head is about to cover what was written there a lap before. Leases
 * there take no more records, and records in flight commit themselves. If a CPU has another lease
 * by now, that one ends early, or all its records commit themselves.
 *
 * An open lease holds its block, so nothing but a gap covers it. To end it when its block is
 * passed is too early: a lease that opens just then can still be covered. A lease that isn't
 * seen here isn't open yet, and its CPU will see that it was passed.
 */
static void overwrite_end_leases(struct perf_output_shared *sh, unsigned long head,
				 unsigned int size)
{
	unsigned long begin = head - sh->size;
	struct shared_lease *lease;
	int cpu;

	if (!sh->lease_max)
		return;

	smp_mb();	/* ->complete was loaded before: with lease_open() */
	for_each_possible_cpu(cpu) {
		lease = per_cpu_ptr(sh->leases, cpu);
		if (READ_ONCE(lease->start) - begin >= size)
			continue;
		WRITE_ONCE(lease->room, 0);
		WRITE_ONCE(lease->live, 0);
	}
}

static long overwrite_committed(struct perf_output_shared *sh, unsigned long start)
{
	return shared_committed(sh, shared_block(sh, start), start);
}

/*
 * Make room in a full buffer: help to publish the oldest block, or pass it.
 *
 * The value of @head may be stale. If there is room for a record of @size at all, the oldest block
 * lies below that of @head, so what is passed was reserved.
 */
static void overwrite_pass(struct perf_buffer *rb, unsigned long head, unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long oldest = atomic_long_read_acquire(&sh->complete);
	long old = oldest;

	if ((long)(head - oldest) < 0 || head + size - oldest <= sh->size)
		return;

	if (overwrite_committed(sh, oldest) >= (long)sh->block_size) {
		shared_publish(rb);
		return;
	}

	atomic_long_try_cmpxchg(&sh->complete, &old, oldest + sh->block_size);
}

/*
 * Is there room for a record at @head if all below its block goes? The next place of that block
 * looks like that of a held one, so the margin is below it, too.
 */
static bool overwrite_fits(struct perf_output_shared *sh, unsigned long head, unsigned long size)
{
	return head - shared_block_start(sh, head) + size + OVERWRITE_MARGIN <= sh->size;
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
 * them, which leaves its middle alone. It is published with the record that follows, or by the
 * writer that is held up.
 */
static void overwrite_write_gap(struct perf_buffer *rb, struct perf_event *event,
				struct perf_sample_data *data, unsigned long head,
				unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned int id_size = shared_id_size(event);
	long old = head;

	overwrite_end_leases(sh, head, size);
	if (!atomic_long_try_cmpxchg(&sh->reserved, &old, head + size))	/* D */
		return;

	shared_store_id(rb, event, data, sh->backward ? head : head + size - id_size, id_size);
	shared_store_padding(rb, head, head + size);
	shared_commit(sh, head, size);
}

/*
 * Would a record find room between blocks that are held, not too far away? A record that finds
 * none must not cover what others can still read.
 */
static bool overwrite_finds_room(struct perf_output_shared *sh, unsigned long head,
				 unsigned int size)
{
	unsigned long pos = head, held;

	while (overwrite_find_held(sh, pos, size, &held)) {
		pos = held + sh->block_size + OVERWRITE_MARGIN;
		if (pos - head > sh->size / 2)
			return false;
	}
	return true;
}

/* Skip the block @held. Return 0, or -ENOSPC if a gap can't cover it. */
static int overwrite_skip(struct perf_buffer *rb, struct perf_event *event,
			  struct perf_sample_data *data, unsigned long head, unsigned long held)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long gap;

	/* A long record may leave more room below the block than a gap has. */
	if (held - head > 2 * OVERWRITE_MARGIN) {
		gap = min(held - head - OVERWRITE_MARGIN, GAP_MAX);
		overwrite_write_gap(rb, event, data, head, gap);
		return 0;
	}

	do {
		held += sh->block_size;
		gap = held + OVERWRITE_MARGIN - head;
		if (gap > GAP_MAX || !overwrite_fits(sh, head, gap))
			return -ENOSPC;
		if (!shared_has_room(rb, head, gap)) {
			overwrite_pass(rb, head, gap);
			return 0;
		}
	} while (overwrite_is_held(sh, held));

	overwrite_write_gap(rb, event, data, head, gap);
	return 0;
}

/**
 * overwrite_make_room - find room for a record, or make some
 * @rb: shared buffer in overwrite mode
 * @event: event that writes the record; a parent
 * @data: data of the record, with what sample_id_all adds
 * @head: where the record would begin: ->reserved
 * @size: its size
 *
 * Context: any, NMI included; preemption is disabled.
 * Return: 1 if there is room, 0 if the caller has to look again. -ENOSPC if there is none,
 * unless @head is stale: the record is too large, or more blocks are held, one after the
 * other, than a gap covers, or they leave too little room between them.
 */
int overwrite_make_room(struct perf_buffer *rb, struct perf_event *event,
			struct perf_sample_data *data, unsigned long head, unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long held;

	if (!overwrite_fits(sh, head, size))
		return -ENOSPC;

	if (!shared_has_room(rb, head, size)) {
		overwrite_pass(rb, head, size);
		return 0;
	}

	if (likely(!overwrite_find_held(sh, head, size, &held)))
		return 1;

	if (!overwrite_finds_room(sh, head, size))
		return -ENOSPC;

	return overwrite_skip(rb, event, data, head, held);
}
