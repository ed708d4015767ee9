// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-tasks.c: Processes and threads that are alive, and their records
 *
 * A tid belongs to one thread at a time. So a new owner of a tid proves that the
 * old one is gone, even if its EXIT record was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

struct sideband_task *sideband_tasks__find(struct sideband_store *store, u32 tid)
{
	struct rb_node *node = store->tasks.rb_node;

	while (node) {
		struct sideband_task *task = rb_entry(node, struct sideband_task, rb);

		if (task->tid == tid)
			return task;
		node = tid < task->tid ? node->rb_left : node->rb_right;
	}
	return NULL;
}

struct sideband_process *sideband_tasks__find_process(struct sideband_store *store, u32 pid)
{
	struct sideband_task *task = sideband_tasks__find(store, pid);

	return task && task->process->pid == pid ? task->process : NULL;
}

static void store__link_task(struct sideband_store *store, struct sideband_task *new)
{
	struct rb_node **p = &store->tasks.rb_node, *parent = NULL;

	while (*p) {
		parent = *p;
		if (new->tid < rb_entry(parent, struct sideband_task, rb)->tid)
			p = &parent->rb_left;
		else
			p = &parent->rb_right;
	}
	rb_link_node(&new->rb, parent, p);
	rb_insert_color(&new->rb, &store->tasks);
	list_add_tail(&new->list, &new->process->tasks);
	sideband_ends__watch(store, &new->watched);
	store->stats.tasks++;
}

static void task__free(struct sideband_store *store, struct sideband_task *task)
{
	sideband_record__put(store, task->fork);
	sideband_record__put(store, task->comm);
	sideband_record__put(store, task->exec_comm);
	sideband_record__put(store, task->namespaces);
	sideband_record__put(store, task->itrace);
	list_del(&task->list);
	sideband_ends__unwatch(&task->watched);
	rb_erase(&task->rb, &store->tasks);
	sideband_store__free(store, task, sizeof(*task));
	store->stats.tasks--;
}

static void process__free(struct sideband_store *store, struct sideband_process *process)
{
	struct sideband_task *task, *tmp;

	list_for_each_entry_safe(task, tmp, &process->tasks, list)
		task__free(store, task);
	sideband_maps__clear(store, process, NULL);
	sideband_store__free(store, process, sizeof(*process));
	store->stats.processes--;
}

/* Free the process, with its leader, when all its threads have exited */
static void process__put_if_gone(struct sideband_store *store, struct sideband_process *process)
{
	if (process->leader_exited && list_is_singular(&process->tasks))
		process__free(store, process);
}

static void task__end(struct sideband_store *store, struct sideband_task *task)
{
	struct sideband_process *process = task->process;

	if (task == process->leader)
		process->leader_exited = true;
	else
		task__free(store, task);
	process__put_if_gone(store, process);
}

/*
 * A thread that is gone without an EXIT may have execed, which gave it the leader's tid.
 * Then the process lives on, with this thread only. So a process ends only when the
 * leader's tid is gone.
 */
void sideband_tasks__gone(struct sideband_store *store, struct sideband_task *task)
{
	if (task == task->process->leader)
		task__end(store, task);
	else
		task__free(store, task);
}

/* The tid has a new owner, so the task is gone. If it is a leader, so is the process. */
static void task__replace(struct sideband_store *store, struct sideband_task *task)
{
	if (task == task->process->leader)
		process__free(store, task->process);
	else
		task__free(store, task);
}

static struct sideband_task *process__add_task(struct sideband_store *store,
					       struct sideband_process *process, u32 tid,
					       const struct sideband_record *rec)
{
	struct sideband_task *task = sideband_store__alloc(store, sizeof(*task));

	if (!task)
		return NULL;
	*task = (struct sideband_task) {
		.process = process,
		.tid	 = tid,
		.serial  = ++store->serials,
		.seen	 = rec->time,
	};
	store__link_task(store, task);
	return task;
}

