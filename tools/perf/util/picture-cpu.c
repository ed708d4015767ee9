// SPDX-License-Identifier: GPL-2.0
/* Rows of CPUs; see picture.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "picture.h"

#define PROCESS		"CPUs"
#define NO_CPU		"any CPU"
#define NO_BEGIN	"its begin was not recorded"
#define NO_END		"its end was not recorded"
#define END		"the recording ends"
#define MAX_NAME	32

/* Rows in their process: the one without a CPU, then CPUs, then their idle threads */
#define IDLE		100000

static const struct trace_track no_cpu = {
	.pid	= PICTURE_CPUS_PID,
	.tid	= PICTURE_CPUS_PID,
};

static int name_process(struct picture *picture)
{
	if (picture->named)
		return 0;
	picture->named = true;
	return min(trace_events__name_process(&picture->events, PICTURE_CPUS_PID, PROCESS), 0);
}

static int name_row(struct picture *picture, const struct trace_track *row, int cpu)
{
	char name[MAX_NAME];

	if (cpu < 0)
		snprintf(name, sizeof(name), NO_CPU);
	else
		snprintf(name, sizeof(name), "CPU %d", cpu);
	return min(trace_events__name_thread(&picture->events, row, name), 0);
}

static struct picture_cpu *add(struct picture *picture, int cpu)
{
	struct picture_cpu *row = zalloc(sizeof(*row));

	if (!row)
		return NULL;
	row->row = no_cpu;
	row->row.tid += cpu + 1;
	if (!name_process(picture) && !name_row(picture, &row->row, cpu))
		return row;
	free(row);
	return NULL;
}

static int make_room(struct picture *picture, size_t nr)
{
	struct picture_cpu **cpus;

	if (nr <= picture->nr_cpus)
		return 0;
	cpus = realloc(picture->cpus, nr * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	memset(cpus + picture->nr_cpus, 0, (nr - picture->nr_cpus) * sizeof(*cpus));
	picture->cpus = cpus;
	picture->nr_cpus = nr;
	return 0;
}

/* The row without a CPU is the first one */
struct picture_cpu *picture__cpu(struct picture *picture, int cpu)
{
	size_t nr = cpu < 0 ? 0 : cpu + 1;

	if (make_room(picture, nr + 1))
		return NULL;
	if (!picture->cpus[nr])
		picture->cpus[nr] = add(picture, cpu < 0 ? -1 : cpu);
	return picture->cpus[nr];
}

struct picture_thread *picture__idle(struct picture *picture, int cpu)
{
	struct picture_cpu *row = picture__cpu(picture, cpu);
	char name[MAX_NAME];

	if (!row || row->idle)
		return row ? row->idle : NULL;
	snprintf(name, sizeof(name), "idle, CPU %d", max(cpu, 0));
	row->idle = picture__add_thread(picture, PICTURE_CPUS_PID, row->row.tid + IDLE, name);
	return row->idle;
}

/* ---- who ran */

static int slice(struct picture *picture, const struct picture_cpu *row, const char *name,
		 u64 since, u64 end, const char *note)
{
	if (end <= since)
		return 0;
	return min(trace_events__slice(&picture->events, &row->row, since, end - since, name, note),
		   0);
}

/* An empty place is idle: its thread is not work */
static int run(struct picture *picture, const struct picture_cpu *row, int tid, const char *name,
	       u64 end, const char *note)
{
	const struct perf_time_interval *range = picture->ranges;
	u64 since = row->since ?: picture->events.origin;
	int i, err = 0;

	if (!tid)
		return 0;
	if (!range)
		return slice(picture, row, name, since, end, note);
	for (i = 0; !err && i < picture->nr_ranges; i++, range++) {
		u64 last = range->end ? min(end, range->end) : end;

		err = slice(picture, row, name, max(since, range->start), last, note);
	}
	return err;
}

static int end_run(struct picture *picture, struct picture_cpu *row, u64 end, const char *note)
{
	int err;

	if (!row->name)
		return 0;
	err = run(picture, row, row->tid, row->name, end, note);
	zfree(&row->name);
	row->since = end;
	return err;
}

int picture__switch_in(struct picture *picture, int cpu, u64 time, int tid, const char *name)
{
	struct picture_cpu *row = picture__cpu(picture, cpu);
	int err;

	if (!row)
		return -ENOMEM;
	err = end_run(picture, row, time, NO_END);
	if (err)
		return err;
	row->since = time;
	row->tid = tid;
	row->name = strdup(name);
	return row->name ? 0 : -ENOMEM;
}

int picture__switch_out(struct picture *picture, int cpu, u64 time, int tid, const char *name,
			const char *note)
{
	struct picture_cpu *row = picture__cpu(picture, cpu);
	int err;

	if (!row)
		return -ENOMEM;
	if (row->name && row->tid == tid)
		return end_run(picture, row, time, note);
	err = end_run(picture, row, time, NO_END);
	if (!err)
		err = run(picture, row, tid, name, time, NO_BEGIN);
	row->since = time;
	return err;
}

int picture__mark_cpu(struct picture *picture, int cpu, u64 time, const char *name,
		      const char *note)
{
	struct picture_cpu *row = picture__cpu(picture, cpu);

	if (!row)
		return -ENOMEM;
	return min(trace_events__mark(&picture->events, &row->row, time, name, note), 0);
}

u64 picture__paused(const struct picture *picture, int cpu)
{
	size_t nr = cpu + 1;

	if (cpu < 0 || nr >= picture->nr_cpus || !picture->cpus[nr])
		return 0;
	return picture->cpus[nr]->paused;
}

int picture__end_cpus(struct picture *picture, u64 time)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < picture->nr_cpus; i++) {
		if (picture->cpus[i])
			err = end_run(picture, picture->cpus[i], time, END);
	}
	return err;
}

void picture__free_cpus(struct picture *picture)
{
	size_t i;

	for (i = 0; i < picture->nr_cpus; i++) {
		if (picture->cpus[i])
			free(picture->cpus[i]->name);
		free(picture->cpus[i]);
	}
	zfree(&picture->cpus);
	picture->nr_cpus = 0;
}
