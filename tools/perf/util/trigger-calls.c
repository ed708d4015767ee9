// SPDX-License-Identifier: GPL-2.0
/* Calls that have begun and not returned; see trigger-calls.h */
#include <errno.h>
#include <stdlib.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/zalloc.h>
#include "trigger-calls.h"

#define BITS	12

/* @node: in its thread's bucket, the newest first. @age: in all, the oldest first. */
struct call {
	struct hlist_node	node;
	struct list_head	age;
	u64			thread;
	u64			time;
	unsigned int		trigger;
};

struct trigger_calls {
	struct hlist_head	buckets[1 << BITS];
	struct list_head	all;
	unsigned int		nr;
	u64			nr_forgotten;
};

struct trigger_calls *trigger_calls__new(void)
{
	struct trigger_calls *calls = zalloc(sizeof(*calls));

	if (calls)
		INIT_LIST_HEAD(&calls->all);
	return calls;
}

void trigger_calls__delete(struct trigger_calls *calls)
{
	if (!calls)
		return;
	trigger_calls__clear(calls);
	free(calls);
}

static struct hlist_head *bucket(struct trigger_calls *calls, u64 thread)
{
	return &calls->buckets[hash_64(thread, BITS)];
}

static void forget(struct trigger_calls *calls, struct call *call)
{
	hlist_del(&call->node);
	list_del(&call->age);
	calls->nr--;
	free(call);
}

int trigger_calls__enter(struct trigger_calls *calls, unsigned int trigger, u64 thread,
			 u64 time)
{
	struct call *call = malloc(sizeof(*call));

	if (!call)
		return -ENOMEM;
	if (calls->nr == CALLS_MAX) {
		forget(calls, list_first_entry(&calls->all, struct call, age));
		calls->nr_forgotten++;
	}
	call->thread = thread;
	call->time = time;
	call->trigger = trigger;
	hlist_add_head(&call->node, bucket(calls, thread));
	list_add_tail(&call->age, &calls->all);
	calls->nr++;
	return 0;
}

bool trigger_calls__leave(struct trigger_calls *calls, unsigned int trigger, u64 thread,
			  u64 *since)
{
	struct call *call;

	hlist_for_each_entry(call, bucket(calls, thread), node) {
		if (call->thread == thread && call->trigger == trigger) {
			*since = call->time;
			forget(calls, call);
			return true;
		}
	}
	return false;
}

void trigger_calls__end_thread(struct trigger_calls *calls, u64 thread)
{
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

	list_for_each_entry_safe(call, next, &calls->all, age)
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
