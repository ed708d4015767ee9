// SPDX-License-Identifier: GPL-2.0
/*
 * test_aux: PMUs with an AUX area, in software.
 *
 * Three PMUs for the tests of the AUX area code, of pause and resume, and of the
 * tools. They run on any machine:
 *
 *	test_aux		scatter-gather, can be paused
 *	test_aux_contig		only writes to physically contiguous memory at a
 *				time (PERF_PMU_CAP_AUX_NO_SG), can be paused
 *	test_aux_nopause	as test_aux, without PERF_PMU_CAP_AUX_PAUSE
 *
 * The trace is a stream that a test can verify to the last byte, see
 * test_perf_aux_uapi.h.
 *
 * The file has four parts:
 *
 *   Points	named places in the parts below. A test can have an NMI fired at
 *		any of them, see "nmi_at" in debugfs.
 *   Engine	the model of the trace hardware: what would be registers and
 *		silicon on a real machine. One per CPU and PMU.
 *   Driver	what a PMU driver does with such hardware. This part is also meant
 *		as an example of how a driver supports pause and resume.
 *   debugfs	controls, counters and the accounting of pause and resume.
 *
 * The driver part has three rules:
 *
 *  1. Whatever touches the engine, other than a pause or a resume, does so between
 *     perf_aux_action_hold() and perf_aux_action_release(). So a pause or resume
 *     always finds driver and engine in a consistent state, though it may come by
 *     NMI; what is asked for within the section comes at its end.
 *  2. The section leaves the engine as perf_aux_action_hold() said.
 *  3. A pause or resume switches the engine only. It leaves the AUX transaction
 *     alone, and does nothing if there is none.
 *
 * AUX samples are the exception that may come by NMI at any place, a section, a
 * pause and a resume included. test_aux_cpu::open and test_aux_engine::busy tell
 * them when to keep off.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "test_perf_aux_uapi.h"
#include "test_perf_nmi.h"

#define TEST_AUX_PACKET		sizeof(struct test_perf_aux_packet)
#define TEST_AUX_TICK_MIN	(50 * NSEC_PER_USEC)
#define TEST_AUX_TICK_MAX	NSEC_PER_MSEC

enum test_aux_stat {
	TEST_AUX_STARTS,
	TEST_AUX_STOPS,
	TEST_AUX_PAUSES,
	TEST_AUX_RESUMES,
	TEST_AUX_ON,
	TEST_AUX_OFF,
	TEST_AUX_PACKETS,
	TEST_AUX_TRUNCATED,
	TEST_AUX_PARTIAL,
	TEST_AUX_TICKS,
	TEST_AUX_TURNOVERS,
	TEST_AUX_SNAPSHOTS,
	TEST_AUX_SNAPSHOTS_MISSED,
	TEST_AUX_NMI_FIRED,
	TEST_AUX_NMI_SKIPPED,
	TEST_AUX_PROTOCOL_ERRORS,
	TEST_AUX_NR_STATS
};

static const char * const test_aux_stat_names[] = {
	[TEST_AUX_STARTS]		= "starts",
	[TEST_AUX_STOPS]		= "stops",
	[TEST_AUX_PAUSES]		= "pauses",
	[TEST_AUX_RESUMES]		= "resumes",
	[TEST_AUX_ON]			= "on",
	[TEST_AUX_OFF]			= "off",
	[TEST_AUX_PACKETS]		= "packets",
	[TEST_AUX_TRUNCATED]		= "truncated",
	[TEST_AUX_PARTIAL]		= "partial",
	[TEST_AUX_TICKS]		= "ticks",
	[TEST_AUX_TURNOVERS]		= "turnovers",
	[TEST_AUX_SNAPSHOTS]		= "snapshots",
	[TEST_AUX_SNAPSHOTS_MISSED]	= "snapshots_missed",
	[TEST_AUX_NMI_FIRED]		= "nmi_fired",
	[TEST_AUX_NMI_SKIPPED]		= "nmi_skipped",
	[TEST_AUX_PROTOCOL_ERRORS]	= "protocol_errors",
};

static DEFINE_PER_CPU(unsigned long [TEST_AUX_NR_STATS], test_aux_stats);

#define test_aux_count(stat)	this_cpu_inc(test_aux_stats[stat])

/*
 * A breach of the contract between core and driver, or a fault of this driver.
 * True if @cond holds.
 */
#define test_aux_require(cond, what) ({					\
	bool __ok = (cond);						\
									\
	if (WARN_ONCE(!__ok, "test_perf_aux: " what "\n"))		\
		test_aux_count(TEST_AUX_PROTOCOL_ERRORS);		\
	__ok;								\
})

/*
 * Points
 */

