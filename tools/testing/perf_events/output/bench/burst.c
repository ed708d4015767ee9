// SPDX-License-Identifier: GPL-2.0
/*
 * A burst of one writer, while the others have nothing to write and the reader is late:
 * as many records as fit into all the memory. Those that find no room are lost, so this
 * is how much of the memory one writer can use. It is the same in each run.
 */
#include <stdio.h>

#include "bench.h"

/* Per cent of the records */
static double share_kept(const struct ring *ring, unsigned int writers, unsigned int size)
{
	void *buffer = ring->create(writers, BYTES, size);
	unsigned char record[RECORD_MAX];
	unsigned int records = BYTES / size, kept = 0;

	record_fill(record, size);
	cpu_enter(0, false);
	for (unsigned int i = 0; i < records; i++)
		kept += ring->write(buffer, 0, record, size);
	cpu_leave();
	ring->destroy(buffer);
	return kept * 100.0 / records;
}

static void compare_rings(unsigned int writers, unsigned int size)
{
	double series = share_kept(rings[0], writers, size);
	char what[64], how[64];

	snprintf(what, sizeof(what), "%u bytes, 1 of %u writer%s", size, writers,
		 writers > 1 ? "s" : "");
	snprintf(how, sizeof(how), "%u records, nobody reads", BYTES / size);
	for (unsigned int i = 1; rings[i]; i++) {
		double reference = share_kept(rings[i], writers, size);
		struct figures figures = compare(&series, &reference, 1);

		row(what, rings[0], rings[i], &figures, "per cent of a burst kept", how);
	}
}

void bench_burst(void)
{
	static const unsigned int sizes[] = { 48, 512 };

	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int writers = 1; writers <= WRITERS_MAX; writers *= 2)
			compare_rings(writers, sizes[i]);
	}
}
