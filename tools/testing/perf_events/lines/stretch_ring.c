// SPDX-License-Identifier: GPL-2.0
/*
 * One buffer in stretches of the same size, and a word for each, which says whose it is.
 * A CPU that writes much takes a whole stretch and fills it with local operations; the
 * others share one, the common stretch, by its word. A stretch that is still held when all
 * of the buffer has been used is given up: it becomes a gap, and its owner, when it is
 * back, counts its records as lost. README has the rules.
 *
 * Each stretch begins with a record that says how much to skip: nothing, or all of it.
 *
 * A prototype, to count what it costs: a record has to be smaller than a stretch.
 */
#include <stdlib.h>

#include <linux/atomic.h>

#include "ring.h"

#define STRETCH_MAX	4096
#define GUARD		16	/* a LOST_SAMPLES record about 0 samples */
#define PADDING		13	/* PERF_RECORD_LOST_SAMPLES */
#define NO_LEASE	(1l << 32)
#define NONE		(~0ul)

/*
 * A word: number of the stretch since the beginning, state, reserved and committed in
 * units of 8 bytes, records committed. The last three are those of a common stretch.
 */
#define FIELD		10
#define FIELD_MASK	((1ul << FIELD) - 1)
#define RECORDS(word)	((word) & FIELD_MASK)
#define COMMITTED(word)	(((word) >> FIELD & FIELD_MASK) * 8)
#define RESERVED(word)	(((word) >> 2 * FIELD & FIELD_MASK) * 8)
#define STATE(word)	((word) >> 3 * FIELD & 7)
#define NUMBER(word)	((word) >> (3 * FIELD + 3))

enum state { DONE, OPEN, COMMON, GIVING, GIVEN };

#define WORD(number, state)	((number) << (3 * FIELD + 3) | (unsigned long)(state) << 3 * FIELD)
#define FIELDS(word)		((word) & ((1ul << 3 * FIELD) - 1) & ~FIELD_MASK)
#define ADD_RESERVED(bytes)	((unsigned long)(bytes) / 8 << 2 * FIELD)
#define ADD_COMMITTED(bytes)	((unsigned long)(bytes) / 8 << FIELD)

struct lease {
	_Alignas(CACHE_LINE) local_t head;	/* bytes taken, or NO_LEASE and more */
	unsigned long	number;
	local_t		last;			/* number of the last stretch written to */
	unsigned int	nest;
	local_t		records;
	unsigned long	bytes;			/* written since the last tick */
	bool		busy;
};

struct stretches {
	unsigned long	size, stretch, count;
	bool		overwrite;
	unsigned char	*data;
	struct lease	*leases;

	_Alignas(CACHE_LINE) unsigned long next;
	_Alignas(CACHE_LINE) unsigned long common;
	_Alignas(CACHE_LINE) unsigned long complete;
	_Alignas(CACHE_LINE) unsigned long head;
	_Alignas(CACHE_LINE) unsigned long tail;
	_Alignas(CACHE_LINE) unsigned long lost;
	_Alignas(CACHE_LINE) unsigned long words[];
};

static unsigned long *word_of(struct stretches *ring, unsigned long number)
{
	return &ring->words[number % ring->count];
}

static unsigned char *data_of(struct stretches *ring, unsigned long number)
{
	return ring->data + number % ring->count * ring->stretch;
}

static unsigned long load(unsigned long *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static bool exchange(unsigned long *p, unsigned long old, unsigned long new)
{
	return __atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_ACQUIRE);
}

static void advance(unsigned long *value, unsigned long to)
{
	unsigned long old = load(value);

	while ((long)(to - old) > 0 && !exchange(value, old, to))
		old = load(value);
}

static void lose(struct stretches *ring, unsigned long records)
{
	__atomic_fetch_add(&ring->lost, records, __ATOMIC_RELAXED);
}

/* What the reader skips at the beginning of a stretch: the guard, or all. */
static void set_guard(struct stretches *ring, unsigned long number, unsigned long bytes)
{
	union {
		struct record_header header;
		unsigned long word;
	} guard = { .header = { PADDING, 0, bytes } };

	__atomic_store_n((unsigned long *)data_of(ring, number), guard.word, __ATOMIC_RELEASE);
}

static void pad(struct stretches *ring, unsigned long number, unsigned long from,
		unsigned long bytes)
{
	struct record_header header = { PADDING, 0, bytes };

	memcpy(data_of(ring, number) + from, &header, sizeof(header));
}

/*
 * Publish
 */

