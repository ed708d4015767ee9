/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine of many CPUs on one thread. Code that is compiled with -fsanitize=thread
 * calls machine_access() before each access to memory (see hooks.c); there, CPUs take
 * turns, the line goes where it is wanted, and time passes.
 *
 * Deterministic: the same options and the same seed give the same run.
 *
 * Time is in cycles, and a model. A hit takes one. A line on its way to a CPU takes
 * machine_options::transfer, and goes to one after another, in the order in which they
 * asked. A load and a locked operation wait for their line, a store does not, but the next
 * locked operation waits for it: the store buffer. Accesses are in program order.
 */
#ifndef LINES_MACHINE_H
#define LINES_MACHINE_H

#include "mesi.h"

/* Records are copied with memcpy(): accesses are those to state, or to data. */
enum machine_what { MACHINE_STATE, MACHINE_DATA, MACHINE_WHATS };

/**
 * struct machine_options - a machine
 * @cpus: number of CPUs that run
 * @seed: of all random numbers
 * @transfer: cycles that a line needs from one cache to another
 * @hold: cycles for which it then stays, at least
 * @locked: cycles of a locked operation on a line that is there
 * @arena: bytes of memory whose lines are followed
 * @interrupt: one access in so many is interrupted; 0: none
 * @handler: what an interrupt calls, on the CPU that it interrupts, before what access
 */
struct machine_options {
	unsigned int	cpus;
	uint64_t	seed;
	unsigned int	transfer;
	unsigned int	hold;
	unsigned int	locked;
	size_t		arena;
	unsigned int	interrupt;
	void		(*handler)(unsigned int cpu, enum machine_what before);
};

/**
 * struct machine_counts - what happened
 * @results: accesses by what they needed
 * @removed: copies that had to go
 * @accesses: all of them
 * @locked: locked operations
 * @failed: locked operations that compared, and did not exchange
 */
struct machine_counts {
	unsigned long	results[MACHINE_WHATS][MESI_RESULTS];
	unsigned long	removed;
	unsigned long	accesses;
	unsigned long	locked;
	unsigned long	failed;
};

#define MACHINE_LEVELS	4	/* contexts on a CPU: a task, and nested interrupts */

void machine_create(const struct machine_options *options);
void machine_destroy(void);

/* Memory whose lines are followed, set to 0. Gone with the machine. */
void *machine_alloc(size_t align, size_t bytes);

/* @cpu, which has nothing to run, is to run this, from time @start on. */
void machine_spawn(unsigned int cpu, void (*run)(unsigned int cpu), uint64_t start);

/* Until no CPU has anything to run. */
void machine_run(void);

/*
 * On a CPU that runs
 */

unsigned int machine_cpu(void);
unsigned int machine_level(void);
uint64_t machine_time(void);
uint64_t machine_random(void);
/* Others run until then; interrupts don't come. */
void machine_sleep(uint64_t cycles);

/* Call it as the CPU behind the last one, of which no time is taken: a reader. */
void machine_as_reader(void (*read)(void *arg), void *arg);

void machine_access(const void *address, size_t size, enum mesi_access access,
		    enum machine_what what);
void machine_failed(void);

/* Of all CPUs, or of the reader */
const struct machine_counts *machine_counts(bool reader);
void machine_clear_counts(void);

char machine_state(unsigned int cpu, const void *address);

#endif
