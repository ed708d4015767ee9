// SPDX-License-Identifier: GPL-2.0
/*
 * DPDK's ring in RTS mode: writers don't wait for each other to publish, the last one
 * does. Its elements have one size, so a record is one element.
 */
#include <stdlib.h>

#include <rte_ring.h>

#include "ring.h"

struct rts {
	struct rte_ring	*ring;
	unsigned int	size;
};

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct rts *rts = ring_alloc(sizeof(*rts));
	unsigned int count = 1;
	ssize_t memory;

	(void)writers;
	while ((size_t)count * 2 * size <= bytes)
		count *= 2;
	memory = rte_ring_get_memsize_elem(size, count);
	if (memory < 0)
		abort();
	rts->size = size;
	rts->ring = ring_alloc(memory);
	if (rte_ring_init(rts->ring, "bench", count, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ))
		abort();
	return rts;
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct rts *rts = ring;

	(void)writer;
	return rte_ring_mp_rts_enqueue_bulk_elem(rts->ring, record, size, 1, NULL);
}

static void read_records(void *ring, struct sink *sink)
{
	struct rts *rts = ring;

	while (rte_ring_sc_dequeue_bulk_elem(rts->ring, sink->record, rts->size, 1, NULL))
		sink->records++;
}

static void destroy(void *ring)
{
	struct rts *rts = ring;

	free(rts->ring);
	free(rts);
}

const struct ring rts_ring = {
	.name	 = "DPDK's rte_ring, RTS",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = destroy,
};
