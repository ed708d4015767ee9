// SPDX-License-Identifier: GPL-2.0
/* One context at a time, with handles held open: the expected state after each step. */
#include <limits.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <linux/cpumask.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "../../../../kernel/events/output_shared.h"
#include "output_test.h"

#define PAGES	16
#define SIZE	(PAGES * PAGE_SIZE)

static u64 numbers;

static void begin(int pages, bool overwrite, bool backward, bool shared)
{
	buffer_new(pages, overwrite, backward, shared);
	cpu_enter(0);
	numbers = 0;
}

static void end(void)
{
	cpu_leave();
	buffer_free();
}

/* Begin a record; finish() ends it. */
static bool start(struct perf_output_handle *handle)
{
	this_cpu->attempts[0]++;
	if (write_begin(handle, RECORD_MIN))
		return true;

	this_cpu->lost[0]++;
	return false;
}

static void finish(struct perf_output_handle *handle)
{
	write_body(handle, LEVELS, ++numbers, RECORD_MIN);
}

static void set_tail(unsigned long tail)
{
	bool backward = cpus[0].event.attr.write_backward;

	__atomic_store_n(&buffer->user_page->data_tail, backward ? -tail : tail,
			 __ATOMIC_RELEASE);
}

/* Heads and bytes of a private buffer, to compare with. */
struct trace {
	u64	heads[4000];
	char	data[SIZE];
};

static void trace_buffer(struct trace *trace, bool overwrite, bool backward,
			 bool shared)
{
	memset(trace, 0, sizeof(*trace));
	begin(PAGES, overwrite, backward, shared);
	this_cpu->span = 60;
	for (unsigned int i = 0; i < ARRAY_SIZE(trace->heads); i++) {
		write_record();
		trace->heads[i] = buffer->user_page->data_head;
		/* A slow reader: the buffer is often nearly full, and sometimes full. */
		if (i % 3 == 0 && published() > SIZE / 2)
			set_tail(published() - SIZE / 2 - i % 999 * 8);
	}
	for (unsigned int i = 0; i < PAGES; i++)
		memcpy(trace->data + i * PAGE_SIZE, buffer->data_pages[i], PAGE_SIZE);
	end();
}

static void test_as_private(void)
{
	static struct trace private, shared;

	for (int i = 0; i < 4; i++) {
		trace_buffer(&private, i & 1, i & 2, false);
		trace_buffer(&shared, i & 1, i & 2, true);
		tap_result(!memcmp(&private, &shared, sizeof(private)),
			   "one writer leaves what it leaves in a private %s%s buffer",
			   i & 2 ? "backward" : "forward", i & 1 ? " overwrite" : "");
	}
}

/*
 * Two records always overlap, so one is always in flight. Published is everything below
 * the block in which that one begins, except a record that ends in this block.
 */
static void test_overlap(int pages, bool overwrite, unsigned long part)
{
	struct perf_output_handle handles[2];
	bool ok = true;

	begin(pages, overwrite, false, true);
	start(&handles[0]);
	for (int i = 1; i < 20000; i++) {
		unsigned long open;

		start(&handles[i % 2]);
		finish(&handles[!(i % 2)]);
		open = handles[i % 2].shared_start;
		ok &= published() == open / part * part / RECORD_MIN * RECORD_MIN;
		set_tail(published());
	}
	tap_result(ok, "writers that always overlap are published, %lu bytes at a time%s", part,
		   overwrite ? ", overwrite" : "");
	end();
}

static void test_order_of_ends(void)
{
	static const int orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct perf_output_handle handles[3];
	bool early = false, late = false;

	begin(1, true, false, true);
	for (int i = 0; i < 6000; i++) {
		const int *order = orders[i % 6];
		unsigned long first;

		for (int j = 0; j < 3; j++)
			start(&handles[j]);
		first = handles[0].shared_start;
		for (int j = 0; j < 3; j++) {
			struct perf_output_handle *handle = &handles[order[j]];

			early |= published() > first && order[0] && j < 1;
			finish(handle);
		}
		late |= published() != cpus[0].end;
	}
	tap_result(!early, "nothing is published before it is complete");
	tap_result(!late, "the last of three writers publishes everything, in any order");
	end();
}

