// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: output to memory.
 *
 * RTIT_OUTPUT_BASE and RTIT_OUTPUT_MASK_PTRS hold the position, in a table of
 * physical addresses (ToPA) or in a single range.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include <asm/perf_event.h>

#include "registers.h"
#include "trace_model.h"

#define TOPA_END		BIT(0)
#define TOPA_INT		BIT(2)
#define TOPA_STOP		BIT(4)
#define TOPA_FLAGS		(TOPA_END | TOPA_INT | TOPA_STOP)
#define TOPA_SIZE		GENMASK(9, 6)
#define TOPA_SIZE_SHIFT		6
#define TOPA_BASE		PAGE_MASK
#define TOPA_ENTRIES		(PAGE_SIZE / sizeof(u64))
#define TOPA_TABLES		64	/* that are looked at for changes */
#define TOPA_LINKS		2	/* from table to table, without a region in between */

#define TM_MAX_PACKET		16	/* PSB */

#define TM_OFFSET_SHIFT		32
#define TM_INDEX_SHIFT		7

/* Output fails once, whatever the software does. */
static bool tm_output_fails;

/* No interrupt reports it. */
static void tm_operational_error(struct tm_cpu *cpu)
{
	cpu->status |= RTIT_STATUS_ERROR;
	cpu->status &= ~RTIT_STATUS_TRIGGEREN;
}

static bool tm_output_error(struct tm_cpu *cpu, enum tm_violation violation)
{
	tm_operational_error(cpu);
	tm_violation(cpu, violation);
	return false;
}

/**
 * tm_output_fail() - have the next write of trace data fail
 * @fail: or not
 *
 * The CPU that writes it has an operational error, for which its software isn't to blame.
 */
void tm_output_fail(bool fail)
{
	WRITE_ONCE(tm_output_fails, fail);
}

static bool tm_is_readable(u64 phys)
{
	u8 byte;

	__get_kernel_nofault(&byte, (u8 *)phys_to_virt(phys), u8, unreadable);
	return true;
unreadable:
	return false;
}

/*
 * Checks both ends only: pfn_valid() takes an RCU read lock, and this runs with interrupts
 * disabled without lockdep's knowledge, and in functions where RCU isn't watching.
 */
static bool tm_is_memory(u64 phys, u64 size)
{
	return PHYS_PFN(phys + size - 1) < max_pfn &&
	       tm_is_readable(phys) && tm_is_readable(phys + size - 1);
}

static u32 tm_output_offset(const struct tm_cpu *cpu)
{
	return cpu->output_mask >> TM_OFFSET_SHIFT;
}

static void tm_set_position(struct tm_cpu *cpu, u32 index, u64 offset)
{
	cpu->output_mask = offset << TM_OFFSET_SHIFT | (u64)index << TM_INDEX_SHIFT |
			   TM_OUTPUT_LOW;
}

/*
 * ToPA
 */

static u32 tm_topa_index(const struct tm_cpu *cpu)
{
	return (u32)cpu->output_mask >> TM_INDEX_SHIFT;
}

static u64 tm_topa_size(u64 entry)
{
	return PAGE_SIZE << ((entry & TOPA_SIZE) >> TOPA_SIZE_SHIFT);
}

static bool tm_topa_entry_valid(u64 entry)
{
	u64 base = entry & TOPA_BASE;

	if (entry & ~(u64)(TOPA_BASE | TOPA_SIZE | TOPA_FLAGS))
		return false;
	if (entry & TOPA_END)
		return !(entry & (TOPA_INT | TOPA_STOP)) && tm_is_memory(base, PAGE_SIZE);

	return IS_ALIGNED(base, tm_topa_size(entry)) &&
	       tm_is_memory(base, tm_topa_size(entry));
}

/* The region at the current position, after links to other tables. */
static bool tm_topa_region(struct tm_cpu *cpu, u64 *entry)
{
	unsigned int links;
	u32 index;

	for (links = 0; links <= TOPA_LINKS; links++) {
		index = tm_topa_index(cpu);
		if (!IS_ALIGNED(cpu->output_base, PAGE_SIZE) || index >= TOPA_ENTRIES ||
		    !tm_is_memory(cpu->output_base, PAGE_SIZE))
			return false;

		*entry = READ_ONCE(((u64 *)phys_to_virt(cpu->output_base))[index]);
		if (!tm_topa_entry_valid(*entry))
			return false;
		if (!(*entry & TOPA_END))
			return true;

		cpu->output_base = *entry & TOPA_BASE;
		tm_set_position(cpu, 0, tm_output_offset(cpu));
	}
	return false;
}

/**
 * tm_topa_sum() - checksum of the tables
 * @base: physical address of the first one
 *
 * "The processor may cache internally any number of entries": software has to clear
 * TraceEn before it changes one. Section 36.2.6.2 of the manual's volume 3C.
 *
 * Return: the checksum, up to the first entry that can't be read.
 */
