// SPDX-License-Identifier: GPL-2.0
/*
 * Leases of perf's shared buffer: a CPU takes a stretch of it as one large record, and
 * fills it with local operations. To the shared part it is a record, so all of
 * kernel/events/output_shared.c is as it is. Only the owner commits a lease: its
 * outermost context, when the lease is full, or at a tick. An interrupt that finds no
 * room in the lease ends it for new records, and writes a record of its own.
 *
 * At low rates there are no leases: one is taken after as many records in a tick as
 * fill a part of it, or when others were faster, and is larger the more were filled.
 *
 * In two versions: a lease is a record like all others; or it is taken with an addition
 * instead of a compare and exchange, and published if it completes a block, or at a tick.
 *
 * A prototype, to count what it costs. Included by perf_ring.c's build: it needs to
 * see kernel/events/internal.h.
 */
#include <stdlib.h>

#include <linux/perf_event.h>

#include "lease_shared.h"
#include "ring.h"

#define LEASE_MIN	1024
#define LEASE_MAX	4096
#define PADDING_MIN	24	/* a LOST record */

/*
 * &lease.head without a lease, plus the number of records since then. A lease that is
 * opened behind one of them must not be used: an interrupt's records would go back.
 */
#define NO_LEASE	(1l << 32)

/* Bytes written without a lease since the last tick that ask for one */
#define BUSY		(LEASE_MIN / 2)

/**
 * struct lease - a CPU's stretch of the buffer
 * @handle: the record that it is for the shared part
 * @start: where it begins
 * @head: bytes taken in it
 * @size: its size; 0: there is none
 * @nest: contexts that write on this CPU
 * @want: size of the next one
 * @bytes: written since the last tick
 */
struct lease {
	_Alignas(CACHE_LINE) local_t head;
	unsigned long			start;
	unsigned long			size;
	unsigned int			nest;
	unsigned int			want;
	unsigned long			bytes;
	struct lease_limit		limit;
	struct perf_event		*event;
	struct perf_output_handle	handle;
};

struct lease_ring {
	unsigned int		writers;
	bool			add;
	unsigned long		lease_max;
	unsigned long		slack;
	struct perf_buffer	*rb;
	struct perf_event	*parent;
	struct lease		*leases;
};

/* perf_output_copy() to a place in the lease */
static void copy_to(struct lease_ring *ring, unsigned long pos, const void *from,
		    unsigned int size)
{
	struct perf_buffer *rb = ring->rb;
	unsigned long offset = pos & (PAGE_SIZE - 1);
	struct perf_output_handle handle;

	handle.rb = rb;
	handle.page = pos >> PAGE_SHIFT & (rb->nr_pages - 1);
	handle.addr = (char *)rb->data_pages[handle.page] + offset;
	handle.size = PAGE_SIZE - offset;
	perf_output_copy(&handle, from, size);
}

/* Take room for a record, or all that is left. Never leave less than padding needs. */
static bool take(struct lease *lease, unsigned int size, bool all, unsigned long *at,
		 unsigned long *taken)
{
	long head = local_read(&lease->head);
	unsigned long left, bytes;

	do {
		left = READ_ONCE(lease->size) - head;
		bytes = all ? left : size;
		if ((long)left <= 0 || bytes > left || (left - bytes && left - bytes < PADDING_MIN))
			return false;
	} while (!local_try_cmpxchg(&lease->head, &head, head + bytes));

	*at = lease->start + head;
	*taken = bytes;
	return true;
}

static void pad(struct lease_ring *ring, unsigned long at, unsigned long bytes)
{
	struct perf_lost_record padding = {
		.header = { .type = PERF_RECORD_LOST, .size = bytes },
	};

	copy_to(ring, at, &padding, sizeof(padding));
}

/* No more records: the rest is padding. */
static void end_lease(struct lease_ring *ring, struct lease *lease)
{
	unsigned long at, left;

	if (take(lease, 0, true, &at, &left))
		pad(ring, at, left);
}

