/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing DEBUGCTL, which has several owners.
 *
 * The register holds the bits of Branch Trace Store, of the LBRs, of block
 * stepping and a few more. Each owner reads the register, changes its own bits
 * and writes it back. Interrupts are disabled, but an NMI may come in between,
 * and it may do the same: a gate pauses or resumes intel_bts in NMI context (see
 * Documentation/trace/perf-aux-action.rst). The write of what was read before
 * the NMI would undo it, for good.
 *
 * So the BTS bits are not taken from what was read, by nobody. Their owner keeps
 * them in debugctl_bts, and every writer puts in what it finds there:
 *
 *	writer			NMI
 *
 *	W1  bts = debugctl_bts
 *	W2  wrmsr(... | bts)	N1  debugctl_bts = new
 *	W3  debugctl_bts == bts	N2  W1 to W3 with the new value
 *
 * An NMI before W1 or after W3 doesn't matter. One between W1 and W2 is undone
 * by W2; W3 finds the new value and goes back to W1. One between W2 and W3 has W3
 * write its own value once more. If several NMIs come, and the last one leaves
 * debugctl_bts as it was at W1, then W2 has written what that one wants.
 *
 * The same goes for an NMI that hits the owner between its N1 and N2: it finds
 * the new value, or puts in one of its own, which the owner finds at W1.
 *
 * This is for the BTS bits only. Of the others, a PMI can change LBR: up to version 3 of
 * architectural performance monitoring, the hardware clears it with a PMI if
 * FREEZE_LBRS_ON_PMI is set. (From version 4 on it freezes the LBRs by a bit of
 * GLOBAL_STATUS. Intel SDM volume 3, "Streamlined Freeze_LBRs_On_PMI Operation", compares
 * the two.) The PMI handler sets it again, so that what the writer has read holds
 * true; unless the PMU is disabled. Then nobody but the writer that disables it, and is
 * about to clear LBR itself, can be interrupted with LBR set.
 *
 * All of it is on one CPU, so program order is all the order there has to be.
 * wrmsr() is a compiler barrier.
 */
#ifndef _ASM_X86_DEBUGCTL_H
#define _ASM_X86_DEBUGCTL_H

#include <linux/compiler.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <asm/msr.h>
#include <asm/percpu.h>

#define DEBUGCTLMSR_BTS_MASK						\
	(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT |		\
	 DEBUGCTLMSR_BTS_OFF_OS | DEBUGCTLMSR_BTS_OFF_USR)

#ifdef CONFIG_CPU_SUP_INTEL
DECLARE_PER_CPU(unsigned long, debugctl_bts);
#define debugctl_bts_bits()	this_cpu_read(debugctl_bts)
#else
#define debugctl_bts_bits()	0UL
#endif

/**
 * debugctl_write - write DEBUGCTL
 * @debugctl: value as read from the register, with the changes of the caller.
 *	      The BTS bits in it are ignored.
 *
 * In line and without taken branches up to the write: it also ends the record of
 * the LBRs, see intel_pmu_snapshot_branch_stack().
 *
 * Context: any. The caller stays on its CPU from reading to writing.
 */
static __always_inline void debugctl_write(unsigned long debugctl)
{
	unsigned long bts;

	do {
		bts = debugctl_bts_bits();		/* W1 */
		wrmsrl(MSR_IA32_DEBUGCTLMSR,
		       (debugctl & ~DEBUGCTLMSR_BTS_MASK) | bts);	/* W2 */
	} while (unlikely(debugctl_bts_bits() != bts));	/* W3 */
}

/**
 * update_debugctlmsr - write DEBUGCTL, if there is one
 * @debugctl: as for debugctl_write()
 *
 * Context: as debugctl_write().
 */
static inline void update_debugctlmsr(unsigned long debugctl)
{
	if (IS_ENABLED(CONFIG_X86_DEBUGCTLMSR) || boot_cpu_data.x86 >= 6)
		debugctl_write(debugctl);
}

/**
 * debugctl_restore - write DEBUGCTL after something has cleared it
 * @debugctl: value from before
 *
 * After a VM exit, that is. An NMI may have turned BTS on since @debugctl was
 * read, so a value of zero is no reason to leave the register alone.
 *
 * Context: as debugctl_write().
 */
static __always_inline void debugctl_restore(unsigned long debugctl)
{
	if (debugctl || debugctl_bts_bits())
		debugctl_write(debugctl);
}

#endif /* _ASM_X86_DEBUGCTL_H */
