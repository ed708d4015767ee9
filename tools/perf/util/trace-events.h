/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRACE_EVENTS_H
#define __PERF_TRACE_EVENTS_H 1

/*
 * A file in the Trace Event format, which the Perfetto UI, speedscope and Chromium's
 * tracing page read: JSON with an array of events.
 *
 * What its readers have taught:
 *
 * - ts is a decimal number of microseconds, which they read as a double. Times of a
 *   realtime clock have too many digits for that, so all are relative to an origin.
 * - Every event has a ts, names of tracks as well: else older versions of speedscope
 *   refuse the file.
 * - Many calls can have the same time, because the trace has a time only now and then.
 *   So calls are a begin and an end each, in the order in which they occur: a slice
 *   with a duration would leave it to the reader which of them is the outer one.
 * - speedscope sorts begins and ends apart, and at equal times guesses by their names
 *   which comes first. So ts has three digits below a nanosecond: of the begins and ends
 *   of a track that have the same time, each is a picosecond later than the one before.
 *   A double has these digits for 2.5 hours from the origin on.
 * - speedscope takes args for a part of the name, and an end must have the name of its
 *   begin. So calls and slices have no args. What is to be said about them is the
 *   category, which all but speedscope show.
 *
 * The file has a temporary name until it is complete. Nothing is kept in memory.
 *
 * Functions that return an int return 0, or -errno: the first error comes again from
 * every later call. Those that add something return 1 if the size limit is reached.
 * Nothing is added then, and a mark in the file says so: end what has begun, and finish.
 */
#include <linux/types.h>
#include <stdbool.h>
#include "new-file.h"

/**
 * struct trace_events - A file that is being written
 * @full:	the limit is reached, and the mark is written
 * @none:	there is no file
 * @origin:	the time that is 0 in the file
 * @limit:	the size from which on nothing is added
 * @size:	bytes so far
 * @nr:		events so far
 * @err:	the first error
 */
struct trace_events {
	struct new_file	file;
	bool		full;
	bool		none;
	u64		origin;
	u64		limit;
	u64		size;
	u64		nr;
	int		err;
};

/**
 * struct trace_track - A row of the picture
 * @pid:	its process
 * @tid:	its number, which readers want to be that of one process only
 * @begun:	a call has begun
 * @last:	when the last one began or ended, in picoseconds from the origin on
 */
struct trace_track {
	int	pid;
	int	tid;
	bool	begun;
	s64	last;
};

/**
 * trace_events__open - Begin a file
 * @origin:  in nanoseconds; earlier times are negative in the file
 * @limit:   in bytes, UINT64_MAX: none. The file can exceed it by an event, by the ends
 *	     of slices, and by its own end.
 * @replace: an existing file may be replaced, once this one is complete
 *
 * Return 0, or -EEXIST, or another -errno. Then there is nothing to finish or abort.
 */
int trace_events__open(struct trace_events *events, const char *path, u64 origin, u64 limit,
		       bool replace);

/* There is no file, and nothing to finish or abort: what is added is as beyond the limit */
void trace_events__none(struct trace_events *events);

/**
 * trace_events__finish - Complete the file and give it its name
 *
 * Return 0, or the first -errno of all calls: then there is no file. -EEXIST: another
 * file has got the name meanwhile.
 */
int trace_events__finish(struct trace_events *events);

/* Instead of finish: there will be no file */
void trace_events__abort(struct trace_events *events);

int trace_events__name_process(struct trace_events *events, int pid, const char *name);
int trace_events__name_thread(struct trace_events *events, const struct trace_track *track,
			      const char *name);

/**
 * trace_events__begin - Begin a call
 * @category: where it is from, shown beside the name. A comma separates categories.
 *
 * Calls of a track nest, and have to come in the order in which they occur.
 */
int trace_events__begin(struct trace_events *events, struct trace_track *track, u64 time,
			const char *name, const char *category);

/**
 * trace_events__around - Begin a call that is found late: it was there at @time
 *
 * It encloses what its track has had since then, if that is later than @time.
 */
int trace_events__around(struct trace_events *events, const struct trace_track *track, u64 time,
			 const char *name, const char *category);

/* End the innermost call, of this name. It is written beyond the limit as well. */
int trace_events__end(struct trace_events *events, struct trace_track *track, u64 time,
		      const char *name);

/**
 * trace_events__slice - Add a slice that is known as a whole
 * @duration: in nanoseconds
 * @note:     more about it, or NULL: its category
 *
 * For tracks whose slices don't nest. Around calls, use begin and end.
 */
int trace_events__slice(struct trace_events *events, const struct trace_track *track, u64 time,
			u64 duration, const char *name, const char *note);

/* Mark a time in a track. @note: more about it, or NULL */
int trace_events__mark(struct trace_events *events, const struct trace_track *track, u64 time,
		       const char *name, const char *note);

/* The same, in all tracks. This one has the mark if a reader shows marks of one only. */
int trace_events__mark_all(struct trace_events *events, const struct trace_track *track, u64 time,
			   const char *name, const char *note);

/* The value that a counter of the process has from @time on */
int trace_events__count(struct trace_events *events, int pid, u64 time, const char *name,
			u64 value);

#endif /* __PERF_TRACE_EVENTS_H */
