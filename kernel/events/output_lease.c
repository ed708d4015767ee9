// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: stretches of a shared buffer, each filled by one CPU.
 *
 * Each record of a shared buffer costs operations on lines for which all CPUs fight. A
 * CPU that writes much takes a stretch of the buffer instead, and fills it with operations
 * of its own, without a lock prefix. To the other CPUs a lease is one large record. It
 * ends within the block in which it begins.
 *
 *	start		 committed	 pos		     room     start + size
 *	  |-- committed --|-- in flight --|-- free -----------|-- padding --|
 *
 * What a lease holds is published when it is closed: when a record doesn't fit, at the
 * next tick, when others wait for it, or by perf_output_flush_shared() on any CPU. The rest
 * becomes a LOST_SAMPLES record that reports no loss, with the time of the first record.
 *
 * The contexts of a CPU nest: each of them sees those that it interrupts at some line, and
 * none of those that interrupt it in the middle.
 *
 * L1  pos - committed are the bytes of records that have begun and not ended, as long as
 *     there is a lease. They all belong to contexts of this CPU.
 * L2  Who closes a lease commits size - (pos - committed) bytes of its block: its records
 *     that have ended, and the padding. A record that has begun commits its own bytes when
 *     it ends. So the sum is the size of the lease, and nobody waits.
 * L3  A record's position is above those of all records that this CPU began before. So
 *     a record outside the lease closes it.
 *
 * pos leaves LEASE_NONE and returns to it in one context, which opens or closes. Others
 * that come in between, or that close, find LEASE_BUSY. They can't wait, so they leave
 * LEASE_ASKED, and who opens then closes at once.
 *
 * How large a lease is depends on how much the CPU wrote in the last ticks: a quarter. Padding
 * counts against that. So leases that end early get smaller, and where they never fill there
 * are none. A CPU that writes little has none, and its records are published at once. Nor has
 * one that may have no further tick.
 */
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "output_shared.h"

/* A smaller one isn't worth its padding. A larger one is hardly cheaper. */
#define LEASE_MIN	512
#define LEASE_MAX	16384

/*
 * Will a tick of this CPU close a lease? A CPU that is idle, or runs a task without the
 * tick, looks for work of the tick before it stops it. An NMI that came in between would
 * open a lease for long. So would a CPU on its way offline, which has run that work.
 */
static bool lease_has_tick(void)
{
	int cpu = smp_processor_id();

	return !is_idle_task(current) && !tick_nohz_full_cpu(cpu) && cpu_online(cpu);
}

/*
 * Count what this CPU has written, and against that the padding that it took. An interrupt that
 * counts meanwhile may be forgotten.
 */
static void lease_count(struct shared_lease *lease, unsigned int bytes, unsigned int padding)
{
	unsigned long now = READ_ONCE(jiffies), ticks = now - READ_ONCE(lease->tick);
	unsigned int written = READ_ONCE(lease->written);

	if (ticks) {
		WRITE_ONCE(lease->before, ticks == 1 ? written : 0);
		WRITE_ONCE(lease->tick, now);
		written = 0;
	}
	written += bytes;
	WRITE_ONCE(lease->written, written - min(written, padding));
}

/* How large a lease should this CPU have? */
static unsigned int lease_want(struct perf_output_shared *sh, struct shared_lease *lease)
{
	unsigned int most;

	lease_count(lease, 0, 0);	/* This may be another tick. */
	most = max(READ_ONCE(lease->written), READ_ONCE(lease->before));
	if (!lease_has_tick())
		return 0;

	return min(most / 4 & -8U, sh->lease_max);
}

/*
 * Prepare the end of the padding, which needs an event: its time and identity are those
 * of the first record in the lease.
 */
static void lease_prepare(struct perf_buffer *rb, struct shared_lease *lease,
			  struct perf_event *event, struct perf_sample_data *data)
{
	unsigned long start = lease->start + lease->size - lease->id_size;

