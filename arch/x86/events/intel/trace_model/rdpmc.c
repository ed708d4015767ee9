// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: the RDPMC instruction in user space.
 *
 * A program reads its counters with it if the control page of the event says so
 * (cap_user_rdpmc). An emulator that has no counters raises #UD where the kernel allows
 * the instruction (CR4.PCE), and the model executes it instead.
 */
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/perf_event.h>

#include "flow.h"
#include "registers.h"
#include "trace_model.h"

static const u8 tm_rdpmc_bytes[] = { 0x0f, 0x33 };

static bool tm_has_pmc(u32 counter)
{
	if (counter & INTEL_PMC_FIXED_RDPMC_BASE)
		return (counter & ~INTEL_PMC_FIXED_RDPMC_BASE) < TM_FIXED;
	return counter < TM_GP;
}

/**
 * tm_rdpmc() - an instruction raised #UD
 * @regs: registers of the program
 *
 * Return: true if it was RDPMC with a counter that exists, which has been executed.
 */
bool tm_rdpmc(struct pt_regs *regs)
{
	u8 bytes[sizeof(tm_rdpmc_bytes)];
	u64 count;

	if (copy_from_user_nofault(bytes, (void __user *)regs->ip, sizeof(bytes)) ||
	    memcmp(bytes, tm_rdpmc_bytes, sizeof(bytes)) || !tm_has_pmc(regs->cx))
		return false;

	count = tm_read_pmc(regs->cx);
	regs->ax = (u32)count;
	regs->dx = count >> 32;
	regs->ip += sizeof(bytes);
	return true;
}

NOKPROBE_SYMBOL(tm_rdpmc);
