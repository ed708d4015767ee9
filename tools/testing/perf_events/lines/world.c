// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define TICK		12000000	/* cycles: 250 in a second of 3 GHz */
#define PERIOD		750000		/* cycles from a record to the next: 4 kHz */
#define THINK		20		/* cycles between records without pause */
#define LAPS_HELD	4	/* that others write while CPU 0 is held up */
#define PADDED		8192

/* What each record begins with, behind its header. */
struct content {
	struct record_header	header;
	uint32_t		writer;
	uint32_t		number;
};

struct writer {
	uint32_t	number[MACHINE_LEVELS];
	uint32_t	seen[MACHINE_LEVELS];
	uint64_t	next_tick;
	bool		is_held;
	unsigned char	record[MACHINE_LEVELS][PADDED];
};

static struct world_options options;
static struct world_result *result;
static struct writer *writers;
static void *ring;
static struct sink sink;
static unsigned long unread, attempts, counted_from;
static uint64_t counted_at;
static bool warming, stopping;

/* What the rings call */

void *ring_alloc(size_t bytes)
{
	return machine_alloc(LINE_SIZE, bytes);
}

void *machine_aligned_alloc(size_t align, size_t bytes);
void *machine_aligned_alloc(size_t align, size_t bytes)
{
	return machine_alloc(align, bytes);
}

void machine_free(void *p);
void machine_free(void *p)
{
	(void)p;
}

static bool is_content(const unsigned char *record, unsigned int size)
{
	for (unsigned int i = sizeof(struct content); i < size; i++) {
		if (record[i] != (unsigned char)(record[8] + record[12] + i))
			return false;
	}
	return true;
}

void sink_take(struct sink *to, const void *record, unsigned int size)
{
	const struct content *content = record;
	unsigned int cpu = content->writer / MACHINE_LEVELS;
	unsigned int level = content->writer % MACHINE_LEVELS;

	machine_access(record, size, MESI_LOAD, MACHINE_DATA);
	to->records++;
	if (content->header.type != 9 || size != options.size || cpu >= options.cpus) {
		result->error = "a record of nobody";
		return;
	}
	if (content->number <= writers[cpu].seen[level])
		result->error = "records of a context out of order";
	if (content->number > writers[cpu].number[level] || !is_content(record, size))
		result->error = "a torn record";
	writers[cpu].seen[level] = content->number;
}

/* The reader */

static void read_all(void *arg)
{
	(void)arg;
	options.ring->read(ring, &sink);
}

static void read_now(void)
{
	unread = 0;
	if (options.ring->read)
		machine_as_reader(read_all, NULL);
}

/* The writers */

static void fill(struct writer *writer, unsigned int id, unsigned int level)
{
	struct content *content = (void *)writer->record[level];

	content->header = (struct record_header) { 9, 0, options.size };
	content->writer = id * MACHINE_LEVELS + level;
	content->number = ++writer->number[level];
	for (unsigned int i = sizeof(*content); i < options.size; i++)
		writer->record[level][i] = writer->record[level][8] +
			writer->record[level][12] + i;
}

static unsigned int spawned(void)
{
	return options.load == LOAD_ONE ? 1 : options.cpus;
}

static void begin_to_count(void)
{
	warming = false;
	machine_clear_counts();
	result->written = 0;
	result->lost = 0;
	counted_from = attempts;
	counted_at = machine_time();
}

/* Each CPU writes for some ticks, or fills some leases, or all of the buffer. */
static unsigned long records_to_write(void)
{
	unsigned long lap = options.bytes * options.cpus / options.size;
	unsigned long each = options.load == LOAD_LOW ? 64 : 700;

	if (options.held && !warming)
		return LAPS_HELD * lap;
	if (options.load == LOAD_LOW)
		return each * options.cpus;
	return lap > each * spawned() ? lap : each * spawned();
}