enum test_aux_point {
	START_ENTRY, START_HELD, START_BEGUN, START_ARMED, START_ON, START_RELEASED,
	STOP_ENTRY, STOP_HELD, STOP_CLOSED, STOP_OFF, STOP_ENDED, STOP_RELEASED,
	PAUSE_ENTRY, PAUSE_EXIT, RESUME_ENTRY, RESUME_EXIT,
	TICK_HELD, TICK_CLOSED, TICK_OFF, TICK_ENDED, TICK_BEGUN, TICK_ON,
	TICK_RELEASED,
	SNAPSHOT_HELD, SNAPSHOT_OFF, SNAPSHOT_COPIED, SNAPSHOT_ON, SNAPSHOT_RELEASED,
	ENGINE_ON, ENGINE_WRITE, ENGINE_OFF,
	TEST_AUX_NR_POINTS
};

static const char * const test_aux_point_names[] = {
	[START_ENTRY]		= "start-entry",
	[START_HELD]		= "start-held",
	[START_BEGUN]		= "start-begun",
	[START_ARMED]		= "start-armed",
	[START_ON]		= "start-on",
	[START_RELEASED]	= "start-released",
	[STOP_ENTRY]		= "stop-entry",
	[STOP_HELD]		= "stop-held",
	[STOP_CLOSED]		= "stop-closed",
	[STOP_OFF]		= "stop-off",
	[STOP_ENDED]		= "stop-ended",
	[STOP_RELEASED]		= "stop-released",
	[PAUSE_ENTRY]		= "pause-entry",
	[PAUSE_EXIT]		= "pause-exit",
	[RESUME_ENTRY]		= "resume-entry",
	[RESUME_EXIT]		= "resume-exit",
	[TICK_HELD]		= "tick-held",
	[TICK_CLOSED]		= "tick-closed",
	[TICK_OFF]		= "tick-off",
	[TICK_ENDED]		= "tick-ended",
	[TICK_BEGUN]		= "tick-begun",
	[TICK_ON]		= "tick-on",
	[TICK_RELEASED]		= "tick-released",
	[SNAPSHOT_HELD]		= "snapshot-held",
	[SNAPSHOT_OFF]		= "snapshot-off",
	[SNAPSHOT_COPIED]	= "snapshot-copied",
	[SNAPSHOT_ON]		= "snapshot-on",
	[SNAPSHOT_RELEASED]	= "snapshot-released",
	[ENGINE_ON]		= "engine-on",
	[ENGINE_WRITE]		= "engine-write",
	[ENGINE_OFF]		= "engine-off",
};

#define TEST_AUX_RULES		4

/**
 * struct test_aux_rule - fire an NMI at a point
 * @tag: tag of the NMI, see test_perf_nmi_fire()
 * @every: only each time that this number of hits is reached; never zero once the
 *	   rule was used
 * @hits: number of times that a CPU came by
 */
struct test_aux_rule {
	u8		tag;
	unsigned int	every;
	atomic_t	hits;
};

/**
 * struct test_aux_rules - rules of one point
 * @nr: number of rules in force. Published with release when they are complete.
 * @rule: the rules. Readers don't lock: one that still goes through the list when
 *	  it is replaced fires by the old rule or by the new one.
 */
struct test_aux_rules {
	unsigned int		nr;
	struct test_aux_rule	rule[TEST_AUX_RULES];
};

static struct test_aux_rules test_aux_rules[TEST_AUX_NR_POINTS];
static DEFINE_MUTEX(test_aux_rules_lock);

static noinline void test_aux_fire(struct test_aux_rules *rules, unsigned int nr)
{
	struct test_aux_rule *rule;

	for (rule = rules->rule; rule < rules->rule + nr; rule++) {
		if ((unsigned int)atomic_inc_return(&rule->hits) %
		    READ_ONCE(rule->every))
			continue;

		if (test_perf_nmi_fire(READ_ONCE(rule->tag)))
			test_aux_count(TEST_AUX_NMI_FIRED);
		else
			test_aux_count(TEST_AUX_NMI_SKIPPED);
	}
}

NOKPROBE_SYMBOL(test_aux_fire);

/* No static key: it would patch the text that tests run at the same time. */
static __always_inline void test_aux_point(enum test_aux_point point)
{
	/* Pairs with the release in test_aux_rule_add(). */
	unsigned int nr = smp_load_acquire(&test_aux_rules[point].nr);

	if (unlikely(nr))
		test_aux_fire(&test_aux_rules[point], nr);
}

/*
 * Engine
 *
 * A real one traces instructions. This one has a clock: while it is on, a packet
 * is due each period. They are written when somebody looks at the engine, with
 * the times at which they were due, so it makes no difference when that is.
 *
 * Other than hardware it can be interrupted halfway through. Only AUX samples
 * come then, and they check @busy.
 */

/**
 * struct test_aux_buf - AUX area
 * @pages: its pages
 * @size: its size in bytes, a power of two
 * @overwrite: new data replaces old, the area is never full
 * @seq: number of packets written so far
 */
