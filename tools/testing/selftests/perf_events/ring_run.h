/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs ring_reader on a process that makes records, and reads what it prints.
 */
#ifndef _RING_RUN_H
#define _RING_RUN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct ring_run {
	pid_t producer;
	pid_t reader;
	FILE *lines;		/* what the reader prints */
};

/* A line "TIME WHAT REST" */
struct ring_line {
	char text[256];
	unsigned long long time;
	char what[32];
	const char *rest;
};

/*
 * Fork a process that calls @produce, on another CPU than the caller if there are two,
 * and exits. It stops before that, until it gets SIGCONT.
 */
int ring_fork_producer(struct ring_run *run, void (*produce)(void *arg), void *arg);
/* Wait until the producer has stopped itself. */
int ring_wait_stopped(const struct ring_run *run);
/* Run "ring_reader OPTIONS... PRODUCER", and wait until it has begun. */
int ring_start_reader(struct ring_run *run, const char *const *options);

/* False at the end: what the reader printed last is in @line then. */
bool ring_next_line(struct ring_run *run, struct ring_line *line);
/* Kill what is left. Returns the status of the reader, as wait() does. */
int ring_end(struct ring_run *run);

#endif /* _RING_RUN_H */