/* While a writer is held up, nobody waits for it, and nobody overwrites its record. */
static void test_held_up(bool backward, unsigned long tail_step)
{
	struct perf_output_handle held;
	struct reader reader;
	unsigned long first;

	begin(PAGES, false, backward, true);
	reader_init(&reader);
	for (int i = 0; i < 30; i++) {
		start(&held);
		first = held.shared_start;
		this_cpu->depth = 1;
		this_cpu->span = 40;
		for (int j = 0; j < 2000; j++) {
			if (tail_step)
				set_tail(j * tail_step);
			write_record();
		}
		this_cpu->depth = 0;
		if (published() > first)
			reader.error = "an incomplete record is published";
		if (this_cpu->end - first > SIZE)
			reader.error = "reserved more than there is";
		finish(&held);
		if (published() != this_cpu->end)
			reader.error = "not everything is published";
		if (!backward && !tail_step)
			read_all(&reader);
		else
			set_tail(published());
	}
	tap_result(!writer_error && !reader.error && this_cpu->lost[1],
		   "a writer is held up, %s%s: %s",
		   backward ? "backward" : "forward",
		   tail_step ? ", data_tail is nonsense" : "",
		   writer_error ?: reader.error ?: "others write or lose");
	end();
}

static int blocks_filled;

/* Another CPU fills a block. It gives up after 1000: the scan has no end then. */
static void fill_block(void)
{
	struct perf_output_handle handle;
	void (*step)(void) = this_cpu->step;

	if (blocks_filled++ > 1000)
		return;

	this_cpu->step = NULL;
	if (write_begin(&handle, 512))
		write_body(&handle, 1, blocks_filled, 512);
	this_cpu->step = step;
}

/* A writer that scans for complete blocks ends, although others go on writing. */
static void test_overtaken(void)
{
	struct perf_output_handle handle;

	begin(1, true, false, true);
	start(&handle);
	blocks_filled = 0;
	this_cpu->step = fill_block;
	finish(&handle);
	this_cpu->step = NULL;
	tap_result(blocks_filled < 100 && published() == this_cpu->end && !writer_error,
		   "a writer that others overtake all the time returns");
	end();
}

/* While a writer is held up, the others can fill the rest of the buffer. */
static void test_full(void)
{
	const unsigned int size = 32;
	struct perf_output_handle held, handle;
	bool ok;

	begin(PAGES, false, false, true);
	ok = write_begin(&held, size);
	for (unsigned int i = 1; ok && i < SIZE / size; i++) {
		/* The reader has read what nobody has published. */
		set_tail(i * size);
		ok = write_begin(&handle, size);
		if (ok)
			write_body(&handle, 1, i, size);
	}
	set_tail(SIZE);
	ok &= !write_begin(&handle, size);
	write_body(&held, 0, 1, size);
	ok &= published() == SIZE;
	tap_result(ok && !writer_error, "all of the buffer is used, and not a byte more");
	end();
}

static void test_spoilt_head(void)
{
	static const u64 values[] = { 0, 8, 1, -1ull, -8ull, 1 << 10, 1ull << 63, 1ull << 40 };
	bool ok = true;

	for (int backward = 0; backward < 2; backward++) {
		begin(1, true, backward, true);
		for (unsigned int i = 0; i < 100 * ARRAY_SIZE(values); i++) {
			u64 value = values[i % ARRAY_SIZE(values)];

			/* In every other round a value close to data_head. */
			if (i / ARRAY_SIZE(values) % 2)
				value += buffer->user_page->data_head;
			buffer->user_page->data_head = value;
			write_record();
			ok &= published() == cpus[0].end;
		}
		end();
	}
	tap_result(ok, "data_head is right again after the reader wrote to it");
}