struct test_aux_buf {
	void		**pages;
	unsigned long	size;
	bool		overwrite;
	u64		seq;
};

/**
 * struct test_aux_engine - model of the trace hardware
 * @on: it traces
 * @full: it came to the end of its room and has stopped
 * @busy: it is halfway through an operation
 * @buf: AUX area that it writes to; NULL if none
 * @pos: offset of the next packet in the area
 * @room: number of bytes it may write. Does not shrink in overwrite mode.
 * @written: number of bytes it wrote
 * @clock: the clock
 * @period: time between DATA packets
 * @next: when the next DATA packet is due
 * @tid: thread that ran when it was switched on
 */
struct test_aux_engine {
	bool			on;
	bool			full;
	bool			busy;
	struct test_aux_buf	*buf;
	unsigned long		pos;
	unsigned long		room;
	unsigned long		written;
	u64			(*clock)(void);
	u64			period;
	u64			next;
	pid_t			tid;
};

static void engine_load(struct test_aux_engine *engine, struct test_aux_buf *buf,
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

/* The last packet of the room is kept for the STOP, so every window has one. */
static void engine_put_due(struct test_aux_engine *engine, u64 now)
{
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

/* No effect if it is on already, nor if it is full: as hardware with an error. */
static void engine_on(struct test_aux_engine *engine, u8 why)
{
	if (!test_aux_require(engine->buf, "engine switched on without buffer"))
		return;

	engine_enter(engine);
	test_aux_point(ENGINE_ON);
	if (!engine->on && !engine->full)
		engine_put_start(engine, why);
	engine_exit(engine);
}

NOKPROBE_SYMBOL(engine_on);

/* No effect if it is off already. */
static void engine_off(struct test_aux_engine *engine, u8 why)
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

NOKPROBE_SYMBOL(engine_off);

/* Have everything written that is due. */
static void engine_sync(struct test_aux_engine *engine)
{
	engine_enter(engine);
	engine_put_due(engine, engine->clock());
	engine_exit(engine);
}

/*
 * Driver
 */

/**
 * struct test_aux_cpu - driver state of one PMU on one CPU
 * @engine: the hardware
 * @handle: the AUX transaction
 * @tick: stands for the interrupt that the hardware raises
 * @open: there is a transaction, and the engine is set up for it. Cleared before
 *	  anything of that is undone: an AUX sample by NMI relies on it.
 * @partial: the room is smaller than the space in the AUX area
 * @turnover: number of bytes after which data is handed to the reader
 * @held: number of sections that we are in, to check the contract
 * @acting: a pause or resume is running, ditto
 */
struct test_aux_cpu {
	struct test_aux_engine		engine;
	struct perf_output_handle	handle;
	struct hrtimer			tick;
	bool				open;
	bool				partial;
	unsigned long			turnover;
	unsigned int			held;
	bool				acting;
};

struct test_aux_pmu {
	struct pmu			pmu;
	const char			*name;
	struct test_aux_cpu __percpu	*cpu;
};

static struct test_aux_cpu *test_aux_this_cpu(struct perf_event *event)
{
	struct test_aux_pmu *tpmu = container_of(event->pmu, struct test_aux_pmu, pmu);

	return this_cpu_ptr(tpmu->cpu);
}

NOKPROBE_SYMBOL(test_aux_this_cpu);

static bool test_aux_hold(struct perf_event *event, struct test_aux_cpu *cpu)
{
	bool paused = perf_aux_action_hold(event);

	cpu->held++;
	return paused;
}

static void test_aux_release(struct perf_event *event, struct test_aux_cpu *cpu)
{
	/* Before, as what comes now is no longer in the section. */
	cpu->held--;
	barrier();
	perf_aux_action_release(event);
}

static void test_aux_set(struct test_aux_cpu *cpu, bool paused, u8 why)
{
	if (paused)
		engine_off(&cpu->engine, why);
	else
		engine_on(&cpu->engine, why);
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
 * Set the engine up for what the AUX area has room for. In normal mode the room
 * may wrap around the end of the area, with scatter-gather.
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
	engine_load(&cpu->engine, buf, pos, room);

	return true;
}

/* Begin an AUX transaction. If there is no space, the core disables the event. */
static bool test_aux_begin(struct perf_event *event, struct test_aux_cpu *cpu)
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
 * End the AUX transaction. In overwrite mode the head is an offset in the area,
 * and the size is that of the area, as nobody knows what of it is new.
 *
 * Return: true if it may be followed by another one right away; false if the
 * area is full: the core disables the event then.
 */
static bool test_aux_end(struct test_aux_cpu *cpu)
{
	struct test_aux_engine *engine = &cpu->engine;
	struct perf_output_handle *handle = &cpu->handle;
	unsigned long size = engine->written;
	bool truncated = engine->full && !cpu->partial;

	if (engine->buf->overwrite) {
		handle->head = engine->pos;
		size = engine->buf->size;
	}

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
	perf_aux_output_end(handle, size);

	return !truncated;
}

/*
 * Half the way to where something has to be done, so that it is done in time.
 * A paused engine is asked too, as the next resume may fill the room.
 */
static u64 test_aux_tick_delay(struct test_aux_cpu *cpu)
{
	u64 packets = min(cpu->engine.room, cpu->turnover) / TEST_AUX_PACKET;

	return clamp_t(u64, packets / 2 * cpu->engine.period, TEST_AUX_TICK_MIN,
		       TEST_AUX_TICK_MAX);
}

static void test_aux_open(struct test_aux_cpu *cpu, struct perf_event *event)
{
	event->hw.state = 0;
	barrier();
	WRITE_ONCE(cpu->open, true);
}

static void test_aux_shut(struct test_aux_cpu *cpu, struct perf_event *event)
{
	WRITE_ONCE(cpu->open, false);
	barrier();
	event->hw.state = PERF_HES_STOPPED;
}

/*
 * The interrupt of the hardware: data is handed to the reader and a new
 * transaction begins. The engine is off meanwhile.
 */
static void test_aux_turnover(struct perf_event *event, struct test_aux_cpu *cpu,
			      bool paused)
{
	test_aux_count(TEST_AUX_TURNOVERS);
	test_aux_shut(cpu, event);
	test_aux_point(TICK_CLOSED);
	engine_off(&cpu->engine, TEST_PERF_AUX_BY_TICK);
	test_aux_point(TICK_OFF);

	if (!test_aux_end(cpu))
		return;

	test_aux_point(TICK_ENDED);
	if (!test_aux_begin(event, cpu))
		return;

	test_aux_point(TICK_BEGUN);
	test_aux_open(cpu, event);
	test_aux_set(cpu, paused, TEST_PERF_AUX_BY_TICK);
	test_aux_point(TICK_ON);
}

static enum hrtimer_restart test_aux_tick(struct hrtimer *timer)
{
	struct test_aux_cpu *cpu = container_of(timer, struct test_aux_cpu, tick);
	struct test_aux_engine *engine = &cpu->engine;
	struct perf_event *event = cpu->handle.event;
	bool paused;

	if (!cpu->open)
		return HRTIMER_NORESTART;

	test_aux_count(TEST_AUX_TICKS);
	paused = test_aux_hold(event, cpu);
	test_aux_point(TICK_HELD);
	engine_sync(engine);
	if (engine->full || engine->written >= cpu->turnover)
		test_aux_turnover(event, cpu, paused);
	test_aux_release(event, cpu);
	test_aux_point(TICK_RELEASED);

	if (!cpu->open)
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(test_aux_tick_delay(cpu)));

	return HRTIMER_RESTART;
}

/*
 * Pause and resume: ->stop() with PERF_EF_PAUSE and ->start() with PERF_EF_RESUME
 *
 * In any context, but never inside one another or inside a section. That is the
 * core's part of the contract, and checked here.
 */

static bool test_aux_action_enter(struct perf_event *event, struct test_aux_cpu *cpu)
{
	bool ok;

	ok = test_aux_require(irqs_disabled(), "action with interrupts enabled") &&
	     test_aux_require(event->oncpu == smp_processor_id(),
			      "action on the wrong CPU") &&
	     test_aux_require(event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE,
			      "action for a PMU without the capability") &&
	     test_aux_require(!cpu->held, "action in a section") &&
	     test_aux_require(!cpu->acting, "action in an action");
	if (ok)
		WRITE_ONCE(cpu->acting, true);

	return ok;
}

NOKPROBE_SYMBOL(test_aux_action_enter);

static void test_aux_pause(struct perf_event *event)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);

	test_aux_count(TEST_AUX_PAUSES);
	if (!test_aux_action_enter(event, cpu))
		return;

	test_aux_point(PAUSE_ENTRY);
	if (!event->hw.state)
		engine_off(&cpu->engine, TEST_PERF_AUX_BY_PAUSE);
	test_aux_point(PAUSE_EXIT);
	WRITE_ONCE(cpu->acting, false);
}

