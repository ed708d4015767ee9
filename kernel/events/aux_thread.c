// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of a CPU's AUX area event that belong to the thread that opened them.
 *
 * The AUX area event of a CPU traces what runs there between a resume and a pause,
 * whichever thread that is. While the thread that opened the window sleeps, others are
 * traced in its place. If it continues on another CPU, it isn't traced there. With
 * PERF_FLAG_FD_AUX_THREADS a window follows its thread:
 *
 *   CPU A				CPU B
 *
 *   resume by thread T
 *   T leaves the CPU: paused, and
 *     T is noted as away
 *   (others, not traced)
 *					T comes: resumed, no longer noted
 *					pause by T
 *
 * The events of several CPUs share the notes (struct perf_aux_threads). Each keeps its
 * level, which is that of the thread that runs there. So nothing changes for gates.
 *
 * Between the two calls of a context switch nobody's window is open. A gate there acts for
 * the thread that comes: by its request, the second call sees that there is nothing left to
 * resume.
 *
 * Who accesses a note
 * ===================
 *
 * A note is made by the CPU that the thread leaves, and removed by the CPU that it comes
 * to. A thread is in one of both places at a time, and the scheduler orders them: see "A
 * level for several CPUs" in aux_action.c. So two CPUs never look for the same thread. They
 * may make notes of different threads in the same place, which takes a cmpxchg.
 *
 * A thread that ends leaves its last CPU in state TASK_DEAD, and is not noted there. If its
 * last CPU has no such event, an earlier CPU may have noted it: that note is removed. So a
 * new thread whose task_struct has the same address finds no note.
 *
 * A context switch can't allocate memory, so the room is limited. If there is none for a
 * thread, its window ends where the thread leaves, and is counted as lost.
 */
#include <linux/hash.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "aux_thread.h"

#define AUX_AWAY_PLACES_LOG2	10
#define AUX_AWAY_PLACES		(1 << AUX_AWAY_PLACES_LOG2)
#define AUX_AWAY_IN_PLACE	8

/* One cache line: looking for a thread costs at most one miss. */
struct aux_away {
	struct task_struct	*task[AUX_AWAY_IN_PLACE];
} __aligned(AUX_AWAY_IN_PLACE * sizeof(struct task_struct *));

/**
 * struct perf_aux_threads - which threads are in a window and on no CPU
 * @users: number of events that share this
 * @events: how many of them are in the lists of their CPUs; under the mutex
 * @entry: in the list of all, as long as there are such events
 * @away: such threads, each in the place that a hash gives it
 */
struct perf_aux_threads {
	refcount_t		users;
	unsigned int		events;
	struct hlist_node	entry;
	struct aux_away		away[AUX_AWAY_PLACES];
};

DEFINE_STATIC_KEY_DEFERRED_FALSE(perf_aux_threads_used, HZ);

/* All of them; and the events of a CPU, whether enabled or not. Changed under the mutex. */
static HLIST_HEAD(aux_threads_all);
static DEFINE_PER_CPU(struct hlist_head, aux_thread_events);
static DEFINE_MUTEX(aux_thread_mutex);

static struct task_struct **aux_thread_place(struct perf_aux_threads *threads,
					     struct task_struct *task)
{
	return threads->away[hash_ptr(task, AUX_AWAY_PLACES_LOG2)].task;
}

static bool aux_thread_note(struct perf_aux_threads *threads, struct task_struct *task)
{
	struct task_struct **place = aux_thread_place(threads, task);
	unsigned int i;

	for (i = 0; i < AUX_AWAY_IN_PLACE; i++) {
		if (!READ_ONCE(place[i]) && !cmpxchg(&place[i], NULL, task))
			return true;
	}

	return false;
}

static bool aux_thread_take(struct perf_aux_threads *threads, struct task_struct *task)
{
	struct task_struct **place = aux_thread_place(threads, task);
	unsigned int i;

	for (i = 0; i < AUX_AWAY_IN_PLACE; i++) {
		if (READ_ONCE(place[i]) == task) {
			WRITE_ONCE(place[i], NULL);
			return true;
		}
	}

	return false;
}

static bool aux_is_paused(unsigned long request)
{
	return request & PERF_AUX_PAUSED;
}

/*
 * Pause or resume in the middle of a window: the driver's calls neither end nor begin one,
 * see aux_keep.c. The same goes for a gate in an NMI meanwhile: its window is kept, but isn't
 * counted if it ends there.
 *
 * Return: true if this call has changed the level, whose last request was @request.
 */
static bool aux_thread_set(struct perf_event *event, unsigned long request, bool paused)
{
	bool changed;

	WRITE_ONCE(event->aux_keep.continues, true);
	barrier();
	changed = perf_aux_level_change_from(event->aux_action.level, request, paused);
	if (changed)
		perf_aux_action_follow(event);
	barrier();
	WRITE_ONCE(event->aux_keep.continues, false);

	return changed;
}

/*
 * Whether the window is open is decided by the exchange in perf_aux_level_change_from(): a gate
 * in an NMI before it counts, and one after it acts for the thread that comes.
 */
static void aux_thread_leaves(struct perf_event *event, struct task_struct *task, bool ends)
{
	struct perf_aux_action *act = &event->aux_action;
	unsigned long request;
	bool open;

	do {
		request = READ_ONCE(act->level->request);
		open = !aux_is_paused(request);
	} while (open && !aux_thread_set(event, request, true));

	act->switched = open ? perf_aux_next_request(request, true) : request;

	if (open && !ends && !aux_thread_note(act->threads, task))
		local64_inc(&event->aux_keep.windows.lost);
}

