// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of the newest records.
 *
 * Expected: whatever is appended in whatever pieces, each record is either still
 * in the ring, in order, or has left it, in order: samples counted, side-band
 * evicted, byte for byte. A ring that gets it wrong at a chunk's end, with a record
 * larger than a chunk, or with what is taken in the meantime, fails here.
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
 * Records are numbered: payload is the number, over and over. Every @comm_each th
 * is a COMM, which is wanted, every @lost_each th a LOST, others are samples.
 * @ends: how many there were at the end of each round. @evict_err: evicting fails.
 */
struct model {
	struct memory_ring	*ring;
	u64			appended;
	u64			left;
	u64			comms_left;
	u64			round;
	u64			left_round;
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

/* Sizes are a fixed function of the number: the check needs no memory of them */
static size_t size_of(const struct model *m, u64 nr)
{
	u64 hash = nr * 0x9e3779b97f4a7c15ULL;

	if (type_of(m, nr) == PERF_RECORD_LOST)
		return sizeof(struct perf_record_lost);
	/* The largest that there can be, now and then */
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

/* Nobody is asked for samples */
static bool wants(const union perf_event *event)
{
	return event->header.type == PERF_RECORD_COMM || event->header.type == PERF_RECORD_SAMPLE;
}

static int evict(void *priv, const union perf_event *event, u64 round)
{
	struct model *m = priv;
	u64 nr = m->comms_left++ * m->comm_each;

	if (nr_of(event) != nr || !is_record(m, event, nr) ||
	    round_of(m, nr) < m->left_round || round < round_of(m, nr) || round > m->round)
		m->bad = true;
	return m->evict_err;
}

static void left(void *priv, u64 round)
{
	struct model *m = priv;

	if (round < m->left_round || round > m->round)
		m->bad = true;
	m->left_round = round;
}

static const struct memory_ring_ops ops = {
	.wants	= wants,
	.evict	= evict,
	.left	= left,
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

/* What was taken, put together */
struct collect {
	void	*data;
	size_t	size;
};

static int collect(void *arg, void *buf, size_t size)
{
	struct collect *c = arg;

	/* There is something in each piece */
	if (!size)
		return -EINVAL;
	memcpy(c->data + c->size, buf, size);
	c->size += size;
	return 0;
}

/* It must be the records from some on, up to @end; return the first's number */
static s64 check_collected(struct model *m, struct collect *c, u64 end)
{
	size_t pos = 0;
	u64 first, nr;

	CHECK(c->size);
	first = nr_of(c->data);
	nr = first;
	while (pos < c->size) {
		const union perf_event *event = c->data + pos;

		/* nr_of() of a LOST is its id, the number, too */
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

/* All before @first have left, none of the others */
static int check_left(struct model *m, u64 first)
{
	CHECK(!m->bad);
	CHECK(m->comms_left == count_type(m, 0, first, PERF_RECORD_COMM));
	return 0;
}

/* The oldest that is there is @first, but for the rest of the one before it */
static int check_left_round(const struct model *m, u64 first)
{
	CHECK(m->left_round <= round_of(m, first));
	CHECK(m->left_round >= round_of(m, first - 1));
	return 0;
}

/* A walk must come by all COMMs and all samples from @next on, in order */
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

	/* All are counted, whoever is visited */
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
	/* A chunk can be missing, and the record that began in it */
	CHECK(taken <= capacity + capacity / 8);
	CHECK(taken + max_size + capacity / 8 >= capacity);
	first = check_taken(&m, m.appended);
	CHECK(first > 0);
	CHECK(!check_left(&m, first));
	CHECK(!check_left_round(&m, first));
	CHECK(!check_count(&m, memory_ring__dropped(m.ring), 0, first));
	CHECK(!check_walk(&m, first));

	CHECK(!memory_ring__evict_taken(m.ring));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!check_left(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* The second has what came since the first, and nothing twice */
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

	/* Now it is empty */
	memory_ring__take(m.ring);
	CHECK(!size_taken(&m));
	CHECK(!memory_ring__release(m.ring));
	CHECK(!check_left(&m, m.appended));
	model__exit(&m);
	return 0;
}

/*
 * While one lot is taken the ring overflows: what is taken stays as it is, side-band
 * that falls out is evicted behind it. @ok: the dump succeeded. Dump after dump the
 * ring has all of its memory.
 */
static int test_overflow_meanwhile(bool ok)
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
		CHECK(!check_left(&m, first));

		if (ok) {
			CHECK(!memory_ring__evict_taken(m.ring));
			CHECK(!memory_ring__release(m.ring));
		} else {
			/* There is no room for it any more */
			CHECK(!memory_ring__give_back(m.ring));
		}
		memory_ring__take(m.ring);
		first = check_taken(&m, m.appended);
		CHECK(first > (s64)end);
		CHECK(!check_left(&m, first));
		CHECK(!check_left_round(&m, first));
		CHECK(!memory_ring__evict_taken(m.ring));
		CHECK(!memory_ring__release(m.ring));
		CHECK(!check_left(&m, m.appended));
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

/* Who reads isn't disturbed by what is appended, and evicted, at the same time */
static int test_walk_meanwhile(void)
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
	CHECK(!check_left(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* What came since is seen by a walk, wherever it is by now, and still there after it */
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
	CHECK(!check_left(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* A dump failed: the next has the same, and what came since, as far as it fits */
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
	CHECK(!check_left(&m, again));
	CHECK(!check_left_round(&m, again));
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
 * What was taken is not released for long: memory for what falls out meanwhile is
 * limited, and what is too much of it counted. Then all goes on.
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
	/* A small one may have found room where a large one didn't */
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
	CHECK(!check_left(&m, m.appended));
	CHECK(!check_count(&m, memory_ring__dropped(m.ring), 0, m.appended));
	CHECK(m.left_round == m.round);
	model__exit(&m);
	return 0;
}

/* What the kernel lost is what its records say, if they are long enough to say it */
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
	CHECK(!memory_ring__drop(m.ring));
	dropped = memory_ring__dropped(m.ring);
	CHECK(dropped->lost == 6543);
	CHECK(!dropped->samples && !dropped->wanted);
	model__exit(&m);
	return 0;
}

/* A header that can't be one is an error, no endless loop, nor a step out of the memory */
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

/* A record that isn't whole is an error, too */
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
	CHECK(!seen.comm && !m.comms_left);
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

/* A walk ends when its callback fails, and hands on the error */
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
	/* Some are set aside */
	CHECK(!append(&m, 2000));
	CHECK(memory_ring__walk_new(m.ring, &visitor) == -ECANCELED);
	CHECK(calls == 4);
	CHECK(!memory_ring__give_back(m.ring));
	CHECK(!memory_ring__drop(m.ring));
	CHECK(!check_left(&m, m.appended));
	model__exit(&m);
	return 0;
}

/* That a record could not be evicted is handed on, whichever call it leaves the ring by */
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

/* The pieces of memory that what was taken lies in */
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

/* How many of its pages are there? Negative: it isn't mapped */
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

/* Memory is given back when a dump has been made, and all of it in the end */
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

	/* There may be none */
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
	CHECK(!test_overflow_meanwhile(true));
	CHECK(!test_overflow_meanwhile(false));
	CHECK(!test_walk_meanwhile());
	/* Nothing, and until most of it has been evicted */
	for (i = 0; i < 100; i++)
		CHECK(!test_new(i));
	/* The oldest chunk begins with a record, or in the middle of one */
	for (i = 100; i < 120; i++) {
		CHECK(!test_give_back(i, 0, true));
		CHECK(!test_give_back(i, 500, false));
	}
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
	/* Some of what was taken has room no more, then nothing of it: some are set aside */
	CHECK(!test_failing_evict(memory_ring__give_back, true, 200));
	CHECK(!test_failing_evict(memory_ring__give_back, true, 2000));
	CHECK(!test_failing_evict(memory_ring__release, true, 2000));
	CHECK(!test_memory());
	return TEST_OK;
}

DEFINE_SUITE("Ring of the newest records", memory_ring);
