// SPDX-License-Identifier: GPL-2.0
/* Overwrite mode: writers that are held up while others fill the buffer more than once. */
#include <linux/preempt.h>

#include "../../../../kernel/events/output_shared.h"
#include "output_test.h"

#define PAGES	16
#define SIZE	(PAGES * PAGE_SIZE)
#define BLOCK	(SIZE / 64)
#define GAP_MAX	65528
#define ID_SIZE	48	/* the most that sample_id_all adds */

static struct reader reader;
static struct perf_output_handle held;
static unsigned long first_start;	/* of the records to be read */
static u64 first_number;

static void begin(int pages, bool backward)
{
	buffer_new(pages, true, backward, true);
	for (int i = 0; i < CPUS; i++) {
		cpus[i].event.attr.sample_id_all = true;
		cpus[i].event.id_header_size = ID_SIZE;
	}
	cpu_enter(0);
	reader_init(&reader);
	reader.ids = true;
}

static void end(void)
{
	this_cpu = &cpus[0];
	cpu_leave();
	tick_stopped = true;
	buffer_free();
}

/* CPU @cpu begins a record, and CPU 0 goes on. */
static void hold(int cpu, struct perf_output_handle *handle, unsigned int size)
{
	int preempted = preempt_count;

	this_cpu = &cpus[cpu];
	this_cpu->attempts[0]++;
	if (!write_begin(handle, size))
		writer_error = "nothing is to be held up";
	this_cpu = &cpus[0];
	preempt_count = preempted;
}

static void let_go(int cpu, struct perf_output_handle *handle, unsigned int size)
{
	int preempted = preempt_count;

	this_cpu = &cpus[cpu];
	write_body(handle, cpu * LEVELS, this_cpu->attempts[0], size);
	this_cpu = &cpus[0];
	preempt_count = preempted;
}

/* The records from here on will be read. */
static void read_from_here(void)
{
	first_start = this_cpu->end;
	first_number = this_cpu->attempts[0] + 1;
}

/* Write until the buffer has so many bytes more, whoever wrote before. */
static void fill(unsigned long bytes)
{
	long until = buffer->shared->reserved.counter + bytes;

	while (buffer->shared->reserved.counter < until && !this_cpu->lost[0])
		write_record();
}

/*
 * When nobody writes. All newest records of CPU 0 are there: in a forward buffer, from
 * read_from_here() on.
 */
static const char *check_newest(void)
{
	u64 newest = this_cpu->attempts[0];

	reader.found[0] = 0;
	reader.leases = 0;
	reader.lost = 0;
	memset(reader.last, 0, sizeof(reader.last));
	if (this_cpu->event.attr.write_backward) {
		read_newest(&reader);
		first_number = reader.last[0];
	} else {
		reader.tail = first_start;
		reader.head = first_start;
		read_to(&reader, published());
	}
	if (writer_error || reader.error)
		return writer_error ?: reader.error;
	if (this_cpu->lost[0])
		return "a CPU lost its newest records";
	if (reader.found[0] != newest - first_number + 1)
		return "not all newest records are there";
	return NULL;
}

static u64 lost_samples(void)
{
	u64 lost = 0;

	for (int i = 0; i < CPUS; i++)
		lost += atomic64_read(&cpus[i].event.lost_samples);
	return lost;
}

/* The next record reports it, and the losses that it has @reported. */
static bool one_is_lost_since(u64 lost, long reported)
{
	return lost_samples() == lost + 1 && buffer->shared->lost.counter == reported + 1;
}