static void test_sizes(void)
{
	struct perf_output_handle handle;
	struct perf_sample_data data;
	struct reader reader;
	bool ok = true;

	begin(1, false, false, true);
	reader_init(&reader);
	for (unsigned int i = 0; i < 2000; i++) {
		this_cpu->span = 1 + i % 420;
		write_record();
		read_all(&reader);
	}
	tap_result(!this_cpu->lost[0] && !reader.error && reader.samples == 2000,
		   "records of up to most of the buffer: %s", reader.error ?: "fine");

	for (unsigned int size = PAGE_SIZE; size; size *= 2) {
		ok &= !!perf_output_begin(&handle, &data, &this_cpu->event, size);
		this_cpu->lost[0]++;
		this_cpu->attempts[0]++;
	}
	tap_result(ok && !audit(&reader), "records larger than the buffer are lost");
	end();
}

static unsigned long stores;

/* The reader stores to data_head between any two accesses of the writer. */
static void store_head(void)
{
	buffer->user_page->data_head = next_random();
	stores++;
}

static int accesses_left;

/* The same, once, if the record is not published yet. */
static void store_head_once(void)
{
	if (!accesses_left-- && published() != this_cpu->end)
		buffer->user_page->data_head = next_random();
}

static void test_head_once(void)
{
	bool ok = true;

	begin(PAGES, true, false, true);
	for (int i = 0; i < 100; i++) {
		accesses_left = i;
		this_cpu->step = store_head_once;
		write_record();
		this_cpu->step = NULL;
		ok &= published() == this_cpu->end;
	}
	tap_result(ok, "data_head is right when the reader stored to it once, whenever that was");
	end();
}

static void test_restless_head(void)
{
	bool ok = true;

	begin(PAGES, true, false, true);
	this_cpu->event.attr.wakeup_events = 1;
	for (int i = 0; i < 100; i++) {
		this_cpu->step = store_head;
		stores = 0;
		write_record();
		ok &= stores < 100 * nr_cpu_ids && wakeups == i;
		this_cpu->step = NULL;
		write_record();
		ok &= published() == this_cpu->end && wakeups == i + 1;
	}
	tap_result(ok, "a reader that stores to data_head all the time holds up nobody");
	end();
}

static void test_wakeups(void)
{
	struct perf_output_handle first, second;
	bool ok = true;

	begin(PAGES, true, false, true);
	this_cpu->event.attr.wakeup_events = 10;
	for (int i = 1; i < 1000; i++) {
		write_record();
		ok &= wakeups == (unsigned long)i / 10;
	}
	tap_result(ok, "wakeup_events: one in so many samples wakes the reader");
	end();

	begin(PAGES, true, false, true);
	start(&first);
	start(&second);
	perf_output_count_shared(&second, 1);
	finish(&second);
	ok = !wakeups;
	finish(&first);
	tap_result(ok && wakeups == 1,
		   "wakeup_events: the writer that publishes the sample wakes the reader");
	end();

	/* The block below the sample is published first. That must not wake for the sample. */
	begin(PAGES, true, false, true);
	start(&first);
	while (this_cpu->end < SIZE / 32)
		write_record();
	start(&second);
	perf_output_count_shared(&second, 1);
	finish(&first);
	ok = published() && published() < this_cpu->end;
	wakeups = 0;
	finish(&second);
	tap_result(ok && wakeups == 1,
		   "wakeup_events: a wake-up for what is below the sample doesn't count for it");
	end();

	begin(PAGES, true, false, true);
	this_cpu->event.attr.wakeup_events = 1;
	ok = true;
	for (int i = 1; i < 1000; i++) {
		write_record();
		ok &= wakeups == (unsigned long)i;
	}
	tap_result(ok, "wakeup_events: each sample wakes the reader if that is wanted");
	for (int i = 0; i < CPUS; i++)
		ok &= cpus[i].event.parent || atomic_read(&cpus[i].event.waitq) == 999;
	ok &= buffer->poll.counter == (EPOLLIN | EPOLLRDNORM);
	ok &= !cpus[0].event.pending_wakeup;
	tap_result(ok, "the reader is woken whichever of the buffer's events it waits for");
	end();
}

