// SPDX-License-Identifier: GPL-2.0
/*
 * Test the memory ring.
 *
 * Expected: whatever the sizes of records and pieces, each record is either still in
 * the ring, or has left it, both in order. Samples that left were counted, side-band
 * was evicted unchanged. A ring that has a fault at the end of a chunk, with a record
 * larger than a chunk, or while records are taken, fails here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "debug.h"
#include "tests.h"
#include "memory-ring.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

#define MAX_ROUNDS	16384

/*
 * The payload of a record is its number, repeated. Every @comm_each th record is a COMM,
 * which is wanted, every @lost_each th is a LOST, others are samples. @ends: number of
 * records at the end of each round. @evict_err: what evict() returns.
 */
struct model {
	struct memory_ring	*ring;
	u64			appended;
	u64			comms_evicted;
	u64			round;
	u64			oldest_round;
	unsigned int		comm_each;
	unsigned int		lost_each;
	size_t			max_size;
	bool			bad;
	int			evict_err;
	void			*buf;
	u64			ends[MAX_ROUNDS];
};

static u64 nr_of(const union perf_event *event)
{
	return ((const u64 *)event)[1];
}

static u32 type_of(const struct model *m, u64 nr)
{
	if (nr % m->comm_each == 0)
		return PERF_RECORD_COMM;
	return nr % m->lost_each == 0 ? PERF_RECORD_LOST : PERF_RECORD_SAMPLE;
}

/* The size is a function of the number, so that the check needn't store it */
static size_t size_of(const struct model *m, u64 nr)
{
	u64 hash = nr * 0x9e3779b97f4a7c15ULL;

	if (type_of(m, nr) == PERF_RECORD_LOST)
		return sizeof(struct perf_record_lost);
	/* Now and then a record of the maximum size */
	if (nr % 97 == 96)
		return m->max_size;
	return 16 + (hash >> 32) % 40 * 8;
}

static size_t make_record(const struct model *m, u64 nr, void *buf)
{
	struct perf_event_header *hdr = buf;
	size_t i, size = size_of(m, nr);
	u64 *payload = buf;

	for (i = 1; i < size / sizeof(u64); i++)
		payload[i] = nr;
	hdr->type = type_of(m, nr);
	hdr->misc = 0;
	hdr->size = size;
	if (hdr->type == PERF_RECORD_LOST)
		((struct perf_record_lost *)buf)->lost = 1;
	return size;
}

static bool is_record(struct model *m, const union perf_event *event, u64 nr)
{
	size_t size = make_record(m, nr, m->buf);

	return event->header.size == size && !memcmp(event, m->buf, size);
}

/* The round in which record @nr was appended */
static u64 round_of(const struct model *m, u64 nr)
{
	u64 round = 0;

	while (round < m->round && m->ends[round] <= nr)
		round++;
	return round;
}

/* The ring drops samples without asking */
static bool wants(const union perf_event *event)
{
	return event->header.type == PERF_RECORD_COMM || event->header.type == PERF_RECORD_SAMPLE;
}

static int evict(void *priv, const union perf_event *event, u64 round)
{
	struct model *m = priv;
	u64 nr = m->comms_evicted++ * m->comm_each;

	if (nr_of(event) != nr || !is_record(m, event, nr) ||
	    round_of(m, nr) < m->oldest_round || round < round_of(m, nr) || round > m->round)
		m->bad = true;
	return m->evict_err;
}

static void advance(void *priv, u64 oldest_round)
{
	struct model *m = priv;

	if (oldest_round < m->oldest_round || oldest_round > m->round)
		m->bad = true;
	m->oldest_round = oldest_round;
}

static const struct memory_ring_ops ops = {
	.wants	 = wants,
	.evict	 = evict,
	.advance = advance,
};

static int model__init(struct model *m, size_t size, size_t max_size)
{
	memset(m, 0, sizeof(*m));
	m->comm_each = 7;
	m->lost_each = 11;
	m->max_size = max_size;
	m->buf = malloc(2 * MEMORY_RING_MAX_RECORD);
	m->ring = memory_ring__new(size, &ops, m);
	return m->buf && m->ring ? 0 : -1;
}

static void model__exit(struct model *m)
{
	memory_ring__delete(m->ring);
	free(m->buf);
}

