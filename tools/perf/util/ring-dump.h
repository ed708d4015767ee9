/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RING_DUMP_H
#define __PERF_RING_DUMP_H 1

/*
 * perf record -M: keep the newest events in memory, dump them on demand
 *
 * Records from the kernel's buffers go into a ring (memory-ring.h). Of those that are
 * evicted from the ring, the ones that later samples need go into a store
 * (sideband-store.h). A dump hands ring and store to a thread that writes them to
 * perf.data (data-append.h), while the main thread continues to fill the ring.
 *
 * Synthesized records of perf's own types go into the file when recording starts,
 * those of the kernel's types go into the store.
 *
 * All functions but ring_dump__request() are for the main thread.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include "dump-files.h"

struct dump_outcome;
struct dump_request;
struct dump_requests;
struct evlist;
struct perf_data;
struct perf_session;
struct ring_dump;
union perf_event;

/**
 * struct ring_dump_opts - Options
 * @size:	size of the ring in bytes, 0: no -M
 * @span:	dump only what is newer than so many nanoseconds, 0: all
 * @on_exit:	make a dump at the end, too
 * @file_each:	write each dump to a file of its own
 * @max_files:	if not 0, remove the oldest file when there are more
 * @files:	who may read these files, and how much room they have
 * @interval:	at least this many seconds between the beginnings of two dumps
 * @max_dumps:	refuse requests after so many dumps, 0: never
 * @comp_level:	compress if not 0
 * @clockid:	clock of the events' times; if not known, a clock that can't be set
 * @configured:	-M comes from perfconfig, not from the command line
 */
struct ring_dump_opts {
	u64		size;
	u64		span;
	bool		on_exit;
	bool		file_each;
	int		max_files;
	struct dump_files_opts files;
	unsigned int	interval;
	unsigned int	max_dumps;
	unsigned int	comp_level;
	clockid_t	clockid;
	bool		configured;
};

/**
 * ring_dump__parse_size - Parse the option's argument: [e]SIZE[BKMG][,TIME]
 *
 * Return 0, or -EINVAL after a message.
 */
int ring_dump__parse_size(const char *str, struct ring_dump_opts *opts);

/**
 * ring_dump__new - Allocate memory for the ring, before anything starts
 *
 * Return NULL after a message.
 */
struct ring_dump *ring_dump__new(const struct ring_dump_opts *opts);
void ring_dump__delete(struct ring_dump *dump);

/**
 * ring_dump__prepare - Call it before the session opens @data
 *
 * May change the path of @data. Return 0, or -errno after a message.
 */
int ring_dump__prepare(struct ring_dump *dump, struct perf_data *data);

/**
 * ring_dump__open - Call it when the events are open
 *
 * From then on records can be added. Return 0, or -errno after a message.
 */
int ring_dump__open(struct ring_dump *dump, struct perf_session *session,
		    struct evlist *evlist);

/* Poll this fd: it is readable if a dump is requested or complete */
int ring_dump__wakeup_fd(const struct ring_dump *dump);
/* Poll this fd, too: it is readable when the interval is over. -1: there is no interval. */
int ring_dump__timer_fd(const struct ring_dump *dump);
/* Poll this fd, too: it is readable if the clock was set. -1: it can't be set. */
int ring_dump__clock_fd(const struct ring_dump *dump);

/**
 * ring_dump__take_synthesized - Put a synthesized record into the store
 *
 * Return 1 if it was put there, 0 if it belongs to the beginning of the file,
 * or -errno.
 */
int ring_dump__take_synthesized(struct ring_dump *dump, const union perf_event *event);

/* The beginning of the file is written: make it a complete file */
int ring_dump__start(struct ring_dump *dump);

/* Add records from one of the kernel's buffers */
int ring_dump__append(struct ring_dump *dump, const void *buf, size_t size);
/* Each of the kernel's buffers has been read once */
void ring_dump__end_round(struct ring_dump *dump);

/**
 * ring_dump__check_clock - Was the clock set back?
 *
 * Call it before the kernel's buffers are read. Return 0 if not, 1 if so, or -errno. If
 * so, all samples so far have to be dropped, because samples are sorted by time. Read
 * the buffers once more, then call ring_dump__apply_clock_step().
 */
int ring_dump__check_clock(struct ring_dump *dump);
int ring_dump__apply_clock_step(struct ring_dump *dump);

/* Add AUX area data for the next dump; @event has its size */
int ring_dump__add_auxtrace(struct ring_dump *dump, const union perf_event *event,
			    const void *data1, size_t len1, const void *data2, size_t len2);

