/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LINES_RINGS_H
#define LINES_RINGS_H

#include "ring.h"

extern const struct ring percpu_ring, word_ring, lease_ring, lease_add_ring, stretch_ring;
extern const struct ring shared_overwrite_ring, stretch_overwrite_ring;

#endif
