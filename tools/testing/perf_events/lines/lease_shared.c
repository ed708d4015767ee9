// SPDX-License-Identifier: GPL-2.0
/* The kernel's file, and what leases that are taken with an addition need of it. */
#include "output_shared.c"

#include "lease_shared.h"

bool lease_reserve(struct perf_buffer *rb, struct lease_limit *limit, unsigned int size,
		   unsigned long slack, unsigned long *start)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long tail, head;

	if (unlikely(limit->over)) {
		head = atomic_long_read_acquire(&sh->reserved);
		if (!shared_has_room(rb, head, size + slack))
			return false;
		limit->over = false;
	}

	*start = atomic_long_add_return(size, &sh->reserved) - size;
	if (likely((long)(limit->until - *start) >= size))
		return true;

	limit->until = atomic_long_read_acquire(&sh->complete);
	if (!rb->overwrite) {
		tail = shared_flip(sh, smp_load_acquire(shared_word(&rb->user_page->data_tail)));
		if ((long)(tail - limit->until) < 0)
			limit->until = tail;
	}
	limit->until += sh->size - slack;
	limit->over = (long)(limit->until - *start) < size;
	return true;
}

void lease_commit(struct perf_buffer *rb, unsigned long start, unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long end = start + size, next = start, pos, stop, committed;
	struct shared_block *block;
	bool complete = false;

	do {
		pos = next;
		block = shared_block(sh, pos);
		stop = shared_block_start(sh, pos) + sh->block_size;
		next = min(end, stop);
		if (next == stop)
			WRITE_ONCE(block->cut, next == end ? end : start);
		committed = atomic_long_add_return(next - pos, &block->committed);
		complete |= committed - shared_lap(sh, pos) == sh->block_size;
	} while (next != end);

	if (complete)
		shared_publish(rb);
}

bool lease_reserve_single(struct perf_buffer *rb, unsigned int size, unsigned long slack,
			  unsigned long *start, bool *contended)
{
	bool insist = *contended;

	struct perf_output_shared *sh = rb->shared;
	unsigned long head;

	*contended = false;
	for (;;) {
		head = atomic_long_read_acquire(&sh->reserved);
		if (!shared_has_room(rb, head, size + slack)) {
			if (atomic_long_read(&sh->reserved) == head)
				return false;
			continue;
		}
		*start = head;
		if (atomic_long_try_cmpxchg(&sh->reserved, (long *)&head, head + size))
			return true;
		*contended = true;
		if (!insist)
			return false;
	}
}

void lease_commit_single(struct perf_buffer *rb, unsigned long start, unsigned int size)
{
	shared_commit(rb->shared, start, size);
	shared_publish(rb);
}

void lease_publish(struct perf_buffer *rb)
{
	shared_publish(rb);
}