/* Writers of @held records, @size bytes each, are held up for some laps. */
static const char *pass(int pages, bool backward, unsigned int held, unsigned int size)
{
	struct perf_output_handle handles[64];
	const char *error = NULL;
	u64 gaps = 0, lost = 0;
	unsigned long space;

	begin(pages, backward);
	space = perf_data_size(buffer) - held * size - 6 * buffer->shared->block_size;
	this_cpu->span = 60;
	for (int i = 0; i < 60 && !error; i++) {
		fill(i * 100);
		for (unsigned int j = 0; j < held; j++)
			hold(1, &handles[j], size);
		fill(space / 2);
		if (published() > handles[0].shared_start)
			error = "a record in flight is published before it is passed";
		fill((1 + i % 3) * SIZE + i * 1000);
		read_from_here();
		fill(space);
		for (unsigned int j = 0; j < held; j++)
			let_go(1, &handles[j], size);
		lost += held;
		if (published() != this_cpu->end)
			error = error ?: "not everything is published";
		error = error ?: check_newest();
		gaps += reader.leases;
		if (!error && (!all_is_committed() || lost_samples() != lost))
			error = "what a passed writer lost is not counted once";

		/* Nobody is held up any more. */
		fill(SIZE);
		read_from_here();
		fill(space);
		error = error ?: check_newest();
		if (!error && reader.leases)
			error = "a block is skipped that is free";
	}
	if (!error && !gaps)
		error = "no gap was seen";
	end();
	return error;
}

static void test_passed(void)
{
	static const struct {
		const char	*what;
		int		pages;
		unsigned int	held, size;
	} cases[] = {
		{ "a short record", PAGES, 1, RECORD_MIN },
		{ "a record of two blocks", PAGES, 1, BLOCK },
		{ "some records", PAGES, 7, 1000 },
		{ "a long record", PAGES, 1, 20000 },
		{ "one page", 1, 1, RECORD_MIN },
	};

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		bool backward = i % 2;
		const char *error = pass(cases[i / 2].pages, backward, cases[i / 2].held,
					 cases[i / 2].size);

		tap_result(!error, "overwrite, %s, %s held up: %s",
			   backward ? "backward" : "forward", cases[i / 2].what,
			   error ?: "the others pass it");
	}
}

/* As many as a gap covers: the others go on. One more: they lose, as in other modes. */
static void test_too_many(void)
{
	const unsigned int size = 4096, most = (GAP_MAX - 3 * OVERWRITE_MARGIN) / size;
	struct perf_output_handle handles[20];
	bool ok = true;

	for (unsigned int held = most - 2; held < most + 4; held++) {
		begin(64, held % 2);
		ok &= buffer->shared->block_size == size;
		for (unsigned int i = 0; i < held; i++)
			hold(1, &handles[i], size);
		fill(3 * 64 * PAGE_SIZE);
		ok &= !this_cpu->lost[0] == (held <= most);
		ok &= this_cpu->end <= handles[0].shared_start + 64 * PAGE_SIZE || held <= most;
		for (unsigned int i = 0; i < held; i++)
			let_go(1, &handles[i], size);
		this_cpu->lost[0] = 0;
		fill(3 * 64 * PAGE_SIZE);
		ok &= !this_cpu->lost[0] && all_is_committed();
		ok &= published() == this_cpu->end;
		end();
	}
	tap_result(ok && !writer_error, "overwrite: 64 kB of held-up blocks are passed, and not more");
}

/* Long records stop short of a held-up block, at any distance. */
static void test_long_records(bool backward)
{
	struct perf_output_handle handle;
	const char *error = NULL;

	begin(64, backward);
	for (int i = 0; i < 300 && !error; i++) {
		this_cpu->span = 8000;
		fill(i * 1000);
		hold(1, &handle, RECORD_MIN);
		fill(64 * PAGE_SIZE);
		read_from_here();
		fill(32 * PAGE_SIZE);
		let_go(1, &handle, RECORD_MIN);
		error = check_newest();
	}
	tap_result(!error && all_is_committed(), "overwrite, %s, long records pass a held-up one: %s",
		   backward ? "backward" : "forward", error ?: "fine");
	end();
}

/* The longest record stops far below a held-up block: more than a gap covers, with the block. */
static void test_longest_record(void)
{
	const unsigned int size = 65000 & -8;
	struct perf_output_handle handle;
	bool ok = true;

	for (int i = 0; i < 40; i++) {
		begin(64, i % 2);
		hold(1, &handle, RECORD_MIN);
		fill(64 * PAGE_SIZE - size + i * 100);
		if (write_begin(&held, size))
			write_body(&held, 0, ++this_cpu->attempts[0], size);
		else
			ok = false;
		let_go(1, &handle, RECORD_MIN);
		ok &= published() == this_cpu->end && all_is_committed();
		end();
	}
	tap_result(ok && !writer_error, "overwrite: the longest record passes a held-up one");
}

