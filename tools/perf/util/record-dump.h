/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_DUMP_H
#define __PERF_RECORD_DUMP_H 1

/*
 * perf record -M: keep the newest events in memory, dump them on demand
 *
 * What was read from the kernel's buffers goes into a ring (snapshot-ring.h), and
 * what later samples need of that which falls out of it into a store
 * (sideband-store.h). A dump hands both to a thread that writes them to perf.data
 * (data-append.h), while the main thread goes on filling the ring.
 *
 * Synthesized records of perf's own go into the file when recording starts,
 * others into the store.
 *
 * All functions but record_dump__request() are for the main thread.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct evlist;
struct perf_data;
struct perf_session;
struct record_dump;
union perf_event;

/**
 * struct record_dump_opts - What the user asked for
 * @size:	of the ring, 0: no -M
 * @on_exit:	dump at the end, too
 * @file_each:	a file of its own for each dump
 * @max_files:	if not 0, remove the oldest when there would be more
 * @interval:	seconds from the beginning of a dump to that of the next, at least
 * @comp_level:	compress if not 0
 * @clockid:	what events have their times from; one that can't be set if not known
 * @configured:	it was not on the command line that -M was asked for
 */
struct record_dump_opts {
	u64		size;
	bool		on_exit;
	bool		file_each;
	int		max_files;
	unsigned int	interval;
	unsigned int	comp_level;
	clockid_t	clockid;
	bool		configured;
};

/**
 * record_dump__parse_size - Parse the option's argument: [e]SIZE[BKMG]
 *
 * Return 0, or -EINVAL after a message.
 */
int record_dump__parse_size(const char *str, struct record_dump_opts *opts);

/**
 * record_dump__new - Allocate memory for the ring, before anything starts
 *
 * Return NULL after a message.
 */
struct record_dump *record_dump__new(const struct record_dump_opts *opts);
void record_dump__delete(struct record_dump *dump);

/**
 * record_dump__prepare - Before the session opens @data
 *
 * May change the path. Return 0, or -errno after a message.
 */
int record_dump__prepare(struct record_dump *dump, struct perf_data *data);

/**
 * record_dump__open - The events are open
 *
 * From here on events can come. Return 0, or -errno after a message.
 */
int record_dump__open(struct record_dump *dump, struct perf_session *session,
		      struct evlist *evlist);

/* What to poll for: readable if a dump is asked for or is complete */
int record_dump__wakeup_fd(const struct record_dump *dump);
/* This as well, -1: there is none. Readable if a request that came early is due. */
int record_dump__timer_fd(const struct record_dump *dump);
/* Likewise. Readable if the clock was set. */
int record_dump__clock_fd(const struct record_dump *dump);

/**
 * record_dump__take_synthesized - Put a synthesized record into the store
 *
 * Return 1 if it was put there, 0 if it belongs to the beginning of the file,
 * or -errno.
 */
int record_dump__take_synthesized(struct record_dump *dump, const union perf_event *event);

/* The beginning of the file is written: make it a complete file */
int record_dump__start(struct record_dump *dump);

/* Records that come from a kernel's buffer */
int record_dump__append(struct record_dump *dump, const void *buf, size_t size);
/* All of the kernel's buffers have been read once */
void record_dump__end_round(struct record_dump *dump);

/**
 * record_dump__look_at_clock - Was the clock set back?
 *
 * Before the kernel's buffers are read. Return 1 if so, or -errno: all samples so far
 * are of no use, as time is what they are sorted by. Read the buffers once more, and
 * call record_dump__set_back() then.
 */
int record_dump__look_at_clock(struct record_dump *dump);
int record_dump__set_back(struct record_dump *dump);

/* AUX area data for the next dump; @event says how much of it there is */
int record_dump__add_auxtrace(struct record_dump *dump, const union perf_event *event,
			      const void *data1, size_t len1, const void *data2, size_t len2);

/* Ask for a dump. From anywhere, signal handlers included. */
void record_dump__request(struct record_dump *dump);
/*
 * As that, and acknowledge on the control fifo when it is complete, with the name of
 * the file and the request's own, @label, which can be empty
 */
void record_dump__request_ack(struct record_dump *dump, const char *label);

/* If recording ended now, would there be a dump? */
bool record_dump__at_exit(const struct record_dump *dump);

/**
 * record_dump__due - Look after a dump that has ended; is one to be started?
 *
 * Return 1 if so, 0 if not, -errno if recording can't go on: a dump into a pipe
 * that has failed was the last.
 */
int record_dump__due(struct record_dump *dump);

/**
 * record_dump__take - Take all that is in the ring for a dump
 *
 * The kernel's buffers have been read once since the request. To be followed by
 * record_dump__begin().
 */
void record_dump__take(struct record_dump *dump);

/**
 * record_dump__begin - Start the dump of what was taken
 *
 * The kernel's buffers have been read once more. What came by that is for the
 * next dump, but the side-band among it goes into this one, too. Return 0, also if
 * the dump failed: the user knows, and can try again; or -errno if recording can't
 * go on.
 */
int record_dump__begin(struct record_dump *dump);

/**
 * record_dump__finish - Recording has ended: do what is left to do
 * @failed: there was an error: no dump at the end, unless one was asked for
 *
 * Return 0, or -errno if a last dump failed; -ECANCELED: a dump is still under way,
 * its thread uses all that there is, and perf can only end.
 */
int record_dump__finish(struct record_dump *dump, bool failed);

/**
 * record_dump__refresh_header - Write the header's features once more
 *
 * For what is known about perf.data when all of it has been read. Return 0, or
 * -errno after a message.
 */
int record_dump__refresh_header(struct record_dump *dump);

/* The build-ids of those binaries only that are marked as hit from now on */
void record_dump__forget_hits(struct record_dump *dump);

/* Don't wait for a dump any longer when recording has ended. For signal handlers, too. */
void record_dump__give_up(struct record_dump *dump);

/* Is what the dumps went to still there? */
bool record_dump__has_file(const struct record_dump *dump);
/* Add the time to its name. Return 0 or -errno. */
int record_dump__add_time(struct record_dump *dump);

/* How many dumps are complete */
unsigned int record_dump__nr(const struct record_dump *dump);

/* Bytes in perf.data, or in all files of dumps */
u64 record_dump__bytes_written(const struct record_dump *dump);

/* Tell what the dumps have, and what not */
void record_dump__print_stats(const struct record_dump *dump);

#endif /* __PERF_RECORD_DUMP_H */
