// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that write, spread over the CPUs, and one that reads when it is woken, as it
 * would be by a watermark. Who finds no room waits until it has read, and tries again:
 * so all rings hand over the same records.
 *
 * Each writer has a tick, and before and after the reader sleeps it calls what poll()
 * does, whatever the ring: what that costs a writer is its time.
 *
 * Counted is the CPU time of the writers, without these pauses: what the machine does
 * besides, and how fast the reader is, don't matter.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/**
 * struct run - one ring, filled and emptied
 * @records: of each writer
 * @wake: the reader is woken after so many of each
 * @slow: measure each write
 * @waiting: writers that want room
 */
struct run {
	const struct ring	*ring;
	void			*buffer;
	unsigned int		writers;
	unsigned int		size;
	unsigned long		records;
	unsigned long		wake;
	bool			slow;
	pthread_barrier_t	start;
	pthread_barrier_t	done;
	sem_t			readable;
	unsigned int		waiting;
	sem_t			room;
};

/**
 * struct thread - a writer
 * @took: nanoseconds of CPU time that it wrote
 * @slowest: of a single write
 */
struct thread {
	struct run	*run;
	unsigned int	number;
	uint64_t	took;
	uint64_t	slowest;
	pthread_t	thread;
};

static void pin(unsigned int number)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(number % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

static bool write_one(struct thread *thread, const void *record)
{
	struct run *run = thread->run;

	return run->ring->write(run->buffer, thread->number, record, run->size);
}

/* Up to where the reader is to be woken, or until there is no room. */
static unsigned long write_some(struct thread *thread, const void *record,
				unsigned long records)
{
	uint64_t begin = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	unsigned long written = 0;

	while (written < records && write_one(thread, record))
		written++;
	thread->took += nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin;
	return written;
}

/* Time that others had the CPU is not counted. What a writer spins is. */
static unsigned long write_timed(struct thread *thread, const void *record)
{
	uint64_t begin = nanoseconds(CLOCK_THREAD_CPUTIME_ID), took;
	bool written = write_one(thread, record);

	took = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (thread->slowest < took)
		thread->slowest = took;
	return written;
}

/* The reader, woken behind this, sees that somebody waits. */
static void wait_for_room(struct run *run)
{
	__atomic_fetch_add(&run->waiting, 1, __ATOMIC_SEQ_CST);
	sem_post(&run->readable);
	sem_wait(&run->room);
}

static void *write_all(void *arg)
{
	struct thread *thread = arg;
	struct run *run = thread->run;
	unsigned char record[RECORD_MAX];
	unsigned long written, unread = 0, left = run->records;

	record_fill(record, run->size);
	pin(thread->number);
	cpu_enter(thread->number, true);
	pthread_barrier_wait(&run->start);
	while (left) {
		written = run->slow ? write_timed(thread, record) :
			write_some(thread, record, left < run->wake ? left : run->wake);
		left -= written;
		unread += written;
		if (unread >= run->wake || !left) {
			sem_post(&run->readable);
			unread = 0;
		}
		if (!written)
			wait_for_room(run);
	}
	pthread_barrier_wait(&run->done);
	cpu_leave();
	return NULL;
}

static void poll_readable(struct run *run)
{
	ring_poll(run->ring, run->buffer);
	sem_wait(&run->readable);
	ring_poll(run->ring, run->buffer);
}

static void read_all(struct run *run)
{
	static struct sink sink;
	unsigned int waiting;

	sink.records = 0;
	pthread_barrier_wait(&run->start);
	while (sink.records != run->writers * run->records) {
		poll_readable(run);
		run->ring->read(run->buffer, &sink);
		waiting = __atomic_exchange_n(&run->waiting, 0, __ATOMIC_SEQ_CST);
		while (waiting--)
			sem_post(&run->room);
	}
	pthread_barrier_wait(&run->done);
}

static void run_threads(struct run *run, struct thread *threads)
{
	pthread_barrier_init(&run->start, NULL, run->writers + 1);
	pthread_barrier_init(&run->done, NULL, run->writers + 1);
	sem_init(&run->readable, 0, 0);
	sem_init(&run->room, 0, 0);
	for (unsigned int i = 0; i < run->writers; i++) {
		threads[i] = (struct thread) { .run = run, .number = i };
		if (pthread_create(&threads[i].thread, NULL, write_all, &threads[i]))
			abort();
	}
	read_all(run);
	for (unsigned int i = 0; i < run->writers; i++)
		pthread_join(threads[i].thread, NULL);
	sem_destroy(&run->room);
	sem_destroy(&run->readable);
	pthread_barrier_destroy(&run->done);
	pthread_barrier_destroy(&run->start);
}

/* Million records in a second of CPU time; or microseconds of the slowest write. */
static double run_once(struct run *run)
{
	struct thread threads[WRITERS_MAX];
	uint64_t took = 0, slowest = 0;

	run->buffer = run->ring->create(run->writers, BYTES, run->size);
	run_threads(run, threads);
	run->ring->destroy(run->buffer);
	for (unsigned int i = 0; i < run->writers; i++) {
		took += threads[i].took;
		if (slowest < threads[i].slowest)
			slowest = threads[i].slowest;
	}
	return run->slow ? slowest / 1e3 : run->writers * run->records * 1e3 / took;
}

static void compare_rings(unsigned int writers, unsigned int size, bool slow,
			  unsigned int rounds)
{
	static double values[RINGS_MAX][WRITER_ROUNDS];
	unsigned long records = (slow ? 200000 : 48000000 / (size + 32)) / writers;
	char what[64];

	snprintf(what, sizeof(what), "%u bytes, %u writer%s", size, writers,
		 writers > 1 ? "s" : "");
	for (unsigned int round = 0; round < rounds; round++) {
		for (unsigned int i = 0; rings[i]; i++) {
			struct run run = {
				.ring = rings[i], .writers = writers, .size = size,
				.records = records, .slow = slow,
				.wake = BYTES / 4 / writers / size,
			};

			values[i][round] = run_once(&run);
		}
	}
	for (unsigned int i = 1; rings[i]; i++) {
		struct figures figures = compare(values[0], values[i], rounds);

		row(what, rings[0], rings[i], &figures,
		    slow ? "us, slowest write" : "million records per CPU second",
		    slow ? "the writer's CPU time, median of 11 turns" :
			   "the writers' CPU time, median of 11 turns");
	}
}

void bench_many_writers(unsigned int rounds)
{
	static const unsigned int sizes[] = { 48, 512 };

	for (unsigned int slow = 0; slow < 2; slow++) {
		for (unsigned int i = 0; i < 2; i++) {
			for (unsigned int writers = 1; writers <= WRITERS_MAX; writers *= 2)
				compare_rings(writers, sizes[i], slow, rounds);
		}
	}
}
