// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: operations on it.
 *
 * An NMI can hit the model's own code, and its handler (a driver's, a gate's)
 * reads and writes the same registers and must find them as hardware would leave
 * them: each instruction done as a whole, or not at all. Neither can wait for the
 * other. So the model of one CPU is a value that is replaced, never changed:
 *
 *   1. An operation works on a private copy of the current value,
 *   2. which becomes current with one compare-and-exchange. It fails if the
 *      operation of an NMI became current in between: then start again at 1.
 *   3. Stores to memory (trace data, the DS area) are part of the value and carried
 *      out only now. An NMI that finds them unfinished does it in place of the
 *      interrupted operation, before anything else; that one notices and stops.
 *
 * No other CPU ever writes the value, and interrupts are off meanwhile: operations
 * nest only as NMIs and exceptions do, like a stack. Therefore each nesting level
 * can have its own two slots, of which at most one is the current value: the other
 * is free for the copy. Slots of a level are written on that level only; so the
 * slot of an unfinished operation never changes under a nested one. The other way
 * round it may: a copy that an NMI changed is noticed by the sequence number, which
 * is part of the word that names the current slot and different each time.
 *
 * What remains: between the last look at that word and the store behind it there is
 * an instruction boundary. If NMIs there fill the trace buffer once around, eight
 * bytes of it are old ones.
 */
#define pr_fmt(fmt) "trace_model: " fmt

#include <linux/bug.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include <asm/processor.h>
#include <asm/unaligned.h>

#include "trace_model.h"

/* Task or interrupt, exception in it, NMI, exception in that. */
#define TM_LEVELS	4
#define TM_SLOTS	(2 * TM_LEVELS)
#define TM_SEQ		TM_SLOTS	/* one, in tm_state.current_seq */

/**
 * struct tm_state - all there is of one CPU's model
 * @current_seq: index of the current slot, sequence number above it
 * @settled: the @current_seq whose stores are all done
 * @depth: operations begun and not finished
 * @slot: values
 */
struct tm_state {
	unsigned long	current_seq;
	unsigned long	settled;
	unsigned int	depth;
	struct tm_cpu	slot[TM_SLOTS];
};

static DEFINE_PER_CPU(struct tm_state, tm_state);

DEFINE_PER_CPU(unsigned int, tm_wants);
DEFINE_PER_CPU(unsigned long[TM_NR_STATS], tm_stats);

struct tm_config tm_config = {
	.single_range	= true,
	.mtc		= true,
	.cyc		= true,
	.ptwrite	= true,
	.cr3_filter	= true,
	.filters	= 2,
};

static struct tm_cpu *tm_slot(unsigned long seq)
{
	return this_cpu_ptr(&tm_state.slot[seq % TM_SLOTS]);
}

static bool tm_is_current(unsigned long seq)
{
	return this_cpu_read(tm_state.current_seq) == seq;
}

/*
 * The inherited part only. In words and not with memcpy(), which emulators carry
 * out byte by byte: this is most of the model's time.
 */
static void tm_copy(struct tm_cpu *to, const struct tm_cpu *from)
{
	const u64 *src = (const u64 *)from;
	u64 *dst = (u64 *)to;
	unsigned int i;

	for (i = 0; i < offsetof(struct tm_cpu, stat) / sizeof(u64); i++)
		dst[i] = src[i];

	memset(&to->stat, 0, sizeof(to->stat));
	to->breaches = 0;
	to->msr = 0;
	to->nr_stores = 0;
	to->nr_bytes = 0;
}

/**
 * tm_store() - write to memory when the operation is published
 * @cpu: model
 * @dst: where to
 * @src: the bytes, copied here
 * @n: how many
 */
