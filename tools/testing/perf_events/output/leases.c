// SPDX-License-Identifier: GPL-2.0
/* Leases of one CPU: what each context finds, whatever interrupts it and where. */
#include <stdlib.h>

#include <linux/cpumask.h>
#include <linux/tick.h>

#include "../../../../kernel/events/output_shared.h"
#include "output_test.h"

#define PAGES	64
#define SIZE	(PAGES * PAGE_SIZE)

static struct reader reader;

static void begin(bool backward)
{
	buffer_new(PAGES, backward, backward, true);
	tick_stopped = false;
	cpu_enter(0);
	reader_init(&reader);
}

static void end(void)
{
	cpu_leave();
	tick_stopped = true;
	buffer_free();
}

static bool has_lease(void)
{
	return local_read(&this_cpu_ptr(buffer->shared->leases)->pos) < LEASE_ASKED;
}

/* Write until this CPU has a lease with records in it. */
static bool warm_up(void)
{
	unsigned long head = published();

	for (int i = 0; i < 1000; i++) {
		head = published();
		write_record();
		if (has_lease() && published() == head)
			return true;
	}
	return false;
}

/* The CPU may have no further tick. */
static const struct {
	const char	*what;
	bool		*cpu_is;
} tickless[] = {
	{ "while a CPU is idle", &tick_stopped },
	{ "on a CPU that runs tasks without a tick", &cpu_nohz_full },
	{ "on a CPU on its way offline", &cpu_offline },
};

static void test_rate(void)
{
	bool ok;

	begin(false);
	ok = warm_up();
	tap_result(ok && !writer_error, "a CPU that writes much gets a lease");
	end();

	begin(false);
	ok = true;
	for (int i = 0; i < 10000; i++) {
		write_record();
		ok &= !has_lease() && published() == this_cpu->end;
		if (i % 20 == 0)
			tick();
		read_all(&reader);
	}
	tap_result(ok && !reader.leases, "a CPU that writes little gets none");
	end();

	begin(false);
	ok = warm_up();
	for (int i = 0; i < 10; i++)
		tick();
	write_record();
	tap_result(ok && !has_lease() && published() == this_cpu->end,
		   "nor one that wrote much long ago");
	end();

	for (unsigned int i = 0; i < ARRAY_SIZE(tickless); i++) {
		begin(false);
		*tickless[i].cpu_is = true;
		ok = !warm_up();
		*tickless[i].cpu_is = false;
		tap_result(ok && warm_up(), "%s there is no lease", tickless[i].what);
		end();
	}

	preempt_rt = true;
	begin(false);
	tap_result(!warm_up(), "on PREEMPT_RT there is no lease");
	end();
	preempt_rt = false;

	begin(false);
	ok = warm_up();
	this_cpu->event.attr.wakeup_events = 1;
	write_record();
	ok &= published() >= this_cpu->end && wakeups == 1;
	ok &= !warm_up();
	read_all(&reader);
	tap_result(ok && reader.leases == 1,
		   "who wants to be woken for a sample gets it at once");
	end();
}

static void close_by_tick(void) { tick(); }
static void close_by_flush(void) { perf_output_flush_shared(buffer); }

static void close_by_other(void)
{
	cpu_leave();
	cpu_enter(1);
	close_by_flush();
	cpu_leave();
	cpu_enter(0);
}

static void close_by_pause(void)
{
	rb_toggle_paused(buffer, true);
	rb_toggle_paused(buffer, false);
}

static void close_by_large(void)
{
	struct perf_output_handle handle;

	this_cpu->attempts[this_cpu->depth]++;
	if (write_begin(&handle, 8000))
		write_body(&handle, this_cpu->depth, this_cpu->attempts[this_cpu->depth], 8000);
	else
		this_cpu->lost[this_cpu->depth]++;
}

static const struct {
	const char	*what;
	void		(*close)(void);
} closes[] = {
	{ "the tick", close_by_tick },
	{ "a flush", close_by_flush },
	{ "a flush by another CPU", close_by_other },
	{ "a pause", close_by_pause },
	{ "a record without room in it", close_by_large },
};

