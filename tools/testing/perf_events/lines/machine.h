/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPUs that take turns at each access to memory that all of them see: the arena. The one
 * whose time is the earliest goes on. A run depends on nothing but its arguments.
 */
#ifndef LINES_MACHINE_H
#define LINES_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

void machine_create(unsigned int cpus, size_t arena);
void machine_destroy(void);

/* Zeroed memory that takes none until it is used, for munmap() */
void *machine_map(size_t size);

/* Zeroed memory of the arena, with lines of its own. It is freed with the machine. */
void *machine_alloc(size_t align, size_t size);

/* Be @cpu, while no other runs, until the next call of a machine function. */
void machine_become(unsigned int cpu);

/* Run all CPUs, which begin in the first cycles, until each has returned from @run(cpu). */
void machine_run(void (*run)(unsigned int cpu), unsigned int within);

/* The CPU that runs */
unsigned int machine_cpu(void);

/* The CPU that runs does something else for @cycles on average. */
void machine_pause(unsigned int cycles);

/* Line transfers to all CPUs in this run */
unsigned long machine_transfers(void);

/*
 * An access by the CPU that runs. It takes @cycles if nobody else has the line. Before it
 * others may run; if it takes none, only while the line comes.
 */
void machine_access(const void *address, size_t size, bool write, unsigned int cycles);

/* A reader who takes no time writes to @address: its cache has the line then. */
void machine_reader_writes(const void *address);

/* It has read all of @address, and the caches have written it back to memory. */
void machine_reader_took(const void *address, size_t size);

#endif
