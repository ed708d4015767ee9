/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Caches without limit that keep each other coherent. A line is in no cache, in one cache
 * alone (M or E, which cost others the same), or in any number of them for reading (S).
 */
#ifndef LINES_MESI_H
#define LINES_MESI_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_SIZE	64

/* How a cache gets what it needs */
enum mesi_source {
	MESI_OWN,	/* it has it, or the line is in no cache */
	MESI_COPY,	/* a copy, while all others keep theirs */
	MESI_OTHER,	/* from the one that has it alone, or by invalidating others' copies */
};

void mesi_create(unsigned int caches, size_t lines);
void mesi_destroy(void);

/* How would @cache get @line, to read it or, with @write, to have it alone? */
enum mesi_source mesi_source(unsigned int cache, size_t line, bool write);

/* Give @line to @cache. */
void mesi_give(unsigned int cache, size_t line, bool write);

/* Take @line from all caches. */
void mesi_drop(size_t line);

#endif
