/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing DEBUGCTL, which has several owners.
 *
 * The register holds the bits of Branch Trace Store, of the LBRs, of block
 * stepping and a few more. Each owner reads the register, changes its own bits
 * and writes it back. Interrupts are disabled, but an NMI may come in between and
 * do the same: the PMI of intel_bts switches BTS off for good when the AUX area is
 * full. Writing back the value from before the NMI would undo that.
 *
 * So no writer takes the BTS bits from what it read. Their owner keeps them in
 * debugctl_bts, and every writer inserts them from there:
 *
 *	writer			NMI
 *
 *	W1  bts = debugctl_bts
 *	W2  wrmsr(... | bts)	N1  debugctl_bts = new
 *	W3  debugctl_bts == bts	N2  W1 to W3 with the new value
 *
 * An NMI before W1 or after W3 needs no care. If it comes between W1 and W2, W2
 * undoes its write; W3 finds the new value and goes back to W1. If it comes between
 * W2 and W3, W3 makes the writer write the new value once more. If several NMIs
 * come and the last one leaves debugctl_bts as it was at W1, then W2 has written
 * the value that this NMI wants.
 *
 * The same goes for an NMI that hits the owner between its N1 and N2: it finds
 * the new value, or stores one of its own, which the owner finds at W1.
 *
 * This protects the BTS bits only. Of the other bits, a PMI can change LBR: up to
 * version 3 of architectural performance monitoring, the hardware clears it with a PMI
 * if FREEZE_LBRS_ON_PMI is set. (From version 4 on it freezes the LBRs by a bit of
 * GLOBAL_STATUS. Intel SDM volume 3, "Streamlined Freeze_LBRs_On_PMI Operation", compares
 * the two.) The PMI handler sets LBR again, so the value that the writer has read stays
 * correct, unless the PMU is disabled. Then the only writer that can be interrupted with
 * LBR set is the one that disables the PMU, and it is about to clear LBR itself.
 *
 * All accesses are on one CPU, so program order is enough. wrmsr() is a compiler
 * barrier.
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
 * Inlined, and without taken branches up to the write: the write also ends what the
 * LBRs record, see intel_pmu_snapshot_branch_stack().
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
 * That is, after a VM exit. An NMI may have turned BTS on since @debugctl was
 * read, so write the register even if @debugctl is zero.
 *
 * Context: as debugctl_write().
 */
static __always_inline void debugctl_restore(unsigned long debugctl)
{
	if (debugctl || debugctl_bts_bits())
		debugctl_write(debugctl);
}

#endif /* _ASM_X86_DEBUGCTL_H */
