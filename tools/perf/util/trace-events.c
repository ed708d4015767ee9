// SPDX-License-Identifier: GPL-2.0
/* A file in the Trace Event format; see trace-events.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "json-text.h"
#include "trace-events.h"

#define LIMIT_REACHED	"size limit of the file: the rest is missing"

/* The order is three digits of the time */
#define MAX_ORDER	999U

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
	len = vfprintf(events->out, fmt, args);
	va_end(args);
	note_error(events, len < 0);
	if (len > 0)
		events->size += len;
}

static void put_text(struct trace_events *events, const char *key, const char *text)
{
	put(events, ",\"%s\":", key);
	events->size += json_text__put(events->out, text);
}

static void put_args(struct trace_events *events, const char *key, const char *text)
{
	put(events, ",\"args\":{\"%s\":", key);
	events->size += json_text__put(events->out, text);
	put(events, "}");
}

/* Microseconds, exact: no floating point */
static void put_time(struct trace_events *events, const char *key, const char *sign, u64 ns)
{
	put(events, ",\"%s\":%s%" PRIu64 ".%03" PRIu64, key, sign, ns / NSEC_PER_USEC,
	    ns % NSEC_PER_USEC);
}

/* The time with the order as further digits. Before the origin, later is nearer to 0. */
static void put_ts(struct trace_events *events, u64 time, unsigned int order)
{
	if (time >= events->origin) {
		put_time(events, "ts", "", time - events->origin);
	} else if (!order) {
		put_time(events, "ts", "-", events->origin - time);
	} else {
		put_time(events, "ts", "-", events->origin - time - 1);
		order = MAX_ORDER + 1 - order;
	}
	put(events, "%03u", order);
}

static void put_event(struct trace_events *events, char phase, const struct trace_track *track,
		      u64 time, unsigned int order, const char *name)
{
	put(events, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d", events->nr++ ? "," : "", phase,
	    track->pid, track->tid);
	put_ts(events, time, order);
	put_text(events, "name", name);
}

static int end_event(struct trace_events *events)
{
	put(events, "}");
	note_error(events, ferror(events->out));
	return events->err;
}

/* May something be added? The first time that it may not, the picture says so. */
static int check_room(struct trace_events *events, const struct trace_track *track, u64 time)
{
	if (events->err || events->size < events->limit)
		return events->err;
	if (!events->full) {
		events->full = true;
		put_event(events, 'i', track, time, 0, LIMIT_REACHED);
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
	put_event(events, 'M', track, events->origin, 0, what);
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
	bool same = track->time == time;

	track->order = same ? min(track->order + 1, MAX_ORDER) : 0;
	track->time = time;
	put_event(events, phase, track, time, track->order, name);
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
	put_event(events, 'B', track, time, 0, name);
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
	put_event(events, 'X', track, time, 0, name);
	put_time(events, "dur", "", duration);
	if (note)
		put_args(events, "note", note);
	return end_event(events);
}

int trace_events__mark(struct trace_events *events, const struct trace_track *track, u64 time,
		       const char *name, const char *note)
{
	int err = check_room(events, track, time);

	if (err)
		return err;
	put_event(events, 'i', track, time, 0, name);
	put(events, ",\"s\":\"t\"");
	if (note)
		put_args(events, "note", note);
	return end_event(events);
}

int trace_events__count(struct trace_events *events, int pid, u64 time, const char *name,
			u64 value)
{
	const struct trace_track track = { .pid = pid, .tid = pid };
	int err = check_room(events, &track, time);

	if (err)
		return err;
	put_event(events, 'C', &track, time, 0, name);
	put(events, ",\"args\":{\"value\":%" PRIu64 "}", value);
	return end_event(events);
}

static void free_names(struct trace_events *events)
{
	zfree(&events->path);
	zfree(&events->temp);
}

static int copy_names(struct trace_events *events, const char *path)
{
	events->path = strdup(path);
	if (asprintf(&events->temp, "%s.%d.part", path, getpid()) < 0)
		events->temp = NULL;
	return events->path && events->temp ? 0 : -ENOMEM;
}

static int create(struct trace_events *events)
{
	int fd = open(events->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int err;

	if (fd < 0)
		return -errno;
	events->out = fdopen(fd, "w");
	if (events->out)
		return 0;
	err = -errno;
	close(fd);
	unlink(events->temp);
	return err;
}

int trace_events__open(struct trace_events *events, const char *path, u64 origin, u64 limit,
		       bool replace)
{
	int err;

	memset(events, 0, sizeof(*events));
	events->origin = origin;
	events->limit = limit;
	events->replace = replace;
	/* Say it now, not after the work. finish looks again. */
	if (!replace && !access(path, F_OK))
		return -EEXIST;
	err = copy_names(events, path);
	if (!err)
		err = create(events);
	if (err)
		free_names(events);
	else
		put(events, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	return err;
}

/* link() doesn't replace a file, rename() does */
static int give_name(struct trace_events *events)
{
	if (events->replace)
		return rename(events->temp, events->path) ? -errno : 0;
	if (link(events->temp, events->path))
		return -errno;
	unlink(events->temp);
	return 0;
}

int trace_events__finish(struct trace_events *events)
{
	int err;

	put(events, "\n],\"otherData\":{\"origin_ns\":\"%" PRIu64 "\"}}\n", events->origin);
	note_error(events, fflush(events->out) || fsync(fileno(events->out)));
	note_error(events, fclose(events->out));
	if (!events->err)
		events->err = give_name(events);
	if (events->err)
		unlink(events->temp);
	err = events->err;
	free_names(events);
	return err;
}

void trace_events__abort(struct trace_events *events)
{
	fclose(events->out);
	unlink(events->temp);
	free_names(events);
}
