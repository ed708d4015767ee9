/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RING_DUMP_STATE_H
#define __PERF_RING_DUMP_STATE_H 1

/* Internals of perf record -M, see ring-dump.h */

#include <pthread.h>
#include <linux/list.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <perf/event.h>
#include "clock-watch.h"
#include "data-append.h"
#include "dump-requests.h"
#include "memory-ring.h"
#include "record-files.h"
#include "ring-dump.h"
#include "ring-dump-output.h"
#include "sideband-store.h"
#include "sideband-system.h"

/* AUX area data for a dump, as it is written: the record, then the data it describes */
struct aux_data {
	struct list_head	node;
	size_t			size;
	union perf_event	event[];
};

/* An array of records of different sizes */
struct records {
	void	*data;
	size_t	size;
};

/*
 * The state of a dump. The main thread changes IDLE to RUNNING, the dump thread changes
 * that to DONE or FAILED, and the main thread changes that to IDLE. The release when the
 * dump thread sets it pairs with the acquire when the main thread reads it, so that the
 * main thread sees all that the dump thread has written.
 */
enum dump_state {
	DUMP_IDLE,
	DUMP_RUNNING,
	DUMP_DONE,
	DUMP_FAILED,
};

struct ring_dump {
	/* Set before the first dump, read by both threads */
	struct ring_dump_opts	opts;
	struct perf_session	*session;
	struct evlist		*evlist;
	bool			same_trailers;
	bool			build_ids;
	dump_watcher_t		watcher;
	void			*watcher_priv;

	/*
	 * Shared by both threads; the first three have their own rules for that. @ending:
	 * the main thread sets it when recording has ended.
	 */
	struct memory_ring	*ring;
	struct dump_requests	requests;
	enum dump_state		state;
	bool			ending;

	/* Set by a signal handler, read by the main thread: don't wait for the dump */
	bool			given_up;

	/*
	 * Owned by the main thread. @noticed: a step of the clock that isn't applied yet.
	 * @mixed: the ring may have records from before and after it. @old_samples:
	 * samples dropped before that. @aux: the trace for the next dump. @stats: as of the
	 * last status. @next_walk: not before that is the ring walked for one.
	 * @waiting: it is too early for the dump that is requested.
	 * @nr_waited: dumps for which it was. @nr_refused: requests after the last dump.
	 * @nr, @dumped, @nr_skipped: of all complete dumps. @unused: samples in the ring at
	 * the end.
	 */
	struct sideband_system	system;
	struct clock_watch	clock;
	struct clock_step	noticed;
	bool			mixed;
	u64			old_samples;
	struct list_head	aux;
	pthread_t		thread;
	bool			started;
	struct ring_dump_stats	stats;
	u64			next_walk;
	bool			waiting;
	unsigned int		nr_waited;
	unsigned int		nr_refused;
	unsigned int		nr;
	struct memory_ring_count dumped;
	u64			nr_skipped;
	u64			unused;

	/*
	 * Owned by the dump thread while a dump is RUNNING, else by the main thread. The
	 * first three are used by the ring's ops. @step: the step of the clock to apply to
	 * records that are evicted. @taken_aux: the trace that it writes.
	 */
	struct sideband_store	*store;
	struct clock_step	step;
	unsigned int		unpruned;
	struct data_append	app;
	struct record_files	files;
	struct list_head	taken_aux;
	struct records		late;
	struct dump_writer	writer;
	struct memory_ring_count count;
	bool			last;
	bool			new_file;
	u64			skip_until;
	u64			skipped;
	u64			first_time;
	u64			last_time;
	u64			bytes;
	int			err;
};

/* How records leave the ring */
extern const struct memory_ring_ops ring_dump__ring_ops;

/* No dump is being made: note the size of the store */
void ring_dump__note_store(struct ring_dump *dump);

/* Free a list of AUX area data */
void ring_dump__free_aux(struct list_head *list);

/* Write the dump of the taken records. For the dump thread. Return 0 or -errno. */
int ring_dump__write(struct ring_dump *dump);

/* What the user calls the output */
const char *ring_dump__output_name(const struct ring_dump *dump);
/* The file or pipe that has the dump */
const char *ring_dump__place(const struct ring_dump *dump);
/* Would the same records into the same file fail again? */
bool ring_dump__is_lasting(const struct ring_dump *dump);
/* Why the dump has failed */
const char *ring_dump__reason(const struct ring_dump *dump);
/* Say that the dump has succeeded, and why it was made, or that it has failed */
void ring_dump__print_result(struct ring_dump *dump);

#endif /* __PERF_RING_DUMP_STATE_H */
