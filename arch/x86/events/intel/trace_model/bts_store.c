// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: branch records in the DS area.
 *
 * The DS area is memory that the driver may write whenever BTS is off. The model
 * remembers what it wrote, to detect writes of the driver while BTS is on.
 */
#include <linux/bits.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include <asm/intel_ds.h>
#include <asm/msr-index.h>

#include "flow.h"
#include "registers.h"
#include "trace_model.h"

struct tm_bts {
	u64	from;
	u64	to;
	u64	flags;
};

/* The manual's requirement: whole records from the base to the maximum. */
static bool tm_ds_usable(const struct tm_cpu *cpu)
{
	u64 bts[offsetof(struct debug_store, pebs_buffer_base) / sizeof(u64)];
	const struct debug_store *ds = (struct debug_store *)bts;
	u64 base, size;

	if (copy_from_kernel_nofault(bts, tm_ds(cpu), sizeof(bts)))
		return false;

	base = ds->bts_buffer_base;
	size = ds->bts_absolute_maximum - base;
	return base && ds->bts_absolute_maximum > base &&
	       ds->bts_index >= base && ds->bts_index - base <= size &&
	       (ds->bts_index - base) % sizeof(struct tm_bts) == 0 &&
	       ds->bts_interrupt_threshold >= base;
}

/**
 * tm_bts_start() - DEBUGCTL's TR and BTS are set
 * @cpu: model
 */
void tm_bts_start(struct tm_cpu *cpu)
{
	cpu->bts_index = 0;
	if (tm_ds_usable(cpu))
		cpu->bts_index = tm_ds(cpu)->bts_index;
	else
		tm_violation(cpu, TM_VIOLATION_DS);
}

/**
 * tm_bts_stop() - DEBUGCTL's TR or BTS is cleared
 * @cpu: model
 */
void tm_bts_stop(struct tm_cpu *cpu)
{
	if (cpu->bts_index && cpu->bts_index != tm_ds(cpu)->bts_index)
		tm_violation(cpu, TM_VIOLATION_BTS_INDEX);
	cpu->bts_index = 0;
}

static bool tm_bts_full(const struct debug_store *ds, u64 index)
{
	return index + sizeof(struct tm_bts) > ds->bts_absolute_maximum;
}

/* Without an interrupt, the oldest records are overwritten. */
static u64 tm_bts_wrap(const struct tm_cpu *cpu, const struct debug_store *ds, u64 index)
{
	if (tm_bts_full(ds, index) && !(cpu->debugctl & DEBUGCTLMSR_BTINT))
		return ds->bts_buffer_base;
	return index;
}

/**
 * tm_bts_record() - a branch was taken
 * @cpu: model
 * @from: address of the branch
 * @to: its target
 *
 * If an interrupt is enabled, a record that doesn't fit is lost, until the driver has
 * made room.
 */
void tm_bts_record(struct tm_cpu *cpu, u64 from, u64 to)
{
	const struct tm_bts record = { .from = from, .to = to };
	struct debug_store *ds = tm_ds(cpu);
	u64 place, next;

	if (!cpu->bts_index)
		return;
	if (ds->bts_index != cpu->bts_index) {
		tm_violation(cpu, TM_VIOLATION_BTS_INDEX);
		cpu->bts_index = ds->bts_index;
	}

	place = tm_bts_wrap(cpu, ds, cpu->bts_index);
	if (tm_bts_full(ds, place)) {
		tm_count(TM_STAT_SKIPPED);
		return;
	}

	next = tm_bts_wrap(cpu, ds, place + sizeof(record));
	tm_store(cpu, (void *)(unsigned long)place, &record, sizeof(record));
	tm_store_exchange(cpu, &ds->bts_index, cpu->bts_index, next);
	cpu->bts_index = next;
	cpu->stat.bts_records++;

	if ((cpu->debugctl & DEBUGCTLMSR_BTINT) && next >= ds->bts_interrupt_threshold)
		tm_pmi_request(cpu, TM_PMI_BTS);
}
