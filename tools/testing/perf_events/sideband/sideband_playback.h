/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIDEBAND_PLAYBACK_H
#define SIDEBAND_PLAYBACK_H

/*
 * A model of perf report: the order in which it delivers the records of a file, and the
 * mapping and name that it finds for a sample. It does what perf's machine.c, thread.c and
 * ordered-events.c of 6.1 do, with few tasks and pages.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define WORLD_TIDS	24		/* 1 to 23 */
#define WORLD_PAGES	32
#define WORLD_SLOTS	8		/* kernel symbols, cgroups, text pokes */
#define WORLD_PAGE	4096ULL
#define NOBODY		(-1)

union perf_event;

/* What a sample should resolve to. NOBODY: not checked. */
struct expectation {
	int tid;
	int page, map;
	int comm;
	int slot, symbol, cgroup, poke;
};

struct item {
	u64 time;			/* 0: untimed */
	u64 order;
	u64 round;
	union perf_event *event;	/* NULL: a sample, or the end of a round */
	bool finished_round;
	struct expectation expect;
};

struct items {
	struct item *item;
	size_t nr, alloc;
};

struct item *items__add(struct items *items, struct item item);
void items__drop_first(struct items *items, size_t nr);
void items__free(struct items *items);

struct playback;

/* Thread ids are below @tids; an address space has @pages */
struct playback *playback__new(int tids, int pages);
void playback__delete(struct playback *pb);
/* Deliver one record */
void playback__event(struct playback *pb, const union perf_event *event);
/* The name of a thread, and the file that is mapped at a page. NOBODY: none is known. */
int playback__comm(const struct playback *pb, int tid);
bool playback__has_execed(const struct playback *pb, int tid);
int playback__map(const struct playback *pb, int tid, int page);

/*
 * Read a whole file. Return the number of samples that don't resolve as
 * expected, and of records that come too late for the order of time.
 */
unsigned int playback__file(const struct items *file, const char *why);

#endif