/* Does the reader pass it, all of it? */
static bool is_passed(unsigned long word, unsigned long number)
{
	if (NUMBER(word) != number)
		return (long)(NUMBER(word) - number) > 0;
	return STATE(word) == DONE || STATE(word) == GIVEN;
}

/*
 * A common stretch that others are behind is ended, when nobody is in it, so that what is
 * behind can be published.
 */
static bool end_common(struct stretches *ring, unsigned long number, unsigned long word)
{
	unsigned long from = RESERVED(word), left = ring->stretch - from;

	if (load(&ring->next) == number + 1 ||
	    !exchange(word_of(ring, number), word, word + ADD_RESERVED(left)))
		return false;

	pad(ring, number, from, left);
	return exchange(word_of(ring, number), word + ADD_RESERVED(left), WORD(number, DONE));
}

static void publish(struct stretches *ring)
{
	unsigned long was = load(&ring->complete), number = was, end, word;

	for (;;) {
		end = 0;
		word = load(word_of(ring, number));
		if (is_passed(word, number)) {
			number++;
			continue;
		}
		if (NUMBER(word) != number || STATE(word) != COMMON ||
		    RESERVED(word) != COMMITTED(word))
			break;
		end = COMMITTED(word);
		if (!end_common(ring, number, word))
			break;
	}
	if (number != was)
		advance(&ring->complete, number);
	if (number != was || end)
		advance(&ring->head, number * ring->stretch + end);
}

/*
 * Take, close and give up
 */

/* Its owner, or the last writer in it, is back: it can be used again. */
static void release(struct stretches *ring, unsigned long number)
{
	unsigned long *word = word_of(ring, number), old;

	do {
		old = load(word);
	} while (!exchange(word, old, WORD(NUMBER(old), DONE)));
}

/*
 * @number: what is to be taken, or is in the way. Its guard hides a lease from the
 * beginning; a common stretch has to be hidden first.
 */
static void give_up(struct stretches *ring, unsigned long number, unsigned long word)
{
	unsigned long *at = word_of(ring, number);

	if (STATE(word) == GIVING)
		return;
	if (STATE(word) != COMMON) {
		/* Done: somebody has taken it, and not yet said so. */
		if (STATE(word) == DONE)
			set_guard(ring, number, ring->stretch);
		exchange(at, word, WORD(number, GIVEN) | FIELDS(word));
		return;
	}
	if (!exchange(at, word, WORD(NUMBER(word), GIVING) | FIELDS(word)))
		return;
	lose(ring, RECORDS(word));
	set_guard(ring, number, ring->stretch);
	do {
		word = load(at);
	} while (!exchange(at, word, RESERVED(word) == COMMITTED(word) ?
			   WORD(number, DONE) : WORD(number, GIVEN) | FIELDS(word)));
}

/*
 * The reader has not read enough; or a lease that is held keeps it from reading. It may be
 * in the middle of a common stretch already, so that one stays.
 */
static void make_room(struct stretches *ring, unsigned long number)
{
	unsigned long complete = load(&ring->complete);
	unsigned long word = load(word_of(ring, complete));

	if (number - complete < ring->count || is_passed(word, complete) ||
	    STATE(word) == COMMON)
		return;
	give_up(ring, complete, word);
	publish(ring);
}

static unsigned long take_stretch(struct stretches *ring, enum state state)
{
	unsigned long number, word, *at;

	for (;;) {
		number = load(&ring->next);
		at = word_of(ring, number);
		word = load(at);
		if (!ring->overwrite &&
		    (number + 1) * ring->stretch - load(&ring->tail) > ring->size) {
			if (number != load(&ring->next))
				continue;
			make_room(ring, number);
			return NONE;
		}
		if (NUMBER(word) == number) {
			exchange(&ring->next, number, number + 1);
			continue;
		}
		if (STATE(word) != DONE || NUMBER(word) + ring->count != number) {
			if ((long)(NUMBER(word) - number) > 0)
				continue;
			if (STATE(word) == GIVING)
				return NONE;
			give_up(ring, number, word);
			publish(ring);
			continue;
		}
		if (!exchange(&ring->next, number, number + 1))
			continue;
		set_guard(ring, number, ring->stretch);
		if (state == COMMON)
			set_guard(ring, number, GUARD);
		if (exchange(at, word, WORD(number, state) | ADD_RESERVED(GUARD) |
			     ADD_COMMITTED(GUARD)))
			return number;
		release(ring, number);
	}
}

/*
 * Records in the common stretch
 */