/* Up to the margin below the next place of the block in which it begins */
static void test_as_large_as_the_buffer(void)
{
	bool ok = true;

	begin(1, false);
	for (int i = 0; i < 100; i++) {
		struct perf_output_shared *sh = buffer->shared;
		unsigned int size = PAGE_SIZE - OVERWRITE_MARGIN -
				    sh->reserved.counter % sh->block_size;

		this_cpu->attempts[0]++;
		if (write_begin(&held, size))
			write_body(&held, 0, this_cpu->attempts[0], size);
		else
			ok = false;
		ok &= published() == this_cpu->end;
		write_record();
	}
	tap_result(ok && !writer_error, "overwrite: a record may be nearly as large as the buffer");
	end();
}

/* A record that can't have room changes nothing. */
static void test_too_large(void)
{
	struct perf_output_handle handle;
	struct perf_sample_data data;
	unsigned long reserved;
	bool ok = true;

	begin(1, false);
	fill(100);
	hold(1, &held, RECORD_MIN);
	fill(1000);
	reserved = buffer->shared->reserved.counter;
	for (unsigned int size = PAGE_SIZE - OVERWRITE_MARGIN + 8; size < 65536; size += 248)
		ok &= perf_output_begin(&handle, &data, &this_cpu->event, size) == -ENOSPC;
	ok &= !buffer->shared->complete.counter && buffer->shared->reserved.counter == reserved;
	let_go(1, &held, RECORD_MIN);
	ok &= published() == reserved;
	tap_result(ok && !writer_error, "overwrite: a record larger than the buffer passes nobody");
	end();
}

/* Between blocks that are held there is room for short records, but not for longer ones. */
static void test_no_room_between(void)
{
	const unsigned int size = BLOCK;
	struct perf_output_handle handles[SIZE / BLOCK / 2], handle;
	unsigned long reserved;
	bool ok = true;

	begin(PAGES, false);
	hold(1, &handles[0], size);
	for (unsigned int i = 1; i < ARRAY_SIZE(handles); i++) {
		hold(2, &handle, size);
		let_go(2, &handle, size);
		hold(1, &handles[i], size);
	}
	reserved = buffer->shared->reserved.counter;
	for (int i = 0; i < 10; i++)
		ok &= !write_begin(&handle, size);
	ok &= lost_samples() == 10 && buffer->shared->reserved.counter == reserved;
	for (int i = 0; i < 1000; i++)
		write_record();
	ok &= !this_cpu->lost[0];
	for (unsigned int i = 0; i < ARRAY_SIZE(handles); i++)
		let_go(1, &handles[i], size);
	fill(SIZE);
	ok &= all_is_committed() && published() == this_cpu->end && !this_cpu->lost[0];
	tap_result(ok && !writer_error, "overwrite: a record that fits in no room between others is lost");
	end();
}

static int accesses_left;
static void (*event)(void);
static bool is_held;

static void at_access(void)
{
	void (*step)(void) = this_cpu->step;

	if (accesses_left--)
		return;

	this_cpu->step = NULL;
	event();
	this_cpu->step = step;
}

/* A record that is covered when it ends is lost. */
static bool is_covered(unsigned long start)
{
	return buffer->shared->reserved.counter - start > buffer->shared->size;
}

static u64 lost_before;

static void return_of_held(void)
{
	lost_before = lost_samples();
	let_go(1, &held, RECORD_MIN);
	if (lost_samples() - lost_before != is_covered(held.shared_start))
		writer_error = "a record is not lost, or not counted";
	is_held = false;
}