static struct sideband_process *store__add_process(struct sideband_store *store, u32 pid,
						   const struct sideband_record *rec)
{
	struct sideband_process *process = sideband_store__alloc(store, sizeof(*process));

	if (!process)
		return NULL;
	*process = (struct sideband_process) { .pid = pid, .serial = ++store->serials, };
	INIT_LIST_HEAD(&process->tasks);
	process->leader = process__add_task(store, process, pid, rec);
	if (!process->leader) {
		sideband_store__free(store, process, sizeof(*process));
		return NULL;
	}
	store->stats.processes++;
	return process;
}

/*
 * Find the task that a record is about. If there is none, or it is gone, make a new
 * one. Return 0 and no task if @rec arrives late and the tid has a newer owner by now.
 * Return -ENOMEM if there is no memory.
 */
static int store__get_task(struct sideband_store *store, u32 pid, u32 tid,
			   const struct sideband_record *rec, struct sideband_task **taskp)
{
	struct sideband_process *process;
	struct sideband_task *task;

	*taskp = NULL;
	task = sideband_tasks__find(store, pid);
	if (task && rec->time < task->born)
		return 0;
	if (task && task->process->pid != pid) {
		task__replace(store, task);
		task = NULL;
	}
	process = task ? task->process : store__add_process(store, pid, rec);
	if (!process)
		return -ENOMEM;
	sideband_ends__recheck(store, &process->leader->watched);

	task = sideband_tasks__find(store, tid);
	if (task && rec->time < task->born)
		return 0;
	if (task && task->process != process) {
		task__replace(store, task);
		task = NULL;
	}
	task = task ?: process__add_task(store, process, tid, rec);
	if (!task)
		return -ENOMEM;
	sideband_ends__recheck(store, &task->watched);
	*taskp = task;
	return 0;
}

/* Replace @old by @rec if @rec is newer. Return whether it was replaced. */
static bool store__supersede(struct sideband_store *store, struct sideband_record **old,
			     struct sideband_record *rec)
{
	if (*old && sideband_record__older(rec, *old))
		return false;
	sideband_record__put(store, *old);
	*old = sideband_record__get(rec);
	return true;
}

/* An exec ends all mappings and all other threads, not all of which have an EXIT record */
static void process__exec(struct sideband_store *store, struct sideband_process *process,
			  struct sideband_task *survivor, const struct sideband_record *rec)
{
	struct sideband_task *task, *tmp;

	list_for_each_entry_safe(task, tmp, &process->tasks, list) {
		if (task != survivor && task != process->leader && task->seen <= rec->time)
			task__free(store, task);
	}
	process->leader_exited = false;
	sideband_maps__clear(store, process, rec);
}

static int apply_comm(struct sideband_store *store, struct sideband_record *rec)
{
	const union perf_event *event = sideband_record__event(rec);
	struct sideband_task *task;
	int err;

	err = store__get_task(store, event->comm.pid, event->comm.tid, rec, &task);
	if (!task)
		return err;
	rec->owner = task->serial;
	store__supersede(store, &task->comm, rec);
	if ((event->header.misc & PERF_RECORD_MISC_COMM_EXEC) &&
	    store__supersede(store, &task->exec_comm, rec))
		process__exec(store, task->process, task, rec);
	return 0;
}

static int apply_mmap(struct sideband_store *store, struct sideband_record *rec)
{
	union perf_event *event = sideband_record__event(rec);
	struct sideband_record *exec;
	struct sideband_task *task;
	int err;

	err = store__get_task(store, event->mmap.pid, event->mmap.pid, rec, &task);
	if (!task)
		return err;
	exec = task->exec_comm;
	if (exec && sideband_record__older(rec, exec))
		return 0;
	/*
	 * Mappings belong to the process. At the time of a dump the thread may be gone,
	 * and its tid may belong to another process, which must not get them.
	 */
	event->mmap.tid = event->mmap.pid;
	return sideband_maps__insert(store, task->process, rec);
}