NOKPROBE_SYMBOL(test_aux_pause);

/*
 * Starts what is paused, not what is stopped: that has no transaction.
 *
 * Interrupts are disabled and the tick is an interrupt, so what is not stopped
 * stays so. A driver whose interrupt is an NMI and may stop the event has to look
 * at the state once more after switching on, and switch off if it is stopped.
 */
static void test_aux_resume(struct perf_event *event)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);

	test_aux_count(TEST_AUX_RESUMES);
	if (!test_aux_action_enter(event, cpu))
		return;

	test_aux_point(RESUME_ENTRY);
	if (!event->hw.state)
		engine_on(&cpu->engine, TEST_PERF_AUX_BY_RESUME);
	test_aux_point(RESUME_EXIT);
	WRITE_ONCE(cpu->acting, false);
}

NOKPROBE_SYMBOL(test_aux_resume);

/*
 * Other callbacks, with interrupts disabled on the CPU of the event
 */

static void test_aux_start(struct perf_event *event, int flags)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);
	bool paused;

	if (flags & PERF_EF_RESUME) {
		test_aux_resume(event);
		return;
	}

	test_aux_count(TEST_AUX_STARTS);
	if (!test_aux_require(!cpu->open, "start of a started event"))
		return;

	test_aux_point(START_ENTRY);
	paused = test_aux_hold(event, cpu);
	test_aux_point(START_HELD);
	if (test_aux_begin(event, cpu)) {
		test_aux_point(START_BEGUN);
		test_aux_open(cpu, event);
		test_aux_point(START_ARMED);
		test_aux_set(cpu, paused, TEST_PERF_AUX_BY_START);
		test_aux_point(START_ON);
		hrtimer_start(&cpu->tick, ns_to_ktime(test_aux_tick_delay(cpu)),
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	test_aux_release(event, cpu);
	test_aux_point(START_RELEASED);
}

NOKPROBE_SYMBOL(test_aux_start);

/*
 * The transaction has to end here whatever the flags say: the core relies on it
 * when the AUX area goes away.
 */
static void test_aux_stop(struct perf_event *event, int flags)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);

	if (flags & PERF_EF_PAUSE) {
		test_aux_pause(event);
		return;
	}

	test_aux_count(TEST_AUX_STOPS);
	test_aux_point(STOP_ENTRY);
	test_aux_hold(event, cpu);
	test_aux_point(STOP_HELD);
	if (cpu->open && cpu->handle.event == event) {
		test_aux_shut(cpu, event);
		test_aux_point(STOP_CLOSED);
		engine_off(&cpu->engine, TEST_PERF_AUX_BY_STOP);
		test_aux_point(STOP_OFF);
		test_aux_end(cpu);
		test_aux_point(STOP_ENDED);
		/* Pinned to this CPU, so its callback isn't running. */
		hrtimer_cancel(&cpu->tick);
	}
	test_aux_release(event, cpu);
	test_aux_point(STOP_RELEASED);
}