static void test_closes(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(closes); i++) {
		bool ok = true;

		begin(false);
		for (int j = 0; j < 100; j++) {
			ok &= warm_up() && published() < this_cpu->end;
			closes[i].close();
			ok &= published() >= this_cpu->end && !has_lease();
			read_all(&reader);
		}
		tap_result(ok && !reader.error && !writer_error && !audit(&reader),
			   "%s closes a lease: %s", closes[i].what,
			   writer_error ?: reader.error ?: "all is published");
		end();
	}
}

static int accesses_left;
static void (*event)(void);

/* An interrupt that does something comes at the chosen access. */
static void interrupt_here(void)
{
	void (*step)(void) = this_cpu->step;

	if (accesses_left--)
		return;

	this_cpu->step = NULL;
	this_cpu->depth++;
	event();
	this_cpu->depth--;
	this_cpu->step = step;
}

/* Interrupts that write small records until there is a lease, and a full one */
static void write_some(void)
{
	for (int i = 0; i < 200; i++)
		write_record();
}

static void close_and_write(void)
{
	tick();
	write_some();
}

static void close_as_asked(void)
{
	irq_work_queue_on(&this_cpu_ptr(buffer->shared->leases)->asked, this_cpu->id);
}

static const struct {
	const char	*what;
	void		(*event)(void);
} events[] = {
	{ "a tick", close_by_tick },
	{ "a flush", close_by_flush },
	{ "a request of another CPU", close_as_asked },
	{ "a record", write_record },
	{ "a record without room", close_by_large },
	{ "records that need new leases", write_some },
	{ "a tick, and records", close_and_write },
};

static void read_backward(void)
{
	/* Only when nobody writes; from the newest on, so that each lap is read once. */
	read_newest(&reader);
	memset(reader.last, 0, sizeof(reader.last));
}

/* Whatever comes at whatever access, the records are in order, complete, and published. */
static void test_interrupted(bool backward)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++) {
		const char *error = NULL;
		unsigned int hits = 0;

		begin(backward);
		event = events[i].event;
		for (unsigned int j = 0; j < 4000 && !error; j++) {
			this_cpu->span = j % 7 ? 4 : 40;
			accesses_left = j / 10 % 60;
			this_cpu->step = interrupt_here;
			write_record();
			hits += accesses_left < 0;
			this_cpu->step = NULL;
			if (j % 100 < 50)
				continue;
			write_some();
			if (j % 3 == 0)
				tick();
			if (backward) {
				perf_output_flush_shared(buffer);
				read_backward();
			} else {
				read_all(&reader);
			}
			error = reader.error ?: writer_error;
		}
		perf_output_flush_shared(buffer);
		if (!error && published() < this_cpu->end)
			error = "not all is published";
		if (!error && !backward)
			error = audit(&reader);
		tap_result(!error && hits > 1000 && reader.leases > 100,
			   "%s anywhere%s: %s", events[i].what,
			   backward ? ", backward" : "", error ?: "fine");
		end();
	}
}

static void pause_only(void)
{
	rb_toggle_paused(buffer, true);
}

/* Once output is paused, a record that has begun before may end, but opens no lease. */
static void test_pause_anywhere(void)
{
	unsigned int hits = 0;
	bool ok = true;

	begin(false);
	event = pause_only;
	for (int i = 0; i < 4000; i++) {
		write_some();
		perf_output_flush_shared(buffer);
		accesses_left = i % 60;
		this_cpu->step = interrupt_here;
		write_record();
		this_cpu->step = NULL;
		hits += accesses_left < 0;
		ok &= accesses_left >= 0 || !has_lease();
		rb_toggle_paused(buffer, false);
		read_all(&reader);
	}
	tap_result(ok && !reader.error && !writer_error && !audit(&reader) && hits > 1000,
		   "a pause anywhere: no lease is open after it");
	end();
}

static bool late;

/* What a flush on another CPU finds, which doesn't wait for this CPU without a lease */
static void look_for_lease(void)
{
	if (this_cpu_ptr(buffer->shared->leases)->pos.counter == LEASE_NONE)
		late |= published() < this_cpu->end;
}

