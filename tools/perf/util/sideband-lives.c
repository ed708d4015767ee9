// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-lives.c: Processes that live and die between two prunes
 *
 * With many short-lived processes that is what most side-band is about. Applied
 * record by record nothing of it would be left in the state. So it need not be
 * applied: it can be left out if the FORK and the EXIT of a process are due, and
 * all that is due about it is between them, and if it has neither threads nor
 * children that are not left out, too.
 */
#include <errno.h>
#include <string.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

/* Fewer records than this are applied sooner than they are looked through */
#define LIVES_MIN	64
/* To look at so many takes about as long as to fetch one */
#define LIVES_AHEAD	8

/**
 * struct sideband_life - What the due records tell of a pid
 * @pid:    the pid
 * @used:   this entry is one
 * @ended:  there is a FORK, and an EXIT after it
 * @needed: it can't be left out
 */
struct sideband_life {
	u32	pid;
	bool	used;
	bool	ended;
	bool	needed;
};

/* The entry of @pid, or where it would be */
static struct sideband_life *lives__find(const struct sideband_lives *lives, u32 pid)
{
	size_t i = hash_32(pid, lives->bits);

	while (lives->table[i].used && lives->table[i].pid != pid)
		i = (i + 1) % (1UL << lives->bits);
	return &lives->table[i];
}

static struct sideband_life *lives__add(struct sideband_lives *lives, u32 pid)
{
	struct sideband_life *life = lives__find(lives, pid);

	if (!life->used) {
		life->pid = pid;
		life->used = true;
		lives->nr++;
	}
	return life;
}

static void lives__need(struct sideband_lives *lives, u32 pid)
{
	lives__add(lives, pid)->needed = true;
}

/* A record is about thread @tid of @pid: it should be the only one, and live */
static void lives__mention(struct sideband_lives *lives, u32 pid, u32 tid)
{
	struct sideband_life *life = lives__find(lives, pid);

	if (!life->used || life->ended || tid != pid)
		lives__need(lives, pid);
	if (tid != pid)
		lives__need(lives, tid);
}

static void lives__begin(struct sideband_store *store, const struct perf_record_fork *fork)
{
	struct sideband_lives *lives = &store->lives;

	if (fork->tid != fork->pid)
		lives__mention(lives, fork->pid, fork->tid);
	else if (lives__find(lives, fork->pid)->used || sideband_tasks__find(store, fork->pid))
		lives__need(lives, fork->pid);
	else
		lives__add(lives, fork->pid);
}

static void lives__end(struct sideband_lives *lives, const struct perf_record_fork *exit)
{
	lives__mention(lives, exit->pid, exit->tid);
	lives__find(lives, exit->pid)->ended = true;
}

static void lives__look_at(struct sideband_store *store, const union perf_event *event)
{
	if (!sideband_store__is_of_task(event))
		return;
	switch (event->header.type) {
	case PERF_RECORD_FORK:
		lives__begin(store, &event->fork);
		break;
	case PERF_RECORD_EXIT:
		lives__end(&store->lives, &event->fork);
		break;
	default:
		/* pid and tid are at the same place in all the others */
		lives__mention(&store->lives, event->comm.pid, event->comm.tid);
	}
}

static size_t lives__size(const struct sideband_lives *lives)
{
	return sizeof(*lives->table) << lives->bits;
}

static int lives__init(struct sideband_store *store, size_t nr)
{
	struct sideband_lives *lives = &store->lives;

	lives->nr = 0;
	lives->bits = ilog2(nr) + 1;
	lives->table = sideband_store__alloc(store, lives__size(lives));
	if (!lives->table)
		return -ENOMEM;
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
		const union perf_event *event = sideband_pending__event(&p->index[end]);

		/* If nothing is due about the parent then the entry is unused, and stays so */
		if (event->header.type == PERF_RECORD_FORK && !sideband_lives__over(store, event))
			lives__find(&store->lives, event->fork.ppid)->needed = true;
	}
}

void sideband_lives__look(struct sideband_store *store, size_t end)
{
	const struct sideband_pending *p = &store->pending;
	struct sideband_lives *lives = &store->lives;
	size_t i;

	if (end - p->first < LIVES_MIN || lives__init(store, end - p->first))
		return;
	for (i = p->first; i < end; i++) {
		/* A record names two at most */
		if (lives->nr + 2 >= 1UL << lives->bits) {
			sideband_lives__forget(store);
			return;
		}
		/* They have left the caches since they came */
		if (i + LIVES_AHEAD < end)
			__builtin_prefetch(sideband_pending__event(&p->index[i + LIVES_AHEAD]));
		lives__look_at(store, sideband_pending__event(&p->index[i]));
	}
	lives__need_parents(store, end);
}

bool sideband_lives__over(const struct sideband_store *store, const union perf_event *event)
{
	const struct sideband_life *life;

	if (!store->lives.table || !sideband_store__is_of_task(event))
		return false;
	/* pid is at the same place in all of them */
	life = lives__find(&store->lives, event->comm.pid);
	return life->ended && !life->needed;
}

void sideband_lives__forget(struct sideband_store *store)
{
	sideband_store__free(store, store->lives.table, lives__size(&store->lives));
	store->lives.table = NULL;
}