NOKPROBE_SYMBOL(test_aux_stop);

/* An event that has no transaction stays stopped. That is no error. */
static int test_aux_add(struct perf_event *event, int flags)
{
	if (test_aux_this_cpu(event)->open)
		return -EBUSY;

	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		test_aux_start(event, flags);

	return 0;
}

static void test_aux_del(struct perf_event *event, int flags)
{
	test_aux_stop(event, PERF_EF_UPDATE);
}

static void test_aux_read(struct perf_event *event)
{
}

/* The core has put the size into the sample, so something has to fill it. */
static long test_aux_copy_zeroes(struct perf_output_handle *handle, unsigned long size)
{
	unsigned long len, left;

	for (left = size; left; left -= len) {
		len = min(left, PAGE_SIZE);
		if (perf_output_copy(handle, page_address(ZERO_PAGE(0)), len))
			return -EFAULT;
	}

	return size;
}

static long test_aux_copy_newest(struct test_aux_cpu *cpu, bool paused,
				 struct perf_output_handle *handle,
				 unsigned long size)
{
	struct test_aux_engine *engine = &cpu->engine;
	long ret;

	engine_off(engine, TEST_PERF_AUX_BY_SNAPSHOT);
	test_aux_point(SNAPSHOT_OFF);
	ret = perf_output_copy_aux(&cpu->handle, handle, engine->pos - size,
				   engine->pos);
	test_aux_point(SNAPSHOT_COPIED);
	test_aux_set(cpu, paused, TEST_PERF_AUX_BY_SNAPSHOT);
	test_aux_point(SNAPSHOT_ON);

	return ret;
}

/*
 * The newest bytes for a sample. An NMI gets here at any place. If it hit where
 * driver or engine are not in a consistent state, the sample gets zeroes.
 */
static long test_aux_snapshot(struct perf_event *event,
			      struct perf_output_handle *handle, unsigned long size)
{
	struct test_aux_cpu *cpu = test_aux_this_cpu(event);
	bool paused;
	long ret;

	test_aux_count(TEST_AUX_SNAPSHOTS);
	paused = test_aux_hold(event, cpu);
	test_aux_point(SNAPSHOT_HELD);
	if (READ_ONCE(cpu->open) && cpu->handle.event == event &&
	    !READ_ONCE(cpu->engine.busy)) {
		ret = test_aux_copy_newest(cpu, paused, handle, size);
	} else {
		test_aux_count(TEST_AUX_SNAPSHOTS_MISSED);
		ret = test_aux_copy_zeroes(handle, size);
	}
	test_aux_release(event, cpu);
	test_aux_point(SNAPSHOT_RELEASED);