/* The tick closes a lease. A flush either waits for it, or what was in it is published. */
static void test_flush_at_tick(void)
{
	bool ok = true;

	late = false;
	begin(false);
	for (int i = 0; i < 100; i++) {
		ok &= warm_up() && published() < this_cpu->end;
		this_cpu->step = look_for_lease;
		tick();
		this_cpu->step = NULL;
		read_all(&reader);
	}
	tap_result(ok && !late && !reader.error && !writer_error,
		   "a flush waits for the tick that closes a lease");
	end();
}

static unsigned long flush_from;

/* Less than a block */
static void write_few(void)
{
	for (int i = 0; i < 3; i++)
		write_record();
}

/* The interrupt comes at the chosen access of a flush. */
static void interrupt_flush(void)
{
	if (buffer->shared->flushing.counter)
		interrupt_here();
}

/*
 * A record is in flight during a flush. When it ends, what was written before is published:
 * what was written meanwhile has leases only where that has none.
 */
static void test_flush(void)
{
	struct perf_output_handle held;
	unsigned int hits = 0;
	bool ok = true;

	begin(false);
	event = write_few;
	for (int i = 0; i < 100; i++) {
		/* A CPU that wrote nothing for a tick gets a small lease, within a block. */
		tick();
		tick();
		ok &= warm_up();
		tick();
		this_cpu->attempts[0]++;
		tick_stopped = true;
		ok &= write_begin(&held, RECORD_MIN);
		tick_stopped = false;
		write_few();
		accesses_left = i % 20;
		flush_from = this_cpu->end;
		this_cpu->step = interrupt_flush;
		perf_output_flush_shared(buffer);
		this_cpu->step = NULL;
		hits += accesses_left < 0;
		ok &= published() <= held.shared_start;
		write_body(&held, LEVELS, i + 1, RECORD_MIN);
		ok &= published() >= flush_from;
		read_all(&reader);
	}
	tap_result(ok && !reader.error && !writer_error && reader.leases > 100 && hits > 50,
		   "a flush, and a record that is in flight: %s",
		   writer_error ?: reader.error ?: "no lease begins below");
	end();
}

/* A flush interrupts only CPUs that have a lease. */
static void test_flush_again(void)
{
	unsigned int asked;
	bool ok = true;

	begin(false);
	for (int i = 0; i < 100; i++) {
		ok &= warm_up();
		perf_output_flush_shared(buffer);
		asked = cpus_asked;
		perf_output_flush_shared(buffer);
		ok &= cpus_asked == asked;
		read_all(&reader);
	}
	tap_result(ok && cpus_asked >= 100 && !reader.error && !writer_error,
		   "a flush of what was flushed before interrupts nobody");
	end();
}

static bool beyond;

/* Write until there is a lease behind the blocks that the flush is about. */
static void write_beyond(void)
{
	struct perf_output_shared *sh = buffer->shared;
	struct shared_lease *lease = this_cpu_ptr(sh->leases);

	for (int i = 0; i < 400 && !beyond; i++) {
		write_record();
		beyond = has_lease() && lease->start >= sh->barred.counter;
	}
}

/* A flush keeps leases out of its own blocks only, and only as long as it lasts. */
static void test_leases_beside_flush(void)
{
	unsigned int hits = 0, below = 0;
	bool ok = true;

	begin(false);
	event = write_beyond;
	for (int i = 0; i < 100; i++) {
		struct shared_lease *lease = this_cpu_ptr(buffer->shared->leases);

		ok &= warm_up();
		beyond = false;
		accesses_left = i % 4;
		this_cpu->step = interrupt_flush;
		perf_output_flush_shared(buffer);
		this_cpu->step = NULL;
		hits += beyond;
		ok &= beyond || accesses_left >= 0;
		tick();
		read_all(&reader);

		ok &= warm_up();
		perf_output_flush_shared(buffer);
		write_few();
		below += has_lease() && lease->start < buffer->shared->barred.counter;
		read_all(&reader);
	}
	tap_result(ok && hits > 50 && below > 20 && !reader.error && !writer_error,
		   "leases go on beside a flush, and behind it: %u, %u", hits, below);
	end();
}

static void be_other(int id)
{
	cpu_leave();
	cpu_enter(id);
}

/* Write until so much isn't published, or as good as; nobody reads. */
static void write_hidden(unsigned long bytes)
{
	struct perf_output_shared *sh = buffer->shared;

	this_cpu->span = 4;
	while (atomic_long_read(&sh->reserved) - atomic_long_read(&sh->complete) < bytes)
		write_record();
}