/* The writer returns at any access of the one who passes it. */
static void test_returns(bool backward)
{
	const char *error = NULL;
	u64 passed = 0, gaps = 0;

	begin(1, backward);
	this_cpu->span = 40;
	event = return_of_held;
	for (int i = 0; i < 8000 && !error; i++) {
		fill(i % 13 * 200);
		is_held = true;
		hold(1, &held, RECORD_MIN);
		/* Up to the record that has no room unless it passes the block */
		fill(PAGE_SIZE - 1000 + i % 7 * 100);
		read_from_here();
		accesses_left = i % 400;
		this_cpu->step = at_access;
		fill(1500);
		this_cpu->step = NULL;
		if (is_held)
			return_of_held();
		reader.found[LEVELS] = 0;
		error = check_newest();
		gaps += reader.leases;
		if (!error && (!all_is_committed() || published() != this_cpu->end))
			error = "not everything is committed and published";
		if (!error && reader.found[LEVELS] && lost_samples() != lost_before)
			error = "a record that is counted as lost is there";
		fill(2 * PAGE_SIZE);
		passed = lost_samples();
	}
	tap_result(!error && passed > 400 && passed < 7600 && gaps > 400,
		   "overwrite, %s, a held-up writer returns anywhere: %s",
		   backward ? "backward" : "forward", error ?: "fine");
	end();
}

/* Bytes that were committed when the record began to end; then, since that */
static unsigned long committed_since;

/* CPU 0 writes two laps; meanwhile the record of CPU 1 is in flight, or not any more. */
static void write_laps(void)
{
	committed_since = committed() - committed_since;
	this_cpu = &cpus[0];
	fill(2 * PAGE_SIZE);
	this_cpu = &cpus[1];
}

/*
 * The same, but if the record isn't in flight any more, CPU 0 reserves a lap up to the byte where
 * the record begins: it is not yet covered.
 */
static void write_up_to_it(void)
{
	struct perf_output_handle handle;
	unsigned long size;
	long rest;

	committed_since = committed() - committed_since;
	while ((rest = held.shared_start + PAGE_SIZE - buffer->shared->reserved.counter) > 0) {
		size = rest < 2 * RECORD_MIN ? rest : RECORD_MIN;
		hold(0, &handle, size);
		let_go(0, &handle, size);
	}
	this_cpu = &cpus[1];
}

/* Others write @meanwhile, and a held-up writer ends its record. */
static void test_ends(unsigned int size, void (*meanwhile)(void), const char *what)
{
	unsigned int in_flight = 0;
	bool ok = true;
	long reported;
	u64 lost;

	begin(1, false);
	event = meanwhile;
	for (int i = 0; i < 60; i++) {
		fill(1000);
		reported = i % 2 * 5;
		buffer->shared->lost.counter = reported;
		hold(1, &held, size);
		lost = lost_samples();
		committed_since = committed();
		accesses_left = i;
		cpus[1].step = at_access;
		let_go(1, &held, size);
		cpus[1].step = NULL;
		if (accesses_left >= 0)
			break;
		/* At least a part of it was in flight. */
		if (committed_since < size) {
			in_flight++;
			ok &= one_is_lost_since(lost, reported) || !is_covered(held.shared_start);
		}
		if (meanwhile == write_up_to_it)
			ok &= lost_samples() == lost + is_covered(held.shared_start);
	}
	tap_result(ok && in_flight > 2 && all_is_committed() && !writer_error,
		   "overwrite: a record of %u bytes ends, meanwhile others write %s", size, what);
	end();
}

/* Others write laps while a writer looks for room. */
static void write_laps_of_held(void)
{
	this_cpu = &cpus[1];
	fill(2 * PAGE_SIZE);
	this_cpu = &cpus[0];
}

static void test_looks_for_room(void)
{
	bool ok = true;

	begin(1, false);
	event = write_laps_of_held;
	for (int i = 0; i < 400; i++) {
		hold(2, &held, RECORD_MIN);
		fill(PAGE_SIZE - 600 + i % 80 * 8);
		accesses_left = i / 10;
		this_cpu->step = at_access;
		write_record();
		this_cpu->step = NULL;
		this_cpu = &cpus[2];
		write_body(&held, 2 * LEVELS, this_cpu->attempts[0], RECORD_MIN);
		this_cpu = &cpus[0];
		preempt_count = 0;
		ok &= !this_cpu->lost[0] && !cpus[1].lost[0];
	}
	tap_result(ok && all_is_committed() && !writer_error,
		   "overwrite: others write laps while a writer looks for room: it finds some");
	end();
}