/* Every third record arrives in two pieces, as from the end of a kernel's buffer */
static int append(struct model *m, unsigned int nr)
{
	void *buf = m->buf + MEMORY_RING_MAX_RECORD;

	while (nr--) {
		size_t size = make_record(m, m->appended, buf);
		size_t first = m->appended % 3 ? size : size / 16 * 8;
		int err = memory_ring__append(m->ring, buf, first);

		if (!err && first < size)
			err = memory_ring__append(m->ring, buf + first, size - first);
		if (err)
			return err;
		m->appended++;
	}
	memory_ring__end_round(m->ring);
	m->ends[m->round++] = m->appended;
	return m->round < MAX_ROUNDS && memory_ring__round(m->ring) == m->round ? 0 : -1;
}

/* The taken records, in one piece */
struct collect {
	void	*data;
	size_t	size;
};

static int collect(void *arg, void *buf, size_t size)
{
	struct collect *c = arg;

	/* No piece is empty */
	if (!size)
		return -EINVAL;
	memcpy(c->data + c->size, buf, size);
	c->size += size;
	return 0;
}

/* There must be all records from some number to @end. Return the first number. */
static s64 check_collected(struct model *m, struct collect *c, u64 end)
{
	size_t pos = 0;
	u64 first, nr;

	CHECK(c->size);
	first = nr_of(c->data);
	nr = first;
	while (pos < c->size) {
		const union perf_event *event = c->data + pos;

		/* The number of a LOST is in its id */
		CHECK(is_record(m, event, nr));
		pos += event->header.size;
		nr++;
	}
	CHECK(nr == end);
	return first;
}

static int add_size(void *arg, void *buf __maybe_unused, size_t size)
{
	*(u64 *)arg += size;
	return 0;
}

static u64 size_taken(struct model *m)
{
	u64 size = 0;

	memory_ring__read_taken(m->ring, add_size, &size);
	return size;
}

static s64 check_taken(struct model *m, u64 end)
{
	struct collect c = { .data = malloc(size_taken(m)) };
	s64 first;

	CHECK(c.data);
	CHECK(!memory_ring__read_taken(m->ring, collect, &c));
	first = check_collected(m, &c, end);
	free(c.data);
	return first;
}

static u64 count_type(const struct model *m, u64 from, u64 to, u32 type)
{
	u64 nr, n = 0;

	for (nr = from; nr < to; nr++)
		n += type_of(m, nr) == type;
	return n;
}

static int check_count(const struct model *m, const struct memory_ring_count *count,
		       u64 from, u64 to)
{
	CHECK(count->samples == count_type(m, from, to, PERF_RECORD_SAMPLE));
	CHECK(count->wanted == count_type(m, from, to, PERF_RECORD_COMM));
	CHECK(count->lost == count_type(m, from, to, PERF_RECORD_LOST));
	return 0;
}

/* All records before @first have left the ring, and no others */
static int check_evicted(struct model *m, u64 first)
{
	CHECK(!m->bad);
	CHECK(m->comms_evicted == count_type(m, 0, first, PERF_RECORD_COMM));
	return 0;
}

/* The oldest record in the ring is @first. The end of the one before may be there, too. */
static int check_oldest_round(const struct model *m, u64 first)
{
	CHECK(m->oldest_round <= round_of(m, first));
	CHECK(m->oldest_round >= round_of(m, first - 1));
	return 0;
}

/* A walk must visit all COMMs from @comm on, and all samples, in order */
struct seen {
	struct model	*m;
	u64		comm;
	u64		samples;
	bool		bad;
};

static int see_comm(void *arg, const union perf_event *event)
{
	struct seen *seen = arg;

	while (type_of(seen->m, seen->comm) != PERF_RECORD_COMM)
		seen->comm++;
	if (!is_record(seen->m, event, seen->comm++))
		seen->bad = true;
	return 0;
}

static void see_sample(void *arg, const union perf_event *event)
{
	struct seen *seen = arg;

	if (type_of(seen->m, nr_of(event)) != PERF_RECORD_SAMPLE ||
	    !is_record(seen->m, event, nr_of(event)))
		seen->bad = true;
	seen->samples++;
}

static int check_seen(const struct seen *seen, u64 end)
{
	CHECK(!seen->bad);
	CHECK(!count_type(seen->m, seen->comm, end, PERF_RECORD_COMM));
	return 0;
}