/*
 * Two CPUs write no more, and keep their leases until their ticks. A third one sees that too much
 * isn't published, and asks each once: the second one only when its lease is the older one. So
 * the reader is woken before the buffer is full.
 */
static void test_hidden(void)
{
	unsigned long limit = SIZE / 4 + SIZE / 32, first;
	bool ok;

	begin(false);
	/* Not the first lap */
	while (this_cpu->end < 3 * SIZE) {
		write_record();
		read_all(&reader);
	}
	ok = warm_up();
	first = this_cpu->end;
	works_sent = 0;
	asks = 0;
	wakeups = 0;
	be_other(2);
	write_hidden(limit - SIZE / 16);
	be_other(4);
	ok &= warm_up();
	be_other(2);
	write_hidden(limit - 64);
	ok &= !asks;
	while (this_cpu->end < first + limit + SIZE / 8)
		write_record();
	ok &= asks == 1 && works_sent == 1;
	while (this_cpu->end < first + SIZE - SIZE / 16)
		write_record();
	ok &= published() > first + SIZE / 2 && wakeups;
	tap_result(ok && asks == 2 && works_sent == 2 && !this_cpu->lost[0],
		   "leases that hide a quarter of the buffer are closed, and the reader woken");
	tick_all();
	read_all(&reader);
	tap_result(!reader.error && !writer_error &&
		   reader.samples == cpus[0].attempts[0] + cpus[2].attempts[0] +
				     cpus[4].attempts[0],
		   "and all is in order: %s", reader.error ?: "no record is missing");
	end();
}

/* Who writes on closes its lease by itself. */
static void test_not_hidden(void)
{
	bool ok;

	begin(false);
	ok = warm_up();
	be_other(2);
	ok &= warm_up();
	works_sent = 0;
	for (int i = 0; i < 20000; i++) {
		be_other(i % 2 * 2);
		write_record();
		if (i % 100 == 0)
			read_all(&reader);
	}
	tap_result(ok && !works_sent && reader.leases > 4, "CPUs that write on aren't asked");
	end();
}

/* If it is a record that hides the rest, there is nobody to ask; nor where there are no leases. */
static void test_hidden_by_record(int pages, unsigned int expected, const char *what)
{
	struct perf_output_handle handle;
	unsigned int before;

	buffer_new(pages, false, false, true);
	tick_stopped = false;
	cpu_enter(0);
	this_cpu->attempts[0]++;
	write_begin(&handle, 32);
	asks = 0;
	be_other(2);
	write_hidden(pages * PAGE_SIZE - pages * PAGE_SIZE / 16);
	before = asks;
	be_other(0);
	write_body(&handle, 0, 1, 32);
	tap_result(before == expected && published() > pages * PAGE_SIZE / 2,
		   "if a record hides the rest %s: %u", what, before);
	end();
}

/* An overwritten buffer wakes nobody, and others pass a lease. */
static void test_hidden_overwritten(void)
{
	bool ok;

	buffer_new(PAGES, true, true, true);
	tick_stopped = false;
	cpu_enter(0);
	ok = warm_up();
	asks = 0;
	be_other(2);
	while (this_cpu->end < 2 * SIZE)
		write_record();
	tap_result(ok && !asks, "in overwrite mode nobody is asked");
	end();
}

/* The tick that would close the lease doesn't come any more. */
static void test_free_with_lease(void)
{
	bool ok;

	begin(false);
	ok = warm_up() && this_cpu->ticking;
	end();
	tap_result(ok && !cpus[0].ticking, "a buffer is freed with a lease");
}

/* Requests for leases are on their way, on the CPU that asks and on one that is asked. */
static void test_free_while_asked(void)
{
	bool ok;

	begin(false);
	ok = warm_up();
	cpus[1].entered = 1;
	irq_work_queue_on(&per_cpu_ptr(buffer->shared->leases, 1)->asked, 1);
	cpus[1].entered = 0;
	be_other(2);
	wakeups_wait = true;
	asks = 0;
	write_hidden(SIZE / 2);
	ok &= !asks && cpus[1].sent;
	end();
	wakeups_wait = false;
	tap_result(ok && asks == 1 && !cpus[1].sent, "a buffer is freed while CPUs are asked");
}

