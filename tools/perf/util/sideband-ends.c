// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-ends.c: Ends that no record tells
 *
 * The EXIT of a task is not recorded if that happens on a CPU, or in a cgroup, that
 * isn't, and it can be lost. That a cgroup was removed no record tells. So the
 * system is asked whether they are still there: twice for each one that comes to be
 * known, round and round, so that at most as many as live are held for nothing.
 *
 * What is gone now may have been there when samples were taken that are in the ring,
 * or made others that are pending. It ends when all that was read by the round after
 * this one has left the ring, and has been applied.
 */
#include <linux/kernel.h>
#include "sideband-state.h"

/* How often the system is asked for each thing that comes to be known */
#define LOOKS	2

void sideband_ends__watch(struct sideband_store *store, struct sideband_watched *watched)
{
	list_add_tail(&watched->list, &store->watched);
	store->unwatched++;
}

void sideband_ends__unwatch(struct sideband_watched *watched)
{
	list_del(&watched->list);
}

void sideband_ends__doubt(struct sideband_store *store, struct sideband_watched *watched)
{
	if (!watched->gone)
		return;
	watched->gone = false;
	list_move_tail(&watched->list, &store->watched);
}

static struct sideband_task *task_of(struct sideband_watched *watched)
{
	return container_of(watched, struct sideband_task, watched);
}

static bool is_gone(struct sideband_store *store, struct sideband_watched *watched)
{
	if (watched->key)
		return store->ops->cgroup_is_gone(store->priv, watched->key->val[0]);
	return store->ops->task_is_gone(store->priv, task_of(watched)->tid);
}

void sideband_ends__look(struct sideband_store *store, u64 round)
{
	struct list_head *last = store->watched.prev;
	u64 nr = LOOKS * store->unwatched;

	store->unwatched = 0;
	if (!store->ops || list_empty(&store->watched))
		return;
	while (nr--) {
		struct sideband_watched *watched =
			list_first_entry(&store->watched, struct sideband_watched, list);
		bool is_last = &watched->list == last;

		watched->gone = is_gone(store, watched);
		watched->round = round;
		watched->time = 0;
		list_move_tail(&watched->list, watched->gone ? &store->gone : &store->watched);
		if (is_last)
			break;
	}
}

static void watched__end(struct sideband_store *store, struct sideband_watched *watched)
{
	/* the leader of a process is watched until the last thread has ended, too */
	sideband_ends__doubt(store, watched);
	if (watched->key)
		sideband_objects__end(store, container_of(watched, struct sideband_object,
							  watched));
	else
		sideband_tasks__gone(store, task_of(watched));
}

/* Is all that was read by the round after @watched was found gone older than the ring? */
static bool is_past(const struct sideband_watched *watched, u64 oldest_round)
{
	return watched->round + 3 <= oldest_round;
}

void sideband_ends__apply(struct sideband_store *store, u64 oldest_round)
{
	const struct sideband_pending *p = &store->pending;
	struct sideband_watched *watched;

	list_for_each_entry(watched, &store->gone, list) {
		if (!is_past(watched, oldest_round))
			break;
		if (!watched->time)
			watched->time = p->settled;
	}
	/* With one others may go: so it is the first one, again and again */
	while (!list_empty(&store->gone)) {
		watched = list_first_entry(&store->gone, struct sideband_watched, list);
		if (!is_past(watched, oldest_round) || watched->time > p->due)
			break;
		watched__end(store, watched);
	}
}
