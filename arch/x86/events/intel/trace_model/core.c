// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: operations on it.
 *
 * An NMI can hit the model's own code, and its handler (a driver's, a gate's) reads
 * and writes the same registers. It must find them as hardware would leave them: each
 * instruction done as a whole, or not at all. Neither context can wait for the other.
 * So the model of one CPU is a value that is replaced, never changed:
 *
 *   1. An operation works on a private copy of the current value.
 *   2. The copy becomes current with one compare-and-exchange. That fails if the
 *      operation of an NMI became current in between: then start again at 1.
 *   3. Stores to memory (trace data, the DS area) are part of the value and executed
 *      only now. An NMI that finds them unfinished executes them in place of the
 *      interrupted operation, before anything else. The interrupted operation notices
 *      and stops.
 *
 * No other CPU ever writes the value, and interrupts are off meanwhile: operations
 * nest only as NMIs and exceptions do, like a stack. Therefore each nesting level
 * has two slots of its own, of which at most one is the current value: the other
 * is free for the copy. Slots of a level are written on that level only; so the
 * slot of an unfinished operation never changes under a nested one. In the other
 * direction, an NMI may change the slot that is being copied. The sequence number
 * shows that: it is part of the word that names the current slot, and different
 * each time.
 *
 * Remaining race: between the last check of that word and the store after it there is
 * an instruction boundary. If NMIs there fill the trace buffer once around, eight
 * bytes of it are old ones.
 */
#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "host.h"
#include "registers.h"
#include "trace_model.h"

/* Task or interrupt, an exception in it, NMI, an exception in the NMI. */
#define TM_LEVELS	4
#define TM_SLOTS	(2 * TM_LEVELS)
#define TM_SEQ		TM_SLOTS	/* one, in tm_state.current_seq */

/**
 * struct tm_state - the model of one CPU
 * @current_seq: index of the current slot, sequence number above it
 * @drained_seq: the @current_seq whose stores are all done
 * @depth: operations begun and not finished
 * @slot: values
 */
struct tm_state {
	unsigned long	current_seq;
	unsigned long	drained_seq;
	unsigned int	depth;
	struct tm_cpu	slot[TM_SLOTS];
};

static DEFINE_PER_CPU(struct tm_state, tm_state);

DEFINE_PER_CPU(unsigned int, tm_wants);
DEFINE_PER_CPU(unsigned long[TM_NR_STATS], tm_stats);

static struct tm_cpu *tm_slot(unsigned long seq)
{
	return this_cpu_ptr(&tm_state.slot[seq % TM_SLOTS]);
}

static bool tm_is_current(unsigned long seq)
{
	return this_cpu_read(tm_state.current_seq) == seq;
}

/*
 * Copies the inherited part only. In words and not with memcpy(), which emulators
 * execute byte by byte: this takes most of the model's time.
 */
static void tm_copy(struct tm_cpu *to, const struct tm_cpu *from)
{
	const u64 *src = (const u64 *)from;
	u64 *dst = (u64 *)to;
	unsigned int i;

	for (i = 0; i < offsetof(struct tm_cpu, stat) / sizeof(u64); i++)
		dst[i] = src[i];

	memset(&to->stat, 0, sizeof(to->stat));
	to->violations = 0;
	to->msr = 0;
	to->unclaimed = 0;
	to->nr_stores = 0;
	to->nr_bytes = 0;
}

/**
 * tm_store() - write to memory when the operation is published
 * @cpu: model
 * @dst: destination
 * @src: the bytes, copied here
 * @n: number of bytes
 */
void tm_store(struct tm_cpu *cpu, void *dst, const void *src, unsigned int n)
{
	struct tm_pending *last = cpu->nr_stores ? &cpu->store[cpu->nr_stores - 1] : NULL;

	/* Contiguous bytes extend the last store. */
	if (last && (last->exchange || last->dst + last->len != dst))
		last = NULL;

	if (WARN_ON_ONCE(cpu->nr_bytes + n > TM_MAX_BYTES ||
			 (!last && cpu->nr_stores == TM_MAX_STORES)))
		return;

	memcpy(cpu->bytes + cpu->nr_bytes, src, n);
	if (last) {
		last->len += n;
	} else {
		cpu->store[cpu->nr_stores++] = (struct tm_pending) {
			.dst	= dst,
			.at	= cpu->nr_bytes,
			.len	= n,
		};
	}
	cpu->nr_bytes += n;
}

/**
 * tm_store_exchange() - replace a word that software may write as well
 * @cpu: model
 * @dst: the word
 * @old: value that must be there
 * @new: value that replaces it
 */
void tm_store_exchange(struct tm_cpu *cpu, u64 *dst, u64 old, u64 new)
{
	u64 words[2] = { old, new };

	tm_store(cpu, dst, words, sizeof(words));
	cpu->store[cpu->nr_stores - 1].exchange = true;
}