/* Who counts samples, or wakes the reader, writes to no line that each record reads. */
static void test_lines_of_wakeups(void)
{
	struct perf_output_shared before, *sh;
	const size_t read = offsetof(struct perf_output_shared, reserved);
	struct perf_buffer rb;

	begin(PAGES, true, false, true);
	sh = buffer->shared;
	write_record();
	this_cpu->event.attr.wakeup_events = 1;
	write_record();
	before = *sh;
	rb = *buffer;
	for (int i = 0; i < 10; i++)
		write_record();
	tap_result(wakeups == 11 && !memcmp(&before, sh, read) && !memcmp(&rb, buffer, sizeof(rb)),
		   "wakeup_events: a sample writes to no line that each record reads");
	end();
}

static void test_watermark(long watermark)
{
	unsigned long before = 0, expected = 0;
	bool ok = true;

	begin(PAGES, true, false, true);
	buffer->watermark = watermark;
	this_cpu->span = 100;
	for (int i = 0; i < 5000; i++) {
		this_cpu->event.attr.wakeup_events = !(i % 3);
		write_record();
		expected += (published() - 1) / watermark > before || !(i % 3);
		before = (published() - 1) / watermark;
		ok &= wakeups == expected;
	}
	tap_result(ok, "watermark: each %ld bytes wake the reader, and who wants it besides",
		   watermark);
	end();
}

static struct perf_output_handle *other;

/* Another CPU counts its sample, at the chosen access. */
static void count_other(void)
{
	if (other && !accesses_left--) {
		struct perf_output_handle *handle = other;

		other = NULL;
		perf_output_count_shared(handle, 1);
	}
}

/*
 * Two CPUs count a sample each at the same time, in any order of the accesses. The first
 * sample is published with its block, while the second one is still being written.
 */
static void test_wakeups_at_once(bool second_first)
{
	struct perf_output_handle first, second;
	bool ok = true;

	for (int i = 0; i < 10; i++) {
		begin(PAGES, true, false, true);
		start(&first);
		while (this_cpu->end < SIZE / 32)
			write_record();
		start(&second);

		other = second_first ? &second : &first;
		accesses_left = i;
		this_cpu->step = count_other;
		perf_output_count_shared(second_first ? &first : &second, 1);
		accesses_left = 0;
		count_other();
		this_cpu->step = NULL;

		finish(&first);
		ok &= woken_at && woken_at == published() && woken_at < this_cpu->end;
		finish(&second);
		ok &= woken_at == this_cpu->end;
		end();
	}
	tap_result(ok, "wakeup_events: of two samples counted at once both wake the reader, %s",
		   second_first ? "the later one in between" : "the earlier one in between");
}

/*
 * Contexts interrupt each other between any two accesses. When all have returned, the
 * reader has been woken as often as if they had run one after the other.
 */
static void test_interrupted_wakeups(int wakeup_events)
{
	unsigned long samples = 0, before;
	bool ok = true;

	begin(PAGES, true, false, true);
	this_cpu->event.attr.wakeup_events = wakeup_events;
	buffer->watermark = LONG_MAX;
	for (unsigned int rate = 12; rate < 40; rate++) {
		this_cpu->rate = rate;
		for (int i = 0; i < 500; i++) {
			write_record();
			ok &= wakeup_events > 1 || woken_at == published();
		}
	}
	this_cpu->rate = 0;
	for (int level = 0; level < LEVELS; level++)
		samples += this_cpu->attempts[level];

	before = wakeups;
	for (int i = samples % wakeup_events; i < wakeup_events; i++) {
		ok &= wakeups == before;
		write_record();
	}
	tap_result(ok && !writer_error && wakeups == before + 1 && this_cpu->attempts[1] > 1000,
		   "wakeup_events: %d samples wake the reader, whatever interrupts them",
		   wakeup_events);
	end();
}