static bool is_ended(struct lease *lease)
{
	return lease->size && local_read(&lease->head) == lease->size;
}

/* By the outermost context */
static void close_lease(struct lease_ring *ring, struct lease *lease)
{
	unsigned long size = lease->size, start = lease->start;

	WRITE_ONCE(lease->size, 0);
	local_set(&lease->head, NO_LEASE);
	if (ring->add)
		lease_commit(ring->rb, start, size);
	else
		perf_output_end(&lease->handle);
}

static bool reserve_lease(struct lease_ring *ring, struct lease *lease, unsigned int want)
{
	struct perf_sample_data data;

	if (ring->add)
		return lease_reserve(ring->rb, &lease->limit, want, ring->slack, &lease->start);
	if (perf_output_begin(&lease->handle, &data, lease->event, want))
		return false;
	/* It may begin with a LOST record. */
	lease->start = lease->handle.shared_start + lease->handle.shared_size - want;
	return true;
}

static bool open_lease(struct lease_ring *ring, struct lease *lease)
{
	long head = local_read(&lease->head);
	unsigned int want = READ_ONCE(lease->want);

	if (!want || !reserve_lease(ring, lease, want))
		return false;
	WRITE_ONCE(lease->size, want);

	if (local_try_cmpxchg(&lease->head, &head, 0))
		return true;

	/* An interrupt has written, maybe behind this lease. */
	pad(ring, lease->start, lease->size);
	local_set(&lease->head, lease->size);
	return false;
}

static bool write_single(struct lease_ring *ring, struct lease *lease, const void *record,
			 unsigned int size, bool *contended)
{
	unsigned long start;

	if (local_read(&lease->head) >= NO_LEASE)
		local_inc(&lease->head);
	if (!lease_reserve_single(ring->rb, size, ring->slack, &start, contended))
		return false;
	copy_to(ring, start, record, size);
	lease_commit_single(ring->rb, start, size);

	if (!lease->want && lease->bytes > BUSY)
		WRITE_ONCE(lease->want, LEASE_MIN);
	return true;
}

/* What interrupts leave ended, the outermost context closes. */
static void leave(struct lease_ring *ring, struct lease *lease)
{
	do {
		if (lease->nest == 1 && is_ended(lease))
			close_lease(ring, lease);
		WRITE_ONCE(lease->nest, lease->nest - 1);
		if (lease->nest || !is_ended(lease))
			return;
		WRITE_ONCE(lease->nest, 1);
	} while (true);
}

static bool find_room(struct lease_ring *ring, struct lease *lease, unsigned int size,
		      unsigned long *at)
{
	unsigned long taken;

	if (take(lease, size, false, at, &taken))
		return true;

	/* What comes after this record has to be behind it. */
	if (lease->size)
		end_lease(ring, lease);
	if (lease->nest != 1)
		return false;
	if (is_ended(lease)) {
		close_lease(ring, lease);
		if (lease->want && 2 * lease->want <= ring->lease_max)
			lease->want *= 2;
	}
	return open_lease(ring, lease) && take(lease, size, false, at, &taken);
}

static bool write_record(void *arg, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct lease_ring *ring = arg;
	struct lease *lease = &ring->leases[writer];
	bool insist = lease->nest, contended = insist, written;
	unsigned long at;

	WRITE_ONCE(lease->nest, lease->nest + 1);
	WRITE_ONCE(lease->bytes, lease->bytes + size);
	do {
		written = find_room(ring, lease, size, &at);
		if (written) {
			copy_to(ring, at, record, size);
			break;
		}
		insist = contended;
		written = write_single(ring, lease, record, size, &contended);
		if (contended && !lease->want)
			WRITE_ONCE(lease->want, LEASE_MIN);
	} while (!written && contended && !insist);
	leave(ring, lease);
	return written;
}