	if (rb->shared->backward)
		start -= sizeof(struct shared_padding);
	shared_store_id(rb, event, data, start, lease->id_size);
}

/*
 * Make a record of what is left of a lease from @pos on.
 *
 * In a backward buffer the record begins where the lease ends, and what was prepared has
 * to move to its end. User space can write there, too, and then spoils its own record.
 */
static void lease_pad(struct perf_buffer *rb, struct shared_lease *lease, unsigned long pos)
{
	unsigned long end = lease->start + lease->size;
	unsigned int i;

	if (rb->shared->backward) {
		for (i = lease->id_size; i; i -= 8)
			*shared_at(rb, -pos - lease->id_size + i - 8) =
				*shared_at(rb, -end + sizeof(struct shared_padding) + i - 8);
	}
	shared_store_padding(rb, pos, end);
}

/*
 * Commit what is in no record that is in flight: L2. A flush that finds no lease doesn't
 * wait for this CPU, so it is published by then.
 */
static void lease_end(struct perf_buffer *rb, struct shared_lease *lease, unsigned long pos,
		      unsigned long committed)
{
	unsigned int used = pos - lease->start;

	lease_count(lease, used, lease->size - used);
	lease_pad(rb, lease, pos);
	shared_commit_bytes(rb->shared, lease->start + lease->size,
			    lease->size - (pos - committed));
	shared_publish(rb);
	smp_mb();	/* with lease_close_all(), after it has looked */
	local_set(&lease->pos, LEASE_NONE);
}

/**
 * lease_close - close this CPU's lease, if it has one
 * @rb: shared buffer
 *
 * Context: any, NMI included; preemption is disabled.
 */
void lease_close(struct perf_buffer *rb)
{
	struct shared_lease *lease = this_cpu_ptr(rb->shared->leases);
	long pos = local_read(&lease->pos), to, committed;

	do {
		if (pos == LEASE_NONE || pos == LEASE_ASKED)
			return;
		to = pos == LEASE_BUSY ? LEASE_ASKED : LEASE_BUSY;
	} while (!lease_cmpxchg(&lease->pos, &pos, to));

	if (to == LEASE_ASKED)
		return;

	/*
	 * From here on no context takes room from the lease. What an interrupt has begun in
	 * it has ended, so nobody changes ->committed between these lines.
	 */
	committed = local_read(&lease->committed);
	local_set(&lease->committed, LEASE_NONE);
	lease_end(rb, lease, pos, committed);
}

/* Does a pause, or a flush, keep leases from beginning at @start? */
static bool lease_is_barred(struct perf_output_shared *sh, unsigned long start)
{
	if (READ_ONCE(sh->paused))
		return true;

	return unlikely(atomic_read_acquire(&sh->flushing)) &&
	       (long)(start - (unsigned long)atomic_long_read(&sh->barred)) < 0;
}

/* The lease is open from the last line on, or ends if it was asked for that meanwhile. */
static bool lease_open(struct perf_buffer *rb, struct perf_event *event,
		       struct perf_sample_data *data, unsigned int size, unsigned int least)
{
	struct perf_output_shared *sh = rb->shared;
	struct shared_lease *lease = this_cpu_ptr(sh->leases);
	unsigned long start;

	/* It would end at once. */
	if (lease_is_barred(sh, atomic_long_read(&sh->reserved)))
		return false;

	if (local_cmpxchg(&lease->pos, LEASE_NONE, LEASE_BUSY) != LEASE_NONE)
		return false;

	size = shared_reserve_in_block(rb, event, data, size, least, &start);
	if (!size) {
		local_set(&lease->pos, LEASE_NONE);
		return false;
	}

	WRITE_ONCE(lease->start, start);
	WRITE_ONCE(lease->size, size);
	WRITE_ONCE(lease->live, size);
	lease->id_size = shared_id_size(event);
	lease_prepare(rb, lease, event, data);
	WRITE_ONCE(lease->room, start + size - sizeof(struct shared_padding) - lease->id_size);
	local_set(&lease->committed, start);

