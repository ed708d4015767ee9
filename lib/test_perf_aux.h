/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_aux: what the parts of the module test_perf_aux share.
 *
 *   test_perf_aux_driver.c	the driver of the trace hardware
 *   test_perf_aux_area.c	the AUX area
 *   test_perf_aux_engine.c	the model of that hardware, in place of registers and
 *				silicon. One per CPU and PMU
 *   test_perf_aux_debugfs.c	controls, counters, and the accounting of pause and
 *				resume
 */
#ifndef _LIB_TEST_PERF_AUX_H
#define _LIB_TEST_PERF_AUX_H

#include <linux/bug.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "test_perf_aux_uapi.h"

#define TEST_AUX_PACKET		sizeof(struct test_perf_aux_packet)

enum test_aux_stat {
	TEST_AUX_STARTS,
	TEST_AUX_STOPS,
	TEST_AUX_PAUSES,
	TEST_AUX_RESUMES,
	TEST_AUX_ON,
	TEST_AUX_OFF,
	TEST_AUX_NO_ROOM,
	TEST_AUX_REWINDS,
	TEST_AUX_PACKETS,
	TEST_AUX_BEHIND,
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

DECLARE_PER_CPU(unsigned long [TEST_AUX_NR_STATS], test_aux_stats);

#define test_aux_count(stat)	this_cpu_inc(test_aux_stats[stat])

/*
 * Check the contract between core and driver, and this driver itself. A violation warns
 * and is counted. True if @cond holds.
 */
#define test_aux_require(cond, what) ({					\
	bool __ok = (cond);						\
									\
	if (WARN_ONCE(!__ok, "test_perf_aux: " what "\n"))		\
		test_aux_count(TEST_AUX_PROTOCOL_ERRORS);		\
	__ok;								\
})

/*
 * Points: named places in driver and engine. A test can fire an NMI at any of them,
 * see "nmi_at" in debugfs.
 */
enum test_aux_point {
	START_ENTRY, START_HELD, START_BEGUN, START_ARMED, START_ON, START_RELEASED,
	STOP_ENTRY, STOP_HELD, STOP_CLOSED, STOP_OFF, STOP_ENDED, STOP_RELEASED,
	PAUSE_ENTRY, PAUSE_EXIT, RESUME_ENTRY, RESUME_EXIT,
	TICK_HELD, TICK_CLOSED, TICK_OFF, TICK_ENDED, TICK_BEGUN, TICK_ON,
	TICK_RELEASED,
	SNAPSHOT_HELD, SNAPSHOT_OFF, SNAPSHOT_COPIED, SNAPSHOT_ON, SNAPSHOT_RELEASED,
	ENGINE_ON, ENGINE_WRITE, ENGINE_OFF, ENGINE_REWIND,
	TEST_AUX_NR_POINTS
};

void test_aux_point(enum test_aux_point point);

/*
 * Engine
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
 * struct test_aux_mark - a place in the area where a window begins
 * @pos: offset of the next packet in the area
 * @room: number of bytes that the engine may write from there
 * @written: number of bytes that it has written
 * @seq: number of packets in the area
 * @full: there is no room for a window
 */
struct test_aux_mark {
	unsigned long	pos;
	unsigned long	room;
	unsigned long	written;
	u64		seq;
	bool		full;
};

/**
 * struct test_aux_engine - model of the trace hardware
 * @on: it traces
 * @full: it reached the end of its room and has stopped
 * @busy: it is halfway through an operation
 * @buf: AUX area that it writes to; NULL if none
 * @pos: offset of the next packet in the area
 * @room: number of bytes it may write. Does not shrink in overwrite mode.
 * @written: number of bytes it wrote
 * @clock: the clock
 * @period: time between DATA packets
 * @next: time at which the next DATA packet is due
 * @tid: thread that ran when it was switched on
 * @mark: where the current window began
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
	struct test_aux_mark	mark;
};

void test_aux_engine_load(struct test_aux_engine *engine, struct test_aux_buf *buf,
			  unsigned long pos, unsigned long room);
void test_aux_engine_on(struct test_aux_engine *engine, u8 why);
void test_aux_engine_off(struct test_aux_engine *engine, u8 why);
void test_aux_engine_mark(struct test_aux_engine *engine);
void test_aux_engine_rewind(struct test_aux_engine *engine);
void test_aux_engine_sync(struct test_aux_engine *engine);

/*
 * Driver
 */

/**
 * struct test_aux_cpu - driver state of one PMU on one CPU
 * @engine: the hardware
 * @handle: the AUX transaction
 * @tick: timer in place of the interrupt that the hardware would raise
 * @open: there is a transaction, and the engine is set up for it. Cleared before
 *	  anything of that is undone: an AUX sample by NMI relies on it.
 * @tracing: the trace is not paused; the engine may be off all the same: it is full, or its
 *	     data is being handed over
 * @partial: the room is smaller than the space in the AUX area
 * @turnover: number of bytes after which data is handed over to the reader
 * @held: number of sections that are active, to check the contract
 * @acting: a pause or resume is running, to check the contract
 */
struct test_aux_cpu {
	struct test_aux_engine		engine;
	struct perf_output_handle	handle;
	struct hrtimer			tick;
	bool				open;
	bool				tracing;
	bool				partial;
	unsigned long			turnover;
	unsigned int			held;
	bool				acting;
};

void *test_aux_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			 bool overwrite);
void test_aux_free_aux(void *buf);
bool test_aux_counts(void *buf);
bool test_aux_begin(struct perf_event *event, struct test_aux_cpu *cpu);
bool test_aux_end(struct test_aux_cpu *cpu);

/*
 * debugfs
 */

void test_aux_debugfs_init(void);
void test_aux_debugfs_exit(void);

/* Show the pauses and resumes of @event, which is being initialized. */
void test_aux_account_event(struct perf_event *event);

#endif /* _LIB_TEST_PERF_AUX_H */