u64 tm_topa_sum(u64 base)
{
	u64 table = base, entry, sum = 0;
	unsigned int tables, i;

	for (tables = 0; tables < TOPA_TABLES; tables++) {
		if (!tm_is_memory(table, PAGE_SIZE))
			return sum;
		for (i = 0; i < TOPA_ENTRIES; i++) {
			entry = READ_ONCE(((u64 *)phys_to_virt(table))[i]);
			sum = (sum ^ entry) * 0x9e3779b97f4a7c15ULL;
			if (entry & TOPA_END)
				break;
		}
		table = entry & TOPA_BASE;
		if (!(entry & TOPA_END) || table == base)
			return sum;
	}
	return sum;
}

static void tm_topa_interrupt(struct tm_cpu *cpu)
{
	cpu->global_status |= GLOBAL_STATUS_TRACE_TOPAPMI;
	tm_pmi_request(cpu, GLOBAL_STATUS_TRACE_TOPAPMI);
}

/* A region is full. If it has STOP, the position stays at its end. */
static void tm_topa_next(struct tm_cpu *cpu, u64 entry)
{
	u64 next;

	if (entry & TOPA_INT)
		tm_topa_interrupt(cpu);
	if (entry & TOPA_STOP) {
		cpu->status |= RTIT_STATUS_STOPPED;
		cpu->status &= ~RTIT_STATUS_TRIGGEREN;
		return;
	}

	tm_set_position(cpu, tm_topa_index(cpu) + 1, 0);
	if (!tm_topa_region(cpu, &next))
		tm_output_error(cpu, TM_VIOLATION_TOPA);
}

static unsigned int tm_topa_out(struct tm_cpu *cpu, const u8 *bytes, unsigned int n)
{
	static const u8 pads[TM_MAX_PACKET];
	u32 offset = tm_output_offset(cpu);
	u64 entry;

	if (!tm_topa_region(cpu, &entry)) {
		tm_output_error(cpu, TM_VIOLATION_TOPA);
		return 0;
	}

	/* Write pads instead of part of a packet whose rest would be dropped. */
	if (entry & TOPA_STOP && n > tm_topa_size(entry) - offset)
		bytes = pads;
	n = min_t(u64, n, tm_topa_size(entry) - offset);
	tm_store(cpu, phys_to_virt((entry & TOPA_BASE) + offset), bytes, n);
	tm_set_position(cpu, tm_topa_index(cpu), offset + n);
	if (offset + n == tm_topa_size(entry))
		tm_topa_next(cpu, entry);
	return n;
}

/*
 * Single range
 */

static unsigned int tm_range_out(struct tm_cpu *cpu, const u8 *bytes, unsigned int n)
{
	u64 mask = (u32)cpu->output_mask;
	u64 offset = tm_output_offset(cpu);

	n = min_t(u64, n, mask + 1 - offset);
	tm_store(cpu, phys_to_virt(cpu->output_base + offset), bytes, n);
	offset = (offset + n) & mask;
	cpu->output_mask = offset << TM_OFFSET_SHIFT | mask;
	return n;
}

static bool tm_range_valid(const struct tm_cpu *cpu)
{
	u64 size = (u64)(u32)cpu->output_mask + 1;

	return is_power_of_2(size) && IS_ALIGNED(cpu->output_base, size) &&
	       tm_output_offset(cpu) < size && tm_is_memory(cpu->output_base, size);
}

/**
 * tm_output_check() - can output be written?
 * @cpu: model; ctl is the new one
 *
 * If not, Error is set in RTIT_STATUS.
 *
 * Return: true if it can.
 */
bool tm_output_check(struct tm_cpu *cpu)
{
	u64 entry;

	if (!(cpu->ctl & RTIT_CTL_TOPA))
		return tm_range_valid(cpu) || tm_output_error(cpu, TM_VIOLATION_OUTPUT);
	if (!tm_topa_region(cpu, &entry))
		return tm_output_error(cpu, TM_VIOLATION_TOPA);
	if (tm_output_offset(cpu) >= tm_topa_size(entry))
		return tm_output_error(cpu, TM_VIOLATION_OUTPUT);
	return true;
}

/**
 * tm_out() - write trace data
 * @cpu: model
 * @bytes: a packet
 * @n: size of the packet
 *
 * Sets Stopped or Error in RTIT_STATUS and clears TriggerEn there when the output
 * ends. Nothing is written then, nor while TriggerEn is clear.
 */
void tm_out(struct tm_cpu *cpu, const void *bytes, unsigned int n)
{
	unsigned int done;

	if (WARN_ON_ONCE(n > TM_MAX_PACKET))
		return;

	if (cpu->status & RTIT_STATUS_TRIGGEREN && READ_ONCE(tm_output_fails) &&
	    xchg(&tm_output_fails, false))
		tm_operational_error(cpu);

	while (n && cpu->status & RTIT_STATUS_TRIGGEREN) {
		if (cpu->ctl & RTIT_CTL_TOPA)
			done = tm_topa_out(cpu, bytes, n);
		else
			done = tm_range_out(cpu, bytes, n);

		cpu->stat.bytes += done;
		bytes += done;
		n -= done;
	}
}