	return ret;
}

static void *test_aux_setup_aux(struct perf_event *event, void **pages, int nr_pages,
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

static void test_aux_free_aux(void *buf)
{
	kfree(buf);
}

/**
 * struct test_aux_account - what pause and resume did
 * @requested: number of actions that gates asked for
 * @done: number of those that are settled: carried out, or superseded by a later one
 * @carried: number of those that were carried out
 * @events: number of events that this is the sum of
 */
struct test_aux_account {
	unsigned long	requested;
	unsigned long	done;
	unsigned long	carried;
	unsigned long	events;
};

/* Open events of all the PMUs, linked by active_entry, and the sum of closed ones. */
static LIST_HEAD(test_aux_events);
static struct test_aux_account test_aux_closed;
static DEFINE_MUTEX(test_aux_events_lock);

/* Racy while gates overflow, exact otherwise. */
static void test_aux_account_add(struct test_aux_account *sum,
				 const struct perf_event *event)
{
	const struct perf_aux_action *act = &event->aux_action;

	sum->requested += READ_ONCE(act->request) >> PERF_AUX_REQUEST_SHIFT;
	sum->done += READ_ONCE(act->done) >> PERF_AUX_REQUEST_SHIFT;
	sum->carried += READ_ONCE(act->carried);
	sum->events++;
}

static void test_aux_destroy(struct perf_event *event)
{
	mutex_lock(&test_aux_events_lock);
	list_del(&event->active_entry);
	test_aux_account_add(&test_aux_closed, event);
	mutex_unlock(&test_aux_events_lock);
}

static int test_aux_event_init(struct perf_event *event)
{
	u64 period = event->attr.config;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	if (has_branch_stack(event))
		return -EOPNOTSUPP;

	if (period > U32_MAX || (period && period < TEST_PERF_AUX_PERIOD_MIN))
		return -EINVAL;

	event->hw.config = period ?: TEST_PERF_AUX_PERIOD;
	event->hw.state = PERF_HES_STOPPED;
	event->destroy = test_aux_destroy;

	mutex_lock(&test_aux_events_lock);
	list_add_tail(&event->active_entry, &test_aux_events);
	mutex_unlock(&test_aux_events_lock);

	return 0;
}

PMU_FORMAT_ATTR(period, "config:0-31");

static struct attribute *test_aux_format_attrs[] = {
	&format_attr_period.attr,
	NULL
};

static const struct attribute_group test_aux_format_group = {
	.name	= "format",
	.attrs	= test_aux_format_attrs,
};

static const struct attribute_group *test_aux_attr_groups[] = {
	&test_aux_format_group,
	NULL
};

#define TEST_AUX_CAPABILITIES	(PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE)

#define TEST_AUX_PMU(_name, _capabilities) {				\
	.name = (_name),						\
	.pmu = {							\
		.module		= THIS_MODULE,				\
		.capabilities	= TEST_AUX_CAPABILITIES | (_capabilities), \
		.task_ctx_nr	= perf_sw_context,			\
		.attr_groups	= test_aux_attr_groups,			\
		.event_init	= test_aux_event_init,			\
		.add		= test_aux_add,				\
		.del		= test_aux_del,				\
		.start		= test_aux_start,			\
		.stop		= test_aux_stop,			\
		.read		= test_aux_read,			\
		.setup_aux	= test_aux_setup_aux,			\
		.free_aux	= test_aux_free_aux,			\
		.snapshot_aux	= test_aux_snapshot,			\
	},								\
}

static struct test_aux_pmu test_aux_pmus[] = {
	TEST_AUX_PMU("test_aux", PERF_PMU_CAP_AUX_PAUSE),
	TEST_AUX_PMU("test_aux_contig", PERF_PMU_CAP_AUX_PAUSE | PERF_PMU_CAP_AUX_NO_SG),
	TEST_AUX_PMU("test_aux_nopause", 0),
};

/*
 * debugfs
 */