/* Inherit as by fork() or clone(). Synthesized records only say which tasks exist. */
static void task__inherit(struct sideband_store *store, struct sideband_task *task,
			  const struct perf_record_fork *fork)
{
	struct sideband_process *process = task->process, *parent;
	struct sideband_task *creator = sideband_tasks__find(store, fork->ptid);

	if (creator && creator != task && creator->process->pid == fork->ppid) {
		task->ptid = creator->tid;
		task->parent = creator->serial;
		task->comm = creator->comm ? sideband_record__get(creator->comm) : NULL;
	}
	if (task != process->leader || (fork->header.misc & PERF_RECORD_MISC_FORK_EXEC))
		return;
	parent = sideband_tasks__find_process(store, fork->ppid);
	if (!parent || parent == process)
		return;
	process->ppid = parent->pid;
	process->parent = parent->serial;
	process->maps = parent->maps;
	if (process->maps)
		process->maps->refs++;
}

static void task__set_fork(struct sideband_task *task, struct sideband_record *rec)
{
	task->fork = sideband_record__get(rec);
	task->born = rec->time;
	rec->task = task;
}

/* Does @fork arrive late, when the task is known from newer records or was replaced? */
static bool task__late_fork(struct sideband_task *task, const struct perf_record_fork *fork,
			    struct sideband_record *rec)
{
	if (rec->time >= task->seen && !(task->fork && sideband_record__older(rec, task->fork)))
		return false;
	if (!task->fork && task->process->pid == fork->pid)
		task__set_fork(task, rec);
	return true;
}

static int apply_fork(struct sideband_store *store, struct sideband_record *rec)
{
	const struct perf_record_fork *fork = &sideband_record__event(rec)->fork;
	struct sideband_process *process;
	struct sideband_task *task, *leader;
	int err;

	task = sideband_tasks__find(store, fork->tid);
	if (task && task__late_fork(task, fork, rec))
		return 0;
	if (task)
		task__replace(store, task);
	if (fork->tid == fork->pid) {
		process = store__add_process(store, fork->pid, rec);
		task = process ? process->leader : NULL;
	} else {
		err = store__get_task(store, fork->pid, fork->pid, rec, &leader);
		if (!leader)
			return err;
		task = process__add_task(store, leader->process, fork->tid, rec);
	}
	if (!task)
		return -ENOMEM;
	task__set_fork(task, rec);
	task__inherit(store, task, fork);
	return 0;
}

void sideband_tasks__apply_exit(struct sideband_store *store,
				const struct perf_record_fork *exit, u64 time)
{
	struct sideband_task *task = sideband_tasks__find(store, exit->tid);

	if (task && task->process->pid == exit->pid && task->seen <= time)
		task__end(store, task);
}

static int apply_to_task(struct sideband_store *store, struct sideband_record *rec)
{
	const union perf_event *event = sideband_record__event(rec);
	struct sideband_task *task;
	int err;

	/* pid and tid are at the same place in both records */
	err = store__get_task(store, event->namespaces.pid, event->namespaces.tid, rec, &task);
	if (!task)
		return err;
	if (event->header.type == PERF_RECORD_NAMESPACES)
		store__supersede(store, &task->namespaces, rec);
	else
		store__supersede(store, &task->itrace, rec);
	return 0;
}

int sideband_tasks__apply(struct sideband_store *store, struct sideband_record *rec)
{
	switch (sideband_record__event(rec)->header.type) {
	case PERF_RECORD_COMM:
		return apply_comm(store, rec);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_mmap(store, rec);
	case PERF_RECORD_FORK:
		return apply_fork(store, rec);
	default:
		return apply_to_task(store, rec);
	}
}

void sideband_tasks__exit(struct sideband_store *store)
{
	struct rb_node *node;

	while ((node = rb_first(&store->tasks)))
		process__free(store, rb_entry(node, struct sideband_task, rb)->process);
}
