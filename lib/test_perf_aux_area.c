// SPDX-License-Identifier: GPL-2.0
/*
 * test_aux: the AUX area, and transactions on it. Pause and resume don't matter here.
 */
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "test_perf_aux.h"

void *test_aux_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			 bool overwrite)
{
	struct test_aux_buf *buf = kzalloc(sizeof(*buf), GFP_KERNEL);

	if (!buf)
		return NULL;

	buf->pages = pages;
	buf->size = (unsigned long)nr_pages << PAGE_SHIFT;
	buf->overwrite = overwrite;

	return buf;
}

void test_aux_free_aux(void *buf)
{
	kfree(buf);
}

bool test_aux_counts(void *buf)
{
	return true;
}

/* Number of bytes from @pos on that are physically contiguous, up to @room. */
static unsigned long test_aux_contig(struct test_aux_buf *buf, unsigned long pos,
				     unsigned long room)
{
	unsigned long page = pos >> PAGE_SHIFT, nr_pages = buf->size >> PAGE_SHIFT;
	unsigned long len = PAGE_SIZE - offset_in_page(pos);

	for (; len < room && page + 1 < nr_pages; page++) {
		if (buf->pages[page + 1] != buf->pages[page] + PAGE_SIZE)
			break;
		len += PAGE_SIZE;
	}

	return min(len, room);
}

/*
 * Set the engine up for the room in the AUX area. In normal mode the room may wrap
 * around the end of the area, with scatter-gather.
 */
static bool test_aux_setup(struct perf_event *event, struct test_aux_cpu *cpu,
			   struct test_aux_buf *buf)
{
	struct perf_output_handle *handle = &cpu->handle;
	unsigned long pos = handle->head & (buf->size - 1), space, room;

	space = buf->overwrite ? buf->size : rounddown(handle->size, TEST_AUX_PACKET);
	if (!space)
		return false;

	room = space;
	if (event->pmu->capabilities & PERF_PMU_CAP_AUX_NO_SG && !buf->overwrite)
		room = test_aux_contig(buf, pos, space);

	cpu->partial = room < space;
	cpu->turnover = buf->overwrite ? ULONG_MAX : handle->wakeup - handle->head;
	cpu->engine.clock = event->clock;
	cpu->engine.period = event->hw.config;
	test_aux_engine_load(&cpu->engine, buf, pos, room);

	return true;
}

/* Begin an AUX transaction. If there is no space, the core disables the event. */
bool test_aux_begin(struct perf_event *event, struct test_aux_cpu *cpu)
{
	struct test_aux_buf *buf = perf_aux_output_begin(&cpu->handle, event);

	if (!buf)
		return false;

	if (!test_aux_setup(event, cpu, buf)) {
		perf_aux_output_flag(&cpu->handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(&cpu->handle, 0);
		test_aux_count(TEST_AUX_TRUNCATED);
		return false;
	}

	return true;
}

/*
 * End the AUX transaction. In overwrite mode the head is an offset in the area.
 *
 * Return: true if another transaction may follow right away; false if the area is
 * full: the core disables the event then.
 */
bool test_aux_end(struct test_aux_cpu *cpu)
{
	struct test_aux_engine *engine = &cpu->engine;
	struct perf_output_handle *handle = &cpu->handle;
	bool truncated = engine->full && !cpu->partial;

	if (engine->buf->overwrite)
		handle->head = engine->pos;

	if (truncated) {
		perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED);
		test_aux_count(TEST_AUX_TRUNCATED);
	} else if (engine->full) {
		perf_aux_output_flag(handle, PERF_AUX_FLAG_PARTIAL);
		test_aux_count(TEST_AUX_PARTIAL);
	}

	test_aux_require(!engine->on, "transaction ended with the engine on");
	engine->buf = NULL;
	/* (B) of perf_output_put_handle(): the data, then aux_head. */
	smp_wmb();
	perf_aux_output_end(handle, engine->written);

	return !truncated;
}
