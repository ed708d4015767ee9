// SPDX-License-Identifier: GPL-2.0
/* See blocks.h. */
#include <string.h>

#include "blocks.h"

struct walk {
	struct pt_block_decoder *decoder;
	const uint64_t *addresses;
	size_t nr, at;
};

/* Its first and its last instruction; those in between follow from the code. */
static const char *take_block(struct walk *walk, const struct pt_block *block)
{
	const uint64_t *first = &walk->addresses[walk->at];

	if (!block->ninsn)
		return NULL;
	if (block->ninsn > walk->nr - walk->at)
		return "more blocks than instructions";
	if (block->ip != first[0] || block->end_ip != first[block->ninsn - 1])
		return "a block is not where the instructions are";
	walk->at += block->ninsn;
	return NULL;
}

/* From a synchronisation point to an error or the end; libipt's status is in *@status. */
static const char *walk_on(struct walk *walk, int *status)
{
	const char *wrong = NULL;
	struct pt_block block;
	struct pt_event event;

	while (!wrong && *status >= 0) {
		if (*status & pts_event_pending) {
			*status = pt_blk_event(walk->decoder, &event, sizeof(event));
			continue;
		}
		/* A block may come together with an error. */
		memset(&block, 0, sizeof(block));
		*status = pt_blk_next(walk->decoder, &block, sizeof(block));
		wrong = take_block(walk, &block);
	}
	return wrong;
}

static const char *walk_all(struct walk *walk)
{
	int status = pt_blk_sync_forward(walk->decoder);
	const char *wrong = walk_on(walk, &status);

	if (!wrong && status != -pte_eos)
		return pt_errstr(pt_errcode(status));
	if (!wrong && walk->at != walk->nr)
		return "fewer blocks than instructions";
	return wrong;
}

const char *blocks_differ(const struct pt_config *config, struct pt_image *image,
			  const uint64_t *addresses, size_t nr, size_t *at)
{
	struct walk walk = { .addresses = addresses, .nr = nr };
	const char *wrong = "out of memory";

	walk.decoder = pt_blk_alloc_decoder(config);
	if (walk.decoder && pt_blk_set_image(walk.decoder, image) >= 0)
		wrong = walk_all(&walk);
	pt_blk_free_decoder(walk.decoder);
	*at = walk.at;
	return wrong;
}
