// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-lives.c: Processes that live and die between two prunes
 *
 * With many short-lived processes that is what most side-band is about. Applied
 * record by record nothing of it would be left in the state. So it need not be
 * applied: it can be left out if the FORKs and EXITs of a process and of all its
 * threads are due, and all that is due about it is between them, and if it has no
 * children that are not left out, too.
 */
#include <errno.h>
#include <string.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

/* The first table is for so many times fewer tids than there are records, as a power of 2 */
#define LIVES_SPARE	2

/* Fewer records than this are applied sooner than they are looked through */
#define LIVES_MIN	64

/**
 * struct sideband_life - What the due records tell of a tid
 * @tid:    the tid
 * @pid:    the process it was first said to be of
 * @alive:  threads of the process, if it is its pid: those with a FORK and no EXIT
 * @used:   this entry is one
 * @gone:   it had an EXIT
 * @needed: what is said of a process with this pid can't be left out
 */
struct sideband_life {
	u32	tid;
	u32	pid;
	u32	alive : 29;
	u32	used : 1;
	u32	gone : 1;
	u32	needed : 1;
};

/* The entry of @tid, or where it would be */
static struct sideband_life *lives__find(const struct sideband_lives *lives, u32 tid)
{
	size_t i = hash_32(tid, lives->bits);

	while (lives->table[i].used && lives->table[i].tid != tid)
		i = (i + 1) % (1UL << lives->bits);
	return &lives->table[i];
}

static struct sideband_life *lives__add(struct sideband_lives *lives, u32 tid, u32 pid)
{
	struct sideband_life *life = lives__find(lives, tid);

	if (!life->used) {
		life->tid = tid;
		life->pid = pid;
		life->used = true;
		lives->nr++;
	}
	return life;
}

static void lives__need(struct sideband_lives *lives, u32 pid)
{
	lives__add(lives, pid, pid)->needed = true;
}

/* The entry of a process whose FORK is due, and that lives. NULL: it isn't known. */
static struct sideband_life *lives__find_process(struct sideband_lives *lives, u32 pid)
{
	struct sideband_life *life = lives__find(lives, pid);

	return life->alive ? life : NULL;
}

/* If somebody has the tid already then what replaces that one is needed */
static void lives__begin(struct sideband_store *store, u32 pid, u32 tid)
{
	struct sideband_lives *lives = &store->lives;
	struct sideband_life *process;

	if (lives__find(lives, tid)->used || sideband_tasks__find(store, tid)) {
		lives__need(lives, pid);
		return;
	}
	process = lives__add(lives, tid, pid);
	if (tid != pid)
		process = lives__find_process(lives, pid);
	if (process)
		process->alive++;
	else
		lives__need(lives, pid);
}

/* A record is about thread @tid of @pid: both should be known, and live */
static void lives__mention(struct sideband_lives *lives, u32 pid, u32 tid)
{
	const struct sideband_life *thread = lives__find(lives, tid);

	if (lives__find_process(lives, pid) && thread->used && thread->pid == pid &&
	    !thread->gone)
		return;
	lives__need(lives, pid);
	lives__need(lives, tid);
}

static void lives__end(struct sideband_lives *lives, u32 pid, u32 tid)
{
	struct sideband_life *process = lives__find_process(lives, pid);

	lives__mention(lives, pid, tid);
	lives__find(lives, tid)->gone = true;
	if (process)
		process->alive--;
}

static void lives__look_at(struct sideband_store *store,
			   const struct sideband_pending_record *pending)
{
	if (!pending->of_task)
		return;
	if (pending->type == PERF_RECORD_FORK)
		lives__begin(store, pending->pid, pending->tid);
	else if (pending->type == PERF_RECORD_EXIT)
		lives__end(&store->lives, pending->pid, pending->tid);
	else
		lives__mention(&store->lives, pending->pid, pending->tid);
}

static size_t lives__size(const struct sideband_lives *lives)
{
	return lives->table ? sizeof(*lives->table) << lives->bits : 0;
}

/* An empty table of 1 << @bits, or of the size of the last one if that is about right */
static int lives__init(struct sideband_store *store, unsigned int bits)
{
	struct sideband_lives *lives = &store->lives;

	if (!lives->table || bits > lives->bits || bits + 2 < lives->bits) {
		sideband_lives__exit(store);
		lives->bits = bits;
		lives->table = sideband_store__alloc(store, sizeof(*lives->table) << bits);
		if (!lives->table)
			return -ENOMEM;
	}
	lives->nr = 0;
	lives->known = true;
	memset(lives->table, 0, lives__size(lives));
	return 0;
}

/*
 * Who is not left out may have inherited something. A child's FORK comes after its
 * parent's.
 */
static void lives__need_parents(struct sideband_store *store, size_t end)
{
	const struct sideband_pending *p = &store->pending;

	while (end-- > p->first) {
		const struct sideband_pending_record *pending = &p->index[end];

		/* If nothing is due about the parent then the entry is unused, and stays so */
		if (pending->type == PERF_RECORD_FORK && !sideband_lives__over(store, pending))
			lives__find(&store->lives,
				    sideband_pending__event(pending)->fork.ppid)->needed = true;
	}
}

/* Fill a table of 1 << @bits. false: it's too small. */
static bool lives__fill(struct sideband_store *store, size_t end)
{
	const struct sideband_pending *p = &store->pending;
	struct sideband_lives *lives = &store->lives;
	size_t i;

	for (i = p->first; i < end; i++) {
		/* A record names two at most; the rest is free, so that what is sought is near */
		if (lives->nr + 2 > 3UL << lives->bits >> 2)
			return false;
		lives__look_at(store, &p->index[i]);
	}
	return true;
}

void sideband_lives__look(struct sideband_store *store, size_t end)
{
	size_t nr = end - store->pending.first;
	unsigned int bits;

	if (nr < LIVES_MIN)
		return;
	/* Of most tids there are many records, and a small table stays in the caches */
	for (bits = ilog2(nr) - LIVES_SPARE; !lives__init(store, bits); bits += LIVES_SPARE) {
		if (lives__fill(store, end)) {
			lives__need_parents(store, end);
			return;
		}
	}
	sideband_lives__forget(store);
}

bool sideband_lives__over(const struct sideband_store *store,
			  const struct sideband_pending_record *pending)
{
	const struct sideband_life *life;

	if (!store->lives.known || !pending->of_task)
		return false;
	life = lives__find(&store->lives, pending->pid);
	return life->used && !life->alive && !life->needed;
}

void sideband_lives__forget(struct sideband_store *store)
{
	store->lives.known = false;
}

void sideband_lives__exit(struct sideband_store *store)
{
	sideband_store__free(store, store->lives.table, lives__size(&store->lives));
	store->lives.table = NULL;
}