static int test_aux_points_show(struct seq_file *m, void *v)
{
	int i;

	for (i = 0; i < TEST_AUX_NR_POINTS; i++)
		seq_printf(m, "%s\n", test_aux_point_names[i]);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(test_aux_points);

static int test_aux_nmi_at_show(struct seq_file *m, void *v)
{
	struct test_aux_rules *rules;
	const char *separator = "";
	int i, j;

	mutex_lock(&test_aux_rules_lock);
	for (i = 0; i < TEST_AUX_NR_POINTS; i++) {
		rules = &test_aux_rules[i];
		for (j = 0; j < rules->nr; j++) {
			seq_printf(m, "%s%s:%u:%u", separator, test_aux_point_names[i],
				   rules->rule[j].tag, rules->rule[j].every);
			separator = ",";
		}
	}
	mutex_unlock(&test_aux_rules_lock);
	seq_putc(m, '\n');

	return 0;
}

static int test_aux_rule_add(int point, u8 tag, unsigned int every)
{
	struct test_aux_rules *rules = &test_aux_rules[point];
	struct test_aux_rule *rule = &rules->rule[rules->nr];

	if (rules->nr == TEST_AUX_RULES)
		return -ENOSPC;

	WRITE_ONCE(rule->tag, tag);
	WRITE_ONCE(rule->every, every);
	atomic_set(&rule->hits, 0);
	/* Pairs with the acquire in test_aux_point(). */
	smp_store_release(&rules->nr, rules->nr + 1);

	return 0;
}

/* POINT[:TAG[:EVERY]] */
static int test_aux_rule_parse(char *text)
{
	const char *name = strsep(&text, ":");
	const char *tag_text = strsep(&text, ":");
	unsigned int every = 1;
	u8 tag = 0;
	int point, ret;

	if (tag_text && kstrtou8(tag_text, 0, &tag))
		return -EINVAL;
	if (text && (kstrtouint(text, 0, &every) || !every))
		return -EINVAL;

	if (strcmp(name, "all")) {
		point = match_string(test_aux_point_names, TEST_AUX_NR_POINTS, name);
		return point < 0 ? point : test_aux_rule_add(point, tag, every);
	}

	for (point = 0; point < TEST_AUX_NR_POINTS; point++) {
		ret = test_aux_rule_add(point, tag, every);
		if (ret)
			return ret;
	}

	return 0;
}

static void test_aux_rules_clear(void)
{
	int i;

	for (i = 0; i < TEST_AUX_NR_POINTS; i++)
		WRITE_ONCE(test_aux_rules[i].nr, 0);
}

/* All of the list comes into force, or nothing. */
static int test_aux_rules_parse(char *text)
{
	char *word;
	int ret = 0;

	mutex_lock(&test_aux_rules_lock);
	test_aux_rules_clear();
	while (!ret && (word = strsep(&text, ",")))
		ret = test_aux_rule_parse(word);
	if (ret)
		test_aux_rules_clear();
	mutex_unlock(&test_aux_rules_lock);

	return ret;
}

static ssize_t test_aux_nmi_at_write(struct file *file, const char __user *ubuf,
				     size_t len, loff_t *ppos)
{
	char *buf, *text;
	int ret;

	if (len >= PAGE_SIZE)
		return -EINVAL;

	buf = memdup_user_nul(ubuf, len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	text = strim(buf);
	if (!*text)
		ret = test_aux_rules_parse(NULL);
	else if (IS_ENABLED(CONFIG_TEST_PERF_NMI))
		ret = test_aux_rules_parse(text);
	else
		ret = -EOPNOTSUPP;
	kfree(buf);

	return ret ?: len;
}

static int test_aux_stats_show(struct seq_file *m, void *v)
{
	unsigned long value, total;
	int i, cpu;

	for (i = 0; i < TEST_AUX_NR_STATS; i++) {
		total = 0;
		for_each_possible_cpu(cpu) {
			value = READ_ONCE(per_cpu(test_aux_stats[i], cpu));
			seq_printf(m, "cpu%d.%s %lu\n", cpu,
				   test_aux_stat_names[i], value);
			total += value;
		}
		seq_printf(m, "total.%s %lu\n", test_aux_stat_names[i], total);
	}

	return 0;
}

/* Any write resets. A counter that is incremented meanwhile may escape. */
static ssize_t test_aux_stats_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *ppos)
{
	int i, cpu;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < TEST_AUX_NR_STATS; i++)
			WRITE_ONCE(per_cpu(test_aux_stats[i], cpu), 0);
	}

	return len;
}

static void test_aux_account_show(struct seq_file *m, const char *prefix,
				  const struct test_aux_account *account)
{
	seq_printf(m, "%s.requested %lu\n", prefix, account->requested);
	seq_printf(m, "%s.carried %lu\n", prefix, account->carried);
	seq_printf(m, "%s.superseded %lu\n", prefix,
		   account->done - account->carried);
	seq_printf(m, "%s.pending %lu\n", prefix,
		   account->requested - account->done);
}

static void test_aux_event_show(struct seq_file *m, const struct perf_event *event)
{
	struct test_aux_account account = {};
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "event.%llu", event->id);
	test_aux_account_add(&account, event);
	test_aux_account_show(m, prefix, &account);
	seq_printf(m, "%s.paused %lu\n", prefix,
		   READ_ONCE(event->aux_action.request) & PERF_AUX_PAUSED);
}

/*
 * Other PMUs' events that the reader has opened, for tests of their drivers. An
 * event stays on this list until the file is closed.
 */
