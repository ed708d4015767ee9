/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_STORE_H
#define __PERF_SIDEBAND_STORE_H 1

/*
 * A store for side-band records that were evicted from a ring
 *
 * A ring keeps the newest records and evicts old ones. Its samples still need
 * what evicted records say about tasks, mappings, kernel symbols and so on. Such
 * records move into the store when they leave the ring. They stay there as long
 * as a sample in the ring may need them. A reader of a dump of store and ring
 * then resolves each sample of the ring as in a full recording.
 *
 *	time ->
 *	+------------------------+----------------------+----------------------+
 *	| state as of T:         | all records,         | the ring             |
 *	| what is still in force | in order of time     |                      |
 *	+------------------------+----------------------+----------------------+
 *	                         T                      what left the ring last
 *
 * No record of the ring is older than T. An exec, a newer mapping, an exit and so
 * on supersede older records. These are dropped when the new record is older than
 * T, not when it leaves the ring. So the size of the store is bounded by the tasks
 * that live at T, and by the side-band between T and the ring. The store asks the
 * system about ends that are not recorded. For those that the system doesn't know
 * either, such as munmap, there is a limit on the number of records.
 *
 * Records leave the ring in the order in which the kernel's buffers were read.
 * One 'round' reads each of them once. A record of round N is not older than any
 * record of round N - 2, because round N - 1 has read all records from before
 * itself. But samples may come a little late: a task has samples after its exit,
 * and a time stamp is taken before its record is published. So T also lags by
 * SIDEBAND_STORE_LAG.
 *
 * Nothing in here is thread-safe.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct sideband_store;
union perf_event;

/* Limits: mappings of a process, objects of a kind, changes of kernel text */
#define SIDEBAND_MAX_MAPS	16384
#define SIDEBAND_MAX_OBJECTS	8192
#define SIDEBAND_MAX_POKES	65536

/**
 * struct sideband_ops - How a store asks the system about ends, and reports those of BPF programs
 * @task_is_gone:   is there no thread with this id any more?
 * @cgroup_is_gone: is there no cgroup with this id any more? false if not known.
 * @forget_bpf:	    neither the ring nor the file has samples of this BPF program
 */
struct sideband_ops {
	bool (*task_is_gone)(void *priv, u32 tid);
	bool (*cgroup_is_gone)(void *priv, u64 id);
	void (*forget_bpf)(void *priv, u32 id);
};

/* T is at least this much older than the ring, in nanoseconds */
#define SIDEBAND_STORE_LAG	1000000000ULL

/**
 * struct sideband_store_stats - What a store holds, and what it has seen
 *
 * Sums since sideband_store__new():
 * @added:	records taken, i.e. sideband_store__add() returned 0
 * @superseded:	of these, no longer needed and freed
 * @malformed:	records refused with -EINVAL
 * @failed:	records lost because there was no memory
 * @dropped:	mappings and objects dropped because there were too many, although
 *		samples may need them
 *
 * Current values, and the maximum of @bytes so far in @max_bytes:
 * @records:	records held: @added = @superseded + @records + those of @failed
 *		that were lost after they had been taken
 * @bytes:	memory for records, tasks and mappings
 * @tasks:	threads known to live at T
 * @processes:	processes known to live at T
 */
struct sideband_store_stats {
	u64	added;
	u64	superseded;
	u64	malformed;
	u64	failed;
	u64	dropped;

	u64	records;
	u64	bytes;
	u64	max_bytes;
	u64	tasks;
	u64	processes;
};

/* Which records a dump has */
enum sideband_dump_mode {
	/* all records that the ring needs, for a new file */
	SIDEBAND_DUMP_ALL,
	/* only those added since sideband_store__begin_write() */
	SIDEBAND_DUMP_NEW,
};

/**
 * sideband_store__new - Make an empty store
 * @sample_type: of the event that records side-band, if attr.sample_id_all is set
 *		 for it, else 0. It says where records have their pid and time.
 * @ops:	 how to ask the system; NULL: don't ask
 * @priv:	 for @ops
 *
 * Return NULL if there is no memory.
 */
struct sideband_store *sideband_store__new(u64 sample_type, const struct sideband_ops *ops,
					   void *priv);
void sideband_store__delete(struct sideband_store *store);

