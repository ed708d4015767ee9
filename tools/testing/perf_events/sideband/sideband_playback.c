// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>
#include <linux/perf_event.h>
#include "sideband_playback.h"

struct maps {
	int refs;
	int page[];
};

struct thread {
	int pid, tid;
	int comm;
	bool execed;
	struct maps *maps;
};

struct playback {
	int tids, pages;
	struct thread **thread;
	int symbol[WORLD_SLOTS];
	int cgroup[WORLD_SLOTS];
	int poke[WORLD_SLOTS];
};

struct item *items__add(struct items *items, struct item item)
{
	if (items->nr == items->alloc) {
		items->alloc = 2 * items->alloc + 64;
		items->item = realloc(items->item, items->alloc * sizeof(item));
		if (!items->item)
			abort();
	}
	items->item[items->nr] = item;
	return &items->item[items->nr++];
}

void items__drop_first(struct items *items, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		free(items->item[i].event);
	items->nr -= nr;
	if (items->nr)
		memmove(items->item, items->item + nr, items->nr * sizeof(*items->item));
}

void items__free(struct items *items)
{
	items__drop_first(items, items->nr);
	free(items->item);
	*items = (struct items) { .nr = 0, };
}

struct playback *playback__new(int tids, int pages)
{
	struct playback *pb = calloc(1, sizeof(*pb));
	int i;

	if (!pb)
		abort();
	pb->tids = tids;
	pb->pages = pages;
	pb->thread = calloc(tids, sizeof(*pb->thread));
	if (!pb->thread)
		abort();
	for (i = 0; i < WORLD_SLOTS; i++) {
		pb->symbol[i] = NOBODY;
		pb->cgroup[i] = NOBODY;
		pb->poke[i] = NOBODY;
	}
	return pb;
}

static void remove_thread(struct playback *pb, struct thread *thread)
{
	pb->thread[thread->tid] = NULL;
	if (!--thread->maps->refs)
		free(thread->maps);
	free(thread);
}

void playback__delete(struct playback *pb)
{
	int tid;

	for (tid = 0; tid < pb->tids; tid++) {
		if (pb->thread[tid])
			remove_thread(pb, pb->thread[tid]);
	}
	free(pb->thread);
	free(pb);
}

static struct maps *new_maps(int pages)
{
	struct maps *maps = malloc(sizeof(*maps) + pages * sizeof(maps->page[0]));
	int i;

	if (!maps)
		abort();
	maps->refs = 0;
	for (i = 0; i < pages; i++)
		maps->page[i] = NOBODY;
	return maps;
}

/* By tid alone, as perf does: a tid known from another process is still that thread */
static struct thread *findnew(struct playback *pb, int pid, int tid)
{
	struct thread *thread = pb->thread[tid];

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		abort();
	thread->pid = pid;
	thread->tid = tid;
	thread->comm = NOBODY;
	pb->thread[tid] = thread;
	thread->maps = pid == tid ? new_maps(pb->pages) : findnew(pb, pid, pid)->maps;
	thread->maps->refs++;
	return thread;
}

static void play_fork(struct playback *pb, const struct perf_record_fork *fork)
{
	struct thread *old = pb->thread[fork->tid];
	struct thread *parent = findnew(pb, fork->ppid, fork->ptid), *thread;

	if (parent->pid != (int)fork->ppid) {
		if (old == parent)
			old = NULL;
		remove_thread(pb, parent);
		parent = findnew(pb, fork->ppid, fork->ptid);
	}
	if (old)
		remove_thread(pb, old);
	thread = findnew(pb, fork->pid, fork->tid);
	parent = findnew(pb, fork->ppid, fork->ptid);
	thread->comm = parent->comm;
	if (thread->pid != parent->pid && thread->maps != parent->maps &&
	    !(fork->header.misc & PERF_RECORD_MISC_FORK_EXEC))
		memcpy(thread->maps->page, parent->maps->page,
		       pb->pages * sizeof(thread->maps->page[0]));
}

static void play_mmap(struct playback *pb, const struct perf_record_mmap2 *mmap)
{
	struct thread *thread = findnew(pb, mmap->pid, mmap->tid);
	u64 page = mmap->start / WORLD_PAGE, end = (mmap->start + mmap->len) / WORLD_PAGE;

	for (; page < end && page < (u64)pb->pages; page++)
		thread->maps->page[page] = (int)mmap->pgoff;
}