/* False if an NMI has executed these stores, or later ones. */
static bool tm_store_bytes(unsigned long seq, u8 *dst, const u8 *src, unsigned int n)
{
	while (n >= sizeof(u64)) {
		if (!tm_is_current(seq))
			return false;
		/* One access, and never a call as memcpy() is in some configurations */
		__builtin_memcpy(dst, src, sizeof(u64));
		barrier();
		dst += sizeof(u64);
		src += sizeof(u64);
		n -= sizeof(u64);
	}
	while (n--) {
		if (!tm_is_current(seq))
			return false;
		*dst++ = *src++;
		barrier();
	}
	return true;
}

static bool tm_store_one(unsigned long seq, const struct tm_cpu *cpu,
			 const struct tm_pending *store)
{
	const u8 *src = cpu->bytes + store->at;
	u64 words[2];

	if (!store->exchange)
		return tm_store_bytes(seq, store->dst, src, store->len);

	if (!tm_is_current(seq))
		return false;
	memcpy(words, src, sizeof(words));
	cmpxchg_local((u64 *)store->dst, words[0], words[1]);
	return true;
}

/*
 * Execute the stores of the current value. Its slot doesn't change meanwhile: it
 * belongs to this level, or to one that was interrupted. (If it belongs to a deeper
 * level, its operation is finished, and there are no stores left.)
 */
static void tm_drain(bool found)
{
	/* In this order: if an NMI comes in between, tm_is_current() fails. */
	unsigned long seq = this_cpu_read(tm_state.current_seq);
	unsigned long drained_seq = this_cpu_read(tm_state.drained_seq);
	const struct tm_cpu *cpu = tm_slot(seq);
	unsigned int i;

	if (drained_seq == seq)
		return;

	for (i = 0; i < cpu->nr_stores; i++) {
		if (!tm_store_one(seq, cpu, &cpu->store[i]))
			return;
	}
	if (found && i)
		tm_count(TM_STAT_DRAINED);
	/* Fails if an NMI published and drained a later value. */
	if (tm_is_current(seq))
		this_cpu_cmpxchg(tm_state.drained_seq, drained_seq, seq);
}

/* Execute @op once. NULL if it was not published, because an NMI published first. */
static struct tm_cpu *tm_attempt(unsigned int level, tm_op_t op, void *arg, u64 *ret)
{
	unsigned long seq = this_cpu_read(tm_state.current_seq), next;
	struct tm_cpu *copy;

	next = round_down(seq, TM_SEQ) + TM_SEQ + 2 * level;
	if (next % TM_SLOTS == seq % TM_SLOTS)
		next++;

	copy = tm_slot(next);
	tm_copy(copy, tm_slot(seq));
	barrier();
	/* Never run an operation on a mixture of two values. */
	if (!tm_is_current(seq))
		return NULL;

	*ret = op(copy, arg);
	barrier();
	if (this_cpu_cmpxchg(tm_state.current_seq, seq, next) != seq)
		return NULL;

	return copy;
}

static void tm_account(const struct tm_cpu *done)
{
	this_cpu_add(tm_stats[TM_STAT_BYTES], done->stat.bytes);
	this_cpu_add(tm_stats[TM_STAT_PSBS], done->stat.psbs);
	this_cpu_add(tm_stats[TM_STAT_BTS_RECORDS], done->stat.bts_records);
	if (unlikely(done->violations))
		tm_report_violations(done);
}

static u64 tm_apply(unsigned int level, tm_op_t op, void *arg)
{
	struct tm_cpu *done;
	u64 ret;

	tm_count(TM_STAT_OPERATIONS);
	while (tm_drain(true), !(done = tm_attempt(level, op, arg, &ret)))
		tm_count(TM_STAT_RETRIES);

	tm_drain(false);
	/* Still the outcome of this operation: no other context writes this slot. */
	tm_account(done);

	return ret;
}

#define TM_CTL_FILTERS	(RTIT_CTL_ADDR0 | RTIT_CTL_ADDR1 | RTIT_CTL_ADDR2 | RTIT_CTL_ADDR3)

static unsigned int tm_wanted(const struct tm_cpu *cpu)
{
	bool bts = tm_bts_on(cpu);
	bool pt = cpu->status & RTIT_STATUS_TRIGGEREN;

	return (cpu->pt.packet_en ? TM_PT_PACKETS : 0) |
	       (pt && (cpu->ctl & TM_CTL_FILTERS) ? TM_PT_FILTERS : 0) |
	       (pt && (cpu->ctl & RTIT_CTL_USR) ? TM_PT_USER : 0) |
	       (pt && (cpu->ctl & RTIT_CTL_OS) ? TM_PT_KERNEL : 0) |
	       (bts && !(cpu->debugctl & DEBUGCTLMSR_BTS_OFF_USR) ? TM_BTS_USER : 0) |
	       (bts && !(cpu->debugctl & DEBUGCTLMSR_BTS_OFF_OS) ? TM_BTS_KERNEL : 0) |
	       (tm_counters_step(cpu) ? TM_COUNT_USER : 0);
}

