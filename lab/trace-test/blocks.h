/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libipt's block layer, which is another decoder of the same trace than its instruction
 * layer.
 */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <intel-pt.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Are the blocks of the trace the @nr instructions at @addresses, in order? NULL, or what
 * is wrong; *@at is the number of instructions before it.
 */
const char *blocks_differ(const struct pt_config *config, struct pt_image *image,
			  const uint64_t *addresses, size_t nr, size_t *at);

#endif