/*
 * Leases
 */

static struct shared_lease *lease_of(int cpu)
{
	return per_cpu_ptr(buffer->shared->leases, cpu);
}

static bool has_lease(int cpu)
{
	return local_read(&lease_of(cpu)->pos) < LEASE_ASKED;
}

static bool is_passed(unsigned long start)
{
	return (long)(buffer->shared->complete.counter - start) > 0;
}

/* CPU 1 gets a lease with records in it. */
static void lease_of_held(void)
{
	int tries = 1000;

	this_cpu = &cpus[1];
	do
		write_record();
	while ((!has_lease(1) || local_read(&lease_of(1)->pos) == lease_of(1)->start) && --tries);
	if (!tries)
		writer_error = "a CPU that writes much gets no lease";
	this_cpu = &cpus[0];
}

static void close_lease_of_held(void)
{
	this_cpu = &cpus[1];
	tick();
	this_cpu = &cpus[0];
}

/*
 * A CPU is held up with a lease, between records or in the middle of one. Every second one of
 * those is the first in its lease.
 */
static void test_passed_lease(bool backward, bool in_flight)
{
	const char *error = NULL;
	unsigned int firsts = 0;
	u64 lost = 0;

	begin(64, backward);
	tick_stopped = false;
	for (int i = 0; i < 100 && !error; i++) {
		struct shared_lease *lease = lease_of(1);
		unsigned long end_of_lease;

		lease_of_held();
		if (in_flight) {
			if (i % 2)
				close_lease_of_held();
			hold(1, &held, RECORD_MIN);
			firsts += held.shared_start == lease->start;
		}
		end_of_lease = lease->start + lease->size;
		fill(64 * PAGE_SIZE + i * 1000);
		if (!is_passed(end_of_lease - 1) || this_cpu->lost[0])
			error = "a lease is not passed";
		if (in_flight) {
			lost += held.shared_start < end_of_lease;
			let_go(1, &held, RECORD_MIN);
		}
		if (lost_samples() != lost)
			error = "a record of a passed lease is not counted as lost";

		/* It is on its CPU again, and its next records are those of all. */
		this_cpu = &cpus[1];
		write_record();
		if (this_cpu->end <= end_of_lease)
			error = "a record goes to a passed lease";
		this_cpu = &cpus[0];
		tick_all();
		read_from_here();
		fill(32 * PAGE_SIZE);
		tick();
		if (published() < this_cpu->end || !all_is_committed())
			error = "not everything is committed and published";
		reader.last[LEVELS] = 0;
		error = error ?: check_newest();
	}
	tap_result(!error && (!in_flight || (lost && firsts)),
		   "overwrite, %s, a CPU is held up with a lease%s: %s",
		   backward ? "backward" : "forward", in_flight ? " and in a record" : "",
		   error ?: "the others pass it");
	end();
}

/* Another CPU writes a lap. */
static void write_lap(void)
{
	struct cpu *was = this_cpu;

	this_cpu = &cpus[1];
	fill(perf_data_size(buffer));
	tick();
	this_cpu = was;
}

/* A lease is passed while its CPU opens it, or fills it, or closes it. */
static void test_passed_anywhere(bool backward)
{
	unsigned int hits = 0;
	bool ok = true;

	begin(8, backward);
	tick_stopped = false;
	event = write_lap;
	for (int i = 0; i < 2000; i++) {
		while (!has_lease(0))
			write_record();
		this_cpu->span = 4;
		accesses_left = i % 200;
		this_cpu->step = at_access;
		for (int j = 0; j < 40 && accesses_left >= 0; j++)
			write_record();
		this_cpu->step = NULL;
		hits += accesses_left < 0;
		/* Its next record is one of the newest. */
		write_record();
		ok &= !is_passed(this_cpu->end - 1) &&
		      !(has_lease(0) && is_passed(lease_of(0)->start));
		tick();
		ok &= published() >= this_cpu->end && all_is_committed();
	}
	tap_result(ok && hits > 1000 && !writer_error && !this_cpu->lost[0],
		   "overwrite, %s, a lap is written at any access: no lease stays behind",
		   backward ? "backward" : "forward");
	end();
}

