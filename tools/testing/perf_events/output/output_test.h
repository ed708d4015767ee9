/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contexts that write numbered records into one buffer, and a reader that knows
 * what must be there.
 */
#ifndef OUTPUT_TEST_H
#define OUTPUT_TEST_H

#include <linux/perf_event.h>

#include "../../../../kernel/events/internal.h"
#include "../tap.h"

#define CPUS		8	/* threads that write, at most */
#define LEVELS		4	/* contexts of each: task, and what interrupts it */
#define WRITERS		(CPUS * LEVELS)
#define RECORD_MIN	24	/* header, writer, number */
#define FIRST_ID	1000	/* of the events */

/**
 * struct cpu - a thread that writes, and what interrupts it
 * @id: its number
 * @depth: how many contexts it is in
 * @rate: one out of so many accesses is interrupted, 0 for none
 * @span: records have up to this many words beyond the minimum
 * @step: called before each access, or NULL
 * @random: state of its random numbers
 * @event: where it writes
 * @attempts, @lost: of each level
 * @end: the furthest position that it reserved
 */
struct cpu {
	int			id;
	int			depth;
	unsigned int		rate;
	unsigned int		span;
	void			(*step)(void);
	u64			random;
	struct perf_event	event;
	u64			attempts[LEVELS];
	u64			lost[LEVELS];
	unsigned long		end;
};

extern struct cpu cpus[CPUS];
extern __thread struct cpu *this_cpu;

/**
 * struct reader - what was found in the buffer
 * @tail: position up to which records were read
 * @last: number of the last record of each writer
 * @samples: records of writers
 * @lost: sum of the LOST records
 * @error: the first thing that was wrong, or NULL
 */
struct reader {
	unsigned long		tail;
	unsigned long		head;
	u64			last[WRITERS];
	u64			samples;
	u64			lost;
	const char		*error;
};

extern struct perf_buffer *buffer;
extern const char *volatile writer_error;
extern unsigned long wakeups;	/* of the reader */
extern unsigned long woken_at;	/* what was published when it was woken last */
extern bool wakeups_wait;	/* until irq_work_sync() */

void buffer_new(int pages, bool overwrite, bool backward, bool shared);
void buffer_free(void);
void cpu_enter(int id);
void cpu_leave(void);

u64 next_random(void);
bool write_begin(struct perf_output_handle *handle, unsigned int size);
void write_body(struct perf_output_handle *handle, int writer, u64 number,
		unsigned int size);
void write_record(void);
void interrupt(void);

unsigned long published(void);
void reader_init(struct reader *reader);
void read_to(struct reader *reader, unsigned long head);
void read_all(struct reader *reader);
void read_newest(struct reader *reader);
const char *audit(struct reader *reader);

void call_tests(void);
void storm_tests(unsigned int scale);

#endif
