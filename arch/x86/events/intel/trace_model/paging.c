// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: MOV to CR3.
 *
 * The kernel loads CR3 by an instruction that no hook sees, and calls a tracepoint when it
 * has switched to another address space. Other writes, such as those that flush the TLB,
 * don't change the address; they have no packets here.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/percpu.h>

#include <asm/msr-index.h>

#include <trace/events/tlb.h>

#include "flow.h"
#include "trace_model.h"

static u64 tm_op_mov_cr3(struct tm_cpu *cpu, void *arg)
{
	if (!(cpu->ctl & RTIT_CTL_OS) || !tm_context_en(cpu))
		return 0;

	if (cpu->pt.packet_en)
		tm_pt_left(cpu);
	tm_pt_mov_cr3(cpu);
	return 0;
}

static void tm_tlb_flush(void *data, int reason, unsigned long pages)
{
	if (reason == TLB_FLUSH_ON_TASK_SWITCH && (this_cpu_read(tm_wants) & TM_PT_KERNEL))
		tm_try(tm_op_mov_cr3, NULL);
}

static int __init tm_paging_init(void)
{
	if (tm_config.on)
		WARN_ON(register_trace_tlb_flush(tm_tlb_flush, NULL));
	return 0;
}
early_initcall(tm_paging_init);