static void commit_common(struct stretches *ring, unsigned long number, unsigned int size,
			  unsigned int records)
{
	unsigned long *at = word_of(ring, number), word, new;

	do {
		word = load(at);
		new = word + ADD_COMMITTED(size);
		if (STATE(word) == COMMON)
			new += records;
		if (COMMITTED(new) == RESERVED(new) && STATE(word) == GIVEN)
			new = WORD(NUMBER(word), DONE);
		else if (COMMITTED(new) == ring->stretch && STATE(word) == COMMON)
			new = WORD(NUMBER(word), DONE);
	} while (!exchange(at, word, new));

	if (STATE(word) == COMMON)
		publish(ring);
	else
		lose(ring, records);
}

/* Returns the offset; 0: there is no room */
static unsigned long reserve_common(struct stretches *ring, unsigned long number,
				    unsigned int size)
{
	unsigned long *at = word_of(ring, number), word, left, bytes;

	do {
		word = load(at);
		if (NUMBER(word) != number || STATE(word) != COMMON)
			return 0;
		left = ring->stretch - RESERVED(word);
		if (!left)
			return 0;
		bytes = size == left || size + GUARD <= left ? size : left;
	} while (!exchange(at, word, word + ADD_RESERVED(bytes)));

	if (bytes == size)
		return RESERVED(word);
	pad(ring, number, RESERVED(word), left);
	commit_common(ring, number, left, 0);
	return 0;
}

static void set_last(struct lease *lease, unsigned long number)
{
	long last = local_read(&lease->last);

	while (last < (long)number && !local_try_cmpxchg(&lease->last, &last, number))
		;
}

/* Not in one that lies before the CPU's last one: a context's records are in order. */
static bool write_common(struct stretches *ring, struct lease *lease,
			 const void *record, unsigned int size)
{
	unsigned long common, number, offset;

	for (;;) {
		common = load(&ring->common);
		offset = common == NONE || (long)common < local_read(&lease->last) ? 0 :
			reserve_common(ring, common, size);
		if (offset)
			break;
		number = take_stretch(ring, COMMON);
		if (number == NONE)
			return false;
		offset = reserve_common(ring, number, size);
		/* If somebody was faster, the rest of this one is padding. */
		if (!exchange(&ring->common, common, number))
			reserve_common(ring, number, ring->stretch);
		common = number;
		if (offset)
			break;
	}
	set_last(lease, common);
	memcpy(data_of(ring, common) + offset, record, size);
	commit_common(ring, common, size, 1);
	return true;
}

/*
 * Leases
 */

static bool take(struct stretches *ring, struct lease *lease, unsigned int size, bool all,
		 unsigned long *at, unsigned long *taken)
{
	long head = local_read(&lease->head);
	unsigned long left, bytes;

	do {
		left = ring->stretch - head;
		bytes = all ? left : size;
		if ((long)left <= 0 || bytes > left || (left - bytes && left - bytes < GUARD))
			return false;
	} while (!local_try_cmpxchg(&lease->head, &head, head + bytes));

	*at = head;
	*taken = bytes;
	return true;
}

static void end_lease(struct stretches *ring, struct lease *lease)
{
	unsigned long at, left;

	if (take(ring, lease, 0, true, &at, &left))
		pad(ring, lease->number, at, left);
}

static bool is_ended(struct stretches *ring, struct lease *lease)
{
	return local_read(&lease->head) == ring->stretch;
}

/* By the outermost context. The records become visible, then they are published. */
static void close_lease(struct stretches *ring, struct lease *lease)
{
	unsigned long number = lease->number, records = local_read(&lease->records);

	local_set(&lease->records, 0);
	local_set(&lease->head, NO_LEASE);
	set_guard(ring, number, GUARD);
	if (exchange(word_of(ring, number),
		     WORD(number, OPEN) | ADD_RESERVED(GUARD) | ADD_COMMITTED(GUARD),
		     WORD(number, DONE))) {
		publish(ring);
		return;
	}
	set_guard(ring, number, ring->stretch);
	lose(ring, records);
	release(ring, number);
}

static bool open_lease(struct stretches *ring, struct lease *lease)
{
	long head = local_read(&lease->head);
	unsigned long number;

	if (!READ_ONCE(lease->busy))
		return false;
	number = take_stretch(ring, OPEN);
	if (number == NONE)
		return false;
	lease->number = number;
	set_last(lease, number);
	if (local_try_cmpxchg(&lease->head, &head, GUARD))
		return true;

	/* An interrupt has written, maybe behind this lease. */
	pad(ring, number, GUARD, ring->stretch - GUARD);
	local_set(&lease->head, ring->stretch);
	return false;
}

