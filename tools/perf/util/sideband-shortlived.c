// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-shortlived.c: Processes that live and die between two prunes
 *
 * With many short-lived processes, most side-band is about these. Applied record by
 * record it would leave nothing in the state, so it need not be applied. The records
 * of a process can be left out if the FORKs and EXITs of the process and of all its
 * threads are due, if all its other records that are due are between them, and if all
 * its children are left out, too.
 */
#include <errno.h>
#include <string.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

/* The first table has one entry for 1 << SHORTLIVED_SPARE records or a few more */
#define SHORTLIVED_SPARE	2

/* For fewer records than this it is faster to apply them than to scan them */
#define LIVES_MIN	64

/**
 * struct sideband_life - What the due records say about a tid
 * @tid:    the tid
 * @pid:    its process in the first record
 * @alive:  if this is a pid: threads of the process with a FORK and no EXIT
 * @used:   this entry is in use
 * @gone:   it had an EXIT
 * @needed: the records of a process with this pid can't be left out
 */
struct sideband_life {
	u32	tid;
	u32	pid;
	u32	alive : 29;
	u32	used : 1;
	u32	gone : 1;
	u32	needed : 1;
};

/* The entry of @tid, or the free entry for it */
static struct sideband_life *shortlived__find(const struct sideband_shortlived *lives, u32 tid)
{
	size_t i = hash_32(tid, lives->bits);

	while (lives->table[i].used && lives->table[i].tid != tid)
		i = (i + 1) % (1UL << lives->bits);
	return &lives->table[i];
}

static struct sideband_life *shortlived__add(struct sideband_shortlived *lives, u32 tid, u32 pid)
{
	struct sideband_life *life = shortlived__find(lives, tid);

	if (!life->used) {
		life->tid = tid;
		life->pid = pid;
		life->used = true;
		lives->nr++;
	}
	return life;
}

static void shortlived__need(struct sideband_shortlived *lives, u32 pid)
{
	shortlived__add(lives, pid, pid)->needed = true;
}

/* The entry of a live process whose FORK is due. NULL: there is none. */
static struct sideband_life *shortlived__find_process(struct sideband_shortlived *lives, u32 pid)
{
	struct sideband_life *life = shortlived__find(lives, pid);

	return life->alive ? life : NULL;
}

/* If the tid has an owner already, the record that replaces that one is needed */
static void shortlived__begin(struct sideband_store *store, u32 pid, u32 tid)
{
	struct sideband_shortlived *lives = &store->shortlived;
	struct sideband_life *process;

	if (shortlived__find(lives, tid)->used || sideband_tasks__find(store, tid)) {
		shortlived__need(lives, pid);
		return;
	}
	process = shortlived__add(lives, tid, pid);
	if (tid != pid)
		process = shortlived__find_process(lives, pid);
	if (process)
		process->alive++;
	else
		shortlived__need(lives, pid);
}

/* A record is about thread @tid of @pid. Unless both are known and alive, it is needed. */
static void shortlived__mention(struct sideband_shortlived *lives, u32 pid, u32 tid)
{
	const struct sideband_life *thread = shortlived__find(lives, tid);

	if (shortlived__find_process(lives, pid) && thread->used && thread->pid == pid &&
	    !thread->gone)
		return;
	shortlived__need(lives, pid);
	shortlived__need(lives, tid);
}

static void shortlived__end(struct sideband_shortlived *lives, u32 pid, u32 tid)
{
	struct sideband_life *process = shortlived__find_process(lives, pid);

	shortlived__mention(lives, pid, tid);
	shortlived__find(lives, tid)->gone = true;
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

static size_t shortlived__size(const struct sideband_shortlived *lives)
{
	return lives->table ? sizeof(*lives->table) << lives->bits : 0;
}

/* Make an empty table of 1 << @bits entries. Reuse the last one if its size is about right. */
static int shortlived__init(struct sideband_store *store, unsigned int bits)
{
	struct sideband_shortlived *lives = &store->shortlived;

	if (!lives->table || bits > lives->bits || bits + 2 < lives->bits) {
		sideband_shortlived__exit(store);
		lives->bits = bits;
		lives->table = sideband_store__alloc(store, sizeof(*lives->table) << bits);
		if (!lives->table)
			return -ENOMEM;
	}
	lives->nr = 0;
	lives->known = true;
	memset(lives->table, 0, shortlived__size(lives));
	return 0;
}

/*
 * A process that is not left out may have inherited from its parent, so that one is
 * needed, too. Go backwards: a child's FORK comes after its parent's.
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
	struct sideband_shortlived *lives = &store->shortlived;
	size_t i;

	for (i = p->first; i < end; i++) {
		/* A record adds two entries at most. A quarter stays free for short searches. */
		if (lives->nr + 2 > 3UL << lives->bits >> 2)
			return false;
		shortlived__add_record(store, &p->index[i]);
	}
	return true;
}

void sideband_shortlived__scan(struct sideband_store *store, size_t end)
{
	size_t nr = end - store->pending.first;
	unsigned int bits;

	if (nr < LIVES_MIN)
		return;
	/* Most tids have many records, and a small table stays in the caches */
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
	const struct sideband_life *life;

	if (!store->shortlived.known || !pending->of_task)
		return false;
	life = shortlived__find(&store->shortlived, pending->pid);
	return life->used && !life->alive && !life->needed;
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