static int check_walk(struct model *m, u64 first)
{
	struct memory_ring_count count = { .samples = 0 };
	struct seen seen = { .m = m, .comm = first };
	struct memory_ring_visitor visitor = {
		.wanted	= see_comm,
		.sample	= see_sample,
		.arg	= &seen,
	};

	CHECK(!memory_ring__walk_taken(m->ring, &count, &visitor));
	CHECK(!check_count(m, &count, first, m->appended));
	CHECK(!check_seen(&seen, m->appended));
	CHECK(seen.samples == count.samples);

	/* All records are counted, even those that aren't visited */
	memset(&count, 0, sizeof(count));
	visitor.wanted = NULL;
	CHECK(!memory_ring__walk_taken(m->ring, &count, &visitor));
	CHECK(!check_count(m, &count, first, m->appended));
	CHECK(seen.samples == 2 * count.samples);
	return 0;
}

static int test_newest(size_t size, size_t max_size)
{
	u64 capacity = max(size, MEMORY_RING_MIN_SIZE), taken;
	struct model m;
	s64 first;
	int i;

	CHECK(!model__init(&m, size, max_size));
	for (i = 0; i < 300; i++)
		CHECK(!append(&m, i % 50));
	memory_ring__take(m.ring);
	taken = size_taken(&m);
	/* A chunk can be missing, and so can a record that began in it */
	CHECK(taken <= capacity + capacity / 8);
	CHECK(taken + max_size + capacity / 8 >= capacity);
	first = check_taken(&m, m.appended);
	CHECK(first > 0);
	CHECK(!check_evicted(&m, first));
	CHECK(!check_oldest_round(&m, first));
	CHECK(!check_count(&m, memory_ring__dropped(m.ring), 0, first));
	CHECK(!check_walk(&m, first));

	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!check_evicted(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* Records are taken twice: the second time only those since the first */
static int test_twice(void)
{
	struct model m;
	u64 end;

	CHECK(!model__init(&m, 1 << 20, 1024));
	CHECK(!append(&m, 500));
	memory_ring__take(m.ring);
	end = m.appended;
	CHECK(!append(&m, 300));
	CHECK(check_taken(&m, end) == 0);
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));

	memory_ring__take(m.ring);
	CHECK(check_taken(&m, m.appended) == (s64)end);
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));

	/* Now the ring is empty */
	memory_ring__take(m.ring);
	CHECK(!size_taken(&m));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!check_evicted(&m, m.appended));
	model__exit(&m);
	return 0;
}

/*
 * The ring overflows while records are taken: these don't change, and side-band that
 * leaves the ring is evicted after them. @ok: the dump succeeds. The ring keeps all of
 * its memory over several dumps.
 */
static int test_overflow_while_taken(bool ok)
{
	struct model m;
	u64 end = 0;
	s64 first;
	int i, dumps;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 4096));
	for (dumps = 0; dumps < 4; dumps++) {
		for (i = 0; i < 100; i++)
			CHECK(!append(&m, 20));
		memory_ring__take(m.ring);
		first = check_taken(&m, m.appended);
		CHECK(first > (s64)end);
		end = m.appended;
		for (i = 0; i < 100; i++)
			CHECK(!append(&m, 20));
		CHECK(check_taken(&m, end) == first);
		CHECK(!check_evicted(&m, first));

		if (ok) {
			CHECK(!memory_ring__evict_taken(m.ring));
			CHECK(!memory_ring__release(m.ring));
		} else {
			/* There is no room for the taken records any more */
			CHECK(!memory_ring__give_back(m.ring));
		}
		memory_ring__take(m.ring);
		first = check_taken(&m, m.appended);
		CHECK(first > (s64)end);
		CHECK(!check_evicted(&m, first));
		CHECK(!check_oldest_round(&m, first));
		CHECK(!memory_ring__evict_taken(m.ring));
		CHECK(!memory_ring__release(m.ring));
		CHECK(!check_evicted(&m, m.appended));
		end = m.appended;
	}
	model__exit(&m);
	return 0;
}

static int append_and_see(void *arg, const union perf_event *event)
{
	struct seen *seen = arg;

	return append(seen->m, 100) ?: see_comm(arg, event);
}

