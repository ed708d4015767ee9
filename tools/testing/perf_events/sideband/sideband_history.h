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

/* What has happened, to see that it was worth while */
struct history_count {
	unsigned long samples;		/* that were looked at in a dump */
	unsigned long wrong;		/* that did not resolve as expected */
	unsigned long leaks;		/* what the store held on to for nothing */
	unsigned long dumps;
	unsigned long added, superseded, inherited, reused, gone;
};

/*
 * Let a small system live for @steps steps. Its records go through kernel
 * buffers and a ring, and from there into a store. Dumps are played back, and
 * each of their samples compared with what was so at its time.
 */
void history__run(struct choices *choices, unsigned int steps, struct history_count *count,
		  bool verbose);

/* Records of arbitrary content, and no memory now and then */
void garbage__run(struct choices *choices, unsigned int steps, struct history_count *count);

#endif