static void check_limits(void)
{
	bool limit = machine_counts(false)->accesses > options.limit;

	if (warming && (attempts >= records_to_write() || limit))
		begin_to_count();
	else if (!warming && (attempts - counted_from >= records_to_write() || limit))
		stopping = true;
}

static void write_one(unsigned int id)
{
	struct writer *writer = &writers[id];
	unsigned int level = machine_level();

	fill(writer, id, level);
	attempts++;
	if (options.ring->write(ring, id, writer->record[level], options.size)) {
		result->written++;
		result->total++;
		unread++;
	} else {
		result->lost++;
		read_now();
	}
	if (unread * options.size > options.bytes * spawned() / 4)
		read_now();
	if (!level)
		check_limits();
}

/*
 * The hypervisor takes CPU 0's time while it stores a record, once, when what is counted
 * has begun. Otherwise an interrupt writes a record.
 */
static void interrupt(unsigned int id, enum machine_what before)
{
	if (!options.held) {
		write_one(id);
		return;
	}
	if (id || warming || writers[0].is_held || before != MACHINE_DATA)
		return;
	writers[0].is_held = true;
	machine_sleep(options.held);
}

static void tick(unsigned int id)
{
	writers[id].next_tick += TICK;
	if (options.ring->tick)
		options.ring->tick(ring, id);
}

static void pause_until(unsigned int id, uint64_t time)
{
	while (writers[id].next_tick < time) {
		if (writers[id].next_tick > machine_time())
			machine_sleep(writers[id].next_tick - machine_time());
		tick(id);
	}
	if (time > machine_time())
		machine_sleep(time - machine_time());
}

static void write_all(unsigned int id)
{
	writers[id].next_tick = machine_time() + machine_random() % TICK;
	while (!stopping) {
		write_one(id);
		if (options.load == LOAD_LOW)
			pause_until(id, machine_time() + PERIOD / 2 + machine_random() % PERIOD);
		else
			pause_until(id, machine_time() + THINK);
	}
	if (options.ring->tick)
		options.ring->tick(ring, id);
	result->cycles += machine_time() - counted_at;
}

void world_run(const struct world_options *from, struct world_result *to)
{
	size_t bytes = from->bytes * from->cpus;
	struct machine_options machine = {
		.cpus = from->cpus, .seed = from->seed, .transfer = from->transfer,
		.hold = from->hold, .locked = 20, .handler = interrupt,
		.interrupt = from->held ? 1 : from->interrupt,
		.arena = 2 * bytes + from->cpus * 16384ul + (1 << 20),
	};

	options = *from;
	result = to;
	memset(to, 0, sizeof(*to));
	unread = 0;
	attempts = 0;
	warming = true;
	stopping = false;
	sink.records = 0;

	machine_create(&machine);
	writers = calloc(from->cpus, sizeof(*writers));
	ring = from->ring->create(from->cpus, bytes, from->size);
	for (unsigned int i = 0; i < spawned(); i++)
		machine_spawn(i, write_all, (i * 37) % (20 * from->cpus));
	machine_run();

	to->writers = *machine_counts(false);
	to->reader = *machine_counts(true);
	/* Interrupts have written behind the last ticks. */
	for (unsigned int i = 0; i < spawned() && from->ring->tick; i++)
		from->ring->tick(ring, i);
	read_now();
	to->read = sink.records;
	from->ring->destroy(ring);
	machine_destroy();
	free(writers);
}

/*
 * A line of data that nobody has had comes from the cache of the reader, or of another
 * writer, after the first lap. So it counts, and a run need not be longer than that.
 */
unsigned long world_transfers(const struct machine_counts *counts, enum machine_what what)
{
	unsigned long transfers = what == MACHINE_DATA ? counts->results[what][MESI_COLD] : 0;

	for (int i = 0; i < MESI_RESULTS; i++) {
		if (mesi_is_transfer(i))
			transfers += counts->results[what][i];
	}
	return transfers;
}