/* Records are appended and evicted while a walk visits the taken ones */
static int test_append_during_walk(void)
{
	struct memory_ring_count count = { .samples = 0 };
	struct seen seen = { .bad = false };
	struct memory_ring_visitor visitor = { .wanted = append_and_see, .arg = &seen };
	struct model m;
	s64 first;
	u64 end;

	CHECK(!model__init(&m, 1 << 17, 1024));
	CHECK(!append(&m, 2000));
	memory_ring__take(m.ring);
	end = m.appended;
	first = check_taken(&m, end);
	seen.m = &m;
	seen.comm = first;
	CHECK(!memory_ring__walk_taken(m.ring, &count, &visitor));
	CHECK(!check_seen(&seen, end));
	CHECK(!check_count(&m, &count, first, end));
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!memory_ring__drop(m.ring));
	CHECK(!check_evicted(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* A walk visits the records since the take, even if they are deferred by now, and keeps them */
static int test_new(int rounds)
{
	struct seen seen = { .bad = false };
	struct memory_ring_visitor visitor = { .wanted = see_comm, .arg = &seen };
	struct model m;
	int i;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 65528));
	CHECK(!append(&m, 200));
	memory_ring__take(m.ring);
	seen.m = &m;
	seen.comm = m.appended;
	for (i = 0; i < rounds; i++)
		CHECK(!append(&m, 10));
	CHECK(!memory_ring__walk_new(m.ring, &visitor));
	CHECK(!check_seen(&seen, m.appended));
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!memory_ring__drop(m.ring));
	CHECK(!check_evicted(&m, m.appended));
	model__exit(&m);
	return 0;
}

static u64 sum_of_sizes(const struct model *m, u64 first)
{
	u64 nr, sum = 0;

	for (nr = first; nr < m->appended; nr++)
		sum += size_of(m, nr);
	return sum;
}

/* Is what has been appended either evicted, or counted by a walk and in the size? */
static int check_ring(struct model *m, u64 taken)
{
	const struct memory_ring_count *dropped = memory_ring__dropped(m->ring);
	u64 first = taken + dropped->samples + dropped->wanted + dropped->lost;
	struct memory_ring_visitor visitor = { .arg = NULL };
	struct memory_ring_count count = {};

	CHECK(!memory_ring__walk(m->ring, &count, &visitor));
	CHECK(!check_count(m, &count, first, m->appended));
	CHECK(memory_ring__used(m->ring) == sum_of_sizes(m, first));
	return 0;
}

/* What is in the ring can be counted at any time, also while older records are taken */
static int test_walk(void)
{
	u64 taken;
	struct model m;
	int i;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 65528));
	CHECK(!check_ring(&m, 0));
	for (i = 0; i < 300; i++) {
		CHECK(!append(&m, 7));
		CHECK(!check_ring(&m, 0));
	}
	memory_ring__take(m.ring);
	taken = m.appended - memory_ring__dropped(m.ring)->samples -
		memory_ring__dropped(m.ring)->wanted - memory_ring__dropped(m.ring)->lost;
	CHECK(!memory_ring__used(m.ring));
	CHECK(!append(&m, 10));
	CHECK(!check_ring(&m, taken));
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!check_ring(&m, taken));
	model__exit(&m);
	return 0;
}

/* A clock that goes on only while samples are seen */
static u64 clock_ns;

static u64 read_clock(void)
{
	return clock_ns;
}

static void take_time(void *arg, const union perf_event *event __maybe_unused)
{
	clock_ns += *(u64 *)arg;
}

/* However often it is asked for, a walk takes one twentieth of the time */
static int test_walk_seldom(u64 cost)
{
	struct memory_ring_visitor visitor = { .sample = take_time, .arg = &cost };
	struct memory_ring_count count = { .samples = 42 };
	u64 next = 0, begin, took;
	struct model m;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 1024));
	CHECK(!append(&m, 10));
	begin = 1000;
	clock_ns = begin;
	CHECK(!memory_ring__walk_seldom(m.ring, read_clock, &next, &count, &visitor));
	CHECK(count.samples == 42 + count_type(&m, 0, m.appended, PERF_RECORD_SAMPLE));
	took = clock_ns - begin;
	CHECK(took == cost * (count.samples - 42) && took);

	/* Also if there is something new */
	CHECK(!append(&m, 10));
	memset(&count, 0, sizeof(count));
	for (; clock_ns < begin + 20 * took; clock_ns += cost)
		CHECK(memory_ring__walk_seldom(m.ring, read_clock, &next, &count, &visitor) ==
		      -EAGAIN);
	CHECK(!count.samples && !count.wanted && !count.lost);
	CHECK(!memory_ring__walk_seldom(m.ring, read_clock, &next, &count, &visitor));
	CHECK(count.samples == count_type(&m, 0, m.appended, PERF_RECORD_SAMPLE));
	model__exit(&m);
	return 0;
}