void tm_store(struct tm_cpu *cpu, void *dst, const void *src, unsigned int n)
{
	struct tm_pending *last = cpu->nr_stores ? &cpu->store[cpu->nr_stores - 1] : NULL;

	/* More contiguous bytes are no new store. */
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
 * @old: what must be there
 * @new: what replaces it
 */
void tm_store_exchange(struct tm_cpu *cpu, u64 *dst, u64 old, u64 new)
{
	u64 words[2] = { old, new };

	tm_store(cpu, dst, words, sizeof(words));
	cpu->store[cpu->nr_stores - 1].exchange = true;
}

/* False if an NMI has got further. */
static bool tm_store_bytes(unsigned long seq, u8 *dst, const u8 *src, unsigned int n)
{
	while (n >= sizeof(u64)) {
		if (!tm_is_current(seq))
			return false;
		put_unaligned(get_unaligned((const u64 *)src), (u64 *)dst);
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
 * Carry out the stores of the current value. Its slot doesn't change meanwhile: it
 * belongs to this level, or to one that was interrupted. (If it belongs to a deeper
 * level, its operation is finished, and there are no stores left.)
 */
static void tm_drain(bool found)
{
	/* In this order: an NMI in between then makes tm_is_current() fail. */
	unsigned long seq = this_cpu_read(tm_state.current_seq);
	unsigned long settled = this_cpu_read(tm_state.settled);
	const struct tm_cpu *cpu = tm_slot(seq);
	unsigned int i;

	if (settled == seq)
		return;

	for (i = 0; i < cpu->nr_stores; i++) {
		if (!tm_store_one(seq, cpu, &cpu->store[i]))
			return;
	}
	if (found && i)
		tm_count(TM_STAT_DRAINED);
	/* Fails if an NMI published and settled something later. */
	if (tm_is_current(seq))
		this_cpu_cmpxchg(tm_state.settled, settled, seq);
}

/* Carry out @op once: published or, if an NMI's was published meanwhile, not. */
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
	/* Never run an operation on half of one value and half of another. */
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
	if (unlikely(done->breaches))
		tm_report_breaches(done);
}

static u64 tm_apply(unsigned int level, tm_op_t op, void *arg)
{
	struct tm_cpu *done;
	u64 ret;

	tm_count(TM_STAT_OPERATIONS);
	while (tm_drain(true), !(done = tm_attempt(level, op, arg, &ret)))
		tm_count(TM_STAT_RETRIES);

	tm_drain(false);
	/* Still what this operation made of it: nobody else writes this slot. */
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
	       (bts && !(cpu->debugctl & DEBUGCTLMSR_BTS_OFF_OS) ? TM_BTS_KERNEL : 0);
}

/* What others look at without an operation. The last to write has seen the latest. */
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

/*
 * An interrupt is delivered once, whoever is first here. From now on an NMI may serve
 * its purpose, so this is the moment at which it is sent.
 */
static u64 tm_take_pmi(struct tm_cpu *cpu, void *arg)
{
	u8 pmi = cpu->pmi;

	cpu->pmi = 0;
	cpu->sent |= pmi;
	return pmi;
}

/* The counters' interrupt waits as long as its bit in GLOBAL_STATUS does. */
static u64 tm_lose_pmi(struct tm_cpu *cpu, void *arg)
{
	bool pmi = cpu->pmi & TM_PMI_BTS;

	cpu->pmi &= ~TM_PMI_BTS;
	return pmi;
}

static void tm_hold_pmi(unsigned int level, u8 pmi)
{
	if (pmi & TM_PMI_BTS && tm_apply(level, tm_lose_pmi, NULL))
		tm_count(TM_STAT_PMI_LOST);
	if (pmi & TM_PMI_STATUS)
		tm_count(TM_STAT_PMI_HELD);
}

static void tm_deliver_pmi(unsigned int level)
{
	u8 pmi = tm_slot(this_cpu_read(tm_state.current_seq))->pmi;

	if (!pmi)
		return;

	if (!tm_pmi_allowed())
		tm_hold_pmi(level, pmi);
	else if (tm_apply(level, tm_take_pmi, NULL))
		tm_pmi_send();
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

static u64 tm_carry_out(unsigned int level, tm_op_t op, void *arg)
{
	u64 ret = tm_apply(level, op, arg);

	tm_deliver_pmi(level);
	tm_show();
	return ret;
}

/**
 * tm_run() - carry out an operation, in any context
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
		ret = tm_carry_out(level, op, arg);

	tm_leave(flags);
	return ret;
}

NOKPROBE_SYMBOL(tm_run);

/**
 * tm_try() - carry out an operation unless this context interrupted another
 * @op: the operation
 * @arg: its argument
 *
 * To generate trace data: what runs inside of the model isn't traced.
 *
 * Return: true if the operation was carried out.
 */
bool tm_try(tm_op_t op, void *arg)
{
	unsigned long flags;
	unsigned int level = tm_enter(&flags);

	if (!level)
		tm_carry_out(level, op, arg);
	else
		tm_count(TM_STAT_SKIPPED);

	tm_leave(flags);
	return !level;
}

NOKPROBE_SYMBOL(tm_try);

/*
 * Start
 */

/* Registers as after power-on. The CPU doesn't run yet, or no more. */
static int tm_prepare_cpu(unsigned int cpu)
{
	memset(per_cpu_ptr(&tm_state, cpu), 0, sizeof(struct tm_state));
	per_cpu(tm_wants, cpu) = 0;
	tm_counters_reset(cpu);
	return 0;
}

static int __init tm_init(void)
{
	if (!tm_config.on)
		return 0;

	return cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "x86/trace_model:prepare",
					 tm_prepare_cpu, NULL);
}
early_initcall(tm_init);

struct tm_option {
	const char	*name;
	bool		*flag;
	bool		value;
};

static const struct tm_option tm_options[] __initconst = {
	{ "single-entry", &tm_config.single_entry, true },
	{ "no-single-range", &tm_config.single_range, false },
	{ "no-mtc", &tm_config.mtc, false },
	{ "no-cyc", &tm_config.cyc, false },
	{ "no-ptwrite", &tm_config.ptwrite, false },
	{ "no-cr3", &tm_config.cr3_filter, false },
	{ "pebs", &tm_config.pebs, true },
};

static void __init tm_parse_option(const char *option)
{
	unsigned int i;

	if (sscanf(option, "filters=%u", &tm_config.filters) == 1) {
		tm_config.filters = min_t(unsigned int, tm_config.filters, 4);
		return;
	}
	if (strstarts(option, "ack=") && tm_ack_parse(option + 4, &tm_config.ack))
		return;
	for (i = 0; i < ARRAY_SIZE(tm_options); i++) {
		if (!strcmp(option, tm_options[i].name)) {
			*tm_options[i].flag = tm_options[i].value;
			return;
		}
	}
	pr_warn("option '%s' is not known\n", option);
}

/*
 * Early, because alternatives make direct calls of the hooks and CPUID is read once
 * for all. The kernel has identified the boot CPU's vendor by now, no more.
 */
static int __init tm_setup(char *options)
{
	char *option;

	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL) {
		pr_warn("off: the CPU isn't an Intel one\n");
		return 0;
	}
	while ((option = strsep(&options, ","))) {
		if (*option)
			tm_parse_option(option);
	}
	tm_config.on = true;
	tm_hooks_install();
	tm_step_init_early();
	pr_info("on: Intel PT, BTS and performance counters are a model in software\n");

	return 0;
}
early_param("trace_model", tm_setup);
