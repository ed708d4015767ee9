/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coverage of the kernel by the calls of a task (CONFIG_KCOV), counted in edges: pairs
 * of places of which one was run after the other.
 */
#ifndef FUZZ_COVERAGE_H
#define FUZZ_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#define COVERAGE_TASKS	4	/* of a program */
#define COVERAGE_EDGES	0x40000

struct coverage {
	int fd[COVERAGE_TASKS];
	uint64_t *area[COVERAGE_TASKS];
};

/* As descriptors @at and behind it. False where the kernel has none. Needs root. */
bool coverage_open(struct coverage *coverage, int at);

void coverage_reset(struct coverage *coverage);

/* Cover the calling task until it ends. At most once for each @task. */
void coverage_enable(struct coverage *coverage, unsigned int task);

/* Adds the edges to a map of COVERAGE_EDGES bytes; how many were new. */
unsigned int coverage_collect(struct coverage *coverage, unsigned char *map);

#endif
