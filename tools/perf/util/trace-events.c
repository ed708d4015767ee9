// SPDX-License-Identifier: GPL-2.0
/* A file in the Trace Event format; see trace-events.h */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "json-text.h"
#include "trace-events.h"

#define LIMIT_REACHED	"size limit of the file: the rest is missing"

#define PSEC_PER_NSEC	1000
#define PSEC_PER_USEC	1000000

/* 106 days: an error in a trace can make any time */
#define MAX_DISTANCE	(INT64_MAX / PSEC_PER_NSEC)

/* The first error stays: what follows it is only its consequence */
static void note_error(struct trace_events *events, bool failed)
{
	if (failed && !events->err)
		events->err = -(errno ?: EIO);
}

static void __printf(2, 3) put(struct trace_events *events, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vfprintf(events->file.out, fmt, args);
	va_end(args);
	note_error(events, len < 0);
	if (len > 0)
		events->size += len;
}

static void put_text(struct trace_events *events, const char *key, const char *text)
{
	put(events, ",\"%s\":", key);
	events->size += json_text__put(events->file.out, text);
}

static void put_args(struct trace_events *events, const char *key, const char *text)
{
	put(events, ",\"args\":{\"%s\":", key);
	events->size += json_text__put(events->file.out, text);
	put(events, "}");
}

/* Picoseconds from the origin on */
static s64 from_origin(const struct trace_events *events, u64 time)
{
	s64 ns = time - events->origin;

	return clamp(ns, (s64)-MAX_DISTANCE, (s64)MAX_DISTANCE) * PSEC_PER_NSEC;
}

/* Microseconds, exact: no floating point */
static void put_time(struct trace_events *events, const char *key, s64 ps)
{
	u64 size = ps < 0 ? -ps : ps;

	put(events, ",\"%s\":%s%" PRIu64 ".%06" PRIu64, key, ps < 0 ? "-" : "",
	    size / PSEC_PER_USEC, size % PSEC_PER_USEC);
}

static void put_event(struct trace_events *events, char phase, const struct trace_track *track,
		      s64 ps, const char *name)
{
	put(events, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d", events->nr++ ? "," : "", phase,
	    track->pid, track->tid);
	put_time(events, "ts", ps);
	put_text(events, "name", name);
}

static int end_event(struct trace_events *events)
{
	put(events, "}");
	note_error(events, ferror(events->file.out));
	return events->err;
}

/* May something be added? The first time that it may not, the picture says so. */
static int check_room(struct trace_events *events, const struct trace_track *track, u64 time)
{
	if (events->none)
		return 1;
	if (events->err || events->size < events->limit)
		return events->err;
	if (!events->full) {
		events->full = true;
		put_event(events, 'i', track, from_origin(events, time), LIMIT_REACHED);
		put(events, ",\"s\":\"g\"");
		end_event(events);
	}
	return events->err ?: 1;
}

static int name_track(struct trace_events *events, const struct trace_track *track,
		      const char *what, const char *name)
{
	int err = check_room(events, track, events->origin);

	if (err)
		return err;
	put_event(events, 'M', track, 0, what);
	put_args(events, "name", name);
	return end_event(events);
}

int trace_events__name_process(struct trace_events *events, int pid, const char *name)
{
	const struct trace_track track = { .pid = pid, .tid = pid };

	return name_track(events, &track, "process_name", name);
}

int trace_events__name_thread(struct trace_events *events, const struct trace_track *track,
			      const char *name)
{
	return name_track(events, track, "thread_name", name);
}

/* A begin or an end, which is later than the last one of its track even at the same time */
static void put_call(struct trace_events *events, char phase, struct trace_track *track, u64 time,
		     const char *name)
{
	s64 ps = from_origin(events, time);

	if (track->begun)
		ps = max(ps, track->last + 1);
	track->begun = true;
	track->last = ps;
	put_event(events, phase, track, ps, name);
}

int trace_events__begin(struct trace_events *events, struct trace_track *track, u64 time,
			const char *name, const char *category)
{
	int err = check_room(events, track, time);

	if (err)
		return err;
	put_call(events, 'B', track, time, name);
	put_text(events, "cat", category);
	return end_event(events);
}

int trace_events__around(struct trace_events *events, const struct trace_track *track, u64 time,
			 const char *name, const char *category)
{
	int err = check_room(events, track, time);

	if (err)
		return err;
	put_event(events, 'B', track, from_origin(events, time), name);
	put_text(events, "cat", category);
	return end_event(events);
}

int trace_events__end(struct trace_events *events, struct trace_track *track, u64 time,
		      const char *name)
{
	if (events->err)
		return events->err;
	put_call(events, 'E', track, time, name);
	return end_event(events);
}

int trace_events__slice(struct trace_events *events, const struct trace_track *track, u64 time,
			u64 duration, const char *name, const char *note)
{
	int err = check_room(events, track, time);

	if (err)
		return err;
	put_event(events, 'X', track, from_origin(events, time), name);
	put_time(events, "dur", min_t(u64, duration, MAX_DISTANCE) * PSEC_PER_NSEC);
	if (note)
		put_text(events, "cat", note);
	return end_event(events);
}

static int mark(struct trace_events *events, char scope, const struct trace_track *track, u64 time,
		const char *name, const char *note)
{
	int err = check_room(events, track, time);

	if (err)
		return err;
	put_event(events, 'i', track, from_origin(events, time), name);
	put(events, ",\"s\":\"%c\"", scope);
	if (note)
		put_args(events, "note", note);
	return end_event(events);
}

int trace_events__mark(struct trace_events *events, const struct trace_track *track, u64 time,
		       const char *name, const char *note)
{
	return mark(events, 't', track, time, name, note);
}

int trace_events__mark_all(struct trace_events *events, const struct trace_track *track, u64 time,
			   const char *name, const char *note)
{
	return mark(events, 'g', track, time, name, note);
}

int trace_events__count(struct trace_events *events, int pid, u64 time, const char *name,
			u64 value)
{
	const struct trace_track track = { .pid = pid, .tid = pid };
	int err = check_room(events, &track, time);

	if (err)
		return err;
	put_event(events, 'C', &track, from_origin(events, time), name);
	put(events, ",\"args\":{\"value\":%" PRIu64 "}", value);
	return end_event(events);
}

int trace_events__open(struct trace_events *events, const char *path, u64 origin, u64 limit,
		       bool replace)
{
	int err;

	memset(events, 0, sizeof(*events));
	events->origin = origin;
	events->limit = limit;
	err = new_file__open(&events->file, path, replace);
	if (!err)
		put(events, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	return err;
}

void trace_events__none(struct trace_events *events)
{
	memset(events, 0, sizeof(*events));
	events->none = true;
}

int trace_events__finish(struct trace_events *events)
{
	put(events, "\n],\"otherData\":{\"origin_ns\":\"%" PRIu64 "\"}}\n", events->origin);
	events->err = new_file__finish(&events->file, events->err);
	return events->err;
}

void trace_events__abort(struct trace_events *events)
{
	new_file__abort(&events->file);
}
