// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-dump.c: Dump the records of a sideband-store
 *
 * A reader of the file plays the records back: a FORK copies the mappings and the
 * name that the parent has at that moment. The dump may lack the parent, or what it
 * had then. In that case the child gets its own copies of the records that it
 * inherited.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include "sideband-state.h"

/*
 * @record:  called for each record
 * @written: records up to this number are left out
 * @copy:    buffer for a record that has to be changed
 */
struct writer {
	struct sideband_store	*store;
	sideband_record_t	record;
	void			*arg;
	u64			written;
	int			err;
	u64			copy[SZ_64K / sizeof(u64)];
};

static void writer__add(struct writer *w, const union perf_event *event)
{
	if (!w->err)
		w->err = w->record(w->arg, event);
}

/* Copy @event, so that it can be changed and added */
static union perf_event *writer__copy(struct writer *w, const union perf_event *event)
{
	return memcpy(w->copy, event, event->header.size);
}

/* Convert @time from store time to the present clock, and set it in @event, a copy. 0: no time. */
static void writer__set_time(struct writer *w, union perf_event *event, u64 time)
{
	void *field = sideband_store__trailer(w->store, event, PERF_SAMPLE_TIME);

	if (time)
		time -= min(w->store->set_back, time - 1);
	if (field)
		memcpy(field, &time, sizeof(time));
}

/* Add @event unchanged, except that its time stamp is in time of the present clock */
static void writer__add_unchanged(struct writer *w, const union perf_event *event, u64 time)
{
	union perf_event *copy;

	if (w->store->set_back) {
		copy = writer__copy(w, event);
		writer__set_time(w, copy, time);
		event = copy;
	}
	writer__add(w, event);
}

/* Add a copy of @rec, but with the ids of @task and the time of its fork */
static void writer__add_inherited(struct writer *w, struct sideband_record *rec,
				  struct sideband_task *task)
{
	u32 ids[2] = { task->process->pid, task->tid };
	union perf_event *event = writer__copy(w, sideband_record__event(rec));
	void *field;

	if (event->header.type == PERF_RECORD_COMM)
		event->header.misc &= ~PERF_RECORD_MISC_COMM_EXEC;
	/* at the same place in COMM, MMAP and MMAP2 */
	event->comm.pid = ids[0];
	event->comm.tid = ids[1];
	field = sideband_store__trailer(w->store, event, PERF_SAMPLE_TID);
	if (field)
		memcpy(field, ids, sizeof(ids));
	writer__set_time(w, event, task->fork->time);
	writer__add(w, event);
}

/* When its FORK is played back, does @process get all mappings that it inherited? */
static bool parent_has_maps(struct sideband_store *store, struct sideband_process *process)
{
	struct sideband_process *parent;
	struct sideband_segment *seg;

	parent = sideband_tasks__find_process(store, process->ppid);
	if (!parent || parent->serial != process->parent)
		parent = NULL;
	if (parent && parent->maps == process->maps)
		return true;
	for (seg = sideband_maps__first(process->maps); seg; seg = sideband_maps__next(seg)) {
		if (seg->rec->owner != process->serial &&
		    !(parent && sideband_maps__has(parent->maps, seg->rec)))
			return false;
	}
	return true;
}

/* The thread that forked @task, if it is still alive */
static struct sideband_task *task__creator(struct sideband_store *store,
					   struct sideband_task *task)
{
	struct sideband_task *creator = sideband_tasks__find(store, task->ptid);

	return creator && creator->serial == task->parent ? creator : NULL;
}

static int cmp_age(const void *a, const void *b)
{
	const struct sideband_record *l = *(struct sideband_record * const *)a;
	const struct sideband_record *r = *(struct sideband_record * const *)b;

	return sideband_record__older(l, r) ? -1 : sideband_record__older(r, l);
}