static void play_comm(struct playback *pb, const struct perf_record_comm *comm)
{
	struct thread *thread = findnew(pb, comm->pid, comm->tid);

	thread->comm = atoi(comm->comm);
	thread->execed = comm->header.misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void play_ksymbol(struct playback *pb, const struct perf_record_ksymbol *ksymbol)
{
	int *symbol = &pb->symbol[ksymbol->addr / WORLD_PAGE];

	if (ksymbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		*symbol = NOBODY;
	else if (*symbol == NOBODY)
		*symbol = atoi(ksymbol->name);
	/* else it adds a symbol within one that is assumed to exist */
}

void playback__event(struct playback *pb, const union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_FORK:
		play_fork(pb, &event->fork);
		break;
	case PERF_RECORD_COMM:
		play_comm(pb, &event->comm);
		break;
	case PERF_RECORD_MMAP2:
		play_mmap(pb, &event->mmap2);
		break;
	case PERF_RECORD_KSYMBOL:
		play_ksymbol(pb, &event->ksymbol);
		break;
	case PERF_RECORD_CGROUP:
		pb->cgroup[event->cgroup.id] = atoi(event->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		pb->poke[event->text_poke.addr / WORLD_PAGE] = event->text_poke.bytes[1];
		break;
	default:
		break;
	}
}

int playback__comm(const struct playback *pb, int tid)
{
	return pb->thread[tid] ? pb->thread[tid]->comm : NOBODY;
}

bool playback__has_execed(const struct playback *pb, int tid)
{
	return pb->thread[tid] && pb->thread[tid]->execed;
}

int playback__map(const struct playback *pb, int tid, int page)
{
	return pb->thread[tid] ? pb->thread[tid]->maps->page[page] : NOBODY;
}

static bool agrees(int expected, int found, const char *what, int tid, const char *why)
{
	if (expected == NOBODY || expected == found)
		return true;
	if (why)
		printf("# %s: %s of tid %d: %d expected, %d found\n", why, what, tid, expected,
		       found);
	return false;
}

/* Whether the sample resolves. If not, print the reason, unless @why is NULL. */
static bool resolves(const struct playback *pb, const struct expectation *e, const char *why)
{
	bool ok = true;

	if (e->tid != NOBODY) {
		ok &= agrees(e->comm, playback__comm(pb, e->tid), "comm", e->tid, why);
		ok &= agrees(e->map, playback__map(pb, e->tid, e->page), "map", e->tid, why);
	}
	if (e->slot != NOBODY) {
		ok &= agrees(e->symbol, pb->symbol[e->slot], "symbol", e->slot, why);
		ok &= agrees(e->cgroup, pb->cgroup[e->slot], "cgroup", e->slot, why);
		ok &= agrees(e->poke, pb->poke[e->slot], "text poke", e->slot, why);
	}
	return ok;
}

static int cmp_items(const void *a, const void *b)
{
	const struct item *l = a, *r = b;

	if (l->time != r->time)
		return l->time < r->time ? -1 : 1;
	return l->order < r->order ? -1 : l->order > r->order;
}

/* Deliver what is queued up to @limit, in order of time. Return the number of faults. */
static unsigned int flush(struct playback *pb, struct items *queue, u64 limit, u64 *last,
			  const char *why)
{
	unsigned int wrong = 0;
	size_t i;

	if (queue->nr)
		qsort(queue->item, queue->nr, sizeof(*queue->item), cmp_items);
	for (i = 0; i < queue->nr && queue->item[i].time <= limit; i++) {
		struct item *item = &queue->item[i];

		if (item->time < *last) {
			if (why)
				printf("# %s: a record comes too late\n", why);
			wrong++;
		}
		*last = item->time;
		if (item->event)
			playback__event(pb, item->event);
		else
			wrong += !resolves(pb, &item->expect, why);
		item->event = NULL;
	}
	items__drop_first(queue, i);
	return wrong;
}

unsigned int playback__file(const struct items *file, const char *why)
{
	struct playback *pb = playback__new(WORLD_TIDS, WORLD_PAGES);
	u64 limit = 0, max = 0, last = 0;
	struct items queue = { .nr = 0, };
	unsigned int wrong = 0;
	struct item item;
	size_t i;

	for (i = 0; i < file->nr; i++) {
		item = file->item[i];
		item.order = i;
		if (item.finished_round) {
			wrong += flush(pb, &queue, limit, &last, why);
			limit = max;
		} else if (!item.time) {
			playback__event(pb, item.event);
		} else {
			items__add(&queue, item);
			if (max < item.time)
				max = item.time;
		}
	}
	wrong += flush(pb, &queue, ~0ULL, &last, why);
	free(queue.item);
	playback__delete(pb);
	return wrong;
}
