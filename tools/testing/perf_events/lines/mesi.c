// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/mman.h>

#include <linux/types.h>

#include "machine.h"
#include "mesi.h"

/**
 * struct line - which caches have a line
 * @copies: how many have it; a single one may write it
 * @owner: the single one
 */
struct line {
	unsigned int	copies;
	unsigned int	owner;
};

static struct line *lines;
static u64 *holders;	/* of a line with more than one copy: a bit for each cache */
static size_t nr_lines, words;

static u64 *holders_of(size_t line)
{
	return holders + line * words;
}

static bool has_copy(unsigned int cache, size_t line)
{
	if (lines[line].copies == 1)
		return lines[line].owner == cache;
	return holders_of(line)[cache / 64] >> cache % 64 & 1;
}

static void add_holder(unsigned int cache, size_t line)
{
	holders_of(line)[cache / 64] |= 1ull << cache % 64;
}

void mesi_create(unsigned int caches, size_t number)
{
	nr_lines = number;
	words = (caches + 63) / 64;
	lines = machine_map(nr_lines * sizeof(*lines));
	holders = machine_map(nr_lines * words * sizeof(*holders));
}

void mesi_destroy(void)
{
	munmap(lines, nr_lines * sizeof(*lines));
	munmap(holders, nr_lines * words * sizeof(*holders));
}

enum mesi_source mesi_source(unsigned int cache, size_t line, bool write)
{
	unsigned int copies = lines[line].copies;

	if (!copies)
		return MESI_OWN;
	if (has_copy(cache, line) && (!write || copies == 1))
		return MESI_OWN;
	return write || copies == 1 ? MESI_OTHER : MESI_COPY;
}

static void give_copy(unsigned int cache, size_t line)
{
	if (has_copy(cache, line))
		return;
	if (lines[line].copies++ == 1) {
		memset(holders_of(line), 0, words * sizeof(*holders));
		add_holder(lines[line].owner, line);
	}
	add_holder(cache, line);
}

void mesi_give(unsigned int cache, size_t line, bool write)
{
	if (write || !lines[line].copies)
		lines[line] = (struct line) { .copies = 1, .owner = cache };
	else
		give_copy(cache, line);
}

void mesi_drop(size_t line)
{
	lines[line].copies = 0;
}