/* Request a dump. From any context, signal handlers included. */
void ring_dump__request(struct ring_dump *dump);
/* Request a dump that says why it was made */
void ring_dump__request_named(struct ring_dump *dump, const struct dump_request *request);
/* A program wants to request one: why not, which is counted then, or NULL */
const char *ring_dump__refuses(struct ring_dump *dump);
/*
 * Request a dump as 'snapshot [TIME] [LABEL]' does, and acknowledge it on the control fifo
 * when it is complete, with the name of the file and the label
 */
void ring_dump__request_ack(struct ring_dump *dump, const char *arg);

/*
 * A dump has succeeded or failed: called by the thread that makes it, before requests are
 * answered. dump_requests__reasons() says why it was made.
 */
typedef void (*dump_watcher_t)(void *priv, const struct dump_outcome *outcome,
			       const struct dump_requests *requests);
/* Call @watcher for each dump */
void ring_dump__watch(struct ring_dump *dump, dump_watcher_t watcher, void *priv);

/* If recording ended now, would a dump be made? */
bool ring_dump__at_exit(const struct ring_dump *dump);

/**
 * ring_dump__due - Clean up after a dump that has ended; is a new one due?
 *
 * Return 1 if so, 0 if not, -errno if recording can't go on, because a dump into a pipe
 * has failed.
 */
int ring_dump__due(struct ring_dump *dump);

/**
 * ring_dump__take - Take all records of the ring for a dump
 *
 * Call it when the kernel's buffers have been read once since the request. Then call
 * ring_dump__begin().
 */
void ring_dump__take(struct ring_dump *dump);

/**
 * ring_dump__begin - Start the dump of the taken records
 *
 * Call it when the kernel's buffers have been read once more. The records read then are
 * for the next dump, but their side-band goes into this one, too. Return 0, also after
 * a message that the dump failed: the user can request it again. Return -errno if
 * recording can't go on.
 */
int ring_dump__begin(struct ring_dump *dump);

/**
 * ring_dump__finish - Recording has ended: wait for dumps, and make the last one
 * @failed: recording failed: no dump at the end, unless one was requested
 *
 * Return 0, or -errno if the last dump failed. -ECANCELED: the dump was given up, but its
 * thread is still running and uses @dump, so perf can only exit.
 */
int ring_dump__finish(struct ring_dump *dump, bool failed);

/**
 * ring_dump__refresh_header - Write the header's features again
 *
 * For features that are known only after all of perf.data has been read. Return 0,
 * or -errno after a message.
 */
int ring_dump__refresh_header(struct ring_dump *dump);

/* Write only the build-ids of binaries that are marked as hit from now on */
void ring_dump__forget_hits(struct ring_dump *dump);

/* Stop waiting for a dump when recording has ended. Safe in signal handlers. */
void ring_dump__give_up(struct ring_dump *dump);

/* Does the output file of the dumps still exist? */
bool ring_dump__has_file(const struct ring_dump *dump);
/* Append the time to the name of the output file. Return 0 or -errno. */
int ring_dump__add_time(struct ring_dump *dump);

/* The number of complete dumps */
unsigned int ring_dump__nr(const struct ring_dump *dump);

/* Bytes in perf.data, or in all files of dumps */
u64 ring_dump__bytes_written(const struct ring_dump *dump);

/**
 * struct ring_dump_stats - What there is in memory, and what has been so far
 *
 * @samples, @span, @seen and @lost need a walk of the ring, which takes 5 % of the time at most:
 * they can be 20 times as old as the last one took.
 *
 * @size:	bytes that the ring may have
 * @used:	bytes that it has
 * @samples:	samples in it
 * @span:	nanoseconds from the first of them to the last
 * @seen:	all samples so far; those that a dump is writing may be missing
 * @lost:	those that the kernel has lost, likewise
 * @sideband_bytes:	size of the store, as of the beginning of a dump that is being made
 * @sideband_records:	records in it
 * @sideband_dropped:	those that were dropped because there were too many
 * @nr_waited:	dumps that had to wait for the interval
 * @nr_refused:	requests after the last dump
 * @dumping:	a dump is being made
 */
struct ring_dump_stats {
	u64		size;
	u64		used;
	u64		samples;
	u64		span;
	u64		seen;
	u64		lost;
	u64		sideband_bytes;
	u64		sideband_records;
	u64		sideband_dropped;
	unsigned int	nr_waited;
	unsigned int	nr_refused;
	bool		dumping;
};

/* May walk the ring. Call it when the kernel's buffers have been read. */
void ring_dump__stats(struct ring_dump *dump, struct ring_dump_stats *stats);

/* Print how many samples were dumped, dropped and lost */
void ring_dump__print_stats(const struct ring_dump *dump);

#endif /* __PERF_RING_DUMP_H */
