/* SPDX-License-Identifier: GPL-2.0 */
/* Writers and a reader of one ring on the machine. */
#ifndef LINES_WORLD_H
#define LINES_WORLD_H

#include "machine.h"
#include "ring.h"

enum load { LOAD_ALL, LOAD_ONE, LOAD_LOW, LOADS };

/**
 * struct world_options - what is to be counted
 * @ring: by which the records go
 * @load: all CPUs write without pause; one does; all do at a low rate
 * @cpus: of the machine
 * @size: of each record
 * @bytes: of all buffers, for each CPU
 * @seed, @transfer, @hold, @interrupt: of struct machine_options
 * @held: if not 0, CPU 0 stops for so many cycles in the middle of a record
 * @limit: so many accesses at most, in each of the two parts of a run
 */
struct world_options {
	const struct ring	*ring;
	enum load		load;
	unsigned int		cpus;
	unsigned int		size;
	size_t			bytes;
	uint64_t		seed;
	unsigned int		transfer;
	unsigned int		hold;
	unsigned int		interrupt;
	uint64_t		held;
	unsigned long		limit;
};

/**
 * struct world_result - what was counted, after a lap that is not
 * @written, @lost: records
 * @read: records that the reader has found, from the beginning
 * @cycles: time of all writers
 * @writers, @reader: counts
 * @error: what the reader has found that can't be, or NULL
 */
struct world_result {
	unsigned long		written;
	unsigned long		lost;
	unsigned long		read;
	unsigned long		total;
	uint64_t		cycles;
	struct machine_counts	writers;
	struct machine_counts	reader;
	const char		*error;
};

void world_run(const struct world_options *options, struct world_result *result);

/* Lines that went to another cache: of the state, or of the records. */
unsigned long world_transfers(const struct machine_counts *counts, enum machine_what what);

#endif
