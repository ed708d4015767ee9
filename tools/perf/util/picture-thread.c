// SPDX-License-Identifier: GPL-2.0
/* Rows of threads; see picture.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "picture.h"

#define WINDOW		"[window]"
#define LOST		"[trace lost]"
#define OF_TRACE	"trace"

static struct picture_thread *thread_of(struct call_track *calls)
{
	return container_of(calls, struct picture_thread, calls);
}

static const struct picture_function *shown(const struct call_function *function)
{
	return container_of(function, struct picture_function, call);
}

/* ---- what call-track.h reports */

static int on_begin(struct call_track *calls, const struct call_function *function, u64 time)
{
	struct picture_thread *thread = thread_of(calls);

	return trace_events__begin(&thread->picture->events, &thread->row, time,
				   shown(function)->name, shown(function)->dso);
}

static int on_end(struct call_track *calls, const struct call_function *function, u64 time)
{
	struct picture_thread *thread = thread_of(calls);

	return trace_events__end(&thread->picture->events, &thread->row, time,
				 shown(function)->name);
}

static int on_around(struct call_track *calls, const struct call_function *function, u64 time)
{
	struct picture_thread *thread = thread_of(calls);

	return trace_events__around(&thread->picture->events, &thread->row, time,
				    shown(function)->name, shown(function)->dso);
}

/* A nanosecond before its first call, which it encloses: see push_around() of call-track.c */
static int on_window(struct call_track *calls, u64 time, u64 end)
{
	struct picture_thread *thread = thread_of(calls);
	struct trace_events *events = &thread->picture->events;
	int err;

	if (!thread->picture->windows)
		return 0;
	err = trace_events__around(events, &thread->row, time - 1, WINDOW, OF_TRACE);
	if (err)
		return min(err, 0);
	return trace_events__end(events, &thread->row, end, WINDOW);
}

static const struct call_track_ops calls_ops = {
	.begin	= on_begin,
	.end	= on_end,
	.around	= on_around,
	.window	= on_window,
};

/* ---- the same, for folded stacks */

static int add_folded(struct picture_thread *thread)
{
	return folded_stack__add_to(&thread->folded, &thread->picture->folded, thread->name);
}

/* What was called before the outermost call has nothing to do with it */
static int fold_begin(struct call_track *calls, const struct call_function *function, u64 time)
{
	struct picture_thread *thread = thread_of(calls);
	int err = thread->folded.depth ? 0 : add_folded(thread);

	return err ?: folded_stack__begin(&thread->folded, shown(function)->name, time);
}

static int fold_end(struct call_track *calls,
		    const struct call_function *function __maybe_unused, u64 time)
{
	folded_stack__end(&thread_of(calls)->folded, time);
	return 0;
}

static int fold_around(struct call_track *calls, const struct call_function *function,
		       u64 time __maybe_unused)
{
	return folded_stack__around(&thread_of(calls)->folded, shown(function)->name, calls->time);
}

static const struct call_track_ops fold_ops = {
	.begin	= fold_begin,
	.end	= fold_end,
	.around	= fold_around,
};

/* ---- a row */

int picture_thread__rename(struct picture_thread *thread, const char *name)
{
	char *copy;

	if (thread->name && !strcmp(thread->name, name))
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(thread->name);
	thread->name = copy;
	return min(trace_events__name_thread(&thread->picture->events, &thread->row, name), 0);
}

static int name_process(struct picture_thread *thread, const char *name)
{
	struct trace_events *events = &thread->picture->events;

	if (thread->row.pid != thread->row.tid)
		return 0;
	return min(trace_events__name_process(events, thread->row.pid, name), 0);
}

static void free_thread(struct picture_thread *thread)
{
	list_del(&thread->node);
	call_track__exit(&thread->calls);
	folded_stack__exit(&thread->folded);
	free(thread->name);
	free(thread);
}

struct picture_thread *picture__add_thread(struct picture *picture, int pid, int tid,
					   const char *name)
{
	struct picture_thread *thread = zalloc(sizeof(*thread));

	if (!thread)
		return NULL;
	thread->picture = picture;
	thread->row.pid = pid;
	thread->row.tid = tid;
	thread->cpu = -1;
	call_track__init(&thread->calls, picture->fold ? &fold_ops : &calls_ops);
	folded_stack__init(&thread->folded);
	list_add_tail(&thread->node, &picture->threads);
	if (!name_process(thread, name) && !picture_thread__rename(thread, name))
		return thread;
	free_thread(thread);
	return NULL;
}

void picture__free_threads(struct picture *picture)
{
	struct picture_thread *thread, *next;

	list_for_each_entry_safe(thread, next, &picture->threads, node)
		free_thread(thread);
}

int picture_thread__cut(struct picture_thread *thread)
{
	return call_track__cut(&thread->calls);
}

/* ---- branches */

/*
 * Was the trace paused since it has begun last, here or where the thread ran then? If it
 * goes on where it has ended, and others have paused it, then not for this thread: its
 * window goes with it.
 */
static bool was_paused(const struct picture_thread *thread, int cpu,
		       const struct call_branch *branch)
{
	const struct picture *picture = thread->picture;

	if (thread->paused > thread->begun)
		return true;
	if (call_track__goes_on(&thread->calls, branch->to))
		return false;
	return picture__paused(picture, thread->cpu) > thread->begun ||
	       (cpu != thread->cpu && picture__paused(picture, cpu) > thread->calls.time);
}

static int begin_trace(struct picture_thread *thread, int cpu, const struct call_branch *branch)
{
	int err = was_paused(thread, cpu, branch) ? call_track__cut(&thread->calls) : 0;

	thread->begun = branch->time;
	return err;
}

/* It was lost until now */
static int find_again(struct picture_thread *thread, u64 time)
{
	u64 lost = thread->lost;

	thread->lost = 0;
	if (time <= lost)
		return 0;
	return min(trace_events__slice(&thread->picture->events, &thread->row, lost, time - lost,
				       LOST, thread->why), 0);
}

int picture_thread__end(struct picture_thread *thread, u64 time)
{
	int err = call_track__cut(&thread->calls);

	if (!err && thread->lost)
		err = find_again(thread, time);
	return err ?: add_folded(thread);
}

int picture_thread__delete(struct picture_thread *thread, u64 time)
{
	int err = picture_thread__end(thread, time);

	free_thread(thread);
	return err;
}

int picture_thread__branch(struct picture_thread *thread, int cpu,
			   const struct call_branch *branch)
{
	int err = 0;

	if (thread->lost)
		err = find_again(thread, branch->time);
	if (!err && !branch->from)
		err = begin_trace(thread, cpu, branch);
	thread->cpu = cpu;
	return err ?: call_track__branch(&thread->calls, branch);
}

int picture_thread__pause(struct picture_thread *thread, int cpu, u64 time)
{
	struct picture_cpu *row;

	thread->paused = time;
	if (cpu < 0)
		return 0;
	row = picture__cpu(thread->picture, cpu);
	if (!row)
		return -ENOMEM;
	row->paused = time;
	return 0;
}

int picture_thread__lose(struct picture_thread *thread, u64 time, const char *why)
{
	int err = call_track__cut(&thread->calls);

	if (!thread->lost)
		thread->lost = max(time, thread->calls.time);
	snprintf(thread->why, sizeof(thread->why), "%s", why);
	return err;
}

int picture_thread__mark(struct picture_thread *thread, u64 time, const char *name,
			 const char *note)
{
	return min(trace_events__mark(&thread->picture->events, &thread->row, time, name, note), 0);
}
