/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OUTPUT_BENCH_H
#define OUTPUT_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

#define BYTES		(512 << 10)	/* of all buffers, what perf record takes */
#define MANY_ROUNDS	1000
#define WRITER_ROUNDS	11
#define WRITERS_MAX	8
#define RINGS_MAX	8

/* The first is compared with all others, up to NULL. */
extern const struct ring *const rings[RINGS_MAX + 1];

/**
 * struct figures - two rings, measured in turn
 * @series, @reference: medians of all rounds
 * @ratio: median of the ratios in each round
 */
struct figures {
	double	series;
	double	reference;
	double	ratio;
};

struct figures compare(double *series, double *reference, unsigned int rounds);
double median(const double *values, unsigned int n);

/* A line of the table: what is measured, two rings, unit, how. */
void row(const char *what, const struct ring *series, const struct ring *reference,
	 const struct figures *figures, const char *unit, const char *how);

uint64_t nanoseconds(int clock);

/*
 * This thread is a CPU from now on, if @ticks with a tick every 4 ms. What is written
 * between these is written by that CPU; another thread may then write as the same.
 */
void cpus_init(void);
void cpu_enter(unsigned int number, bool ticks);
void cpu_leave(void);

/* From now on as many CPUs are possible as there are writers, or as this machine has if more. */
void cpus_possible(unsigned int writers);

void record_fill(void *record, unsigned int size);

void bench_one_writer(void);
/* @rounds: up to WRITER_ROUNDS */
void bench_many_writers(unsigned int rounds);
void bench_burst(void);

#endif
