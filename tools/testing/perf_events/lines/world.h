/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LINES_WORLD_H
#define LINES_WORLD_H

#include <stdbool.h>

/**
 * struct scheme - how CPUs write
 * @name: what it is called
 * @shared: into one buffer
 * @leases: with leases
 * @pause: cycles of a CPU for each byte that it has written, on average
 */
struct scheme {
	const char	*name;
	bool		shared;
	bool		leases;
	unsigned int	pause;
};

/* Line transfers per record, if @cpus write records of @size */
double world_count(const struct scheme *scheme, unsigned int cpus, unsigned int size);

#endif