static void test_interrupted_watermark(void)
{
	bool ok = true;

	begin(PAGES, true, false, true);
	buffer->watermark = 1000;
	for (unsigned int rate = 12; rate < 40; rate++) {
		this_cpu->rate = rate;
		for (int i = 0; i < 500; i++) {
			write_record();
			ok &= published() <= 1000 ||
			      (woken_at - 1) / 1000 == (published() - 1) / 1000;
			ok &= wakeups <= (published() - 1) / 1000;
		}
	}
	tap_result(ok && !writer_error && this_cpu->attempts[1] > 1000,
		   "watermark: each 1000 bytes wake the reader once, whatever interrupts them");
	end();
}

static void read_at_once(void)
{
	set_tail(published());
}

/*
 * The task's writer is interrupted between any two of its accesses, often with values
 * that are stale by then. The records in flight are far smaller than the buffer, and what
 * is published is read at once: there is always room.
 */
static void test_room(bool overwrite, bool backward)
{
	bool fine = true;

	begin(PAGES, overwrite, backward, true);
	this_cpu->step = read_at_once;
	this_cpu->span = 20;
	for (unsigned int rate = 12; rate < 30; rate++) {
		this_cpu->rate = rate;
		for (int i = 0; i < 1000; i++)
			write_record();
	}
	this_cpu->rate = 0;
	this_cpu->step = NULL;
	for (int level = 0; level < LEVELS; level++)
		fine &= !this_cpu->lost[level];
	tap_result(fine && !writer_error && this_cpu->attempts[1] > 1000,
		   "nothing is lost where there is room, %s%s", backward ? "backward" : "forward",
		   overwrite ? ", overwrite" : "");
	end();
}

static void test_pause(void)
{
	struct reader reader;

	begin(PAGES, false, false, true);
	reader_init(&reader);
	for (int i = 0; i < 100; i++) {
		rb_toggle_paused(buffer, i & 1);
		write_record();
		read_all(&reader);
	}
	rb_toggle_paused(buffer, false);
	tap_result(this_cpu->lost[0] == 50 && !audit(&reader),
		   "what is written to a paused buffer is lost and counted");
	end();
}

static void test_page(void)
{
	struct perf_event_mmap_page *page;
	bool ok = true;

	begin(PAGES, false, false, true);
	page = buffer->user_page;
	tap_result(page->cap_output_shared && page->cap_bit0_is_deprecated &&
		   !page->cap_bit0,
		   "the control page says that the buffer is shared");

	/* The reader may have stored anything there. */
	for (u32 lock = 6; lock <= 7; lock++) {
		page->lock = lock;
		page->cap_user_rdpmc = 1;
		ok &= perf_output_page_begin(buffer) && page->lock & 1;
		ok &= !perf_output_page_begin(buffer);
		perf_output_page_end(buffer);
		ok &= !(page->lock & 1) && page->lock != lock && !page->cap_user_rdpmc;
	}
	tap_result(ok, "the control page is written by one at a time, and the reader sees that");
	end();
}

/* As perf_mmap() makes it for one page: no data pages. */
static void test_no_pages(void)
{
	begin(0, false, false, true);
	write_record();
	rb_toggle_paused(buffer, true);
	write_record();
	rb_toggle_paused(buffer, false);
	write_record();
	tap_result(this_cpu->lost[0] == 3 && !published() &&
		   !atomic64_read(&this_cpu->event.lost_samples) && !writer_error,
		   "a buffer without pages has no records, and none are lost");
	end();
}