/* A dump failed: the next one has the same records, and those since, as far as they fit */
static int test_give_back(int rounds, unsigned int since, bool all)
{
	struct model m;
	s64 first, again;
	int i;

	CHECK(!model__init(&m, 1 << 18, 2048));
	for (i = 0; i < rounds; i++)
		CHECK(!append(&m, 50));
	memory_ring__take(m.ring);
	first = check_taken(&m, m.appended);
	CHECK(!append(&m, since));
	CHECK(!memory_ring__give_back(m.ring));

	memory_ring__take(m.ring);
	again = check_taken(&m, m.appended);
	CHECK(all ? again == first : again > first);
	CHECK(!check_evicted(&m, again));
	CHECK(!check_oldest_round(&m, again));
	CHECK(!check_count(&m, memory_ring__dropped(m.ring), 0, again));
	model__exit(&m);
	return 0;
}

static int count_comm(void *priv, const union perf_event *event, u64 round __maybe_unused)
{
	*(u64 *)priv += event->header.type == PERF_RECORD_COMM;
	return 0;
}

/*
 * Taken records are not released for a long time. The memory for deferred side-band is
 * limited, and further records are counted. After the release the ring works as before.
 */
static int test_stuck(void)
{
	static const struct memory_ring_ops counting = { .wants = wants, .evict = count_comm, };
	const struct memory_ring_count *dropped;
	u64 evicted = 0;
	struct model m;
	int i;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 65528));
	memory_ring__delete(m.ring);
	m.ring = memory_ring__new(MEMORY_RING_MIN_SIZE, &counting, &evicted);
	CHECK(m.ring);
	dropped = memory_ring__dropped(m.ring);
	CHECK(!append(&m, 20));
	memory_ring__take(m.ring);
	for (i = 0; i < 10000 && !dropped->overrun; i++)
		CHECK(!append(&m, 20));
	CHECK(dropped->overrun && dropped->overrun < dropped->wanted);
	/* A small record may have fitted where a large one didn't */
	CHECK(!append(&m, 10000));
	CHECK(dropped->overrun > 1000);
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!append(&m, 1000));
	CHECK(!memory_ring__drop(m.ring));
	CHECK(evicted + dropped->overrun == (m.appended + m.comm_each - 1) / m.comm_each);
	model__exit(&m);
	return 0;
}

static int test_drop(void)
{
	struct model m;

	CHECK(!model__init(&m, 1 << 18, 2048));
	CHECK(!append(&m, 1000));
	CHECK(!memory_ring__drop(m.ring));
	CHECK(!check_evicted(&m, m.appended));
	CHECK(!check_count(&m, memory_ring__dropped(m.ring), 0, m.appended));
	CHECK(m.oldest_round == m.round);
	model__exit(&m);
	return 0;
}

/* Counts, and fails when it has counted as far as *@arg was negative */
static int count_other(void *arg, const union perf_event *event __maybe_unused)
{
	return ++*(int *)arg == 0 ? -EPIPE : 0;
}