	/*
	 * Either this sees a flush or a pause, or those see LEASE_BUSY: D lies between both
	 * here, a barrier in lease_close_all(). In overwrite mode either this sees that others
	 * passed the lease, or who covers it sees ->start, and sets ->room and ->live to 0
	 * after the stores above.
	 */
	if (rb->overwrite)
		smp_mb();	/* with overwrite_end_leases() */
	if (lease_is_barred(sh, start) || overwrite_is_passed(rb, start) ||
	    local_cmpxchg(&lease->pos, LEASE_BUSY, start) != LEASE_BUSY) {
		local_set(&lease->committed, LEASE_NONE);
		lease_end(rb, lease, start, start);
		return false;
	}

	irq_work_queue(&lease->work);
	return true;
}

/*
 * An open lease hides what follows it, and so keeps the reader asleep. A CPU that writes no more
 * has its lease until its next tick, in which others may fill the buffer. All leases together
 * take a quarter of the watermark, so if half of it isn't published, ask the CPUs with the
 * older ones to close them.
 *
 * What begins later lies above ->asked, so each lease is asked once. If it isn't a lease that
 * hides the rest, but a record, there is nobody to ask until it ends.
 *
 * Context: any, NMI included.
 */
static void lease_ask_others(struct perf_buffer *rb)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long complete, hidden;

	complete = atomic_long_read_acquire(&sh->complete);
	hidden = atomic_long_read(&sh->reserved) - complete;
	if (likely(hidden <= rb->watermark / 2 + sh->block_size) || !sh->lease_max ||
	    (long)(READ_ONCE(sh->asked) - complete) > 0)
		return;

	WRITE_ONCE(sh->asked, shared_block_start(sh, complete + hidden - rb->watermark / 4));
	irq_work_queue(&sh->ask_work);
}

/*
 * Context: interrupt, so no CPU goes offline. Whose lease begins below ->asked has stored
 * LEASE_BUSY before D, and ->reserved was loaded before irq_work_queue(): both are full barriers.
 */
static void lease_ask(struct irq_work *work)
{
	struct perf_output_shared *sh = container_of(work, struct perf_output_shared, ask_work);
	unsigned long until = READ_ONCE(sh->asked);
	int cpu;

	for_each_online_cpu(cpu) {
		struct shared_lease *lease = per_cpu_ptr(sh->leases, cpu);

		if (local_read(&lease->pos) != LEASE_NONE &&
		    (long)(READ_ONCE(lease->start) - until) < 0)
			irq_work_queue_on(&lease->asked, cpu);
	}
}

/**
 * lease_renew - close this CPU's lease, and open another one if that is of use
 * @rb: shared buffer
 * @event: event that writes a record, which doesn't fit into the lease; a parent
 * @data: data of the record, with what sample_id_all adds
 * @size: its size
 *
 * Context: any, NMI included; preemption is disabled.
 * Return: true if there is a new lease, into which the record would fit.
 */
bool lease_renew(struct perf_buffer *rb, struct perf_event *event,
		 struct perf_sample_data *data, unsigned int size)
{
	struct perf_output_shared *sh = rb->shared;
	struct shared_lease *lease = this_cpu_ptr(sh->leases);
	unsigned int least = max_t(unsigned int, LEASE_MIN, size * 4), want;

	lease_close(rb);
	if (!rb->overwrite)
		lease_ask_others(rb);
	want = lease_want(sh, lease);
	if (want >= least && !READ_ONCE(sh->no_leases) &&
	    lease_open(rb, event, data, want, least))
		return true;

	/* Larger ones are never in a lease. */
	if (least <= sh->lease_max)
		lease_count(lease, size, 0);
	return false;
}

/* At the first tick after it was opened, or as its CPU goes offline; an interrupt */
static void lease_tick(struct irq_work *work)
{
	struct shared_lease *lease = container_of(work, struct shared_lease, work);

	lease_close(lease->sh->rb);
}

