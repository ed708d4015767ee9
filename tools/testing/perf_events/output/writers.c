// SPDX-License-Identifier: GPL-2.0
/* The writers, the reader, and the functions of the kernel that both need. */
#include <sched.h>
#include <stdlib.h>

#include "../../../../kernel/events/output_shared.h"
#include "output_test.h"

struct cpu cpus[CPUS];
__thread struct cpu *this_cpu;
struct perf_buffer *buffer;
const char *volatile writer_error;
unsigned long wakeups, woken_at;
bool wakeups_wait;
unsigned int allocation_fails;
unsigned int cpus_asked;
unsigned int works_sent, asks;
long allocated;
__thread int preempt_count;
bool tick_stopped = true;
bool cpu_nohz_full;
bool cpu_offline;
bool preempt_rt;
unsigned long jiffies;

/* The writer of each word of the buffer at this moment: 0, or its number plus one. */
static unsigned char *owners;

u64 next_random(void)
{
	u64 x = this_cpu->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	this_cpu->random = x;
	return x;
}

/*
 * The kernel
 */

int current_cpu(void)
{
	return this_cpu ? this_cpu->id : 0;
}

/* Run the irq_work that another CPU has sent. */
static void take_sent(struct cpu *cpu)
{
	struct irq_work *work = __atomic_exchange_n(&cpu->sent, NULL, __ATOMIC_ACQUIRE);

	if (work)
		work->func(work);
}

/* This CPU's tick. */
void tick(void)
{
	struct irq_work *work = __atomic_exchange_n(&this_cpu->ticking, NULL, __ATOMIC_RELAXED);

	__atomic_fetch_add(&jiffies, 1, __ATOMIC_RELAXED);
	if (work)
		work->func(work);
	take_sent(this_cpu);
}

/* Run what another CPU has sent. */
static void take_call(struct cpu *cpu)
{
	void (*call)(void *info);

	call = __atomic_exchange_n(&cpu->call, NULL, __ATOMIC_ACQUIRE);
	if (call) {
		call(cpu->info);
		__atomic_store_n(&cpu->info, NULL, __ATOMIC_RELEASE);
	}
}

