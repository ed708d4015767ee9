// SPDX-License-Identifier: GPL-2.0
/* One context at a time, with handles held open: what must be so in each state. */
#include <malloc.h>
#include <stdlib.h>

#include <linux/poll.h>

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

/* A record that begins now and ends with finish(). */
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
		/* Behind, so that it is often nearly full, and sometimes is. */
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

/* As long as two overlap, some record is always in flight. */
static void test_overlap(void)
{
	struct perf_output_handle handles[2];
	unsigned long behind = 0;

	begin(PAGES, true, false, true);
	start(&handles[0]);
	for (int i = 1; i < 20000; i++) {
		start(&handles[i % 2]);
		finish(&handles[!(i % 2)]);
		if (behind < cpus[0].end - published())
			behind = cpus[0].end - published();
	}
	tap_result(behind < SIZE / 32,
		   "writers that always overlap are published (%lu of %lu bytes behind)",
		   behind, SIZE);
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

/* Nobody waits for a writer that is held up, and nobody takes its memory. */
static void test_held_up(bool overwrite, bool backward, unsigned long tail_step)
{
	struct perf_output_handle held;
	struct reader reader;
	unsigned long first;

	begin(PAGES, overwrite, backward, true);
	reader_init(&reader);
	for (int i = 0; i < 100; i++) {
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
		if (!backward && !overwrite && !tail_step)
			read_all(&reader);
		else
			set_tail(published());
	}
	tap_result(!writer_error && !reader.error && this_cpu->lost[1],
		   "a writer is held up, %s%s%s: %s",
		   backward ? "backward" : "forward", overwrite ? ", overwrite" : "",
		   tail_step ? ", data_tail is nonsense" : "",
		   writer_error ?: reader.error ?: "others write or lose");
	end();
}

static void test_spoilt_head(void)
{
	static const u64 values[] = { 0, 8, 1, -1ull, -8ull, 1ull << 63, 1ull << 40 };
	bool ok = true;

	for (int backward = 0; backward < 2; backward++) {
		begin(1, true, backward, true);
		for (unsigned int i = 0; i < 100 * ARRAY_SIZE(values); i++) {
			buffer->user_page->data_head = values[i % ARRAY_SIZE(values)];
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

static void count_sample(int wakeup_events)
{
	struct perf_output_handle handle;

	start(&handle);
	if (local_read(&buffer->events) < wakeup_events)
		abort();
	perf_output_count_shared(&handle, wakeup_events);
	finish(&handle);
}

static void test_wakeups(void)
{
	struct perf_output_handle first, second;
	bool ok = true;

	begin(PAGES, true, false, true);
	for (int i = 1; i < 1000; i++) {
		count_sample(10);
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
		   "wakeup_events: the reader is woken by who publishes the sample");
	end();

	/* The block below the sample is published first: too early for the sample. */
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
	ok = true;
	for (int i = 1; i < 1000; i++) {
		count_sample(1);
		ok &= wakeups == (unsigned long)i;
	}
	tap_result(ok, "wakeup_events: each sample wakes the reader if that is wanted");
	for (int i = 0; i < CPUS; i++)
		ok &= cpus[i].event.parent || atomic_read(&cpus[i].event.waitq) == 999;
	ok &= buffer->poll.counter == (EPOLLIN | EPOLLRDNORM);
	ok &= !cpus[0].event.pending_wakeup;
	tap_result(ok, "the reader is woken whichever of the buffer's events it waits for");
	end();

	begin(PAGES, true, false, true);
	buffer->watermark = 1000;
	ok = true;
	for (int i = 0; i < 5000; i++) {
		write_record();
		ok &= wakeups == (published() - 1) / 1000;
	}
	tap_result(ok, "watermark: each so many bytes wake the reader");
	end();
}

/*
 * The task's writer is interrupted between any two of its accesses, often after others
 * have come further than what it has read. All that is held at once is far less than
 * the buffer, and nobody reads: there is always room.
 */
static void test_room(bool backward)
{
	bool fine = true;

	begin(PAGES, true, backward, true);
	this_cpu->span = 20;
	for (unsigned int rate = 12; rate < 30; rate++) {
		this_cpu->rate = rate;
		for (int i = 0; i < 1000; i++)
			write_record();
	}
	this_cpu->rate = 0;
	for (int level = 0; level < LEVELS; level++)
		fine &= !this_cpu->lost[level];
	tap_result(fine && !writer_error && this_cpu->attempts[1] > 1000,
		   "nothing is lost where there is room, %s", backward ? "backward" : "forward");
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
	bool ok;

	begin(PAGES, false, false, true);
	page = buffer->user_page;
	page->lock = 7;
	page->cap_user_rdpmc = 1;
	ok = perf_output_page_begin(buffer) && page->lock & 1;
	ok &= !perf_output_page_begin(buffer);
	perf_output_page_end(buffer);
	ok &= !(page->lock & 1) && !page->cap_user_rdpmc;
	ok &= perf_output_page_begin(buffer);
	tap_result(ok, "the control page is written by one at a time");
	end();
}

/* Whoever publishes passes them all at worst. */
static void test_large_buffers(void)
{
	struct perf_event_mmap_page page = {};
	bool ok = true;

	for (int pages_log2 = 0; pages_log2 <= 20; pages_log2++) {
		struct perf_buffer rb = {
			.user_page = &page,
			.nr_pages = 1 << pages_log2,
		};

		ok &= !perf_output_share(&rb, false);
		ok &= malloc_usable_size(rb.shared) < 20000;
		free(rb.shared);
	}
	tap_result(ok, "a buffer of 4 GB has no more blocks than one of 32 MB");
}

void call_tests(void)
{
	test_as_private();
	test_overlap();
	test_order_of_ends();
	for (int i = 0; i < 4; i++)
		test_held_up(i & 1, i & 2, 0);
	test_held_up(false, false, 8);
	test_held_up(false, true, 12345);
	test_held_up(false, false, 1ul << 47);
	test_spoilt_head();
	test_sizes();
	test_room(false);
	test_room(true);
	test_wakeups();
	test_pause();
	test_page();
	test_large_buffers();
}