/* Another CPU has asked; an interrupt */
static void lease_is_asked(struct irq_work *work)
{
	struct shared_lease *lease = container_of(work, struct shared_lease, asked);

	lease_close(lease->sh->rb);
}

static void lease_close_here(void *rb)
{
	lease_close(rb);
}

static bool lease_is_open(int cpu, void *rb)
{
	struct shared_lease *lease = per_cpu_ptr(((struct perf_buffer *)rb)->shared->leases, cpu);

	return local_read(&lease->pos) != LEASE_NONE;
}

/**
 * lease_close_all - close the leases of all CPUs
 * @rb: shared buffer
 *
 * The caller has said before which leases may not begin any more.
 *
 * Context: interrupts are enabled.
 */
void lease_close_all(struct perf_buffer *rb)
{
	smp_mb();	/* with lease_open() */
	on_each_cpu_cond(lease_is_open, lease_close_here, rb, true);
	smp_mb();	/* with lease_end() */
}

/**
 * perf_output_flush_shared - publish what was written before, whoever holds a lease
 * @rb: shared buffer
 *
 * No lease begins meanwhile in the blocks that hold it. So all that is in flight there are
 * records, and the last of their writers publishes. In further blocks leases go on, else a
 * vCPU that is late to close its own would take theirs from all.
 *
 * Context: interrupts are enabled.
 */
void perf_output_flush_shared(struct perf_buffer *rb)
{
	struct perf_output_shared *sh = rb->shared;
	unsigned long reserved;

	/* A task's records come before its end, which perf_poll() has seen: with ctx->lock. */
	smp_rmb();
	reserved = atomic_long_read(&sh->reserved);

	shared_advance(&sh->barred, shared_block_start(sh, reserved + sh->block_size - 1));
	atomic_inc(&sh->flushing);
	lease_close_all(rb);
	atomic_dec(&sh->flushing);
}

/**
 * lease_init - allocate the leases of a buffer
 * @sh: new state of a shared buffer
 *
 * All leases together take an eighth of the buffer at most, and a quarter of the watermark.
 * On PREEMPT_RT there are none: the work of a tick is done by a thread there, which busy
 * tasks of a higher priority can hold up for long.
 *
 * Context: sleeps.
 * Return: 0, -ENOMEM.
 */
int lease_init(struct perf_output_shared *sh)
{
	unsigned long most = min(sh->size / 2, (unsigned long)sh->rb->watermark);
	int cpu;

	sh->leases = alloc_percpu_gfp(struct shared_lease, GFP_KERNEL_ACCOUNT);
	if (!sh->leases)
		return -ENOMEM;

	most = min_t(unsigned long, most / 4 / num_possible_cpus(), LEASE_MAX);
	if (most >= LEASE_MIN && !IS_ENABLED(CONFIG_PREEMPT_RT))
		sh->lease_max = most & -8UL;

	for_each_possible_cpu(cpu) {
		struct shared_lease *lease = per_cpu_ptr(sh->leases, cpu);

		local_set(&lease->pos, LEASE_NONE);
		local_set(&lease->committed, LEASE_NONE);
		lease->sh = sh;
		lease->work = IRQ_WORK_INIT_LAZY(lease_tick);
		init_irq_work(&lease->asked, lease_is_asked);
	}
	init_irq_work(&sh->ask_work, lease_ask);
	return 0;
}

/**
 * lease_exit - free the leases of a buffer, which nobody writes to
 * @sh: state of a shared buffer
 *
 * Context: sleeps. Waits for the ticks that close leases, and for requests to close them.
 */
void lease_exit(struct perf_output_shared *sh)
{
	int cpu;

	irq_work_sync(&sh->ask_work);
	for_each_possible_cpu(cpu) {
		struct shared_lease *lease = per_cpu_ptr(sh->leases, cpu);

		irq_work_sync(&lease->asked);
		irq_work_sync(&lease->work);
	}
	free_percpu(sh->leases);
}