/* From an interrupt that interrupts no writer: closes what is open, and sees how busy it is. */
static void tick(void *arg, unsigned int writer)
{
	struct lease_ring *ring = arg;
	struct lease *lease = &ring->leases[writer];
	unsigned long want = ring->lease_max;
	bool had = lease->size;

	WRITE_ONCE(lease->nest, lease->nest + 1);
	if (lease->size)
		end_lease(ring, lease);
	while (want > lease->bytes / 2)
		want /= 2;
	WRITE_ONCE(lease->want, want < LEASE_MIN / 2 ? 0 : want);
	WRITE_ONCE(lease->bytes, 0);
	leave(ring, lease);
	if (ring->add && had)
		lease_publish(ring->rb);
}

static void read_page(struct perf_buffer *rb, unsigned long at, void *to, unsigned int size)
{
	unsigned long left = PAGE_SIZE - at % PAGE_SIZE;
	unsigned int page = at / PAGE_SIZE % rb->nr_pages;

	if (size > left) {
		memcpy(to + left, rb->data_pages[(page + 1) % rb->nr_pages], size - left);
		size = left;
	}
	memcpy(to, (char *)rb->data_pages[page] + at % PAGE_SIZE, size);
}

static void read_records(void *arg, struct sink *sink)
{
	struct lease_ring *ring = arg;
	struct perf_buffer *rb = ring->rb;
	u64 head = smp_load_acquire(&rb->user_page->data_head);
	u64 tail = rb->user_page->data_tail;
	unsigned char whole[RECORD_MAX];
	struct record_header header;

	while (tail != head) {
		read_page(rb, tail, &header, sizeof(header));
		if (header.type == PERF_RECORD_SAMPLE) {
			read_page(rb, tail, whole, header.size);
			sink_take(sink, whole, header.size);
		}
		tail += header.size;
	}
	smp_store_release(&rb->user_page->data_tail, tail);
}

static struct perf_event *new_event(struct perf_event *parent, struct perf_buffer *rb)
{
	struct perf_event *event = ring_alloc(sizeof(*event));

	event->parent = parent;
	event->rb = parent ? NULL : rb;
	return event;
}

static void *create_with(unsigned int writers, size_t bytes, bool add)
{
	struct lease_ring *ring = ring_alloc(sizeof(*ring));

	ring->writers = writers;
	ring->rb = rb_alloc(bytes / PAGE_SIZE, 0, -1, RING_BUFFER_WRITABLE);
	if (!ring->rb || perf_output_share(ring->rb, false))
		abort();
	ring->parent = new_event(NULL, ring->rb);
	ring->leases = ring_alloc(writers * sizeof(*ring->leases));
	ring->lease_max = LEASE_MAX;
	while (ring->lease_max > bytes / 8 / writers)
		ring->lease_max /= 2;
	ring->add = add;
	ring->slack = add ? ring->lease_max * writers : 0;
	for (unsigned int i = 0; i < writers; i++) {
		local_set(&ring->leases[i].head, NO_LEASE);
		ring->leases[i].event = new_event(ring->parent, NULL);
	}
	return ring;
}

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	(void)size;
	return create_with(writers, bytes, false);
}

static void *create_add(unsigned int writers, size_t bytes, unsigned int size)
{
	(void)size;
	return create_with(writers, bytes, true);
}

static void destroy(void *arg)
{
	struct lease_ring *ring = arg;

	rb_free_rcu(&ring->rb->rcu_head);
	for (unsigned int i = 0; i < ring->writers; i++)
		free(ring->leases[i].event);
	free(ring->leases);
	free(ring->parent);
	free(ring);
}

const struct ring lease_ring = {
	.name	 = "leases of one buffer",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.tick	 = tick,
	.destroy = destroy,
};

const struct ring lease_add_ring = {
	.name	 = "leases of one buffer, by addition",
	.create	 = create_add,
	.write	 = write_record,
	.read	 = read_records,
	.tick	 = tick,
	.destroy = destroy,
};
