// SPDX-License-Identifier: GPL-2.0
/*
 * Random histories: processes and threads on several CPUs fork, exec, map, exit, and
 * reuse ids. A model of perf record reads their buffers in rounds, into its ring and
 * the store.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perf/event.h>
#include <linux/perf_event.h>
#include "sideband-store.h"
#include "sideband_history.h"
#include "sideband_playback.h"
#include "../perf_alloc.h"

#define CPUS		3
#define MSEC		1000000ULL
/* How long after its exit a task still has samples; how long a record stays unpublished */
#define MAX_TAIL	(SIDEBAND_STORE_LAG / 2)
#define MAX_STUCK	(SIDEBAND_STORE_LAG / 3)
#define SAMPLE_TYPE	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
			 PERF_SAMPLE_IDENTIFIER)

struct trailer {
	u32 pid, tid;
	u64 time, id;
	u32 cpu, zero;
	u64 identifier;
};

struct process {
	bool alive;
	int pages[WORLD_PAGES];
};

struct thread {
	bool alive;
	bool in_exec;			/* between the two records of an exec */
	int pid, comm;
	u64 exited;			/* time of exit, until its tid is reused */
};

struct history {
	struct choices *choices;
	struct history_count *count;
	struct process process[WORLD_TIDS];
	struct thread thread[WORLD_TIDS];
	int symbol[WORLD_SLOTS], cgroup[WORLD_SLOTS], poke[WORLD_SLOTS];
	int serial;			/* next name of a mapping, comm, ... */
	u64 time;
	u64 pace;			/* longest time between two steps */

	struct items cpu[CPUS];
	u64 stuck_until[CPUS];	/* when its oldest record is published */
	bool all_read[CPUS];
	u64 round;

	struct items ring;
	size_t ring_size, chunk;
	size_t unpruned, prune_at;	/* records */
	struct sideband_store *store;

	bool lossy;		/* some ends are not recorded */
	bool append;
	struct items file;		/* what has been appended so far */
	size_t pending;			/* size before the write that may fail */
	bool writing;
	bool verbose;
	const char *name;
};

unsigned int choose(struct choices *choices, unsigned int n)
{
	u64 x;

	if (choices->size) {
		choices->size--;
		return *choices->data++ % n;
	}
	x = choices->random;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	choices->random = x;
	return (x >> 16) % n;
}

static bool one_in(struct history *h, unsigned int n)
{
	return !choose(h->choices, n);
}

/* ---- records */

static void *xzalloc(size_t size)
{
	void *ptr = calloc(1, size);

	if (!ptr)
		abort();
	return ptr;
}

static union perf_event *copy_event(const union perf_event *event)
{
	return memcpy(xzalloc(event->header.size), event, event->header.size);
}

/* Emit a record on a random CPU, with the time or without. @size excludes the trailer. */
static void emit(struct history *h, union perf_event *event, size_t size, int pid, int tid,
		 bool timed)
{
	unsigned int cpu = choose(h->choices, CPUS);
	struct item item = { .time = timed ? ++h->time : 0, };
	struct trailer *trailer;

	size = (size + 7) & ~7UL;
	trailer = (void *)event + size;
	*trailer = (struct trailer) { pid, tid, item.time, 7, cpu, 0, 7 };
	event->header.size = size + sizeof(*trailer);
	item.event = copy_event(event);
	items__add(&h->cpu[timed ? cpu : 0], item);
}

/* Room for the largest record with its trailer */
struct buffer {
	union {
		u64 data[32];
		struct perf_event_header header;
	};
};

static union perf_event *new_event(struct buffer *buffer, u32 type, u16 misc)
{
	*buffer = (struct buffer){ .header = { .type = type, .misc = misc } };

	return (void *)buffer;
}

