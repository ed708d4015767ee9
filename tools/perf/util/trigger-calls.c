// SPDX-License-Identifier: GPL-2.0
/* Calls that have begun and not returned; see trigger-calls.h */
#include <errno.h>
#include <stdlib.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/zalloc.h>
#include "trigger-calls.h"

#define BITS	12

/* @node: in its thread's bucket, the newest first. @age: in one of the lists below. */
struct call {
	struct hlist_node		node;
	struct list_head		age;
	u64				thread;
	struct trigger_occurrence	entry;
	bool				overdue;
};

/* @open, @overdue: all calls, the oldest first. @nr, @nr_overdue: how many are in each. */
struct trigger_calls {
	struct hlist_head	buckets[1 << BITS];
	struct list_head	open;
	struct list_head	overdue;
	unsigned int		nr;
	unsigned int		nr_overdue;
	u64			nr_forgotten;
};

struct trigger_calls *trigger_calls__new(void)
{
	struct trigger_calls *calls = zalloc(sizeof(*calls));

	if (!calls)
		return NULL;
	INIT_LIST_HEAD(&calls->open);
	INIT_LIST_HEAD(&calls->overdue);
	return calls;
}

void trigger_calls__delete(struct trigger_calls *calls)
{
	if (!calls)
		return;
	trigger_calls__clear(calls);
	free(calls);
}

/* There is an idle thread on each CPU, and all of them are number 0 */
static u64 thread_of(const struct trigger_occurrence *what)
{
	return what->tid ? (u32)what->tid : (u64)(u32)(what->cpu + 1) << 32;
}

static struct hlist_head *bucket(struct trigger_calls *calls, u64 thread)
{
	return &calls->buckets[hash_64(thread, BITS)];
}

static void forget(struct trigger_calls *calls, struct call *call)
{
	hlist_del(&call->node);
	list_del(&call->age);
	if (call->overdue)
		calls->nr_overdue--;
	else
		calls->nr--;
	free(call);
}

static void make_room(struct trigger_calls *calls)
{
	if (calls->nr + calls->nr_overdue < CALLS_MAX)
		return;
	if (calls->nr_overdue) {
		forget(calls, list_first_entry(&calls->overdue, struct call, age));
		return;
	}
	forget(calls, list_first_entry(&calls->open, struct call, age));
	calls->nr_forgotten++;
}

int trigger_calls__enter(struct trigger_calls *calls, const struct trigger_occurrence *entry)
{
	struct call *call = malloc(sizeof(*call));

	if (!call)
		return -ENOMEM;
	make_room(calls);
	call->thread = thread_of(entry);
	call->entry = *entry;
	call->overdue = false;
	hlist_add_head(&call->node, bucket(calls, call->thread));
	list_add_tail(&call->age, &calls->open);
	calls->nr++;
	return 0;
}

bool trigger_calls__leave(struct trigger_calls *calls, const struct trigger_occurrence *exit,
			  u64 *since)
{
	u64 thread = thread_of(exit);
	struct call *call;

	hlist_for_each_entry(call, bucket(calls, thread), node) {
		if (call->thread == thread) {
			bool overdue = call->overdue;

			*since = call->entry.time;
			forget(calls, call);
			return !overdue;
		}
	}
	return false;
}

const struct trigger_occurrence *trigger_calls__overdue(struct trigger_calls *calls, u64 time)
{
	struct call *call;

	if (list_empty(&calls->open))
		return NULL;
	call = list_first_entry(&calls->open, struct call, age);
	if (call->entry.time >= time)
		return NULL;
	list_move_tail(&call->age, &calls->overdue);
	call->overdue = true;
	calls->nr--;
	calls->nr_overdue++;
	return &call->entry;
}

void trigger_calls__end_thread(struct trigger_calls *calls,
			       const struct trigger_occurrence *end)
{
	u64 thread = thread_of(end);
	struct hlist_node *next;
	struct call *call;

	hlist_for_each_entry_safe(call, next, bucket(calls, thread), node) {
		if (call->thread == thread)
			forget(calls, call);
	}
}

void trigger_calls__clear(struct trigger_calls *calls)
{
	struct call *call, *next;

	list_for_each_entry_safe(call, next, &calls->open, age)
		forget(calls, call);
	list_for_each_entry_safe(call, next, &calls->overdue, age)
		forget(calls, call);
}

unsigned int trigger_calls__nr(const struct trigger_calls *calls)
{
	return calls->nr;
}

u64 trigger_calls__nr_forgotten(const struct trigger_calls *calls)
{
	return calls->nr_forgotten;
}