static void test_aux_own_events_show(struct seq_file *m)
{
	struct perf_event *event;

	mutex_lock(&current->perf_event_mutex);
	list_for_each_entry(event, &current->perf_event_list, owner_entry) {
		if (event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE &&
		    event->destroy != test_aux_destroy)
			test_aux_event_show(m, event);
	}
	mutex_unlock(&current->perf_event_mutex);
}

static int test_aux_actions_show(struct seq_file *m, void *v)
{
	struct test_aux_account total;
	struct perf_event *event;

	mutex_lock(&test_aux_events_lock);
	total = test_aux_closed;
	list_for_each_entry(event, &test_aux_events, active_entry) {
		test_aux_event_show(m, event);
		test_aux_account_add(&total, event);
	}
	mutex_unlock(&test_aux_events_lock);
	test_aux_own_events_show(m);

	test_aux_account_show(m, "total", &total);
	seq_printf(m, "total.events %lu\n", total.events);

	return 0;
}

/* Any write forgets the events that are closed. */
static ssize_t test_aux_actions_write(struct file *file, const char __user *ubuf,
				      size_t len, loff_t *ppos)
{
	mutex_lock(&test_aux_events_lock);
	memset(&test_aux_closed, 0, sizeof(test_aux_closed));
	mutex_unlock(&test_aux_events_lock);

	return len;
}

/*
 * Create a counter of the kernel's own, with @action as attr.aux_action, and give
 * it back. The result of the write is that of the creation. From user space there
 * is no other way to one.
 */
static int test_aux_kernel_counter_set(void *data, u64 action)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_DUMMY,
		.aux_action	= action,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(),
						 NULL, NULL, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);

	perf_event_release_kernel(event);

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_aux_kernel_counter, NULL, test_aux_kernel_counter_set,
			 "%llu\n");

#define TEST_AUX_FILE(_name)						\
static int _name##_open(struct inode *inode, struct file *file)		\
{									\
	return single_open(file, _name##_show, NULL);			\
}									\
									\
static const struct file_operations _name##_fops = {			\
	.owner		= THIS_MODULE,					\
	.open		= _name##_open,					\
	.read		= seq_read,					\
	.write		= _name##_write,				\
	.llseek		= seq_lseek,					\
	.release	= single_release,				\
}

TEST_AUX_FILE(test_aux_nmi_at);
TEST_AUX_FILE(test_aux_stats);
TEST_AUX_FILE(test_aux_actions);

static struct dentry *test_aux_dir;

static void __init test_aux_debugfs_init(void)
{
	test_aux_dir = debugfs_create_dir("test_perf_aux", NULL);
	debugfs_create_file("points", 0400, test_aux_dir, NULL, &test_aux_points_fops);
	debugfs_create_file("nmi_at", 0600, test_aux_dir, NULL, &test_aux_nmi_at_fops);
	debugfs_create_file("stats", 0600, test_aux_dir, NULL, &test_aux_stats_fops);
	debugfs_create_file("actions", 0600, test_aux_dir, NULL, &test_aux_actions_fops);
	debugfs_create_file_unsafe("kernel_counter", 0200, test_aux_dir, NULL,
				   &test_aux_kernel_counter);
}

static void test_aux_unregister(struct test_aux_pmu *tpmu)
{
	perf_pmu_unregister(&tpmu->pmu);
	free_percpu(tpmu->cpu);
}

static int __init test_aux_register(struct test_aux_pmu *tpmu)
{
	struct hrtimer *tick;
	int cpu, ret;

	tpmu->cpu = alloc_percpu(struct test_aux_cpu);
	if (!tpmu->cpu)
		return -ENOMEM;

	for_each_possible_cpu(cpu) {
		tick = &per_cpu_ptr(tpmu->cpu, cpu)->tick;
		hrtimer_init(tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		tick->function = test_aux_tick;
	}

	ret = perf_pmu_register(&tpmu->pmu, tpmu->name, -1);
	if (ret)
		free_percpu(tpmu->cpu);

	return ret;
}

static int __init test_aux_init(void)
{
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(test_aux_pmus); i++) {
		ret = test_aux_register(&test_aux_pmus[i]);
		if (ret)
			goto unregister;
	}

	test_aux_debugfs_init();

	return 0;

unregister:
	while (i--)
		test_aux_unregister(&test_aux_pmus[i]);

	return ret;
}

/* Events hold a reference to the module, so none is left. */
static void __exit test_aux_exit(void)
{
	int i;

	debugfs_remove_recursive(test_aux_dir);
	for (i = 0; i < ARRAY_SIZE(test_aux_pmus); i++)
		test_aux_unregister(&test_aux_pmus[i]);
}

module_init(test_aux_init);
module_exit(test_aux_exit);
MODULE_DESCRIPTION("Test PMUs with an AUX area");
MODULE_LICENSE("GPL");