static void emit_fork(struct history *h, int type, int pid, int tid, int ppid, int ptid,
		      bool timed)
{
	struct buffer buffer;
	union perf_event *event = new_event(&buffer, type, timed ? 0 : PERF_RECORD_MISC_FORK_EXEC);

	event->fork.pid = pid;
	event->fork.tid = tid;
	event->fork.ppid = ppid;
	event->fork.ptid = ptid;
	event->fork.time = h->time;
	emit(h, event, sizeof(event->fork), pid, tid, timed);
}

static void emit_comm(struct history *h, int tid, bool exec, bool timed)
{
	struct thread *thread = &h->thread[tid];
	u16 misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
	struct buffer buffer;
	union perf_event *event = new_event(&buffer, PERF_RECORD_COMM, misc);

	thread->comm = ++h->serial;
	event->comm.pid = thread->pid;
	event->comm.tid = tid;
	snprintf(event->comm.comm, 16, "%d", thread->comm);
	emit(h, event, sizeof(event->comm), thread->pid, tid, timed);
}

static void emit_mmap(struct history *h, int tid, bool timed)
{
	struct thread *thread = &h->thread[tid];
	unsigned int page = choose(h->choices, WORLD_PAGES), i;
	unsigned int nr = 1 + choose(h->choices, one_in(h, 4) ? WORLD_PAGES - page : 3);
	struct buffer buffer;
	union perf_event *event = new_event(&buffer, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	h->serial++;
	for (i = page; i < page + nr && i < WORLD_PAGES; i++)
		h->process[thread->pid].pages[i] = h->serial;
	event->mmap2.pid = thread->pid;
	event->mmap2.tid = tid;
	event->mmap2.start = page * WORLD_PAGE;
	event->mmap2.len = (i - page) * WORLD_PAGE;
	event->mmap2.pgoff = h->serial;
	memcpy(event->mmap2.filename, "/bin/x", sizeof("/bin/x"));
	emit(h, event, offsetof(struct perf_record_mmap2, filename) + 8, thread->pid, tid, timed);
}

static void emit_ksymbol(struct history *h)
{
	unsigned int slot = choose(h->choices, WORLD_SLOTS);
	struct buffer buffer;
	union perf_event *event = new_event(&buffer, PERF_RECORD_KSYMBOL, PERF_RECORD_MISC_KERNEL);

	event->ksymbol.addr = slot * WORLD_PAGE;
	event->ksymbol.len = WORLD_PAGE;
	if (h->symbol[slot] != NOBODY) {
		event->ksymbol.flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
		snprintf(event->ksymbol.name, 16, "%d", h->symbol[slot]);
		h->symbol[slot] = NOBODY;
		/* nothing resolves to a poke of code that is gone */
		h->poke[slot] = NOBODY;
	} else {
		h->symbol[slot] = ++h->serial;
		snprintf(event->ksymbol.name, 16, "%d", h->serial);
	}
	emit(h, event, offsetof(struct perf_record_ksymbol, name) + 16, 0, 0, true);
}

static void emit_cgroup(struct history *h)
{
	unsigned int slot = choose(h->choices, WORLD_SLOTS);
	struct buffer buffer;
	union perf_event *event = new_event(&buffer, PERF_RECORD_CGROUP, 0);

	h->cgroup[slot] = ++h->serial;
	event->cgroup.id = slot;
	snprintf(event->cgroup.path, 16, "%d", h->serial);
	emit(h, event, offsetof(struct perf_record_cgroup, path) + 16, 0, 0, true);
}

static void emit_text_poke(struct history *h)
{
	struct buffer buffer;
	union perf_event *event;
	unsigned int slot = choose(h->choices, WORLD_SLOTS);

	event = new_event(&buffer, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_KERNEL);
	h->poke[slot] = ++h->serial & 0xff;
	event->text_poke.addr = slot * WORLD_PAGE;
	event->text_poke.old_len = 1;
	event->text_poke.new_len = 1;
	event->text_poke.bytes[1] = h->poke[slot];
	emit(h, event, sizeof(event->text_poke) + 4, 0, 0, true);
}

/* ---- the system */

static int find_thread(struct history *h, bool in_exec)
{
	unsigned int start = choose(h->choices, WORLD_TIDS), i;

	for (i = 0; i < WORLD_TIDS; i++) {
		unsigned int tid = (start + i) % WORLD_TIDS;

		if (h->thread[tid].alive && h->thread[tid].in_exec == in_exec)
			return tid;
	}
	return NOBODY;
}

/* A thread that is alive and not in an exec, or NOBODY */
static int some_thread(struct history *h)
{
	return find_thread(h, false);
}

/* A tid that no thread or process has, or NOBODY */
static int free_tid(struct history *h)
{
	unsigned int start = choose(h->choices, WORLD_TIDS), i;

	for (i = 0; i < WORLD_TIDS; i++) {
		unsigned int tid = (start + i) % WORLD_TIDS;

		if (tid && !h->thread[tid].alive && !h->process[tid].alive) {
			h->count->reused += h->thread[tid].exited != 0;
			return tid;
		}
	}
	return NOBODY;
}

static void start_thread(struct history *h, int pid, int tid, int comm)
{
	h->thread[tid] = (struct thread) { .alive = true, .pid = pid, .comm = comm, };
}

static void forget_pages(struct process *process)
{
	int i;

	for (i = 0; i < WORLD_PAGES; i++)
		process->pages[i] = NOBODY;
}

static void clone_task(struct history *h, bool new_process)
{
	int parent = some_thread(h), tid = free_tid(h), pid;

	if (parent == NOBODY || tid == NOBODY)
		return;
	pid = h->thread[parent].pid;
	emit_fork(h, PERF_RECORD_FORK, new_process ? tid : pid, tid, pid, parent, true);
	if (new_process) {
		h->process[tid] = h->process[pid];
		pid = tid;
	}
	start_thread(h, pid, tid, h->thread[parent].comm);
}

static void exit_thread(struct history *h, int tid)
{
	struct thread *thread = &h->thread[tid];
	int i;

	if (!h->lossy || !one_in(h, 3))
		emit_fork(h, PERF_RECORD_EXIT, thread->pid, tid, thread->pid, tid, true);
	thread->alive = false;
	thread->exited = h->time;
	for (i = 0; i < WORLD_TIDS; i++) {
		if (h->thread[i].alive && h->thread[i].pid == thread->pid)
			return;
	}
	h->process[thread->pid].alive = false;
}

/* The last thread of a process takes over its leader's tid, which has no EXIT record */
static void become_leader(struct history *h, int tid)
{
	int pid = h->thread[tid].pid, i;

	for (i = 0; i < WORLD_TIDS; i++) {
		if (i != tid && h->thread[i].alive && h->thread[i].pid == pid)
			exit_thread(h, i);
	}
	if (tid != pid) {
		h->thread[tid] = (struct thread) { .alive = false, };
		start_thread(h, pid, pid, h->thread[pid].comm);
	}
}

static void new_image(struct history *h, int pid)
{
	int i;

	h->thread[pid].in_exec = false;
	forget_pages(&h->process[pid]);
	emit_comm(h, pid, true, true);
	for (i = choose(h->choices, 4); i; i--)
		emit_mmap(h, pid, true);
}

static void exec(struct history *h)
{
	int tid = some_thread(h), pid;

	if (tid == NOBODY)
		return;
	pid = h->thread[tid].pid;
	become_leader(h, tid);
	h->thread[pid].in_exec = one_in(h, 4);
	if (!h->thread[pid].in_exec)
		new_image(h, pid);
}

static bool end_exec(struct history *h)
{
	int pid = find_thread(h, true);

	if (pid != NOBODY)
		new_image(h, pid);
	return pid != NOBODY;
}

static void unmap(struct history *h)
{
	int tid = some_thread(h);

	if (tid != NOBODY)
		h->process[h->thread[tid].pid].pages[choose(h->choices, WORLD_PAGES)] = NOBODY;
}

static void sample(struct history *h)
{
	struct expectation e = { .tid = choose(h->choices, WORLD_TIDS), .map = NOBODY, };
	struct thread *thread = &h->thread[e.tid];
	unsigned int slot = choose(h->choices, WORLD_SLOTS);

	h->time++;
	if (thread->alive) {
		e.page = choose(h->choices, WORLD_PAGES);
		e.map = h->process[thread->pid].pages[e.page];
	} else if (!thread->exited || h->time - thread->exited >= MAX_TAIL) {
		e.tid = NOBODY;
	}
	e.comm = thread->comm;
	e.slot = slot;
	e.symbol = h->symbol[slot];
	e.cgroup = h->cgroup[slot];
	e.poke = h->poke[slot];
	items__add(&h->cpu[choose(h->choices, CPUS)],
		   (struct item) { .time = h->time, .expect = e, });
}

static void step(struct history *h)
{
	int tid;

	h->time += choose(h->choices, 256) * h->pace / 256;
	switch (choose(h->choices, 20)) {
	case 0 ... 1:
		clone_task(h, true);
		break;
	case 2:
		clone_task(h, false);
		break;
	case 3 ... 4:
		tid = some_thread(h);
		if (tid != NOBODY && tid != 1)
			exit_thread(h, tid);
		break;
	case 5:
		if (one_in(h, 2))
			exec(h);
		else
			end_exec(h);
		break;
	case 6 ... 7:
		tid = some_thread(h);
		if (tid != NOBODY)
			emit_mmap(h, tid, true);
		break;
	case 8:
		unmap(h);
		break;
	case 9:
		tid = some_thread(h);
		if (tid != NOBODY)
			emit_comm(h, tid, false, true);
		break;
	case 10:
		emit_ksymbol(h);
		break;
	case 11:
		if (one_in(h, 2))
			emit_cgroup(h);
		else if (one_in(h, 3))
			h->cgroup[choose(h->choices, WORLD_SLOTS)] = NOBODY;
		else
			emit_text_poke(h);
		break;
	default:
		sample(h);
	}
}

/* The records that perf synthesizes for running processes */
static void synthesize(struct history *h)
{
	int pid, tid;

	for (pid = 1; pid < 6; pid++) {
		h->process[pid].alive = true;
		forget_pages(&h->process[pid]);
		start_thread(h, pid, pid, NOBODY);
		emit_fork(h, PERF_RECORD_FORK, pid, pid, pid / 2, pid / 2, false);
		emit_comm(h, pid, false, false);
		for (tid = choose(h->choices, 5); tid; tid--)
			emit_mmap(h, pid, false);
		if (one_in(h, 2)) {
			tid = pid + 5;
			start_thread(h, pid, tid, NOBODY);
			emit_fork(h, PERF_RECORD_FORK, pid, tid, pid, pid, false);
			emit_comm(h, tid, false, false);
		}
	}
}

/* ---- queries about the system */

/* The leader of a process exists until all of its threads have ended */
static bool task_is_gone(void *priv, u32 tid)
{
	struct history *h = priv;
	bool gone = !h->thread[tid].alive && !h->process[tid].alive;

	h->count->gone += gone;
	return gone;
}

static bool cgroup_is_gone(void *priv, u64 id)
{
	struct history *h = priv;

	return h->cgroup[id] == NOBODY;
}

static void forget_bpf(void *priv, u32 id)
{
}

static const struct sideband_ops system_ops = {
	.task_is_gone	= task_is_gone,
	.cgroup_is_gone	= cgroup_is_gone,
	.forget_bpf	= forget_bpf,
};

/* ---- perf record */

static void add(struct history *h, const struct item *item)
{
	if (item->event)
		sideband_store__add(h->store, item->event, item->time, item->round);
}

/* Evict the oldest @nr records from the ring */
static void evict(struct history *h, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		add(h, &h->ring.item[i]);
	items__drop_first(&h->ring, nr);
	h->unpruned += nr;
	if (h->unpruned < h->prune_at)
		return;
	h->unpruned = 0;
	sideband_store__prune(h->store, h->ring.nr ? h->ring.item[0].round : h->round, h->round);
}

static void read_cpu(struct history *h, unsigned int cpu)
{
	size_t i;

	if (h->time < h->stuck_until[cpu])
		return;
	for (i = 0; i < h->cpu[cpu].nr; i++) {
		h->cpu[cpu].item[i].round = h->round;
		items__add(&h->ring, h->cpu[cpu].item[i]);
		h->cpu[cpu].item[i].event = NULL;
		if (h->ring.nr > h->ring_size)
			evict(h, h->chunk);
	}
	items__drop_first(&h->cpu[cpu], i);
	/* a writer that is held up here blocks what follows its record */
	if (one_in(h, 16))
		h->stuck_until[cpu] = h->time + choose(h->choices, 256) * MAX_STUCK / 256;
}

/* One round. The system goes on between the reading of two CPUs. */
static void read_all(struct history *h)
{
	unsigned int cpu;
	int i;

	h->round++;
	for (cpu = 0; cpu < CPUS; cpu++) {
		read_cpu(h, cpu);
		for (i = choose(h->choices, one_in(h, 4) ? 24 : 4); i; i--)
			step(h);
	}
}

/* Read everything, so that no sample is in the ring without its side-band */
static void read_to_the_end(struct history *h)
{
	unsigned int cpu;

	h->round++;
	for (cpu = 0; cpu < CPUS; cpu++) {
		h->stuck_until[cpu] = 0;
		read_cpu(h, cpu);
	}
}

/* Where the records of a dump go */
struct dumped {
	struct history	*h;
	struct items	*items;
};

static int take_dumped(void *arg, const union perf_event *event)
{
	const struct trailer *trailer = (void *)event + event->header.size - sizeof(*trailer);
	struct dumped *dumped = arg;

	items__add(dumped->items, (struct item) {
		.time = trailer->time, .event = copy_event(event), });
	dumped->h->count->inherited += event->header.type == PERF_RECORD_FORK && trailer->time &&
				       event->header.misc;
	return 0;
}

static void copy_items(struct items *to, const struct items *from)
{
	struct item item;
	size_t i;

	for (i = 0; i < from->nr; i++) {
		item = from->item[i];
		if (item.event)
			item.event = copy_event(item.event);
		items__add(to, item);
	}
}

static void check_file(struct history *h, const struct items *file)
{
	size_t i;

	for (i = 0; i < file->nr; i++)
		h->count->samples += !file->item[i].event && !file->item[i].finished_round;
	h->count->wrong += playback__file(file, h->verbose ? h->name : NULL);
	h->count->dumps++;
}

/* The write of the last dump ends, with or without success */
static void end_write(struct history *h)
{
	bool written = !one_in(h, 4);
	size_t i;

	if (!h->writing)
		return;
	h->writing = false;
	if (!written) {
		for (i = h->pending; i < h->file.nr; i++)
			free(h->file.item[i].event);
		h->file.nr = h->pending;
	}
	sideband_store__end_write(h->store, written);
}

static void dump(struct history *h)
{
	struct items once = { .nr = 0, }, *file = h->append ? &h->file : &once;
	struct dumped dumped = { .h = h, .items = file, };

	end_write(h);
	h->pending = h->file.nr;
	if (sideband_store__dump(h->store, h->append ? SIDEBAND_DUMP_NEW : SIDEBAND_DUMP_ALL,
				 take_dumped, &dumped))
		abort();
	copy_items(file, &h->ring);
	items__add(file, (struct item) { .finished_round = true, });
	check_file(h, file);
	items__free(&once);

	/* a dump empties the ring, unless it only copies */
	if (!h->append && one_in(h, 2))
		return;
	evict(h, h->ring.nr);
	if (h->append) {
		sideband_store__begin_write(h->store);
		h->writing = true;
	}
}

/* ---- what the store holds when few tasks are alive */

static unsigned int count_objects(struct history *h)
{
	unsigned int i, nr = 0;

	/* an appended file also needs the records of symbols that are gone */
	for (i = 0; i < WORLD_SLOTS; i++)
		nr += (h->symbol[i] != NOBODY) + h->append + 2;
	return nr;
}

/* The store still holds some tasks whose end isn't recorded; the unit test limits them */
static bool holds_what_lives(struct history *h, unsigned int tasks, unsigned int processes,
			     unsigned int records)
{
	const struct sideband_store_stats *stats = sideband_store__stats(h->store);

	if (stats->added != stats->superseded + stats->records)
		return false;
	if (h->lossy)
		return stats->tasks >= tasks && stats->processes >= processes;
	return stats->tasks == tasks && stats->processes == processes &&
	       stats->records <= records;
}

/* End what can end, and compare the store with the tasks that are alive */
static void check_bounds(struct history *h)
{
	const struct sideband_store_stats *stats = sideband_store__stats(h->store);
	unsigned int tasks = 0, processes = 0, records, i;

	while (end_exec(h))
		;
	for (i = 2; i < WORLD_TIDS; i++) {
		if (h->thread[i].alive && !one_in(h, 4))
			exit_thread(h, i);
	}
	h->prune_at = 0;
	for (i = 0; i < 4; i++) {
		h->time += 2 * SIDEBAND_STORE_LAG;
		emit_comm(h, 1, false, true);
		read_to_the_end(h);
		evict(h, h->ring.nr);
	}
	for (i = 0; i < WORLD_TIDS; i++) {
		processes += h->process[i].alive;
		tasks += h->thread[i].alive || h->process[i].alive;
	}
	records = tasks * 3 + processes * 2 * WORLD_PAGES + count_objects(h) + 4;
	if (!holds_what_lives(h, tasks, processes, records)) {
		h->count->leaks++;
		if (h->verbose)
			printf("# %s: %" PRIu64 " tasks of %u, %" PRIu64
			       " processes of %u, %" PRIu64 " records of %u\n",
			       h->name, stats->tasks, tasks, stats->processes, processes,
			       stats->records, records);
	}
	h->count->added += stats->added;
	h->count->superseded += stats->superseded;
}

static void history__init(struct history *h)
{
	static const u64 paces[] = { 1, MSEC / 4, 20 * MSEC, 400 * MSEC, 3000 * MSEC };
	int i;

	for (i = 0; i < WORLD_SLOTS; i++) {
		h->symbol[i] = NOBODY;
		h->cgroup[i] = NOBODY;
		h->poke[i] = NOBODY;
	}
	h->append = one_in(h, 2);
	h->lossy = one_in(h, 2);
	h->pace = paces[choose(h->choices, 5)];
	h->chunk = 1 + choose(h->choices, 20);
	h->ring_size = h->chunk + choose(h->choices, one_in(h, 2) ? 200 : 20);
	h->prune_at = one_in(h, 2) ? choose(h->choices, 256) * 4 : 0;
	h->time = 1000;
	h->name = h->append ? "appended to a file" : "a file of its own";
	h->store = sideband_store__new(SAMPLE_TYPE, &system_ops, h);
	if (!h->store)
		abort();
}

void history__run(struct choices *choices, unsigned int steps, struct history_count *count,
		  bool verbose)
{
	struct history h = { .choices = choices, .count = count, .verbose = verbose, };
	unsigned int i;

	history__init(&h);
	synthesize(&h);
	while (steps--) {
		step(&h);
		if (one_in(&h, 12))
			read_all(&h);
		if (one_in(&h, 60)) {
			read_to_the_end(&h);
			dump(&h);
		}
		if (one_in(&h, 60))
			end_write(&h);
	}
	end_write(&h);
	check_bounds(&h);
	dump(&h);
	sideband_store__delete(h.store);
	for (i = 0; i < CPUS; i++)
		items__free(&h.cpu[i]);
	items__free(&h.ring);
	items__free(&h.file);
}

/* ---- garbage */

static void fill_garbage(struct choices *choices, struct buffer *buffer)
{
	unsigned char *byte = (void *)buffer;
	size_t i;

	/* small numbers, so that ids collide; strings that may lack their end */
	for (i = 0; i < sizeof(*buffer); i++) {
		byte[i] = choose(choices, 4) ? 0 : choose(choices, 256);
		if (i % 4 && choose(choices, 8))
			byte[i] = 0;
	}
	if (!choose(choices, 4))
		memset(byte + 8 + choose(choices, 64), 'x', 128);
	buffer->header.type = choose(choices, 8) ? 1 + choose(choices, 21) : choose(choices, 256);
	buffer->header.misc = choose(choices, 16) << 12 | choose(choices, 8);
	buffer->header.size = 8 + choose(choices, sizeof(*buffer) - 8);
	if (choose(choices, 16))
		buffer->header.size &= ~7;
}

static u64 garbage_time(struct choices *choices, u64 *time)
{
	*time += choose(choices, 256) * 4 * MSEC;
	switch (choose(choices, 8)) {
	case 0:
		return 0;
	case 1:
		return ~0ULL - choose(choices, 2);
	case 2:
		return *time / (1 + choose(choices, 4));
	default:
		return *time;
	}
}

/* Fail at the record at which the counter @arg is zero */
static int check_garbage(void *arg, const union perf_event *event)
{
	unsigned int *left = arg;

	if (!sideband_store__wants(event) || event->header.size < sizeof(event->header))
		abort();
	return (*left)-- ? 0 : -EIO;
}

static void garbage_dump(struct sideband_store *store, struct choices *choices)
{
	unsigned int left = choose(choices, 4096);

	if (sideband_store__dump(store, choose(choices, 2), check_garbage, &left))
		return;
	if (choose(choices, 2))
		sideband_store__begin_write(store);
	if (choose(choices, 2))
		sideband_store__end_write(store, choose(choices, 2));
}

static bool garbage_is_gone(struct choices *choices)
{
	return !choose(choices, 2);
}

static bool garbage_task_is_gone(void *priv, u32 tid)
{
	return garbage_is_gone(priv);
}

static bool garbage_cgroup_is_gone(void *priv, u64 id)
{
	return garbage_is_gone(priv);
}

static const struct sideband_ops garbage_ops = {
	.task_is_gone	= garbage_task_is_gone,
	.cgroup_is_gone	= garbage_cgroup_is_gone,
	.forget_bpf	= forget_bpf,
};

void garbage__run(struct choices *choices, unsigned int steps, struct history_count *count)
{
	static const u64 types[] = { 0, SAMPLE_TYPE, PERF_SAMPLE_TIME, ~0ULL };
	struct sideband_store *store = sideband_store__new(types[choose(choices, 4)],
							   &garbage_ops, choices);
	const struct sideband_store_stats *stats;
	struct buffer buffer;
	u64 time = 1, round = 0;

	if (!store)
		abort();
	stats = sideband_store__stats(store);
	while (steps--) {
		if (!choose(choices, 64))
			fail_allocation = choose(choices, 32);
		fill_garbage(choices, &buffer);
		sideband_store__add(store, (void *)&buffer, garbage_time(choices, &time), round);
		round += !choose(choices, 4);
		if (!choose(choices, 4))
			sideband_store__prune(store, round - choose(choices, 3), round);
		if (!choose(choices, 64))
			garbage_dump(store, choices);
	}
	fail_allocation = -1;
	count->added += stats->added;
	count->superseded += stats->superseded;
	count->leaks += stats->added < stats->superseded + stats->records ||
			stats->added > stats->superseded + stats->records + stats->failed;
	sideband_store__delete(store);
}