static long committed_in_lease;

/* CPU 0 writes laps; meanwhile the record of CPU 1 is in flight, or not any more. */
static void write_laps_of_passer(void)
{
	committed_in_lease -= local_read(&lease_of(1)->committed);
	this_cpu = &cpus[0];
	fill(2 * 64 * PAGE_SIZE);
	this_cpu = &cpus[1];
}

static unsigned int filled;

/* At the first access after others have covered the lease of CPU 1, that CPU writes. */
static void fill_covered(void)
{
	const struct shared_lease *lease = lease_of(1);
	unsigned long end = lease->start + lease->size;
	struct cpu *was = this_cpu;

	if (!is_covered(lease->start))
		return;

	this_cpu->step = NULL;
	this_cpu = &cpus[1];
	write_record();
	if (this_cpu->end <= end)
		writer_error = "a record goes to a lease that is covered";
	this_cpu = was;
	filled++;
}

/* Covered leases take no records from the first moment on: nobody would count them as lost. */
static void test_filled_when_covered(bool backward)
{
	begin(8, backward);
	tick_stopped = false;
	for (int i = 0; i < 100; i++) {
		this_cpu = &cpus[1];
		while (!has_lease(1))
			write_record();
		this_cpu = &cpus[0];
		this_cpu->step = fill_covered;
		fill(perf_data_size(buffer) + i * 8);
		this_cpu->step = NULL;
		tick_all();
	}
	tap_result(filled >= 50 && !writer_error,
		   "overwrite, %s, a CPU fills its lease when it is covered: %s",
		   backward ? "backward" : "forward", writer_error ?: "it gets another place");
	filled = 0;
	end();
}

/* CPU 1 has a lease, and a record in flight in it. */
static void hold_in_lease(void)
{
	do {
		lease_of_held();
		hold(1, &held, RECORD_MIN);
	} while (held.shared_start - lease_of(1)->start >= lease_of(1)->size &&
		 (let_go(1, &held, RECORD_MIN), true));
}

/* Others pass a lease, and cover it, while a record in it ends. */
static void test_ends_in_lease(void)
{
	unsigned int in_flight = 0;
	bool ok = true;
	u64 lost;

	begin(64, false);
	tick_stopped = false;
	event = write_laps_of_passer;
	accesses_left = -1;
	for (int i = 0; accesses_left < 0; i++) {
		hold_in_lease();
		lost = lost_samples();
		committed_in_lease = local_read(&lease_of(1)->committed);
		accesses_left = i;
		cpus[1].step = at_access;
		let_go(1, &held, RECORD_MIN);
		cpus[1].step = NULL;
		if (accesses_left < 0 && !committed_in_lease) {
			in_flight++;
			ok &= one_is_lost_since(lost, 0);
		}
		tick_all();
	}
	tap_result(ok && in_flight > 2 && all_is_committed() && !writer_error,
		   "overwrite: a record in a lease that is passed while it ends is counted");
	end();
}

static int accesses_until_renewed;

/* An interrupt on CPU 1, which closes its lease and opens another one */
static void renew_lease(void)
{
	this_cpu->depth++;
	tick();
	lease_of_held();
	this_cpu = &cpus[1];
	this_cpu->depth--;
}

static void write_laps_then_renew(void)
{
	write_laps_of_passer();
	event = renew_lease;
	accesses_left = accesses_until_renewed;
}

