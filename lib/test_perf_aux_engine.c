// SPDX-License-Identifier: GPL-2.0
/*
 * test_aux: the model of the trace hardware.
 *
 * Real hardware traces instructions. This engine has a clock: while it is on, a packet
 * is due each period. Packets are written when the engine is accessed, with the times
 * at which they were due, so the time of the access makes no difference.
 *
 * Unlike hardware it can be interrupted halfway through. Only AUX samples come
 * then, and they check @busy.
 */
#include <linux/compiler.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/time64.h>

#include "test_perf_aux.h"

/* Packets after which the time is looked at */
#define TEST_AUX_AT_ONCE	256

void test_aux_engine_load(struct test_aux_engine *engine, struct test_aux_buf *buf,
			  unsigned long pos, unsigned long room)
{
	engine->buf = buf;
	engine->pos = pos;
	engine->room = room;
	engine->written = 0;
	engine->full = false;
}

static void engine_put(struct test_aux_engine *engine, u8 type, u8 why, u64 time)
{
	struct test_aux_buf *buf = engine->buf;
	struct test_perf_aux_packet *packet;

	if (!test_aux_require(engine->room >= TEST_AUX_PACKET,
			      "write outside of the space handed out"))
		return;

	packet = buf->pages[engine->pos >> PAGE_SHIFT] + offset_in_page(engine->pos);
	packet->magic = TEST_PERF_AUX_MAGIC;
	packet->type = type;
	packet->why = why;
	packet->cpu = smp_processor_id();
	packet->seq = buf->seq;
	packet->time = time;
	packet->tid = engine->tid;
	test_aux_point(ENGINE_WRITE);
	packet->check = test_perf_aux_check(packet);

	buf->seq++;
	engine->pos = (engine->pos + TEST_AUX_PACKET) & (buf->size - 1);
	engine->written += TEST_AUX_PACKET;
	if (!buf->overwrite)
		engine->room -= TEST_AUX_PACKET;
	test_aux_count(TEST_AUX_PACKETS);
}

NOKPROBE_SYMBOL(engine_put);

/*
 * Packets that take longer than a period each, as with an NMI in every one of them, would
 * keep the CPU here for ever, because more and more are due. After a second there is a gap
 * instead.
 */
static bool engine_is_behind(struct test_aux_engine *engine, unsigned int packets, u64 now)
{
	if (packets % TEST_AUX_AT_ONCE || engine->clock() - now < NSEC_PER_SEC)
		return false;

	engine->next = engine->clock() + engine->period;
	test_aux_count(TEST_AUX_BEHIND);

	return true;
}

NOKPROBE_SYMBOL(engine_is_behind);

/* The last packet of the room is kept for the STOP, so every window has one. */
static void engine_put_due(struct test_aux_engine *engine, u64 now)
{
	unsigned int packets = 0;

	while (engine->on && (s64)(now - engine->next) >= 0) {
		if (engine->room <= TEST_AUX_PACKET) {
			engine->on = false;
			engine->full = true;
			engine_put(engine, TEST_PERF_AUX_STOP,
				   TEST_PERF_AUX_BY_FULL, engine->next);
			test_aux_count(TEST_AUX_OFF);
			return;
		}
		engine_put(engine, TEST_PERF_AUX_DATA, 0, engine->next);
		engine->next += engine->period;
		if (engine_is_behind(engine, ++packets, now))
			return;
	}
}

NOKPROBE_SYMBOL(engine_put_due);

static void engine_put_start(struct test_aux_engine *engine, u8 why)
{
	u64 now = engine->clock();

	engine->tid = task_pid_nr(current);
	if (engine->room < 2 * TEST_AUX_PACKET) {
		engine->full = true;
		if (engine->room)
			engine_put(engine, TEST_PERF_AUX_PAD, 0, now);
		return;
	}

	engine_put(engine, TEST_PERF_AUX_START, why, now);
	engine->next = now + engine->period;
	engine->on = true;
	test_aux_count(TEST_AUX_ON);
}

NOKPROBE_SYMBOL(engine_put_start);

static void engine_enter(struct test_aux_engine *engine)
{
	test_aux_require(!engine->busy, "engine interrupted halfway");
	WRITE_ONCE(engine->busy, true);
	barrier();
}

NOKPROBE_SYMBOL(engine_enter);

static void engine_exit(struct test_aux_engine *engine)
{
	barrier();
	WRITE_ONCE(engine->busy, false);
}

NOKPROBE_SYMBOL(engine_exit);

/* No effect if it is on already, or full: like hardware with an error. */
void test_aux_engine_on(struct test_aux_engine *engine, u8 why)
{
	if (!test_aux_require(engine->buf, "engine switched on without buffer"))
		return;

	engine_enter(engine);
	test_aux_point(ENGINE_ON);
	if (!engine->on && !engine->full)
		engine_put_start(engine, why);
	if (!engine->on)
		test_aux_count(TEST_AUX_NO_ROOM);
	engine_exit(engine);
}

NOKPROBE_SYMBOL(test_aux_engine_on);

/* No effect if it is off already. */
void test_aux_engine_off(struct test_aux_engine *engine, u8 why)
{
	u64 now;

	engine_enter(engine);
	now = engine->clock();
	engine_put_due(engine, now);
	test_aux_point(ENGINE_OFF);
	if (engine->on) {
		engine_put(engine, TEST_PERF_AUX_STOP, why, now);
		engine->on = false;
		test_aux_count(TEST_AUX_OFF);
	}
	engine_exit(engine);
}

NOKPROBE_SYMBOL(test_aux_engine_off);

/* It is off: note where the next window begins. */
void test_aux_engine_mark(struct test_aux_engine *engine)
{
	engine->mark = (struct test_aux_mark) {
		.pos = engine->pos,
		.room = engine->room,
		.written = engine->written,
		.seq = engine->buf->seq,
		.full = engine->full,
	};
}

NOKPROBE_SYMBOL(test_aux_engine_mark);

/* It is off: go back to the mark, in the same transaction. */
void test_aux_engine_rewind(struct test_aux_engine *engine)
{
	const struct test_aux_mark *mark = &engine->mark;

	engine_enter(engine);
	engine->pos = mark->pos;
	test_aux_point(ENGINE_REWIND);
	engine->room = mark->room;
	engine->written = mark->written;
	engine->buf->seq = mark->seq;
	engine->full = mark->full;
	engine_exit(engine);
	test_aux_count(TEST_AUX_REWINDS);
}

NOKPROBE_SYMBOL(test_aux_engine_rewind);

/* Write all packets that are due. */
void test_aux_engine_sync(struct test_aux_engine *engine)
{
	engine_enter(engine);
	engine_put_due(engine, engine->clock());
	engine_exit(engine);
}