/* A thread that ends may have been noted by a CPU that it left earlier. */
static void aux_thread_forget(struct task_struct *task)
{
	struct perf_aux_threads *threads;

	hlist_for_each_entry_rcu(threads, &aux_threads_all, entry)
		aux_thread_take(threads, task);
}

static void aux_thread_comes(struct perf_event *event, struct task_struct *task)
{
	struct perf_aux_action *act = &event->aux_action;

	if (aux_thread_take(act->threads, task))
		aux_thread_set(event, act->switched, false);
}

/**
 * perf_aux_thread_leaves - a thread leaves this CPU
 * @task: current, which is being switched out
 *
 * Context: scheduler, interrupts disabled.
 */
void perf_aux_thread_leaves(struct task_struct *task)
{
	bool ends = READ_ONCE(task->__state) == TASK_DEAD;
	struct perf_event *event;

	lockdep_assert_irqs_disabled();

	hlist_for_each_entry_rcu(event, this_cpu_ptr(&aux_thread_events),
				 aux_action.thread_entry)
		aux_thread_leaves(event, task, ends);
	if (ends)
		aux_thread_forget(task);
}

/**
 * perf_aux_thread_comes - a thread was switched to, on this CPU
 * @task: current
 *
 * Context: scheduler, interrupts disabled.
 */
void perf_aux_thread_comes(struct task_struct *task)
{
	struct perf_event *event;

	lockdep_assert_irqs_disabled();

	hlist_for_each_entry_rcu(event, this_cpu_ptr(&aux_thread_events),
				 aux_action.thread_entry)
		aux_thread_comes(event, task);
}

static struct perf_aux_threads *aux_threads_get(struct perf_event *with)
{
	struct perf_aux_threads *threads;

	if (with) {
		refcount_inc(&with->aux_action.threads->users);
		return with->aux_action.threads;
	}

	threads = kvzalloc(sizeof(*threads), GFP_KERNEL_ACCOUNT);
	if (threads)
		refcount_set(&threads->users, 1);

	return threads;
}

/*
 * Two events of one CPU would both take the note of a thread that comes. That the PMU traces
 * one event only is found out later, and until then both are in the list.
 */
static bool aux_threads_have_cpu(struct perf_aux_threads *threads, int cpu)
{
	struct perf_event *event;

	hlist_for_each_entry(event, per_cpu_ptr(&aux_thread_events, cpu),
			     aux_action.thread_entry) {
		if (event->aux_action.threads == threads)
			return true;
	}

	return false;
}

static void aux_threads_add(struct perf_aux_threads *threads, struct perf_event *event)
{
	/* A thread may come before any has left. */
	event->aux_action.switched = event->aux_action.level->request;

	if (!threads->events++)
		hlist_add_head_rcu(&threads->entry, &aux_threads_all);
	hlist_add_head_rcu(&event->aux_action.thread_entry,
			   per_cpu_ptr(&aux_thread_events, event->cpu));
}

static void aux_threads_del(struct perf_aux_threads *threads, struct perf_event *event)
{
	hlist_del_rcu(&event->aux_action.thread_entry);
	if (!--threads->events)
		hlist_del_rcu(&threads->entry);
}

/**
 * perf_aux_threads_init - let the windows of a new event belong to threads
 * @event: new event that is in no context yet
 * @with: event of another CPU, whose threads go on here in their windows; or %NULL
 *
 * Context: may sleep. Neither a context's mutex nor the hotplug lock is held.
 * Return: 0, -EINVAL (an event of a task; one that doesn't start paused; a PMU without an
 * AUX area, or that can't pause; @with is of another PMU, or its windows belong to its
 * CPU), -EACCES (only privileged users may watch a CPU), -EBUSY (an event of that CPU
 * shares the threads already), -ENOMEM.
 */
int perf_aux_threads_init(struct perf_event *event, struct perf_event *with)
{
	struct perf_aux_action *act = &event->aux_action;
	int ret;

	if (event->attach_state & PERF_ATTACH_TASK || !perf_aux_action_match(event) ||
	    !event->attr.aux_start_paused)
		return -EINVAL;
	if (with && (!with->aux_action.threads || with->pmu != event->pmu))
		return -EINVAL;
	/* Before anything is allocated, and before context switches cost more */
	ret = perf_allow_cpu(&event->attr);
	if (ret)
		return ret;

	act->threads = aux_threads_get(with);
	if (!act->threads)
		return -ENOMEM;

	/* perf_aux_threads_exit() ends what has been begun here, also if this fails. */
	static_branch_deferred_inc(&perf_aux_threads_used);
	mutex_lock(&aux_thread_mutex);
	if (aux_threads_have_cpu(act->threads, event->cpu))
		ret = -EBUSY;
	else
		aux_threads_add(act->threads, event);
	mutex_unlock(&aux_thread_mutex);

	return ret;
}

/**
 * perf_aux_threads_exit - let no more windows of threads come to an event
 * @event: event that is in no context any more
 *
 * Context: may sleep. The event is freed after a grace period.
 */
void perf_aux_threads_exit(struct perf_event *event)
{
	struct perf_aux_action *act = &event->aux_action;

	if (!act->threads)
		return;

	mutex_lock(&aux_thread_mutex);
	if (!hlist_unhashed(&act->thread_entry))
		aux_threads_del(act->threads, event);
	mutex_unlock(&aux_thread_mutex);
	static_branch_slow_dec_deferred(&perf_aux_threads_used);
}

/**
 * perf_aux_threads_free - give up what an event shared with others
 * @event: event that is being freed
 *
 * Context: any but NMI. A grace period after perf_aux_threads_exit().
 */
void perf_aux_threads_free(struct perf_event *event)
{
	struct perf_aux_threads *threads = event->aux_action.threads;

	if (threads && refcount_dec_and_test(&threads->users))
		kvfree(threads);
}
