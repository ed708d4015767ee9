// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-shortlived.c: Processes that begin and end between two prunes
 *
 * With many short-lived processes, most side-band is about them. Applied record by
 * record, it would leave nothing in the state. So these records are skipped. The
 * records of a process can be skipped if the FORKs and EXITs of the process and of all
 * its threads are due, if all its other due records are between them, and if the records
 * of all its children are skipped, too.
 */
#include <errno.h>
#include <string.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

/* A table begins with one entry for 1 << SHORTLIVED_SPARE records or a few more */
#define SHORTLIVED_SPARE	2

/* Fewer records than this are faster to apply than to scan */
#define SCAN_MIN	64

/**
 * struct shortlived_tid - What the due records say about a tid
 * @tid:    the tid
 * @pid:    its process in the first record
 * @alive:  if it is a pid: number of threads of the process with a FORK and no EXIT
 * @used:   this entry is in use
 * @gone:   it had an EXIT
 * @needed: the records of a process with this pid can't be skipped
 */
struct shortlived_tid {
	u32	tid;
	u32	pid;
	u32	alive : 29;
	u32	used : 1;
	u32	gone : 1;
	u32	needed : 1;
};

/* The entry of @tid, or the free entry for it */
static struct shortlived_tid *shortlived__find(const struct sideband_shortlived *sl, u32 tid)
{
	size_t i = hash_32(tid, sl->bits);

	while (sl->table[i].used && sl->table[i].tid != tid)
		i = (i + 1) % (1UL << sl->bits);
	return &sl->table[i];
}

static struct shortlived_tid *shortlived__add(struct sideband_shortlived *sl, u32 tid, u32 pid)
{
	struct shortlived_tid *entry = shortlived__find(sl, tid);

	if (!entry->used) {
		entry->tid = tid;
		entry->pid = pid;
		entry->used = true;
		sl->nr++;
	}
	return entry;
}

static void shortlived__need(struct sideband_shortlived *sl, u32 pid)
{
	shortlived__add(sl, pid, pid)->needed = true;
}

/* The entry of a live process whose FORK is due. NULL: there is none. */
static struct shortlived_tid *shortlived__find_process(struct sideband_shortlived *sl, u32 pid)
{
	struct shortlived_tid *entry = shortlived__find(sl, pid);

	return entry->alive ? entry : NULL;
}

/* A FORK. If the tid still has an owner, the FORK is needed, because it replaces that one. */
static void shortlived__begin(struct sideband_store *store, u32 pid, u32 tid)
{
	struct sideband_shortlived *sl = &store->shortlived;
	struct shortlived_tid *process;

	if (shortlived__find(sl, tid)->used || sideband_tasks__find(store, tid)) {
		shortlived__need(sl, pid);
		return;
	}
	process = shortlived__add(sl, tid, pid);
	if (tid != pid)
		process = shortlived__find_process(sl, pid);
	if (process)
		process->alive++;
	else
		shortlived__need(sl, pid);
}

/* A record about thread @tid of @pid. It is needed unless both are known and alive. */
static void shortlived__mention(struct sideband_shortlived *sl, u32 pid, u32 tid)
{
	const struct shortlived_tid *thread = shortlived__find(sl, tid);

	if (shortlived__find_process(sl, pid) && thread->used && thread->pid == pid &&
	    !thread->gone)
		return;
	shortlived__need(sl, pid);
	shortlived__need(sl, tid);
}

static void shortlived__end(struct sideband_shortlived *sl, u32 pid, u32 tid)
{
	struct shortlived_tid *process = shortlived__find_process(sl, pid);

	shortlived__mention(sl, pid, tid);
	shortlived__find(sl, tid)->gone = true;
	if (process)
		process->alive--;
}

static void shortlived__add_record(struct sideband_store *store,
				   const struct sideband_pending_record *pending)
{
	if (!pending->of_task)
		return;
	if (pending->type == PERF_RECORD_FORK)
		shortlived__begin(store, pending->pid, pending->tid);
	else if (pending->type == PERF_RECORD_EXIT)
		shortlived__end(&store->shortlived, pending->pid, pending->tid);
	else
		shortlived__mention(&store->shortlived, pending->pid, pending->tid);
}

static size_t shortlived__size(const struct sideband_shortlived *sl)
{
	return sl->table ? sizeof(*sl->table) << sl->bits : 0;
}

/* Make an empty table of 1 << @bits entries. Reuse the last one if its size is about right. */
static int shortlived__init(struct sideband_store *store, unsigned int bits)
{
	struct sideband_shortlived *sl = &store->shortlived;

	if (!sl->table || bits > sl->bits || bits + 2 < sl->bits) {
		sideband_shortlived__exit(store);
		sl->bits = bits;
		sl->table = sideband_store__alloc(store, sizeof(*sl->table) << bits);
		if (!sl->table)
			return -ENOMEM;
	}
	sl->nr = 0;
	sl->known = true;
	memset(sl->table, 0, shortlived__size(sl));
	return 0;
}

/*
 * A process that is not skipped may have inherited from its parent, so its parent is
 * needed, too. Go backwards, because a child's FORK comes after its parent's.
 */
static void shortlived__need_parents(struct sideband_store *store, size_t end)
{
	const struct sideband_pending *p = &store->pending;
	u32 ppid;

	while (end-- > p->first) {
		const struct sideband_pending_record *pending = &p->index[end];

		if (pending->type != PERF_RECORD_FORK ||
		    sideband_shortlived__is_complete(store, pending))
			continue;
		/* If the parent has no due records, the entry is unused and stays so */
		ppid = sideband_pending__event(pending)->fork.ppid;
		shortlived__find(&store->shortlived, ppid)->needed = true;
	}
}

/* Fill the table. false: it is too small. */
static bool shortlived__fill(struct sideband_store *store, size_t end)
{
	const struct sideband_pending *p = &store->pending;
	struct sideband_shortlived *sl = &store->shortlived;
	size_t i;

	for (i = p->first; i < end; i++) {
		/* A record adds two entries at most. A quarter stays free for short searches. */
		if (sl->nr + 2 > 3UL << sl->bits >> 2)
			return false;
		shortlived__add_record(store, &p->index[i]);
	}
	return true;
}

void sideband_shortlived__scan(struct sideband_store *store, size_t end)
{
	size_t nr = end - store->pending.first;
	unsigned int bits;

	if (nr < SCAN_MIN)
		return;
	/* Begin with a small table: it stays in the caches, and most tids have many records */
	for (bits = ilog2(nr) - SHORTLIVED_SPARE; !shortlived__init(store, bits);
	     bits += SHORTLIVED_SPARE) {
		if (shortlived__fill(store, end)) {
			shortlived__need_parents(store, end);
			return;
		}
	}
	sideband_shortlived__forget(store);
}

bool sideband_shortlived__is_complete(const struct sideband_store *store,
				      const struct sideband_pending_record *pending)
{
	const struct shortlived_tid *entry;

	if (!store->shortlived.known || !pending->of_task)
		return false;
	entry = shortlived__find(&store->shortlived, pending->pid);
	return entry->used && !entry->alive && !entry->needed;
}

void sideband_shortlived__forget(struct sideband_store *store)
{
	store->shortlived.known = false;
}

void sideband_shortlived__exit(struct sideband_store *store)
{
	sideband_store__free(store, store->shortlived.table, shortlived__size(&store->shortlived));
	store->shortlived.table = NULL;
}