/* The same, and its CPU has another lease when it looks whether the record was covered. */
static void test_ends_in_renewed_lease(void)
{
	unsigned int covered = 0;
	bool ok = true;
	u64 lost;

	begin(64, false);
	tick_stopped = false;
	for (int i = 0; i < 12 * 12; i++) {
		hold_in_lease();
		lost = lost_samples();
		committed_in_lease = local_read(&lease_of(1)->committed);
		event = write_laps_then_renew;
		accesses_left = i / 12;
		accesses_until_renewed = i % 12;
		cpus[1].step = at_access;
		let_go(1, &held, RECORD_MIN);
		cpus[1].step = NULL;
		if (event == renew_lease && accesses_left < 0 && !committed_in_lease) {
			covered++;
			ok &= lost_samples() == lost + 1;
		}
		tick_all();
	}
	tap_result(ok && covered > 20 && all_is_committed() && !writer_error,
		   "overwrite: the same, and its lease has made way for another one: %u", covered);
	end();
}

/* CPU 2 writes a lap, and CPU 1 goes on with what it has. */
static void write_and_return(void)
{
	this_cpu = &cpus[2];
	fill(SIZE);
	this_cpu = &cpus[1];
	write_record();
	this_cpu = &cpus[0];
}

/* The block of @start is the oldest one, and there is hardly any room left. */
static bool is_next_to_pass(unsigned long start)
{
	struct perf_output_shared *sh = buffer->shared;
	unsigned long block = shared_block_start(sh, start);

	return sh->complete.counter >= block && sh->reserved.counter + 200 >= block + sh->size;
}

/* Write until the next record has to pass the block of @start. */
static void write_up_to(unsigned long start)
{
	while (!is_next_to_pass(start)) {
		write_record();
		tick();
	}
}

/* A CPU is held up while it passes another one: that one's next record is a new one. */
static void test_held_up_passer(void)
{
	unsigned int passes = 0;
	bool ok = true;

	begin(PAGES, false);
	tick_stopped = false;
	event = write_and_return;
	for (int i = 0; i < 900; i++) {
		lease_of_held();
		write_up_to(lease_of(1)->start);
		accesses_left = i % 150;
		this_cpu->step = at_access;
		for (int j = 0; j < 20 && accesses_left >= 0; j++)
			write_record();
		this_cpu->step = NULL;
		if (accesses_left < 0) {
			passes++;
			ok &= !is_covered(cpus[1].end - 8);
		}
		tick_all();
	}
	tap_result(ok && passes > 500 && all_is_committed() && !writer_error,
		   "overwrite: who passes a lease is held up: it gets no further records");
	end();
}

/* A record in a lease ends at any access of the one who passes the lease. */
static void test_returns_in_lease(void)
{
	unsigned int lost = 0;

	begin(PAGES, false);
	tick_stopped = false;
	event = return_of_held;
	for (int i = 0; i < 800; i++) {
		hold_in_lease();
		write_up_to(lease_of(1)->start);
		is_held = true;
		accesses_left = i % 800;
		this_cpu->step = at_access;
		fill(2 * BLOCK);
		this_cpu->step = NULL;
		if (is_held)
			return_of_held();
		tick_all();
		lost = lost_samples();
	}
	tap_result(lost > 100 && lost < 700 && all_is_committed() && !writer_error,
		   "overwrite: a record ends while others pass its lease: %s",
		   writer_error ?: "it is counted if it is covered");
	end();
}

void overwrite_tests(void)
{
	test_passed();
	test_too_many();
	test_long_records(false);
	test_long_records(true);
	test_longest_record();
	test_as_large_as_the_buffer();
	test_too_large();
	test_no_room_between();
	test_returns(false);
	test_returns(true);
	test_ends(RECORD_MIN, write_laps, "laps");
	test_ends(600, write_laps, "laps");
	test_ends(RECORD_MIN, write_up_to_it, "up to it");
	test_ends(600, write_up_to_it, "up to it");
	test_looks_for_room();
	for (int i = 0; i < 4; i++)
		test_passed_lease(i & 1, i & 2);
	test_passed_anywhere(false);
	test_passed_anywhere(true);
	test_filled_when_covered(false);
	test_filled_when_covered(true);
	test_ends_in_lease();
	test_ends_in_renewed_lease();
	test_held_up_passer();
	test_returns_in_lease();
}
