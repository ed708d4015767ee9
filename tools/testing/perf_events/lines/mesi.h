/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Caches that hold lines in the states of MESI. They are as large as memory, so a line
 * leaves a cache only because another one wants it: what is counted is communication.
 */
#ifndef LINES_MESI_H
#define LINES_MESI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_SIZE	64

/* MESI_RMW: read, change and write in one step, "locked" on x86 */
enum mesi_access { MESI_LOAD, MESI_STORE, MESI_RMW };

/**
 * enum mesi_result - what an access needed
 * @MESI_HIT: nothing
 * @MESI_COLD: the line was in no cache
 * @MESI_READ: a copy of a line that others only read
 * @MESI_FETCH: a copy of a line that another one has alone
 * @MESI_UPGRADE: has a copy, the others' copies have to go
 * @MESI_TAKE: has none, and all others' have to go
 */
enum mesi_result {
	MESI_HIT, MESI_COLD, MESI_READ, MESI_FETCH, MESI_UPGRADE, MESI_TAKE, MESI_RESULTS
};

struct mesi;

/* Return: NULL without memory. */
struct mesi *mesi_new(unsigned int caches, size_t lines);
void mesi_free(struct mesi *mesi);

/* What would @access of @cache to @line need? */
enum mesi_result mesi_ask(const struct mesi *mesi, unsigned int cache, size_t line,
			  enum mesi_access access);

/**
 * mesi_do - make the access
 * @mesi: the caches
 * @cache: who accesses
 * @line: number of the line
 * @access: how
 * @removed: the number of copies in other caches that had to go, is added here
 *
 * Return: what it needed, as mesi_ask() before it.
 */
enum mesi_result mesi_do(struct mesi *mesi, unsigned int cache, size_t line,
			 enum mesi_access access, unsigned long *removed);

/* The state of a line in a cache: 'M', 'E', 'S' or 'I' */
char mesi_state(const struct mesi *mesi, unsigned int cache, size_t line);

/* A line went from one cache to another, or its other copies went. */
static inline bool mesi_is_transfer(enum mesi_result result)
{
	return result >= MESI_READ;
}

#endif