static void test_no_memory(void)
{
	struct perf_event_mmap_page page = {}, as_before = {};
	struct perf_buffer rb = { .user_page = &page, .nr_pages = 1 };
	unsigned int fails = 0;
	bool ok = !allocated;

	do {
		allocation_fails = ++fails;
		if (!perf_output_share(&rb, false))
			break;
		ok &= !allocated && !rb.shared && !rb.paused &&
		      !memcmp(&page, &as_before, sizeof(page));
	} while (fails < 10);
	allocation_fails = 0;
	tap_result(ok && fails == 3, "without memory a buffer is not shared");
	lease_exit(rb.shared);
	kfree(rb.shared);
}

static void test_free(void)
{
	begin(PAGES, false, false, true);
	this_cpu->event.attr.wakeup_events = 1;
	wakeups_wait = true;
	write_record();
	end();
	wakeups_wait = false;
	tap_result(atomic_read(&cpus[0].event.waitq) == 1 && !allocated,
		   "the reader is woken before the buffer is freed, which leaves nothing behind");
}

/*
 * The number of blocks is limited: in the worst case a writer scans all of them. In overwrite
 * mode there may be more, but they are smaller: one record covers some of them.
 */
static void test_large_buffers(bool overwrite)
{
	struct perf_event_mmap_page page = {};
	bool ok = true;

	for (int pages_log2 = 0; pages_log2 <= 20; pages_log2++) {
		struct perf_buffer rb = {
			.user_page = &page,
			.nr_pages = 1 << pages_log2,
			.overwrite = overwrite,
			.watermark = PAGE_SIZE << pages_log2 >> (1 + pages_log2 % 3),
		};
		unsigned long leases;

		ok &= !perf_output_share(&rb, false);
		ok &= malloc_usable_size(rb.shared) < (overwrite ? 300000 : 20000);
		ok &= !overwrite || rb.shared->block_size <= 16384 || pages_log2 > 16;
		leases = (unsigned long)rb.shared->lease_max * num_possible_cpus();
		ok &= leases <= PAGE_SIZE << pages_log2 >> 3 && leases <= rb.watermark / 4;
		ok &= pages_log2 < 12 || rb.shared->lease_max == 16384;
		lease_exit(rb.shared);
		kfree(rb.shared);
	}
	tap_result(ok, "a buffer of 4 GB has no more blocks than one of %s",
		   overwrite ? "256 MB, overwrite" : "32 MB");
}

void call_tests(void)
{
	test_as_private();
	for (int i = 0; i < 2; i++) {
		test_overlap(1, i, 512);
		test_overlap(PAGES, i, SIZE / (i ? 64 : 32));
		test_overlap(256, i, 256 * PAGE_SIZE / (i ? 64 : 32));
		test_overlap(1024, i, i ? 16384 : 32768);
		test_overlap(16384, i, i ? 16384 : 65536);
	}
	test_order_of_ends();
	test_held_up(false, 0);
	test_held_up(true, 0);
	test_held_up(false, 8);
	test_held_up(true, 12345);
	test_held_up(false, 1ul << 47);
	test_full();
	test_overtaken();
	test_spoilt_head();
	test_head_once();
	test_restless_head();
	test_sizes();
	for (int i = 0; i < 4; i++)
		test_room(i & 1, i & 2);
	test_wakeups();
	test_lines_of_wakeups();
	test_watermark(1000);
	test_watermark(999);
	test_watermark(100);
	test_watermark(1);
	test_wakeups_at_once(false);
	test_wakeups_at_once(true);
	test_interrupted_wakeups(1);
	test_interrupted_wakeups(7);
	test_interrupted_watermark();
	test_pause();
	test_page();
	test_no_pages();
	test_no_memory();
	test_free();
	test_large_buffers(false);
	test_large_buffers(true);
}
