// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: the frequency of the processor, as a ratio to
 * that of a bus of 100 MHz.
 *
 * It is that of the TSC until it is set, and changes nothing but the CBR packets.
 */
#include <linux/smp.h>

#include <asm/msr-index.h>

#include "flow.h"
#include "registers.h"
#include "trace_model.h"

static unsigned int tm_ratio;

unsigned int tm_core_ratio(void)
{
	return READ_ONCE(tm_ratio) ?: tm_nonturbo_ratio();
}

static u64 tm_op_frequency(struct tm_cpu *cpu, void *arg)
{
	if (!(cpu->status & RTIT_STATUS_TRIGGEREN))
		return 0;

	if (cpu->pt.packet_en)
		tm_pt_left(cpu);
	tm_pt_frequency(cpu);
	return 0;
}

static void tm_change_frequency(void *info)
{
	tm_run(tm_op_frequency, NULL);
}

/**
 * tm_set_ratio() - change the frequency of all CPUs
 * @ratio: core:bus ratio, 1 to 255; 0: that of the TSC
 *
 * Context: task
 */
void tm_set_ratio(unsigned int ratio)
{
	WRITE_ONCE(tm_ratio, ratio);
	on_each_cpu(tm_change_frequency, NULL, true);
}