/**
 * sideband_store__wants - Does the store keep records of this type?
 * @event: only its header is read
 *
 * These are the records that change what later samples mean: COMM, MMAP, MMAP2,
 * FORK, EXIT, NAMESPACES, CGROUP, KSYMBOL, BPF_EVENT, TEXT_POKE, ITRACE_START,
 * AUX_OUTPUT_HW_ID. perf's own records, e.g. THREAD_MAP, are not kept: they are
 * written once, at the beginning of a file.
 */
bool sideband_store__wants(const union perf_event *event);

/* The time stamp after the body of a record that the store wants, 0: it has none */
u64 sideband_store__time(const struct sideband_store *store, const union perf_event *event);

/**
 * sideband_store__add - Take a copy of a record that has left the ring
 * @event: any record. Those not wanted are ignored.
 * @time:  its time stamp. 0 or ~0: none, as in synthesized records. Those come
 *	   first in a dump, in the order in which they were added.
 * @round: in which the record was read. Never decreases.
 *
 * Return 0, also if ignored;
 *   -EINVAL: the record is malformed. It is not taken, but counted.
 *   -ENOMEM: the record is lost, and counted. The store stays usable. Samples
 *	      can be unresolved, or resolved to what the lost record replaced.
 */
int sideband_store__add(struct sideband_store *store, const union perf_event *event,
			u64 time, u64 round);

/**
 * sideband_store__set_back - The clock was set back by @by nanoseconds
 *
 * All records added so far are from before the step; all later ones are from after
 * it. A dump has all records in the time of the clock as it is now, as if the clock
 * had always been right.
 */
void sideband_store__set_back(struct sideband_store *store, u64 by);

/**
 * sideband_store__sort - Prepare for sideband_store__prune()
 * @oldest_round: as there
 *
 * Optional. It is cheaper while the records that have left the ring are in the caches.
 */
void sideband_store__sort(struct sideband_store *store, u64 oldest_round);

/**
 * sideband_store__prune - Free what no sample of the ring can need
 * @oldest_round: no record of an earlier round is in the ring any more. When
 *		  the ring is empty: the round in which it is filled next.
 * @round: the one in which records are read now
 *
 * The cost grows with the number of records that have left the ring, not with the
 * size of the store. It is lower if processes have begun and ended since the last
 * call. Call this when whole rounds have left the ring. Until then records pile up.
 */
void sideband_store__prune(struct sideband_store *store, u64 oldest_round, u64 round);

/* Called for a record, valid during the call only. Non-zero: stop, and return that. */
typedef int (*sideband_record_t)(void *arg, const union perf_event *event);

/**
 * sideband_store__dump - Hand out the records that samples of the ring need
 * @mode: all, or only what isn't in the file yet
 * @record: called for each of them
 * @arg: for @record
 *
 * Records are in order of time, those without a time stamp first. The dump has all
 * records needed by the samples that are in the ring at the time of the call.
 *
 * Records are as they were added, with these exceptions. A process or thread may have
 * inherited mappings or a name by fork from one that is gone, or that has replaced
 * them. Then the dump has copies of these records with the pid, tid and time of the
 * fork, and the FORK record is marked as one that copies no mappings. In place of a
 * thread that is gone, FORK and MMAP records name the leader of its process.
 *
 * Return 0 or -ENOMEM or what @record has returned.
 */
int sideband_store__dump(struct sideband_store *store, enum sideband_dump_mode mode,
			 sideband_record_t record, void *arg);

/**
 * sideband_store__begin_write - All records added so far are being written to the file
 *
 * For SIDEBAND_DUMP_NEW. Call it after sideband_store__dump(), when the records of
 * the ring that go into the same file have been added, too. Call
 * sideband_store__end_write() when it is known whether they are in the file.
 * In between, records can be added and the store can be pruned. Records added
 * then do not count as written.
 */
void sideband_store__begin_write(struct sideband_store *store);

/**
 * sideband_store__end_write - The write has succeeded or failed
 * @written: if false, the next SIDEBAND_DUMP_NEW has these records again, unless
 *	     samples don't need them any more
 */
void sideband_store__end_write(struct sideband_store *store, bool written);

/* What the store holds, and what it has seen so far */
const struct sideband_store_stats *sideband_store__stats(const struct sideband_store *store);

#endif /* __PERF_SIDEBAND_STORE_H */
