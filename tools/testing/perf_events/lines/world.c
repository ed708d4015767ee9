// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that write all the time, a reader, and what the kernel's files need of the rest of
 * the kernel.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "../../../../kernel/events/internal.h"
#include "machine.h"
#include "world.h"

/* From 8 CPUs on, leases have up to 8 kB; all of them take an eighth of the buffer. */
#define PER_CPU		(64 << 10)	/* bytes of buffer */
#define SHARED_MIN	(512 << 10)
#define LEASE		(8 << 10)
#define TICK		(64 << 10)	/* bytes that a CPU writes from tick to tick */
#define COUNTED		(1024 << 10)	/* bytes of all CPUs that are counted, */
#define COUNTED_LEASES	2		/* and at least as many leases of each, */
#define TRANSFERS_MAX	200000		/* unless there are more transfers */
#define RECORD_MAX	512

/**
 * struct writer - a CPU
 * @event: that it writes for
 * @written: bytes
 * @ticks: of it
 * @work: for its next tick
 */
struct writer {
	struct perf_event	*event;
	unsigned long		written;
	unsigned long		ticks;
	struct irq_work		*work;
};

unsigned int simulated_cpus;
unsigned int allocation_fails;
long allocated;
__thread int preempt_count;
bool tick_stopped;

static struct writer *writers;
static const struct scheme *scheme;
static unsigned int record_size;
static unsigned long records, enough, transfers;
static unsigned char record[RECORD_MAX];

/*
 * The kernel
 */

int current_cpu(void)
{
	return machine_cpu();
}

unsigned long *cpu_jiffies(void)
{
	return &writers[machine_cpu()].ticks;
}

/*
 * The reader isn't woken: it reads when there is enough. Nor is anybody asked for a lease: all
 * write on.
 */
void irq_work_queue(struct irq_work *work)
{
	if (work->lazy)
		writers[machine_cpu()].work = work;
}

void irq_work_queue_on(struct irq_work *work, int cpu)
{
	abort();
}

void irq_work_sync(struct irq_work *work)
{
	(void)work;
}

/* Nobody calls poll(), or pauses. */
void on_each_cpu_cond(bool (*condition)(int cpu, void *info), void (*call)(void *info),
		      void *info, bool wait)
{
	abort();
}

static void tick(struct writer *writer)
{
	struct irq_work *work = writer->work;

	writer->ticks++;
	writer->work = NULL;
	if (work)
		work->func(work);
}

/*
 * The reader
 */

/* Read a page when all of it is published, so no line of it is written again. */
static void read_some(struct perf_buffer *rb)
{
	u64 head = rb->user_page->data_head / PAGE_SIZE;
	u64 tail = rb->user_page->data_tail / PAGE_SIZE;

	if (head - tail < rb->nr_pages / 4)
		return;
	for (; tail != head; tail++)
		machine_reader_took(rb->data_pages[tail % rb->nr_pages], PAGE_SIZE);
	machine_reader_writes(&rb->user_page->data_tail);
	rb->user_page->data_tail = tail * PAGE_SIZE;
}

/*
 * The writers
 */

static void begin_record(struct perf_output_handle *handle, struct perf_event *event)
{
	struct perf_sample_data data = { 0 };

	if (perf_output_begin(handle, &data, event, record_size)) {
		fprintf(stderr, "a record is lost\n");
		abort();
	}
}

static void write_record(struct writer *writer)
{
	struct perf_output_handle handle;

	begin_record(&handle, writer->event);
	perf_output_copy(&handle, record, record_size);
	perf_output_end(&handle);
	read_some(writer->event->rb);

	writer->written += record_size;
	if (writer->written % TICK < record_size)
		tick(writer);
}

static bool has_counted(void)
{
	return records >= enough || machine_transfers() >= TRANSFERS_MAX;
}

/* What others write while the last records end isn't counted. */
static void write_all(unsigned int cpu)
{
	while (!has_counted()) {
		write_record(&writers[cpu]);
		if (!has_counted()) {
			records++;
			transfers = machine_transfers();
		}
		machine_pause(scheme->pause * record_size);
	}
}

static void write_bytes(struct writer *writer, unsigned long bytes)
{
	for (unsigned long i = 0; i < bytes; i += record_size)
		write_record(writer);
}

/* One CPU after the other writes for a tick, so that all have large leases. */
static void warm_up(void)
{
	for (unsigned int cpu = 0; cpu < simulated_cpus; cpu++) {
		machine_become(cpu);
		write_bytes(&writers[cpu], TICK);
	}
}

/* CPUs are at different places in their leases, and between two ticks. */
static void spread(void)
{
	for (unsigned int cpu = 0; cpu < simulated_cpus; cpu++) {
		unsigned int place = cpu * 37 % simulated_cpus;

		machine_become(cpu);
		write_bytes(&writers[cpu], (unsigned long)(TICK + LEASE) * place / simulated_cpus);
	}
}

/* A reader wants to be woken for samples, so there are no leases. */
static void want_wakeups(struct perf_event *event)
{
	struct perf_output_handle handle;

	begin_record(&handle, event);
	perf_output_copy(&handle, record, record_size);
	perf_output_count_shared(&handle, INT_MAX);
	perf_output_end(&handle);
}

static struct perf_buffer *new_buffer(unsigned long bytes)
{
	struct perf_buffer *rb = rb_alloc(bytes / PAGE_SIZE, 0, -1, RING_BUFFER_WRITABLE);

	if (!rb || (scheme->shared && perf_output_share(rb, false)))
		abort();
	return rb;
}

static unsigned long shared_bytes(void)
{
	return max((unsigned long)SHARED_MIN, (unsigned long)PER_CPU * simulated_cpus);
}

static void new_writers(void)
{
	struct perf_buffer *rb = scheme->shared ? new_buffer(shared_bytes()) : NULL;

	for (unsigned int cpu = 0; cpu < simulated_cpus; cpu++) {
		struct perf_event *event = machine_alloc(64, sizeof(*event));

		event->rb = rb ?: new_buffer(PER_CPU);
		writers[cpu].event = event;
	}
}

static unsigned long records_to_count(void)
{
	return max((unsigned long)COUNTED,
		   (unsigned long)COUNTED_LEASES * LEASE * simulated_cpus) / record_size;
}

double world_count(const struct scheme *of, unsigned int cpus, unsigned int size)
{
	simulated_cpus = cpus;
	scheme = of;
	record_size = size;
	records = 0;
	enough = records_to_count();
	writers = calloc(cpus, sizeof(*writers));
	machine_create(cpus, 2 * SHARED_MIN + cpus * (PER_CPU + 32768ul));
	new_writers();
	if (scheme->shared && !scheme->leases)
		want_wakeups(writers[0].event);
	if (scheme->leases)
		warm_up();
	spread();
	machine_run(write_all, scheme->pause * size ?: cpus);
	machine_destroy();
	free(writers);
	return (double)transfers / records;
}
