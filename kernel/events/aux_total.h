/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The total of an AUX area: how many bytes were ever written to it.
 *
 * aux_head of an overwritten area is an offset. It doesn't tell a reader whether
 * nothing was written since the last snapshot, or the whole area several times. So the
 * control page has two more fields:
 *
 *	aux_total	bytes written since the area was mapped, as of the end of the
 *			last AUX transaction
 *	aux_state	PERF_AUX_STATE_*: may the area be written now?
 *
 * The newest byte is the one before aux_head (modulo the size of the area). The newest
 * min(aux_total, size) bytes are in the area. The bytes of the open transaction
 * (PERF_AUX_STATE_RUNNING) are in the area, but not in aux_total yet: what is read while
 * it runs may be newer than the total says.
 *
 * In overwrite mode this needs a driver that counts (pmu::aux_counts); without one
 * PERF_AUX_STATE_COUNTED is not set, and aux_total stays 0.
 *
 * Protocol
 * ========
 *
 * aux_head, aux_total and aux_state belong together. 64 bits take two accesses on
 * some machines, so they are under a sequence count, in the way of a seqlock:
 *
 *	kernel				user
 *
 *	W1  aux_seq = odd		R1  seq = aux_seq
 *	    smp_wmb() (A)		    smp_rmb() (B)
 *	W2  head, total, state		R2  head, total, state
 *	    smp_wmb() (C)		    smp_rmb() (D)
 *	W3  aux_seq = even		R3  again if aux_seq != seq, or seq is odd
 *
 * If R2 reads a value of W2, D and A make R3 see W1 or a later value, other than what
 * R1 read; or R1 read W3, and C and B make R2 see all of W2. A reader doesn't hang: W1
 * to W3 run with interrupts disabled, and no reader runs in the kernel.
 *
 * tools/testing/perf_events/aux_total has a model of this, with weak memory and an NMI.
 *
 * Data is in the area before the aux_head that covers it: the driver sees to that,
 * see (B) of perf_output_put_handle().
 *
 * Writers
 * =======
 *
 * perf_buffer::aux_nest lets in one transaction at a time. The fields are written
 *
 *   - in a transaction: an NMI between W1 and W3 can't begin another one, because it
 *     finds aux_nest taken;
 *   - when the area is mapped, before a transaction can begin;
 *   - when user space has paused the event, after its transaction has ended, see
 *     aux_publish_paused().
 *
 * So W1 to W3 don't nest. User space may write to the control page, so the kernel
 * keeps its own values in perf_buffer, and never reads them back.
 */
#ifndef _KERNEL_EVENTS_AUX_TOTAL_H
#define _KERNEL_EVENTS_AUX_TOTAL_H

#include <linux/perf_event.h>

#include "internal.h"

/* W1 to W3. Context: any, NMI included. */
static inline void perf_aux_publish(struct perf_buffer *rb, u32 state)
{
	struct perf_event_mmap_page *page = rb->user_page;

	if (rb->aux_counted)
		state |= PERF_AUX_STATE_COUNTED;

	WRITE_ONCE(page->aux_seq, ++rb->aux_seq);
	smp_wmb();	/* A, matches D */
	WRITE_ONCE(page->aux_head, rb->aux_head);
	WRITE_ONCE(page->aux_total, rb->aux_total);
	WRITE_ONCE(page->aux_state, state);
	smp_wmb();	/* C, matches B */
	WRITE_ONCE(page->aux_seq, ++rb->aux_seq);
}

/* An area was mapped: nothing has been written to it. */
static inline void perf_aux_total_map(struct perf_buffer *rb)
{
	rb->aux_total = 0;
	perf_aux_publish(rb, 0);
}

/* @size more bytes are in the area, or skipped. */
static inline void perf_aux_total_add(struct perf_buffer *rb, unsigned long size,
				      u32 state)
{
	if (rb->aux_counted)
		rb->aux_total += size;
	perf_aux_publish(rb, state);
}

#endif /* _KERNEL_EVENTS_AUX_TOTAL_H */