/* Be @cpu, if no thread is. */
static bool be_cpu(struct cpu *cpu, struct cpu **was)
{
	int nobody = 0;

	if (!__atomic_compare_exchange_n(&cpu->entered, &nobody, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	*was = this_cpu;
	this_cpu = cpu;
	return true;
}

static void be_again(struct cpu *cpu)
{
	__atomic_store_n(&this_cpu->entered, 0, __ATOMIC_RELEASE);
	this_cpu = cpu;
}

/* The tick of each CPU; only while nobody writes */
void tick_all(void)
{
	struct cpu *was;

	for (int i = 0; i < CPUS; i++) {
		if (this_cpu == &cpus[i]) {
			tick();
			continue;
		}
		/* A flush may be there. */
		while (!be_cpu(&cpus[i], &was))
			sched_yield();
		tick();
		be_again(was);
	}
}

static void call_on(struct cpu *cpu, void (*call)(void *info), void *info, bool wait)
{
	struct cpu *was;

	__atomic_store_n(&cpu->info, info, __ATOMIC_RELAXED);
	__atomic_store_n(&cpu->call, call, __ATOMIC_RELEASE);
	while (wait && __atomic_load_n(&cpu->info, __ATOMIC_ACQUIRE)) {
		if (be_cpu(cpu, &was)) {
			take_call(cpu);
			be_again(was);
		} else {
			/* Interrupts are enabled here. */
			if (this_cpu)
				take_call(this_cpu);
			sched_yield();
		}
	}
}

void on_each_cpu_cond(bool (*condition)(int cpu, void *info), void (*call)(void *info),
		      void *info, bool wait)
{
	static int lock;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
		if (this_cpu)
			take_call(this_cpu);
		sched_yield();
	}
	for (int i = 0; i < CPUS; i++) {
		if (!condition(i, info))
			continue;
		__atomic_fetch_add(&cpus_asked, 1, __ATOMIC_RELAXED);
		if (this_cpu == &cpus[i])
			call(info);
		else
			call_on(&cpus[i], call, info, wait);
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* The interrupt comes at once, unless it has to wait. For a private buffer it does nothing. */
static void wake_readers(struct irq_work *work)
{
	unsigned long seen = __atomic_load_n(&woken_at, __ATOMIC_RELAXED);
	unsigned long head = published();

	__atomic_fetch_add(&wakeups, 1, __ATOMIC_RELAXED);
	while (seen < head && !__atomic_compare_exchange_n(&woken_at, &seen, head, 0,
							   __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED))
		;
	if (work->func && !wakeups_wait)
		work->func(work);
}

static struct irq_work *waiting_ask;

static bool is_ask(const struct irq_work *work)
{
	return buffer && buffer->shared && work == &buffer->shared->ask_work;
}

static void ask(struct irq_work *work)
{
	__atomic_fetch_add(&asks, 1, __ATOMIC_RELAXED);
	work->func(work);
}

void irq_work_queue(struct irq_work *work)
{
	if (work->lazy)
		__atomic_store_n(&this_cpu->ticking, work, __ATOMIC_RELAXED);
	else if (!is_ask(work))
		wake_readers(work);
	else if (wakeups_wait)
		waiting_ask = work;
	else
		ask(work);
}

/* Each CPU has one work that others send. */
void irq_work_queue_on(struct irq_work *work, int id)
{
	struct cpu *cpu = &cpus[id], *was;

	__atomic_fetch_add(&works_sent, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cpu->sent, work, __ATOMIC_RELEASE);
	if (cpu == this_cpu) {
		take_sent(cpu);
	} else if (be_cpu(cpu, &was)) {
		take_sent(cpu);
		be_again(was);
	}
}

/* Waiting for a tick, or for what was sent: it comes now. */
static void wait_for_tick(struct irq_work *work)
{
	struct cpu *was;

	for (int i = 0; i < CPUS; i++) {
		if (__atomic_load_n(&cpus[i].ticking, __ATOMIC_RELAXED) != work &&
		    __atomic_load_n(&cpus[i].sent, __ATOMIC_RELAXED) != work)
			continue;
		while (!be_cpu(&cpus[i], &was))
			sched_yield();
		tick();
		be_again(was);
	}
}

void irq_work_sync(struct irq_work *work)
{
	wait_for_tick(work);
	if (work == waiting_ask) {
		waiting_ask = NULL;
		ask(work);
	}
	if (!work->lazy && wakeups_wait && work == &buffer->shared->wakeup_work)
		work->func(work);
}

#ifdef STEPS
/* Held up until the others have written a lap, if they do */
static void wait_for_lap(void)
{
	long *reserved = &buffer->shared->reserved.counter;
	long until = __atomic_load_n(reserved, __ATOMIC_RELAXED) + perf_data_size(buffer);

	for (int i = 0; i < 2000; i++) {
		if (__atomic_load_n(reserved, __ATOMIC_RELAXED) >= until) {
			this_cpu->lapped++;
			break;
		}
		sched_yield();
	}
}

/*
 * Between any two accesses that other contexts can see, an interrupt may come, or the
 * thread may lose its CPU.
 */
void access_step(void)
{
	struct cpu *cpu = this_cpu;
	u64 random;

	if (cpu && cpu->step)
		cpu->step();
	if (cpu && __atomic_load_n(&cpu->sent, __ATOMIC_RELAXED))
		take_sent(cpu);
	if (cpu && __atomic_load_n(&cpu->call, __ATOMIC_RELAXED))
		take_call(cpu);
	if (!cpu || !cpu->rate)
		return;

	random = next_random();
	if (!tick_stopped && !((random >> 40) % 2048))
		tick();
	if (!(random % 512))
		sched_yield();
	if (!((random >> 16) % cpu->rate))
		interrupt();
	if (cpu->hold && !((random >> 28) % cpu->hold))
		wait_for_lap();
}
#endif

/*
 * Writers
 */

void cpu_enter(int id)
{
	struct cpu *was;

	while (!be_cpu(&cpus[id], &was))
		sched_yield();
}

void cpu_leave(void)
{
	be_again(NULL);
}

/* Each word has one writer at a time, whatever the reader stores. */
static void own(const struct perf_output_handle *handle, unsigned char from,
		unsigned char to)
{
	unsigned long mask = perf_data_size(buffer) / 8 - 1;
	unsigned long word = handle->shared_start / 8;

	for (unsigned int i = 0; i < handle->shared_size / 8; i++) {
		if (__atomic_exchange_n(&owners[(word + i) & mask], to,
					__ATOMIC_RELAXED) != from)
			writer_error = "two writers have the same memory";
	}
}

static u64 content(int writer, u64 number, unsigned int word)
{
	return (number * WRITERS + writer) * 0x9e3779b97f4a7c15ull + word;
}

bool write_begin(struct perf_output_handle *handle, unsigned int size)
{
	struct cpu *cpu = this_cpu;
	struct perf_event *event = &cpu->event;
	struct perf_sample_data data = { .id = (event->parent ?: event)->id };
	unsigned long end;

	memset(handle, 0xff, sizeof(*handle));
	if (perf_output_begin(handle, &data, event, size))
		return false;

	if (handle->flags)
		writer_error = "a record begins with flags that nobody has set";
	if (!buffer->shared)
		return true;

	end = handle->shared_start + handle->shared_size;
	if (cpu->end < end)
		cpu->end = end;
	own(handle, 0, cpu->id + 1);
	return true;
}

/* As in perf_output_sample(). */
static void count_sample(struct perf_output_handle *handle)
{
	int wakeup_events = this_cpu->event.attr.wakeup_events;

	if (wakeup_events)
		perf_output_count_shared(handle, wakeup_events);
}

void write_body(struct perf_output_handle *handle, int writer, u64 number,
		unsigned int size)
{
	struct perf_event_header header = { PERF_RECORD_SAMPLE, 0, size };
	u64 head[2] = { writer, number };

	perf_output_put(handle, header);
	perf_output_put(handle, head);
	for (unsigned int i = 3; i < size / 8; i++) {
		u64 word = content(writer, number, i);

		perf_output_put(handle, word);
	}
	if (buffer->shared) {
		count_sample(handle);
		own(handle, this_cpu->id + 1, 0);
	}
	perf_output_end(handle);
}

void write_record(void)
{
	struct cpu *cpu = this_cpu;
	int level = cpu->depth;
	struct perf_output_handle handle;
	unsigned int size = RECORD_MIN;
	int preempted = preempt_count;

	if (cpu->span)
		size += next_random() % cpu->span * 8;

	cpu->attempts[level]++;
	if (write_begin(&handle, size))
		write_body(&handle, cpu->id * LEVELS + level, cpu->attempts[level], size);
	else
		cpu->lost[level]++;
	if (preempt_count != preempted)
		writer_error = "a writer leaves preemption or RCU as it did not find them";
}

/* Each level interrupts the one below it, as an NMI interrupts an interrupt. */
void interrupt(void)
{
	struct cpu *cpu = this_cpu;

	if (cpu->depth >= LEVELS - 1)
		return;

	cpu->depth++;
	write_record();
	cpu->depth--;
}

/*
 * The buffer
 */

void buffer_new(int pages, bool overwrite, bool backward, bool shared)
{
	buffer = rb_alloc(pages, 0, -1, overwrite ? 0 : RING_BUFFER_WRITABLE);
	if (!buffer || (shared && perf_output_share(buffer, backward)))
		abort();
	owners = calloc(1, perf_data_size(buffer) / 8 + 1);
	memset(cpus, 0, sizeof(cpus));
	writer_error = NULL;
	wakeups = 0;
	woken_at = 0;

	for (int i = 0; i < CPUS; i++) {
		struct perf_event *event = &cpus[i].event;

		cpus[i].id = i;
		cpus[i].random = 0x243f6a8885a308d3ull * (i + 1);
		/* Every other event is a child. */
		event->parent = i % 2 ? &cpus[i - 1].event : NULL;
		event->attr.write_backward = backward;
		event->rb = i % 2 ? NULL : buffer;
		event->id = FIRST_ID + i;
		event->attr.sample_id_all = i / 2 % 2;
		event->id_header_size = 8;
		if (!event->parent)
			list_add(&event->rb_entry, &buffer->event_list);
	}
	buffer->owner = &cpus[0].event;
}

void buffer_free(void)
{
	rb_free_rcu(&buffer->rcu_head);
	free(owners);
}

/*
 * The reader
 */

unsigned long published(void)
{
	u64 head = __atomic_load_n(&buffer->user_page->data_head, __ATOMIC_ACQUIRE);

	return cpus[0].event.attr.write_backward ? -head : head;
}

/* Bytes that were committed in all blocks */
unsigned long committed(void)
{
	struct perf_output_shared *sh = buffer->shared;
	unsigned long sum = 0;

	for (unsigned long i = 0; i < sh->size / sh->block_size; i++)
		sum += sh->blocks[i].committed.counter;
	return sum;
}

/* All that was reserved is committed, once. */
bool all_is_committed(void)
{
	return committed() == buffer->shared->reserved.counter;
}

static void copy_from(unsigned long address, void *to, unsigned int len)
{
	for (unsigned int i = 0; i < len; i += 8) {
		unsigned long at = (address + i) & (perf_data_size(buffer) - 1);

		memcpy((char *)to + i, (char *)buffer->data_pages[at >> PAGE_SHIFT] +
		       (at & (PAGE_SIZE - 1)), 8);
	}
}

void reader_init(struct reader *reader)
{
	memset(reader, 0, sizeof(*reader));
}

static void read_sample(struct reader *reader, const u64 *record, unsigned int size,
			bool forward)
{
	u64 writer = record[1], number = record[2];

	if (size < RECORD_MIN || writer >= WRITERS) {
		reader->error = "a record of nobody";
		return;
	}
	if (reader->last[writer] &&
	    (forward ? number <= reader->last[writer] : number >= reader->last[writer]))
		reader->error = "records of a writer out of order";
	for (unsigned int i = 3; i < size / 8; i++) {
		if (record[i] != content(writer, number, i))
			reader->error = "a torn record";
	}
	reader->last[writer] = number;
	reader->found[writer]++;
	reader->samples++;
}

/* What sample_id_all adds to a record */
static bool ids_are(const struct perf_event *event, u64 id, const u64 *record,
		    unsigned int size)
{
	unsigned int words = event->attr.sample_id_all ? event->id_header_size / 8 : 0;

	for (unsigned int i = 1; i <= words; i++) {
		if (record[size / 8 - i] != id)
			return false;
	}
	return true;
}

/* LOST records name an event of the buffer: the parent, if a child reports the loss. */
static void read_lost(struct reader *reader, const u64 *record, unsigned int size)
{
	u64 id = record[1], lost = record[2];
	struct perf_event *event;

	if (!lost)
		reader->error = "a LOST record about nothing";
	reader->lost += lost;

	if (id - FIRST_ID >= CPUS) {
		reader->error = "a LOST record of nobody";
		return;
	}
	event = &cpus[id - FIRST_ID].event;
	if (event->parent)
		reader->error = "a LOST record of a child";
	if (!ids_are(event, id, record, size) ||
	    size != 24 + (event->attr.sample_id_all ? event->id_header_size : 0))
		reader->error = "a LOST record without what sample_id_all adds to it";
}

/* What is left of a lease, or a gap, reports no loss, and names its event at its end. */
static void read_padding(struct reader *reader, const u64 *record, unsigned int size)
{
	u64 id = record[size / 8 - 1];

	if (record[1])
		reader->error = "padding that reports a loss";
	if (tick_stopped && !buffer->overwrite)
		reader->error = "a lease without a tick";
	if (reader->ids && (id - FIRST_ID >= CPUS || cpus[id - FIRST_ID].event.parent ||
			    !ids_are(&cpus[id - FIRST_ID].event, id, record, size)))
		reader->error = "padding of nobody";
	reader->leases++;
	reader->padding += size;
}

/* Return the size of the record, 0 if there is none. */
static unsigned int read_record(struct reader *reader, unsigned long address,
				unsigned long left, bool forward)
{
	static __thread u64 record[65536 / 8];
	struct perf_event_header header;

	copy_from(address, &header, sizeof(header));
	if (header.size < 8 || header.size % 8 || header.size > left) {
		reader->error = "a size that can't be";
		return 0;
	}
	copy_from(address, record, header.size);

	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		read_sample(reader, record, header.size, forward);
		break;
	case PERF_RECORD_LOST:
		read_lost(reader, record, header.size);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		read_padding(reader, record, header.size);
		break;
	default:
		reader->error = "a record of no type";
	}
	return header.size;
}

void read_to(struct reader *reader, unsigned long head)
{
	if ((long)(head - reader->head) < 0)
		reader->error = "data_head went back";
	reader->head = head;

	while (reader->tail != head && !reader->error)
		reader->tail += read_record(reader, reader->tail, head - reader->tail, true);
}

void read_all(struct reader *reader)
{
	read_to(reader, published());
	__atomic_store_n(&buffer->user_page->data_tail, reader->tail, __ATOMIC_RELEASE);
}

/* Read a backward buffer from data_head, one lap at most. Nobody may write meanwhile. */
void read_newest(struct reader *reader)
{
	unsigned long at = -published();
	unsigned long left = published();

	if (left > perf_data_size(buffer))
		left = perf_data_size(buffer);

	while (left >= 8 && !reader->error) {
		struct perf_event_header header;
		unsigned int size;

		/* The end of the oldest record may be overwritten. */
		copy_from(at, &header, sizeof(header));
		if (header.size > left && left < perf_data_size(buffer) / 2)
			break;
		size = read_record(reader, at, left, false);
		at += size;
		left -= size;
	}
}

/*
 * Attempted = written + lost, once all writers have returned and everything is read. The
 * last losses are reported with the next record.
 */
const char *audit(struct reader *reader)
{
	u64 attempts = 0, lost = 0, counted = 0;
	struct cpu *was = this_cpu;

	if (writer_error)
		return writer_error;

	this_cpu = &cpus[0];
	this_cpu->rate = 0;
	tick_all();
	read_all(reader);
	write_record();
	tick();
	read_all(reader);
	this_cpu = was;

	for (int i = 0; i < CPUS; i++) {
		counted += atomic64_read(&cpus[i].event.lost_samples);
		for (int j = 0; j < LEVELS; j++) {
			attempts += cpus[i].attempts[j];
			lost += cpus[i].lost[j];
		}
	}
	if (reader->error)
		return reader->error;
	if (attempts != reader->samples + lost)
		return "attempted is not written + lost";
	if (lost != reader->lost)
		return "LOST records don't count what was lost";
	if (lost != counted)
		return "lost_samples don't count what was lost";
	return NULL;
}
