/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contexts write numbered records into one buffer, and a reader checks that it finds
 * them.
 */
#ifndef OUTPUT_TEST_H
#define OUTPUT_TEST_H

#include <linux/perf_event.h>

#include "../../../../kernel/events/internal.h"
#include "../tap.h"

#define CPUS		8	/* threads that write, at most */
#define LEVELS		4	/* contexts per CPU: a task, and nested interrupts */
#define WRITERS		(CPUS * LEVELS)
#define RECORD_MIN	24	/* header, writer, number */
#define FIRST_ID	1000	/* ids of the events begin here */

/**
 * struct cpu - a writing thread, and the contexts that interrupt it
 * @id: its number
 * @depth: number of contexts that are active on it
 * @rate: one access in @rate is interrupted; 0: none
 * @hold: at one access in @hold the others may write a lap; 0: at none
 * @span: largest number of words of a record beyond the minimum
 * @step: called before each access, or NULL
 * @random: state of its random numbers
 * @event: the event that it writes for
 * @attempts, @lost: records, for each level
 * @lapped: how often the others have written a lap while it was held up
 * @end: highest position that it has reserved
 * @entered: a thread is this CPU
 * @ticking: its irq_work for the next tick, or NULL
 * @sent: irq_work that another CPU has sent, or NULL
 * @call: what another CPU calls here, with @info, or NULL
 */
struct cpu {
	int			id;
	int			depth;
	unsigned int		rate;
	unsigned int		hold;
	unsigned int		span;
	void			(*step)(void);
	u64			random;
	struct perf_event	event;
	u64			attempts[LEVELS];
	u64			lost[LEVELS];
	unsigned long		lapped;
	unsigned long		end;
	int			entered;
	struct irq_work		*ticking;
	struct irq_work		*sent;
	void			(*call)(void *info);
	void			*info;
};

extern struct cpu cpus[CPUS];
extern __thread struct cpu *this_cpu;

/**
 * struct reader - records found in the buffer
 * @tail: position up to which records are read
 * @last: number of the last record of each writer
 * @found: number of records of each writer
 * @samples: of all writers
 * @lost: sum of the LOST records
 * @leases: number of leases
 * @padding: bytes that they left
 * @ids: all events have sample_id_all
 * @error: the first fault, or NULL
 */
struct reader {
	unsigned long		tail;
	unsigned long		head;
	u64			last[WRITERS];
	u64			found[WRITERS];
	u64			samples;
	u64			lost;
	u64			leases;
	u64			padding;
	bool			ids;
	const char		*error;
};

extern struct perf_buffer *buffer;
extern const char *volatile writer_error;
extern unsigned long wakeups;	/* of the reader */
extern unsigned long woken_at;	/* published position at the last wake-up */
extern bool wakeups_wait;	/* irq_work is deferred until irq_work_sync() */
extern unsigned int cpus_asked;	/* by on_each_cpu_cond() */
extern unsigned int works_sent;	/* by irq_work_queue_on() */
extern unsigned int asks;	/* runs of perf_output_shared::ask_work */

extern bool tick_stopped;	/* the CPUs are idle, so there are no leases */
extern unsigned long jiffies;

void tick(void);
void tick_all(void);

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
unsigned long committed(void);
bool all_is_committed(void);
void reader_init(struct reader *reader);
void read_to(struct reader *reader, unsigned long head);
void read_all(struct reader *reader);
void read_newest(struct reader *reader);
const char *audit(struct reader *reader);

void call_tests(void);
void lease_tests(void);
void overwrite_tests(void);
void storm_tests(unsigned int scale);

#endif
