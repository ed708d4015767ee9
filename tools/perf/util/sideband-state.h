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
	struct rb_node		rb;
	struct list_head	age;
	u64			start;
	u64			end;
	struct sideband_record	*rec;
};

/**
 * struct sideband_maps - The mappings of a process
 * @refs:      parent and child share them after a fork, until one changes them
 * @nr:	       segments
 * @segments:  by address, no overlaps
 * @transient: of memory without a file, or with one that is removed, oldest first
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
 * struct sideband_watched - Something whose end may not be told
 * @list:  of all such things, who was looked at last at its end; or of those gone
 * @key:   NULL: a task
 * @gone:  it was found to be gone
 * @round: in which
 * @time:  no record that was made before is newer; 0: not known yet
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
	struct sideband_watched	watched;
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
 * @time_back:	 how far before a record's end its time is, 0: it has none
 * @ops:	 how to ask the system; NULL: nobody to ask
 * @priv:	 for @ops
 * @stats:	 what it holds, and what it has seen
 * @tasks:	 state at T: struct sideband_task by tid
 * @objects:	 state at T: struct sideband_object by key
 * @untimed:	 records in force without a time stamp, in order of arrival
 * @timed:	 records in force with one, in order of time
 * @pending:	 records that aren't applied to the state yet
 * @lives:	 which of them are about processes that leave nothing behind
 * @set_back:	 how far the clock was set back so far: times in here go on
 * @seq:	 number of the last record that has arrived
 * @written:	 all records up to this number are in the file
 * @writing:	 all records up to this number are there, or are being written
 * @serials:	 numbers given to processes and tasks
 * @spare:	 segments that no mapping has
 * @nr_spare:	 as many
 * @kinds:	 the objects again
 * @watched:	 struct sideband_watched of what lives, as far as is known
 * @gone:	 of what was found to be gone, in order of rounds
 * @unwatched:	 so many came to be watched since the last look
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
	struct sideband_lives		lives;
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
/* In order of address. NULL: there is none. @maps can be NULL. */
struct sideband_segment *sideband_maps__first(const struct sideband_maps *maps);
struct sideband_segment *sideband_maps__next(const struct sideband_segment *seg);
/* Free the spare segments but for @nr */
void sideband_maps__trim(struct sideband_store *store, unsigned int nr);
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
/* The system doesn't know its tid any more */
void sideband_tasks__gone(struct sideband_store *store, struct sideband_task *task);
struct sideband_task *sideband_tasks__find(struct sideband_store *store, u32 tid);
struct sideband_process *sideband_tasks__find_process(struct sideband_store *store, u32 pid);
void sideband_tasks__exit(struct sideband_store *store);

/* sideband-objects.c: kernel symbols, cgroups and so on, likewise */
int sideband_objects__apply(struct sideband_store *store, struct sideband_record *rec);
/* Forget what was kept for the file only, and is in it */
void sideband_objects__written(struct sideband_store *store);
void sideband_objects__end(struct sideband_store *store, struct sideband_object *obj);
void sideband_objects__exit(struct sideband_store *store);

/*
 * sideband-ends.c: ends that no record tells
 *
 * Watch a task, or a cgroup, from now on. sideband_ends__unwatch() when it ends.
 */
void sideband_ends__watch(struct sideband_store *store, struct sideband_watched *watched);
void sideband_ends__unwatch(struct sideband_watched *watched);
/* Something was said of it: if it was thought to be gone, it's to be looked at again */
void sideband_ends__doubt(struct sideband_store *store, struct sideband_watched *watched);
/* Ask the system about some of what is watched. Now @round is being read. */
void sideband_ends__look(struct sideband_store *store, u64 round);
/* Let go of what is gone, and was before anything in the ring */
void sideband_ends__apply(struct sideband_store *store, u64 oldest_round);

#endif /* __PERF_SIDEBAND_STATE_H */