/* Lost records are counted by the kernel's records, if these are long enough */
static int test_lost(void)
{
	static const struct {
		u16	type, size;
		u64	lost;
	} records[] = {
		{ PERF_RECORD_LOST, sizeof(struct perf_record_lost), 3 },
		{ PERF_RECORD_LOST, sizeof(struct perf_record_lost) + 16, 40 },
		{ PERF_RECORD_LOST, sizeof(struct perf_record_lost) - 8, 0 },
		{ PERF_RECORD_LOST_SAMPLES, sizeof(struct perf_record_lost_samples), 500 },
		{ PERF_RECORD_LOST_SAMPLES, sizeof(struct perf_record_lost_samples) + 16, 6000 },
		{ PERF_RECORD_LOST_SAMPLES, sizeof(struct perf_event_header), 0 },
		{ PERF_RECORD_THROTTLE, 64, 0 },
	};
	const struct memory_ring_count *dropped;
	int others = 0;
	struct memory_ring_visitor visitor = { .other = count_other, .arg = &others };
	struct memory_ring_count count = {};
	struct model m;
	size_t i;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 64));
	for (i = 0; i < ARRAY_SIZE(records); i++) {
		union perf_event *event = m.buf;

		memset(event, 1, records[i].size);
		event->header.type = records[i].type;
		event->header.size = records[i].size;
		if (records[i].lost && records[i].type == PERF_RECORD_LOST)
			event->lost.lost = records[i].lost;
		else if (records[i].lost)
			event->lost_samples.lost = records[i].lost;
		CHECK(!memory_ring__append(m.ring, event, records[i].size));
	}
	/* Records that are neither samples nor wanted have a visitor of their own */
	memory_ring__take(m.ring);
	CHECK(!memory_ring__walk_taken(m.ring, &count, &visitor));
	CHECK(others == (int)ARRAY_SIZE(records));
	others = -2;
	CHECK(memory_ring__walk_taken(m.ring, &count, &visitor) == -EPIPE && !others);
	CHECK(!memory_ring__give_back(m.ring));
	CHECK(!memory_ring__drop(m.ring));
	dropped = memory_ring__dropped(m.ring);
	CHECK(dropped->lost == 6543);
	CHECK(!dropped->samples && !dropped->wanted);
	model__exit(&m);
	return 0;
}

/* A bad header is an error, and causes no endless loop and no access out of bounds */
static int test_malformed(u16 size)
{
	u64 buf[64] = { 0 };
	struct perf_event_header *hdr = (void *)buf;
	struct model m;
	int i, err = 0;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 64));
	hdr->type = PERF_RECORD_SAMPLE;
	hdr->size = size;
	for (i = 0; i < 1000 && !err; i++)
		err = memory_ring__append(m.ring, buf, sizeof(buf));
	CHECK(err == -EINVAL);
	model__exit(&m);
	return 0;
}

/* A record whose end is missing is an error, too */
static int test_cut_off(void)
{
	struct memory_ring_count count = { .samples = 0 };
	struct seen seen = { .bad = false };
	struct memory_ring_visitor visitor = { .wanted = see_comm, .arg = &seen };
	struct model m;
	size_t size;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 64));
	seen.m = &m;
	size = make_record(&m, 0, m.buf + MEMORY_RING_MAX_RECORD);
	CHECK(!memory_ring__append(m.ring, m.buf + MEMORY_RING_MAX_RECORD, size - 8));
	CHECK(memory_ring__walk_new(m.ring, &visitor) == -EINVAL);
	memory_ring__take(m.ring);
	CHECK(memory_ring__walk_taken(m.ring, &count, &visitor) == -EINVAL);
	CHECK(memory_ring__evict_taken(m.ring) == -EINVAL);
	CHECK(!seen.comm && !m.comms_evicted);
	model__exit(&m);
	return 0;
}

static int fail(void *arg, const union perf_event *event __maybe_unused)
{
	++*(int *)arg;
	return -ECANCELED;
}

static int fail_piece(void *arg, void *buf __maybe_unused, size_t size __maybe_unused)
{
	return fail(arg, NULL);
}

