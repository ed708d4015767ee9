/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_STATE_H
#define __PERF_SIDEBAND_STATE_H 1

/* What is inside of a sideband-store, see sideband-store.h */

#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/rbtree.h>
#include <perf/event.h>
#include "sideband-pending.h"
#include "sideband-store.h"

struct sideband_task;

/**
 * struct sideband_record - A record that is in force
 * @list:   the store's list of these
 * @time:   0 if it has none
 * @seq:    number of the record in order of arrival
 * @owner:  number of the process or task that it is about
 * @task:   a FORK record's, when that is applied
 * @refs:   tasks, segments of mappings and objects that are as it says
 * @orphan: its owner has lost this mapping, who inherited it has not: in a file
 *	    whoever has the owner's pid there must not get it
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

/* Is it about a task, or mappings of one? */
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

/* The part of an address range that a mapping is visible in */
struct sideband_segment {
	u64			start;
	u64			end;
	struct sideband_record	*rec;
};

/*
 * The mappings of a process. Sorted by address, no overlaps. Shared by parent
 * and child after a fork, until one of them changes it.
 */
struct sideband_maps {
	unsigned int		refs;
	unsigned int		nr;
	unsigned int		alloc;
	struct sideband_segment	*seg;
};

struct sideband_process {
	u32			pid;
	u32			ppid;
	u64			serial;
	u64			parent;		/* serial, 0 if not known */
	struct sideband_maps	*maps;		/* NULL if there are none */
	struct sideband_task	*leader;
	struct list_head	tasks;		/* the leader too */
	bool			leader_exited;
};

/*
 * A thread, or the leader of a process: that is kept as long as the process is.
 * Found by its tid. So a process is found as well: its leader's tid is its pid.
 */
struct sideband_task {
	struct rb_node		rb;
	struct list_head	list;
	struct sideband_process	*process;
	u32			tid;
	u32			ptid;
	u64			serial;
	u64			parent;		/* serial, 0 if not known */
	u64			born;		/* time of the fork, 0 if not known */
	u64			seen;		/* time of the first record */
	struct sideband_record	*fork;
	struct sideband_record	*comm;
	struct sideband_record	*exec_comm;
	struct sideband_record	*namespaces;
	struct sideband_record	*itrace;
};

/* What is not a task's: one record of each kind and key is in force */
enum sideband_kind {
	SIDEBAND_KERNEL_MAP,
	SIDEBAND_KSYMBOL,
	SIDEBAND_KSYMBOL_GONE,
	SIDEBAND_BPF,
	SIDEBAND_TEXT_POKE,
	SIDEBAND_CGROUP,
	SIDEBAND_HW_ID,
};

struct sideband_key {
	u64			kind;
	u64			val[3];
};

struct sideband_object {
	struct rb_node		rb;
	struct sideband_key	key;
	struct sideband_record	*rec;
};

struct sideband_life;

/**
 * struct sideband_lives - Hash table of the tids in the records that are due
 * @table: entries
 * @bits:  there are 1 << @bits of them
 * @nr:    in use
 * @known: they are about the records that are due
 */
struct sideband_lives {
	struct sideband_life	*table;
	unsigned int		bits;
	size_t			nr;
	bool			known;
};

/**
 * struct sideband_store - see sideband-store.h
 * @sample_type: says what follows the body of a record
 * @stats:	 what it holds, and what it has seen
 * @tasks:	 state at T: struct sideband_task by tid
 * @objects:	 state at T: struct sideband_object by key
 * @untimed:	 records in force without a time stamp, in order of arrival
 * @timed:	 records in force with one, in order of time
 * @pending:	 records that aren't applied to the state yet
 * @lives:	 which of them are about processes that leave nothing behind
 * @seq:	 number of the last record that has arrived
 * @written:	 all records up to this number are in the file
 * @writing:	 all records up to this number are there, or are being written
 * @serials:	 numbers given to processes and tasks
 * @scratch:	 to build segments in
 * @nr_scratch:	 its size
 */
struct sideband_store {
	u64				sample_type;
	struct sideband_store_stats	stats;
	struct rb_root			tasks;
	struct rb_root			objects;
	struct list_head		untimed;
	struct list_head		timed;
	struct sideband_pending		pending;
	struct sideband_lives		lives;
	u64				seq;
	u64				written;
	u64				writing;
	u64				serials;
	struct sideband_segment		*scratch;
	unsigned int			nr_scratch;
};

/* sideband-store.c */
void *sideband_store__alloc(struct sideband_store *store, size_t size);
void sideband_store__free(struct sideband_store *store, void *ptr, size_t size);
struct sideband_record *sideband_store__get(struct sideband_record *rec);
void sideband_store__put(struct sideband_store *store, struct sideband_record *rec);
/* Where a record has @field, a PERF_SAMPLE_*, behind its body. NULL if it hasn't. */
void *sideband_store__trailer(const struct sideband_store *store, union perf_event *event,
			      u64 field);

/*
 * sideband-lives.c: processes whose life leaves nothing behind
 *
 * Look for them in the pending records before @end, that are applied next
 */
void sideband_lives__look(struct sideband_store *store, size_t end);
/* Is @pending, of these records, about one of them? Then it needs not be applied. */
bool sideband_lives__over(const struct sideband_store *store,
			  const struct sideband_pending_record *pending);
void sideband_lives__forget(struct sideband_store *store);
void sideband_lives__exit(struct sideband_store *store);

/*
 * sideband-maps.c: the mappings of a process
 *
 * Take over @rec, a MMAP or MMAP2 record, into @process->maps. What it covers
 * of older mappings goes, what newer ones cover of it is left out. Return 0 or
 * -ENOMEM: nothing has changed then.
 */
int sideband_maps__insert(struct sideband_store *store, struct sideband_process *process,
			  struct sideband_record *rec);
/* Take away all mappings of @process that are older than @rec, or all if NULL */
void sideband_maps__clear(struct sideband_store *store, struct sideband_process *process,
			  const struct sideband_record *rec);
/* Is some part of @rec visible? */
bool sideband_maps__has(const struct sideband_maps *maps, struct sideband_record *rec);

/*
 * sideband-tasks.c: processes and threads
 *
 * Apply @rec to the state. Who needs it takes a reference. Return 0 or -ENOMEM.
 */
int sideband_tasks__apply(struct sideband_store *store, struct sideband_record *rec);
/* Apply an EXIT record, that nobody needs then */
void sideband_tasks__apply_exit(struct sideband_store *store,
				const struct perf_record_fork *exit, u64 time);
struct sideband_task *sideband_tasks__find(struct sideband_store *store, u32 tid);
struct sideband_process *sideband_tasks__find_process(struct sideband_store *store, u32 pid);
void sideband_tasks__exit(struct sideband_store *store);

/* sideband-objects.c: kernel symbols, cgroups and so on, likewise */
int sideband_objects__apply(struct sideband_store *store, struct sideband_record *rec);
/* Forget what was kept for the file only, and is in it */
void sideband_objects__written(struct sideband_store *store);
void sideband_objects__exit(struct sideband_store *store);

#endif /* __PERF_SIDEBAND_STATE_H */