/* Data read without an operation. The last context that writes it has seen the latest value. */
static void tm_show(void)
{
	const struct tm_cpu *cpu;
	unsigned long seq;

	do {
		seq = this_cpu_read(tm_state.current_seq);
		cpu = tm_slot(seq);
		this_cpu_write(tm_wants, tm_wanted(cpu));
		tm_timer_update(tm_counters_deadline(cpu));
		barrier();
	} while (!tm_is_current(seq));
}

struct tm_delivery tm_delivery;

/*
 * The interrupt comes some instructions after its cause: an operation of the model
 * counts as one. Here is what happens with the request at the end of an operation. The
 * choice depends on the seed and on nothing else that varies.
 */
static u64 tm_skid(struct tm_cpu *cpu, void *arg)
{
	u32 most = READ_ONCE(tm_delivery.skid);

	if (!cpu->skids) {
		cpu->skid = (u64)(u32)((tm_delivery.seed + ++cpu->choices) * 0x9e3779b1) *
			    (most + 1) >> 32;
		cpu->skids = true;
	}
	if (!cpu->skid) {
		cpu->skids = false;
		return false;
	}
	cpu->skid--;
	return true;
}

static bool tm_skids(unsigned int level)
{
	if (!READ_ONCE(tm_delivery.until) &&
	    (!READ_ONCE(tm_delivery.skid) || !tm_apply(level, tm_skid, NULL)))
		return false;

	tm_count(TM_STAT_PMI_SKIDS);
	return true;
}

/*
 * An interrupt is delivered once, by the context that gets here first. It counts as sent
 * from this moment on, because an NMI may handle its cause from now on.
 */
static u64 tm_take_pmi(struct tm_cpu *cpu, void *arg)
{
	u64 pmi = cpu->pmi | cpu->held;

	cpu->pmi = 0;
	cpu->skids = false;
	cpu->held = 0;
	cpu->sent |= pmi;
	return pmi;
}

/* Requests for a bit of GLOBAL_STATUS wait as long as that bit is set, others are lost. */
static u64 tm_hold_pmi(struct tm_cpu *cpu, void *arg)
{
	u64 pmi = cpu->pmi;

	cpu->pmi = 0;
	cpu->skids = false;
	if (!READ_ONCE(tm_delivery.lost))
		cpu->held |= pmi & cpu->global_status;
	return pmi & ~cpu->held;
}

static void tm_deliver_pmi(unsigned int level)
{
	const struct tm_cpu *cpu = tm_slot(this_cpu_read(tm_state.current_seq));

	if (!cpu->pmi && !cpu->held)
		return;
	if (cpu->pmi && tm_skids(level))
		return;

	if (tm_pmi_allowed()) {
		if (tm_apply(level, tm_take_pmi, NULL))
			tm_pmi_send();
	} else if (cpu->pmi) {
		tm_count(tm_apply(level, tm_hold_pmi, NULL) ?
			 TM_STAT_PMI_LOST : TM_STAT_PMI_HELD);
	}
}

static unsigned int tm_enter(unsigned long *flags)
{
	unsigned int depth;

	raw_local_irq_save(*flags);
	depth = this_cpu_inc_return(tm_state.depth);
	if (depth > this_cpu_read(tm_stats[TM_STAT_MAX_NESTING]))
		this_cpu_write(tm_stats[TM_STAT_MAX_NESTING], depth);

	return depth - 1;
}

static void tm_leave(unsigned long flags)
{
	this_cpu_dec(tm_state.depth);
	raw_local_irq_restore(flags);
}

static u64 tm_execute(unsigned int level, tm_op_t op, void *arg)
{
	u64 ret = tm_apply(level, op, arg);

	tm_deliver_pmi(level);
	tm_show();
	return ret;
}

/**
 * tm_run() - execute an operation, in any context
 * @op: the operation
 * @arg: its argument
 *
 * On return its stores are done, and the interrupt that it requested is on its way.
 *
 * Return: what @op returned.
 */
u64 tm_run(tm_op_t op, void *arg)
{
	unsigned long flags;
	unsigned int level = tm_enter(&flags);
	u64 ret = 0;

	if (!WARN_ON_ONCE(level >= TM_LEVELS))
		ret = tm_execute(level, op, arg);

	tm_leave(flags);
	return ret;
}

NOKPROBE_SYMBOL(tm_run);

/**
 * tm_try() - execute an operation unless this context interrupted another
 * @op: the operation
 * @arg: its argument
 *
 * To generate trace data: code that runs inside the model isn't traced.
 *
 * Return: true if the operation was executed.
 */
bool tm_try(tm_op_t op, void *arg)
{
	unsigned long flags;
	unsigned int level = tm_enter(&flags);

	if (!level)
		tm_execute(level, op, arg);
	else
		tm_count(TM_STAT_SKIPPED);

	tm_leave(flags);
	return !level;
}

NOKPROBE_SYMBOL(tm_try);

/**
 * tm_reset() - registers as after power-on
 * @cpu: a CPU that doesn't run yet, or no longer
 */
void tm_reset(unsigned int cpu)
{
	memset(per_cpu_ptr(&tm_state, cpu), 0, sizeof(struct tm_state));
	per_cpu(tm_wants, cpu) = 0;
}
