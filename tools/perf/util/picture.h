/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PICTURE_H
#define __PERF_PICTURE_H 1

/*
 * A picture of a recording: rows of threads with their calls, and rows of CPUs with who ran.
 * It has no types of perf's sessions: data-convert-trace-events.c fills it with what is in
 * a file.
 *
 * A row of a thread has the thread's numbers. The rows of CPUs, and what belongs to none,
 * belong to a process that can't be, as its number is too large.
 *
 * Functions that return an int return 0, or a negative error. If the file has reached its
 * limit, they return 0, and nothing is added: see trace_events.full.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/list.h>
#include <linux/types.h>
#include "call-track.h"
#include "folded.h"
#include "picture-functions.h"
#include "time-utils.h"
#include "trace-events.h"

/* Larger than any number of a process */
#define PICTURE_CPUS_PID	5000000

#define PICTURE_MAX_WHY		64

/**
 * struct picture_thread - The row of a thread
 * @node:   in the picture's list
 * @folded: its calls, if stacks are folded
 * @name:   what it is called now
 * @places: where the last branch was from, and where to
 * @to:	    the address where to
 * @part:   of the recording; what is in another one has nothing to do with this
 * @cpu:    of the last branch
 * @begun:  when its trace has begun last
 * @paused: when it has paused the trace last
 * @lost:   since then its trace is lost; 0: it isn't
 * @why:    the reason of that
 */
struct picture_thread {
	struct picture		*picture;
	struct list_head	node;
	struct trace_track	row;
	struct call_track	calls;
	struct folded_stack	folded;
	char			*name;
	struct picture_place	places[2];
	u64			to;
	int			part;
	int			cpu;
	u64			begun;
	u64			paused;
	u64			lost;
	char			why[PICTURE_MAX_WHY];
};

/**
 * struct picture_cpu - The row of a CPU
 * @idle:   the row of its idle thread
 * @paused: when the trace was paused last by a thread that ran there
 * @tid:    the thread that runs
 * @name:   its name; NULL: it isn't known who runs
 * @since:  when it began to, or when the last one ceased to
 */
struct picture_cpu {
	struct trace_track	row;
	struct picture_thread	*idle;
	u64			paused;
	int			tid;
	char			*name;
	u64			since;
};

/**
 * struct picture - A picture that is being made
 * @cpus:      by their numbers, after the row for what belongs to none
 * @ranges:    of who ran, only this is shown; NULL: all
 * @nr_ranges: so many
 * @named:     the process of the CPUs has its name
 * @folded:    has the stacks of all threads
 * @fold:      make folded stacks of calls, and no file of events
 * @windows:   events pause and resume the trace. What is traced in between is a slice.
 */
struct picture {
	struct trace_events		events;
	struct picture_functions	functions;
	struct list_head		threads;
	struct picture_cpu		**cpus;
	size_t				nr_cpus;
	const struct perf_time_interval	*ranges;
	int				nr_ranges;
	struct folded_node		folded;
	bool				fold;
	bool				named;
	bool				windows;
};

void picture__init(struct picture *picture);
/* Which of the ranges has that time? -1: none */
int picture__range(const struct picture *picture, u64 time);
/* Frees all. The file has to be finished or aborted before. */
void picture__exit(struct picture *picture);

/* All calls end, and whoever runs now does so until @time: before the file is finished */
int picture__end(struct picture *picture, u64 time);

/* ---- threads: picture-thread.c */

/* @pid: its process. Return NULL if there is no memory, or the file can't be written. */
struct picture_thread *picture__add_thread(struct picture *picture, int pid, int tid,
					   const char *name);

void picture__free_threads(struct picture *picture);

/* It ends at @time, and its calls where its trace does. It mustn't be used any more. */
int picture_thread__delete(struct picture_thread *thread, u64 time);

/* At @time it is over, and what is lost isn't found again */
int picture_thread__end(struct picture_thread *thread, u64 time);

/* Show its name from now on, in place of the last one */
int picture_thread__rename(struct picture_thread *thread, const char *name);

/**
 * picture_thread__branch - It has branched
 * @cpu: where it runs
 *
 * A window begins, if the trace was paused since it has begun last.
 */
int picture_thread__branch(struct picture_thread *thread, int cpu,
			   const struct call_branch *branch);

/* It has paused the trace: of itself, and of @cpu; -1: of no CPU in particular */
int picture_thread__pause(struct picture_thread *thread, int cpu, u64 time);

/* Its trace ends: with what comes next a window begins */
int picture_thread__cut(struct picture_thread *thread);

/* Its trace is lost from now on until the next branch, or the end, which is shown */
int picture_thread__lose(struct picture_thread *thread, u64 time, const char *why);

/* Something happens at a time. @note: more about it, or NULL */
int picture_thread__mark(struct picture_thread *thread, u64 time, const char *name,
			 const char *note);

/* ---- CPUs: picture-cpu.c */

/* -1: the row for what belongs to no CPU. Return NULL as picture__add_thread() does. */
struct picture_cpu *picture__cpu(struct picture *picture, int cpu);

/* The row of its idle thread, which is one of its own on each CPU */
struct picture_thread *picture__idle(struct picture *picture, int cpu);

/* When a thread that ran there has paused the trace last; 0: none has */
u64 picture__paused(const struct picture *picture, int cpu);

/* A thread begins to run there, or ceases to. 0 is idle. @note: more about that, or NULL */
int picture__switch_in(struct picture *picture, int cpu, u64 time, int tid, const char *name);
int picture__switch_out(struct picture *picture, int cpu, u64 time, int tid, const char *name,
			const char *note);

int picture__mark_cpu(struct picture *picture, int cpu, u64 time, const char *name,
		      const char *note);

int picture__end_cpus(struct picture *picture, u64 time);
void picture__free_cpus(struct picture *picture);

/* ---- dumps: picture-dump.c */

/*
 * Mark a dump in all rows. @why: what the header says; a trigger's name is the mark's.
 * The mark is where @why says, if that is within the recording, else at its @end.
 */
int picture__mark_dump(struct picture *picture, const char *why, u64 end);

#endif /* __PERF_PICTURE_H */