/* When a callback fails, the walk ends and returns the error */
static int test_failing_visitor(void)
{
	struct memory_ring_count count = { .samples = 0 };
	int calls = 0;
	struct memory_ring_visitor visitor = { .wanted = fail, .arg = &calls };
	struct model m;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 1024));
	CHECK(!append(&m, 100));
	CHECK(memory_ring__walk_new(m.ring, &visitor) == -ECANCELED);
	memory_ring__take(m.ring);
	CHECK(memory_ring__walk_taken(m.ring, &count, &visitor) == -ECANCELED);
	CHECK(memory_ring__read_taken(m.ring, fail_piece, &calls) == -ECANCELED);
	/* Some records are deferred */
	CHECK(!append(&m, 2000));
	CHECK(memory_ring__walk_new(m.ring, &visitor) == -ECANCELED);
	CHECK(calls == 4);
	CHECK(!memory_ring__give_back(m.ring));
	CHECK(!memory_ring__drop(m.ring));
	CHECK(!check_evicted(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* An error of ops->evict is returned by each call that evicts */
static int test_failing_evict(int (*call)(struct memory_ring *ring), bool take,
			      unsigned int since)
{
	struct model m;

	CHECK(!model__init(&m, MEMORY_RING_MIN_SIZE, 1024));
	CHECK(!append(&m, 2000));
	m.evict_err = -EIO;
	if (take)
		memory_ring__take(m.ring);
	CHECK(append(&m, since) == (take ? 0 : -EIO));
	CHECK(call(m.ring) == -EIO);
	model__exit(&m);
	return 0;
}

/* The pieces of memory of the taken records */
struct memory {
	int	nr;
	void	*at[1000];
	size_t	size[1000];
};

static int add_memory(void *arg, void *buf, size_t size)
{
	struct memory *memory = arg;
	void *page = buf - (uintptr_t)buf % sysconf(_SC_PAGESIZE);

	if (memory->nr == ARRAY_SIZE(memory->at))
		return -E2BIG;
	memory->at[memory->nr] = page;
	memory->size[memory->nr++] = buf + size - page;
	return 0;
}

/* Number of resident pages, negative if the memory isn't mapped */
static int resident(const struct memory *memory)
{
	size_t page, page_size = sysconf(_SC_PAGESIZE);
	unsigned char is_there;
	int i, nr = 0;

	for (i = 0; i < memory->nr; i++) {
		for (page = 0; page < memory->size[i]; page += page_size) {
			if (mincore(memory->at[i] + page, 1, &is_there))
				return -1;
			nr += is_there & 1;
		}
	}
	return nr;
}

/* After a dump, the memory of its records is freed, and in the end all memory */
static int test_memory(void)
{
	struct memory memory = { .nr = 0 };
	struct model m;

	CHECK(!model__init(&m, 1 << 22, 65528));
	while (!memory_ring__dropped(m.ring)->samples)
		CHECK(!append(&m, 1000));
	memory_ring__take(m.ring);
	CHECK(!memory_ring__read_taken(m.ring, add_memory, &memory));
	CHECK(resident(&memory) > 0);
	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!resident(&memory));
	CHECK(!memory_ring__release(m.ring));
	model__exit(&m);
	CHECK(resident(&memory) < 0);

	/* NULL is allowed */
	memory_ring__delete(NULL);
	return 0;
}

static int test__memory_ring(struct test_suite *test __maybe_unused,
			     int subtest __maybe_unused)
{
	static const size_t sizes[] = { 1, MEMORY_RING_MIN_SIZE, 200000, 1 << 20 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECK(!test_newest(max(sizes[i], MEMORY_RING_MIN_SIZE), 1024));
		CHECK(!test_newest(max(sizes[i], MEMORY_RING_MIN_SIZE), 65528));
	}
	CHECK(!test_twice());
	CHECK(!test_overflow_while_taken(true));
	CHECK(!test_overflow_while_taken(false));
	CHECK(!test_append_during_walk());
	/* From no new record to so many that most of them have been evicted */
	for (i = 0; i < 100; i++)
		CHECK(!test_new(i));
	/* The oldest chunk begins with a record, or in the middle of one */
	for (i = 100; i < 120; i++) {
		CHECK(!test_give_back(i, 0, true));
		CHECK(!test_give_back(i, 500, false));
	}
	CHECK(!test_walk());
	CHECK(!test_walk_seldom(1));
	CHECK(!test_walk_seldom(1000));
	CHECK(!test_stuck());
	CHECK(!test_drop());
	CHECK(!test_lost());
	CHECK(!test_malformed(0));
	CHECK(!test_malformed(4));
	CHECK(!test_malformed(20));
	CHECK(!test_cut_off());
	CHECK(!test_failing_visitor());
	CHECK(!test_failing_evict(memory_ring__drop, false, 2000));
	CHECK(!test_failing_evict(memory_ring__evict_taken, true, 0));
	/* There is room for a part of the taken records, then for none: some are deferred */
	CHECK(!test_failing_evict(memory_ring__give_back, true, 200));
	CHECK(!test_failing_evict(memory_ring__give_back, true, 2000));
	CHECK(!test_failing_evict(memory_ring__release, true, 2000));
	CHECK(!test_memory());
	return TEST_OK;
}

DEFINE_SUITE("Records in the memory ring", memory_ring);
