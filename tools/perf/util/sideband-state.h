/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_STATE_H
#define __PERF_SIDEBAND_STATE_H 1

/* Internals of a sideband-store, see sideband-store.h */

#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/rbtree.h>
#include <perf/event.h>
#include "sideband-pending.h"
#include "sideband-store.h"

struct sideband_task;

/**
 * struct sideband_record - A record that is in force
 * @list:   node in the store's list of such records
 * @time:   time stamp, 0 if it has none
 * @seq:    number of the record in order of arrival
 * @owner:  serial of the process or task that it is about
 * @task:   of an applied FORK record: the task that it made
 * @refs:   number of tasks, segments and objects that refer to it
 * @orphan: its owner has lost this mapping, but a child that inherited it has not.
 *	    A dump must not give it to the owner's pid.
 * @data:   the record itself
 */
struct sideband_record {
	struct list_head	list;
	u64			time;
	u64			seq;
	u64			owner;
	struct sideband_task	*task;
	unsigned int		refs;
	bool			orphan;
	u64			data[];
};

static inline union perf_event *sideband_record__event(struct sideband_record *rec)
{
	return (union perf_event *)rec->data;
}

/* Is @a older than @b? */
static inline bool sideband_record__older(const struct sideband_record *a,
					  const struct sideband_record *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

/* Is @event about a task or its mappings? */
static inline bool sideband_store__is_of_task(const union perf_event *event)
{
	u16 cpumode = event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	switch (event->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return cpumode != PERF_RECORD_MISC_KERNEL &&
		       cpumode != PERF_RECORD_MISC_GUEST_KERNEL;
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_ITRACE_START:
		return true;
	default:
		return false;
	}
}

/* An address range in which one mapping is visible */
struct sideband_segment {
	struct rb_node		rb;
	struct list_head	age;
	u64			start;
	u64			end;
	struct sideband_record	*rec;
};

/**
 * struct sideband_maps - The mappings of a process
 * @refs:      processes that share them: parent and child do after a fork, until
 *	       one of them changes its mappings
 * @nr:	       number of segments
 * @segments:  by address, without overlaps
 * @transient: segments of memory without a file, or of a removed file, oldest first
 * @lasting:   all others, oldest first
 */
struct sideband_maps {
	unsigned int		refs;
	unsigned int		nr;
	struct rb_root		segments;
	struct list_head	transient;
	struct list_head	lasting;
};

/**
 * struct sideband_watched - A task or cgroup whose end may not be recorded
 * @list:  node in the store's @watched, which has the last one checked at its end, or
 *	   in the store's @gone
 * @key:   of a cgroup; NULL: this is a task
 * @gone:  a check found that it is gone
 * @round: the round of that check
 * @time:  no record from before that check is newer than this; 0: not known yet
 */
struct sideband_watched {
	struct list_head		list;
	const struct sideband_key	*key;
	bool				gone;
	u64				round;
	u64				time;
};

struct sideband_process {
	u32			pid;
	u32			ppid;
	u64			serial;
	u64			parent;		/* serial of the parent, 0 if not known */
	struct sideband_maps	*maps;		/* NULL if there are none */
	struct sideband_task	*leader;
	struct list_head	tasks;		/* including the leader */
	bool			leader_exited;
};

/*
 * A thread. The leader is kept as long as its process is. Tasks are looked up by
 * tid, and so are processes: the tid of a leader is the pid of the process.
 */
struct sideband_task {
	struct rb_node		rb;
	struct list_head	list;
	struct sideband_watched	watched;
	struct sideband_process	*process;
	u32			tid;
	u32			ptid;
	u64			serial;
	u64			parent;		/* serial of the creator, 0 if not known */
	u64			born;		/* time of the fork, 0 if not known */
	u64			seen;		/* time of the first record */
	struct sideband_record	*fork;
	struct sideband_record	*comm;
	struct sideband_record	*exec_comm;
	struct sideband_record	*namespaces;
	struct sideband_record	*itrace;
};

/* State that belongs to no task: one record of each kind and key is in force */
enum sideband_kind {
	SIDEBAND_KERNEL_MAP,
	SIDEBAND_KSYMBOL,
	SIDEBAND_KSYMBOL_GONE,
	SIDEBAND_BPF,
	SIDEBAND_TEXT_POKE,
	SIDEBAND_CGROUP,
	SIDEBAND_HW_ID,
	SIDEBAND_KINDS,
};

struct sideband_key {
	u64			kind;
	u64			val[3];
};

struct sideband_object {
	struct rb_node		rb;
	struct list_head	age;
	struct sideband_watched	watched;
	struct sideband_key	key;
	struct sideband_record	*rec;
};

/* Objects of a kind, oldest first */
struct sideband_kind_list {
	struct list_head	list;
	unsigned int		nr;
};

struct shortlived_tid;

/**
 * struct sideband_shortlived - Hash table of the tids in the records that are due
 * @table: entries
 * @bits:  the table has 1 << @bits entries
 * @nr:    number of entries in use
 * @known: the table is valid for the records that are due now
 */
struct sideband_shortlived {
	struct shortlived_tid	*table;
	unsigned int		bits;
	size_t			nr;
	bool			known;
};

/**
 * struct sideband_store - see sideband-store.h
 * @sample_type: says which fields follow the body of a record
 * @time_back:	 distance of the time stamp from a record's end, 0: it has none
 * @ops:	 how to ask the system; NULL: don't ask
 * @priv:	 for @ops
 * @stats:	 what it holds, and what it has seen
 * @tasks:	 state at T: struct sideband_task by tid
 * @objects:	 state at T: struct sideband_object by key
 * @untimed:	 records in force without a time stamp, in order of arrival
 * @timed:	 records in force with a time stamp, in order of time
 * @pending:	 records that aren't applied to the state yet
 * @shortlived:	 which of them are about processes that leave no state
 * @set_back:	 sum of all steps by which the clock was set back. It is added to the
 *		 times in the store, so that these stay in order.
 * @seq:	 number of the last record that has arrived
 * @written:	 all records up to this number are in the file
 * @writing:	 all records up to this number are there, or are being written
 * @serials:	 last serial given to a process or task
 * @spare:	 preallocated segments
 * @nr_spare:	 number of them
 * @kinds:	 the objects by kind and age
 * @watched:	 struct sideband_watched of all that is not known to be gone
 * @gone:	 struct sideband_watched of what was found to be gone, in order of rounds
 * @unwatched:	 number added to @watched since the last check
 */
struct sideband_store {
	u64				sample_type;
	size_t				time_back;
	const struct sideband_ops	*ops;
	void				*priv;
	struct sideband_store_stats	stats;
	struct rb_root			tasks;
	struct rb_root			objects;
	struct list_head		untimed;
	struct list_head		timed;
	struct sideband_pending		pending;
	struct sideband_shortlived	shortlived;
	u64				set_back;
	u64				seq;
	u64				written;
	u64				writing;
	u64				serials;
	struct list_head		spare;
	unsigned int			nr_spare;
	struct sideband_kind_list	kinds[SIDEBAND_KINDS];
	struct list_head		watched;
	struct list_head		gone;
	u64				unwatched;
};

/*
 * sideband-record.c: memory and records of the store
 *
 * Return NULL if there is no memory.
 */
void *sideband_store__alloc(struct sideband_store *store, size_t size);
void sideband_store__free(struct sideband_store *store, void *ptr, size_t size);
/* Add a copy of @pending to the list that a dump walks. It has no references yet. */
struct sideband_record *sideband_record__new(struct sideband_store *store,
					     const struct sideband_pending_record *pending);
/* Free @rec, which has no references */
void sideband_record__free(struct sideband_store *store, struct sideband_record *rec);
struct sideband_record *sideband_record__get(struct sideband_record *rec);
/* Drop a reference to @rec, which can be NULL. The last one frees it. */
void sideband_record__put(struct sideband_store *store, struct sideband_record *rec);
/* The distance of @field, a PERF_SAMPLE_*, from the end of a record, 0: no such field */
size_t sideband_store__trailer_back(u64 sample_type, u64 field);
/* Address of @field after the body of a record, NULL if it has none */
void *sideband_store__trailer(const struct sideband_store *store, union perf_event *event,
			      u64 field);

/*
 * sideband-shortlived.c: processes that begin and end between two prunes
 *
 * Find them in the pending records before @end, which are applied next.
 */
void sideband_shortlived__scan(struct sideband_store *store, size_t end);
/* Is @pending, one of these records, about such a process? Then don't apply it. */
bool sideband_shortlived__is_complete(const struct sideband_store *store,
				      const struct sideband_pending_record *pending);
void sideband_shortlived__forget(struct sideband_store *store);
void sideband_shortlived__exit(struct sideband_store *store);

/*
 * sideband-maps.c: the mappings of a process
 *
 * Add @rec, a MMAP or MMAP2 record, to @process->maps. It replaces older mappings
 * where they overlap, and is left out where it overlaps newer ones. Return 0, or
 * -ENOMEM with nothing changed.
 */
int sideband_maps__insert(struct sideband_store *store, struct sideband_process *process,
			  struct sideband_record *rec);
/* Remove all mappings of @process that are older than @rec; NULL: all mappings */
void sideband_maps__clear(struct sideband_store *store, struct sideband_process *process,
			  const struct sideband_record *rec);
/* Iterate over the segments in order of address, up to NULL. @maps can be NULL. */
struct sideband_segment *sideband_maps__first(const struct sideband_maps *maps);
struct sideband_segment *sideband_maps__next(const struct sideband_segment *seg);
/* Free all spare segments but @nr */
void sideband_maps__trim(struct sideband_store *store, unsigned int nr);
/* Is some part of @rec visible? */
bool sideband_maps__has(const struct sideband_maps *maps, struct sideband_record *rec);

/*
 * sideband-tasks.c: processes and threads
 *
 * Apply @rec to the state. Whatever needs @rec takes a reference. Return 0 or -ENOMEM.
 */
int sideband_tasks__apply(struct sideband_store *store, struct sideband_record *rec);
/* Apply an EXIT record, which is not needed afterwards */
void sideband_tasks__apply_exit(struct sideband_store *store,
				const struct perf_record_fork *exit, u64 time);
/* The system doesn't know the tid of @task any more */
void sideband_tasks__gone(struct sideband_store *store, struct sideband_task *task);
struct sideband_task *sideband_tasks__find(struct sideband_store *store, u32 tid);
struct sideband_process *sideband_tasks__find_process(struct sideband_store *store, u32 pid);
void sideband_tasks__exit(struct sideband_store *store);

/* sideband-objects.c: the same for kernel symbols, cgroups and so on */
int sideband_objects__apply(struct sideband_store *store, struct sideband_record *rec);
/* Drop records that were kept only for the file and are in it now */
void sideband_objects__written(struct sideband_store *store);
void sideband_objects__end(struct sideband_store *store, struct sideband_object *obj);
void sideband_objects__exit(struct sideband_store *store);

/*
 * sideband-ends.c: ends that are not recorded
 *
 * Watch a task or a cgroup from now on. Call sideband_ends__unwatch() when it ends.
 */
void sideband_ends__watch(struct sideband_store *store, struct sideband_watched *watched);
void sideband_ends__unwatch(struct sideband_watched *watched);
/* A new record mentions it: if a check found it to be gone, check again */
void sideband_ends__recheck(struct sideband_store *store, struct sideband_watched *watched);
/* Ask the system about some of what is watched. @round is the one being read. */
void sideband_ends__check(struct sideband_store *store, u64 round);
/* End what was gone before the records in the ring were read */
void sideband_ends__apply(struct sideband_store *store, u64 oldest_round);

#endif /* __PERF_SIDEBAND_STATE_H */