/* Oldest first, because newer ones hide parts of older ones */
static void writer__add_inherited_maps(struct writer *w, struct sideband_process *process)
{
	const struct sideband_maps *maps = process->maps;
	struct sideband_record **recs = malloc(maps->nr * sizeof(*recs));
	struct sideband_segment *seg;
	unsigned int i, nr = 0;

	if (!recs) {
		w->err = -ENOMEM;
		return;
	}
	for (seg = sideband_maps__first(maps); seg; seg = sideband_maps__next(seg)) {
		if (seg->rec->owner != process->serial)
			recs[nr++] = seg->rec;
	}
	qsort(recs, nr, sizeof(*recs), cmp_age);
	for (i = 0; i < nr; i++) {
		if (!i || recs[i] != recs[i - 1])
			writer__add_inherited(w, recs[i], process->leader);
	}
	free(recs);
}

static void writer__add_fork(struct writer *w, struct sideband_record *rec)
{
	struct sideband_task *task = rec->task;
	struct sideband_process *process = task->process;
	struct sideband_task *creator = task__creator(w->store, task);
	bool no_maps = task == process->leader && !parent_has_maps(w->store, process);
	union perf_event *event = writer__copy(w, sideband_record__event(rec));

	/* in playback, the tid of a thread that is gone may be that of an earlier thread */
	if (!creator)
		event->fork.ptid = event->fork.ppid;
	if (no_maps)
		event->header.misc |= PERF_RECORD_MISC_FORK_EXEC;
	writer__set_time(w, event, rec->time);
	writer__add(w, event);
	if (no_maps)
		writer__add_inherited_maps(w, process);
	if (task->comm && task->comm->owner != task->serial &&
	    !(creator && creator->comm == task->comm))
		writer__add_inherited(w, task->comm, task);
}

static void writer__add_record(struct writer *w, struct sideband_record *rec)
{
	if (rec->seq <= w->written || rec->orphan)
		return;
	if (rec->task)
		writer__add_fork(w, rec);
	else
		writer__add_unchanged(w, sideband_record__event(rec), rec->time);
}

static void writer__add_pending(struct writer *w, const struct sideband_pending_record *pending)
{
	if (sideband_pending__logged(pending)->seq > w->written)
		writer__add_unchanged(w, sideband_pending__event(pending), pending->time);
}

/* The record in force after @pos: first those without time, then those with */
static struct sideband_record *store__next(struct sideband_store *store,
					   struct list_head *pos)
{
	pos = pos->next;
	if (pos == &store->untimed)
		pos = store->timed.next;
	return pos == &store->timed ? NULL : list_entry(pos, struct sideband_record, list);
}

/* Is @rec older than the next pending record, if there is one? */
static bool record__is_next(const struct sideband_record *rec,
			    const struct sideband_pending_record *pending, size_t nr)
{
	if (!nr)
		return true;
	if (rec->time != pending->time)
		return rec->time < pending->time;
	return rec->seq < sideband_pending__logged(pending)->seq;
}

static int writer__add_all(struct writer *w)
{
	struct sideband_store *store = w->store;
	struct sideband_record *rec = store__next(store, &store->untimed);
	struct sideband_pending_record *pending;
	size_t nr, i = 0;

	pending = sideband_pending__by_time(&store->pending, &nr);
	if (!pending)
		return -ENOMEM;
	while ((rec || i < nr) && !w->err) {
		if (rec && record__is_next(rec, pending + i, nr - i)) {
			writer__add_record(w, rec);
			rec = store__next(store, &rec->list);
		} else {
			writer__add_pending(w, pending + i++);
		}
	}
	free(pending);
	return w->err;
}

int sideband_store__dump(struct sideband_store *store, enum sideband_dump_mode mode,
			 sideband_record_t record, void *arg)
{
	struct writer *w = malloc(sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->store = store;
	w->record = record;
	w->arg = arg;
	w->written = mode == SIDEBAND_DUMP_NEW ? store->written : 0;
	w->err = 0;
	err = writer__add_all(w);
	free(w);
	return err;
}
