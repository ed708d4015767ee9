/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads note when and where they do something, and whether they are in a window: each
 * such beacon must be in the trace of its CPU, or must not be.
 */
#ifndef _AUX_BEACONS_H
#define _AUX_BEACONS_H

#include "aux_trace.h"

#define MAX_BEACONS	100000

struct beacon {
	__u64	time;
	__u32	tid;
	__u16	cpu;
	bool	inside;
};

/* Shared with children, and with the program that exec starts. */
struct beacons {
	unsigned int	nr;
	struct beacon	at[MAX_BEACONS];
};

/* Of a file of that size; NULL on failure */
struct beacons *beacons_map(int fd);

void beacons_note(struct beacons *beacons, bool inside);

/* Some work with beacons in it */
void beacons_work(struct beacons *beacons, bool inside);

/* --- A run: events on some CPUs, and the beacons of those that move between them --- */

#define BEACON_CPUS	2

/* Windows that begin on one CPU and end on another, and move there and back between */
void beacons_wander(struct beacons *beacons, const int *cpu, unsigned int windows);

struct beacon_run {
	struct aux_spec		spec;
	struct aux_group	group[BEACON_CPUS];
	struct aux_trace	trace[BEACON_CPUS];
	int			cpu[BEACON_CPUS];
	struct beacons		*beacons;
	int			beacons_fd;
	int			old_rate;
};

/* Opens a window, and moves in it there and back. */
void beacons_moving_window(const struct beacon_run *run);

/*
 * Executes this test once more. Before main(), the program works and moves on, in the same
 * window if it is @inside, passes a pause, and has more windows, that many. It ends with
 * status 0. Doesn't return.
 */
#define BEACON_EXEC_WINDOWS	5
void beacons_exec(const struct beacon_run *run, bool inside);

/* NULL, or why there can be no run */
const char *beacon_run_begin(struct beacon_run *run);

/* How many beacons are traced and shouldn't be, or the other way round; @first is one. */
unsigned int beacons_wrong(const struct beacon_run *run, const struct beacon **first);

#endif /* _AUX_BEACONS_H */
