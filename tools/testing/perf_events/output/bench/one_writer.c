// SPDX-License-Identifier: GPL-2.0
/*
 * One writer, and nobody else: instructions counted one by one, and time. Of both the mean
 * of many records: some cross the end of a page, or a lease begins.
 */
#include <stdio.h>
#include <time.h>

#include "../../single_step.h"
#include "bench.h"

#define WARM_UP	10

/* Aligned, for a copy's time depends on where in their pages both ends are. */
struct writer {
	_Alignas(4096) const struct ring *ring;
	void *buffer;
	unsigned int size;
	unsigned char record[RECORD_MAX];
	struct sink sink;
};

static void open_writer(struct writer *writer, const struct ring *ring, unsigned int size)
{
	writer->ring = ring;
	writer->size = size;
	writer->buffer = ring->create(1, BYTES, size);
	record_fill(writer->record, size);
}

static void close_writer(struct writer *writer)
{
	writer->ring->destroy(writer->buffer);
}

/* A quarter of the buffer */
static unsigned int batch(const struct writer *writer)
{
	return BYTES / 4 / writer->size;
}

static void write_batch(void *arg)
{
	struct writer *writer = arg;

	for (unsigned int i = batch(writer); i; i--)
		writer->ring->write(writer->buffer, 0, writer->record, writer->size);
}

static void read_batch(struct writer *writer)
{
	ring_poll(writer->ring, writer->buffer);
	writer->ring->read(writer->buffer, &writer->sink);
}

static double instructions(const struct ring *ring, unsigned int size)
{
	static struct writer writer;
	double n;

	cpu_enter(0, false);
	open_writer(&writer, ring, size);
	write_batch(&writer);
	read_batch(&writer);
	n = single_step_count(write_batch, &writer);
	cpu_leave();
	close_writer(&writer);
	return n / batch(&writer);
}

static void compare_instructions(const struct ring *series, const struct ring *reference,
				 unsigned int size, const char *what)
{
	double a = instructions(series, size), b = instructions(reference, size);
	struct figures figures = compare(&a, &b, 1);

	row(what, series, reference, &figures, "instructions", "single-stepping");
}

/* Nanoseconds for a record */
static double time_batch(struct writer *writer)
{
	uint64_t begin = nanoseconds(CLOCK_MONOTONIC), end;

	write_batch(writer);
	end = nanoseconds(CLOCK_MONOTONIC);
	read_batch(writer);
	return (double)(end - begin) / batch(writer);
}

static void compare_time(const struct ring *series, const struct ring *reference,
			 unsigned int size, const char *what)
{
	static double ours[MANY_ROUNDS], theirs[MANY_ROUNDS];
	static struct writer a, b;
	struct figures figures;

	cpu_enter(0, true);
	open_writer(&a, series, size);
	open_writer(&b, reference, size);
	for (int i = 0; i < WARM_UP; i++) {
		time_batch(&a);
		time_batch(&b);
	}
	for (int i = 0; i < MANY_ROUNDS; i++) {
		if (i % 2)
			theirs[i] = time_batch(&b);
		ours[i] = time_batch(&a);
		if (!(i % 2))
			theirs[i] = time_batch(&b);
	}
	figures = compare(ours, theirs, MANY_ROUNDS);
	row(what, series, reference, &figures, "ns", "median of 1000 turns");
	cpu_leave();
	close_writer(&a);
	close_writer(&b);
}

static const struct {
	const struct ring	*series;
	const struct ring	*reference;
	unsigned int		size;
} pairs[] = {
	{ &private_ring, &stock_ring, 48 },
	{ &private_ring, &stock_ring, 512 },
	{ &shared_ring, &private_ring, 48 },
	{ &shared_ring, &private_ring, 512 },
};

static void compare_pairs(void (*compare)(const struct ring *series,
					  const struct ring *reference,
					  unsigned int size, const char *what))
{
	char what[64];

	for (unsigned int i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		snprintf(what, sizeof(what), "%u bytes, 1 writer", pairs[i].size);
		compare(pairs[i].series, pairs[i].reference, pairs[i].size, what);
	}
}

void bench_one_writer(void)
{
	if (!single_step_unsupported()) {
		single_step_init();
		compare_pairs(compare_instructions);
	}
	compare_pairs(compare_time);
}
