// SPDX-License-Identifier: GPL-2.0
/* Calls that have begun and not returned; see trigger-calls.h */
#include <errno.h>
#include <stdlib.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/zalloc.h>
#include "trigger-calls.h"

#define BITS	12

/* A call may become overdue; it is; it never will, because its program was replaced */
enum call_state {
	CALL_OPEN,
	CALL_OVERDUE,
	CALL_EXECED,
	NR_STATES,
};

/*
 * @node: in its thread's bucket, the newest first. @age: in the list of its state.
 * @process: in its process's bucket, the oldest first, until exec.
 */
struct call {
	struct hlist_node		node;
	struct list_head		age;
	struct list_head		process;
	u64				thread;
	struct trigger_occurrence	entry;
	enum call_state			state;
};

/* @all: the calls in each state, the oldest first. @nr: how many. */
struct trigger_calls {
	struct hlist_head	buckets[1 << BITS];
	struct list_head	processes[1 << BITS];
	struct list_head	all[NR_STATES];
	unsigned int		nr[NR_STATES];
	u64			nr_forgotten;
};

struct trigger_calls *trigger_calls__new(void)
{
	struct trigger_calls *calls = zalloc(sizeof(*calls));
	int state;
	size_t i;

	if (!calls)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(calls->processes); i++)
		INIT_LIST_HEAD(&calls->processes[i]);
	for (state = 0; state < NR_STATES; state++)
		INIT_LIST_HEAD(&calls->all[state]);
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

static struct list_head *process(struct trigger_calls *calls, int pid)
{
	return &calls->processes[hash_32(pid, BITS)];
}

static void forget(struct trigger_calls *calls, struct call *call)
{
	hlist_del(&call->node);
	list_del(&call->age);
	list_del(&call->process);
	calls->nr[call->state]--;
	free(call);
}

static struct call *oldest(const struct trigger_calls *calls, enum call_state state)
{
	return list_first_entry_or_null(&calls->all[state], struct call, age);
}

static void set_state(struct trigger_calls *calls, struct call *call, enum call_state state)
{
	list_move_tail(&call->age, &calls->all[state]);
	calls->nr[call->state]--;
	calls->nr[state]++;
	call->state = state;
}

/* First go those whose returns are of no interest, then those that may have none */
static void make_room(struct trigger_calls *calls)
{
	struct call *call = oldest(calls, CALL_OVERDUE);

	if (calls->nr[CALL_OPEN] + calls->nr[CALL_OVERDUE] + calls->nr[CALL_EXECED] < CALLS_MAX)
		return;
	calls->nr_forgotten += !call;
	forget(calls, call ?: oldest(calls, CALL_EXECED) ?: oldest(calls, CALL_OPEN));
}

int trigger_calls__enter(struct trigger_calls *calls, const struct trigger_occurrence *entry)
{
	struct call *call = malloc(sizeof(*call));

	if (!call)
		return -ENOMEM;
	make_room(calls);
	call->thread = thread_of(entry);
	call->entry = *entry;
	call->state = CALL_OPEN;
	hlist_add_head(&call->node, bucket(calls, call->thread));
	list_add_tail(&call->age, &calls->all[CALL_OPEN]);
	list_add_tail(&call->process, process(calls, entry->pid));
	calls->nr[CALL_OPEN]++;
	return 0;
}

bool trigger_calls__leave(struct trigger_calls *calls, const struct trigger_occurrence *exit,
			  struct trigger_occurrence *entry)
{
	u64 thread = thread_of(exit);
	struct call *call;

	hlist_for_each_entry(call, bucket(calls, thread), node) {
		if (call->thread == thread) {
			bool overdue = call->state == CALL_OVERDUE;

			*entry = call->entry;
			forget(calls, call);
			return !overdue;
		}
	}
	return false;
}

const struct trigger_occurrence *trigger_calls__overdue(struct trigger_calls *calls, u64 time)
{
	struct call *call = oldest(calls, CALL_OPEN);

	if (!call || call->entry.time >= time)
		return NULL;
	set_state(calls, call, CALL_OVERDUE);
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

static void give_to(struct trigger_calls *calls, struct call *call, u64 thread)
{
	if (call->thread == thread)
		return;
	hlist_del(&call->node);
	call->thread = thread;
	hlist_add_head(&call->node, bucket(calls, thread));
}

/*
 * All other threads of the process have ended, and so have their calls: what is left is of
 * the one that has called exec. The oldest come first, so the newest is found first. The next
 * exec, by the same thread, changes nothing about them: they leave the process's bucket.
 */
void trigger_calls__exec(struct trigger_calls *calls, const struct trigger_occurrence *exec)
{
	u64 thread = thread_of(exec);
	struct call *call, *next;

	list_for_each_entry_safe(call, next, process(calls, exec->pid), process) {
		if (call->entry.pid != exec->pid)
			continue;
		list_del_init(&call->process);
		give_to(calls, call, thread);
		if (call->state == CALL_OPEN)
			set_state(calls, call, CALL_EXECED);
	}
}

void trigger_calls__clear(struct trigger_calls *calls)
{
	struct call *call, *next;
	int state;

	for (state = 0; state < NR_STATES; state++) {
		list_for_each_entry_safe(call, next, &calls->all[state], age)
			forget(calls, call);
	}
}

unsigned int trigger_calls__nr(const struct trigger_calls *calls)
{
	return calls->nr[CALL_OPEN];
}

u64 trigger_calls__nr_forgotten(const struct trigger_calls *calls)
{
	return calls->nr_forgotten;
}
