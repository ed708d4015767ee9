/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIDEBAND_HISTORY_H
#define SIDEBAND_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Where a history takes its decisions from: some bytes, then random numbers */
struct choices {
	const unsigned char *data;
	size_t size;
	u64 random;
};

/* A number less than @n */
unsigned int choose(struct choices *choices, unsigned int n);

/* What has happened: a test must have seen enough of each */
struct history_count {
	unsigned long samples;		/* checked in a dump */
	unsigned long wrong;		/* that did not resolve as expected */
	unsigned long leaks;		/* tasks and records that the store should have dropped */
	unsigned long dumps;
	unsigned long added, superseded, inherited, reused, gone;
};

/*
 * Run a small system for @steps steps. Its records go through kernel buffers and a ring
 * into a store. Dumps are played back, and each sample is compared with the state at its
 * time.
 */
void history__run(struct choices *choices, unsigned int steps, struct history_count *count,
		  bool verbose);

/* Records of arbitrary content, and allocations that fail now and then */
void garbage__run(struct choices *choices, unsigned int steps, struct history_count *count);

#endif