static bool find_room(struct stretches *ring, struct lease *lease, unsigned int size,
		      unsigned long *at)
{
	unsigned long taken;

	if (take(ring, lease, size, false, at, &taken))
		return true;
	end_lease(ring, lease);
	if (lease->nest != 1)
		return false;
	if (is_ended(ring, lease))
		close_lease(ring, lease);
	return open_lease(ring, lease) && take(ring, lease, size, false, at, &taken);
}

static void leave(struct stretches *ring, struct lease *lease)
{
	do {
		if (lease->nest == 1 && is_ended(ring, lease))
			close_lease(ring, lease);
		WRITE_ONCE(lease->nest, lease->nest - 1);
		if (lease->nest || !is_ended(ring, lease))
			return;
		WRITE_ONCE(lease->nest, 1);
	} while (true);
}

static bool write_record(void *arg, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct stretches *ring = arg;
	struct lease *lease = &ring->leases[writer];
	bool written = true;
	unsigned long at;

	WRITE_ONCE(lease->nest, lease->nest + 1);
	WRITE_ONCE(lease->bytes, lease->bytes + size);
	if (!lease->busy && lease->bytes > ring->stretch / 2)
		WRITE_ONCE(lease->busy, true);
	if (find_room(ring, lease, size, &at)) {
		memcpy(data_of(ring, lease->number) + at, record, size);
		local_inc(&lease->records);
	} else {
		if (local_read(&lease->head) >= NO_LEASE)
			local_inc(&lease->head);
		written = write_common(ring, lease, record, size);
	}
	leave(ring, lease);
	return written;
}

static void tick(void *arg, unsigned int writer)
{
	struct stretches *ring = arg;
	struct lease *lease = &ring->leases[writer];

	WRITE_ONCE(lease->nest, lease->nest + 1);
	end_lease(ring, lease);
	WRITE_ONCE(lease->busy, lease->bytes > ring->stretch / 2);
	WRITE_ONCE(lease->bytes, 0);
	leave(ring, lease);
}

static void read_records(void *arg, struct sink *sink)
{
	struct stretches *ring = arg;
	unsigned long head = load(&ring->head), tail = ring->tail;
	unsigned char whole[RECORD_MAX];
	struct record_header header;

	while (tail != head) {
		const unsigned char *at = ring->data + tail % ring->size;

		memcpy(&header, at, sizeof(header));
		if (header.type != PADDING) {
			memcpy(whole, at, header.size);
			sink_take(sink, whole, header.size);
		}
		tail += header.size;
	}
	smp_store_release(&ring->tail, tail);
}

static void *create_with(unsigned int writers, size_t bytes, bool overwrite)
{
	unsigned long stretch = STRETCH_MAX;
	struct stretches *ring;

	while (stretch > bytes / 8 / writers)
		stretch /= 2;
	ring = ring_alloc(sizeof(*ring) + bytes / stretch * sizeof(ring->words[0]));
	ring->size = bytes;
	ring->stretch = stretch;
	ring->count = bytes / stretch;
	ring->overwrite = overwrite;
	ring->data = ring_alloc(bytes);
	ring->leases = ring_alloc(writers * sizeof(*ring->leases));
	for (unsigned int i = 0; i < writers; i++)
		local_set(&ring->leases[i].head, NO_LEASE);
	/* Numbers begin with the second lap: all of the first one is done. */
	for (unsigned long i = 0; i < ring->count; i++)
		ring->words[i] = WORD(i, DONE);
	ring->next = ring->count;
	ring->complete = ring->count;
	ring->head = bytes;
	ring->tail = bytes;
	ring->common = NONE;
	return ring;
}

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	(void)size;
	return create_with(writers, bytes, false);
}

static void *create_overwrite(unsigned int writers, size_t bytes, unsigned int size)
{
	(void)size;
	return create_with(writers, bytes, true);
}

static void destroy(void *arg)
{
	struct stretches *ring = arg;

	free(ring->data);
	free(ring->leases);
	free(ring);
}

const struct ring stretch_ring = {
	.name	 = "stretches of one buffer",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.tick	 = tick,
	.destroy = destroy,
};

const struct ring stretch_overwrite_ring = {
	.name	 = "stretches, overwrite mode",
	.create	 = create_overwrite,
	.write	 = write_record,
	.tick	 = tick,
	.destroy = destroy,
};
