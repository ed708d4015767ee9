// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-ends.c: Ends that are not recorded
 *
 * The EXIT of a task is missing if the task exits on a CPU or in a cgroup that isn't
 * recorded, or if the record is lost. There is no record of a cgroup's removal. So the
 * system is asked whether tasks and cgroups still exist. Whenever one becomes known,
 * two are checked, in a cycle. So the store never holds more that are gone than live
 * ones.
 *
 * A task that is gone now may have existed when samples in the ring were taken, or may
 * have forked others whose records are pending. It ends when all records read up to and
 * including the next round have left the ring and have been applied.
 */
#include <linux/kernel.h>
#include "sideband-state.h"

/* Number of checks for each task or cgroup that becomes known */
#define CHECKS	2

void sideband_ends__watch(struct sideband_store *store, struct sideband_watched *watched)
{
	list_add_tail(&watched->list, &store->watched);
	store->unwatched++;
}

void sideband_ends__unwatch(struct sideband_watched *watched)
{
	list_del(&watched->list);
}

void sideband_ends__recheck(struct sideband_store *store, struct sideband_watched *watched)
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

void sideband_ends__check(struct sideband_store *store, u64 round)
{
	struct list_head *last = store->watched.prev;
	u64 nr = CHECKS * store->unwatched;

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
	/* a leader stays watched until the last thread of its process has ended */
	sideband_ends__recheck(store, watched);
	if (watched->key)
		sideband_objects__end(store, container_of(watched, struct sideband_object,
							  watched));
	else
		sideband_tasks__gone(store, task_of(watched));
}

/* Have all records left the ring that were read up to the round after that of the check? */
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
			watched->time = p->complete;
	}
	/* Ending one can free others in the list, so always take the first */
	while (!list_empty(&store->gone)) {
		watched = list_first_entry(&store->gone, struct sideband_watched, list);
		if (!is_past(watched, oldest_round) || watched->time > p->due)
			break;
		watched__end(store, watched);
	}
}
