// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "mesi.h"

#define NOBODY	(-1)

/**
 * struct line - where a line is
 * @owner: the cache that has it in M or E, or NOBODY
 * @dirty: M, not E
 * @copies: number of caches that have it
 *
 * Behind it, a bit for each cache that has it.
 */
struct line {
	int		owner;
	bool		dirty;
	unsigned int	copies;
	uint64_t	holders[];
};

struct mesi {
	unsigned int	caches;
	size_t		stride;
	unsigned char	*lines;
};

static struct line *line_at(const struct mesi *mesi, size_t line)
{
	return (struct line *)(mesi->lines + line * mesi->stride);
}

static bool has_copy(const struct line *line, unsigned int cache)
{
	return line->holders[cache / 64] >> cache % 64 & 1;
}

struct mesi *mesi_new(unsigned int caches, size_t lines)
{
	struct mesi *mesi = malloc(sizeof(*mesi));

	if (!mesi)
		return NULL;
	mesi->caches = caches;
	mesi->stride = sizeof(struct line) + (caches + 63) / 64 * sizeof(uint64_t);
	mesi->lines = calloc(lines, mesi->stride);
	if (!mesi->lines) {
		free(mesi);
		return NULL;
	}
	return mesi;
}

void mesi_free(struct mesi *mesi)
{
	free(mesi->lines);
	free(mesi);
}

enum mesi_result mesi_ask(const struct mesi *mesi, unsigned int cache, size_t number,
			  enum mesi_access access)
{
	const struct line *line = line_at(mesi, number);
	bool mine;

	if (!line->copies)
		return MESI_COLD;

	mine = has_copy(line, cache);
	if (access == MESI_LOAD)
		return mine ? MESI_HIT : line->owner == NOBODY ? MESI_READ : MESI_FETCH;
	if (!mine)
		return MESI_TAKE;
	return line->owner == NOBODY ? MESI_UPGRADE : MESI_HIT;
}

static void give_alone(const struct mesi *mesi, struct line *line, unsigned int cache)
{
	memset(line->holders, 0, mesi->stride - sizeof(*line));
	line->holders[cache / 64] = 1ull << cache % 64;
	line->copies = 1;
	line->owner = cache;
}

enum mesi_result mesi_do(struct mesi *mesi, unsigned int cache, size_t number,
			 enum mesi_access access, unsigned long *removed)
{
	enum mesi_result result = mesi_ask(mesi, cache, number, access);
	struct line *line = line_at(mesi, number);

	switch (result) {
	case MESI_COLD:
		give_alone(mesi, line, cache);
		line->dirty = false;
		break;
	case MESI_READ:
	case MESI_FETCH:
		line->holders[cache / 64] |= 1ull << cache % 64;
		line->copies++;
		line->owner = NOBODY;
		line->dirty = false;
		break;
	case MESI_UPGRADE:
	case MESI_TAKE:
		*removed += line->copies - (result == MESI_UPGRADE);
		give_alone(mesi, line, cache);
		break;
	default:
		break;
	}
	if (access != MESI_LOAD)
		line->dirty = true;
	return result;
}

char mesi_state(const struct mesi *mesi, unsigned int cache, size_t number)
{
	const struct line *line = line_at(mesi, number);

	if (!line->copies || !has_copy(line, cache))
		return 'I';
	if (line->owner == NOBODY)
		return 'S';
	return line->dirty ? 'M' : 'E';
}