/* What a CPU has written in this tick, by its leases' count */
static unsigned int counted(void)
{
	return this_cpu_ptr(buffer->shared->leases)->written;
}

/* The records of a tick count, in leases and outside, and padding counts against them. */
static void test_written(void)
{
	bool ok = true;

	begin(false);
	this_cpu->span = 0;
	for (int i = 0; i < 100; i++) {
		struct perf_output_shared *sh = buffer->shared;
		unsigned long reserved = sh->reserved.counter;
		u64 padding = reader.padding;

		write_some();
		perf_output_flush_shared(buffer);
		read_all(&reader);
		padding = reader.padding - padding;
		ok &= counted() == sh->reserved.counter - reserved - 2 * padding;
		tick();
	}
	tap_result(ok && reader.leases > 100 && !reader.error && !writer_error,
		   "all that a CPU writes in a tick counts for its next lease");
	end();
}

/* One record in each, and then the reader looks */
static void write_and_flush(void)
{
	write_record();
	perf_output_flush_shared(buffer);
}

static void write_and_flush_often(void)
{
	for (int i = 0; i < 8; i++)
		write_and_flush();
}

/* A large record goes alone, and ends the lease before it. */
static void write_pairs(void)
{
	for (int i = 0; i < 400; i++) {
		write_record();
		close_by_large();
		if (i % 10 == 0)
			read_all(&reader);
	}
}

/*
 * After a burst, leases end early. @most: bytes of padding for a thousand of records, when what
 * the burst has left behind is over
 */
static void test_padding(void (*write)(void), unsigned int most, const char *when)
{
	unsigned long reserved = 0;
	u64 padding = 0;
	bool ok;

	begin(false);
	this_cpu->span = 0;
	ok = warm_up();
	for (int i = 0; i < 100; i++) {
		if (i == 20) {
			reserved = buffer->shared->reserved.counter;
			padding = reader.padding;
		}
		write();
		tick();
		read_all(&reader);
	}
	reserved = buffer->shared->reserved.counter - reserved;
	padding = reader.padding - padding;
	tap_result(ok && padding * 1000 <= most * (reserved - padding) && !reader.error &&
		   !writer_error, "little padding %s: %llu of %lu bytes", when,
		   (unsigned long long)padding, reserved);
	end();
}

/*
 * A lease that ends with its block is published when it is closed, although a record of
 * another CPU that follows is in flight.
 */
static void test_end_of_block(void)
{
	unsigned long lease_end;
	struct perf_output_handle held;
	unsigned int blocks = 0;
	bool ok = true;

	begin(false);
	for (int i = 0; i < 30000 && blocks < 50; i++) {
		struct shared_lease *lease = this_cpu_ptr(buffer->shared->leases);

		write_record();
		read_all(&reader);
		lease_end = lease->start + lease->size;
		if (!has_lease() || lease_end % buffer->shared->block_size)
			continue;
		this_cpu = &cpus[1];
		ok &= write_begin(&held, RECORD_MIN);
		this_cpu = &cpus[0];
		tick();
		ok &= published() == lease_end;
		this_cpu = &cpus[1];
		write_body(&held, LEVELS, ++blocks, RECORD_MIN);
		this_cpu = &cpus[0];
	}
	tap_result(ok && blocks == 50 && !writer_error,
		   "a lease that ends with its block is published with it");
	end();
}

void lease_tests(void)
{
	test_rate();
	test_closes();
	test_flush_at_tick();
	test_hidden();
	test_not_hidden();
	test_hidden_by_record(PAGES, 1, "CPUs are asked once");
	test_hidden_by_record(4, 0, "in a buffer without leases, nobody is asked");
	test_hidden_overwritten();
	test_flush();
	test_flush_again();
	test_leases_beside_flush();
	test_written();
	test_padding(write_and_flush_often, 0, "if the reader looks after each record");
	test_padding(write_pairs, 5, "between large records");
	test_free_with_lease();
	test_free_while_asked();
	test_end_of_block();
	/* The longest, last */
	test_pause_anywhere();
	test_interrupted(false);
	test_interrupted(true);
}
