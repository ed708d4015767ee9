/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Software model of Intel's trace hardware: registers, and the effects of writing them.
 */
#ifndef _TRACE_MODEL_REGISTERS_H
#define _TRACE_MODEL_REGISTERS_H

#include <linux/types.h>

struct pt_regs;
struct tm_cpu;

/**
 * struct tm_retired - instructions that were executed in user mode, and are over
 * @instructions: how many
 * @regs: registers after them
 */
struct tm_retired {
	unsigned int		instructions;
	const struct pt_regs	*regs;
};

/* hooks.c */
void tm_hooks_install(void);
unsigned int tm_nonturbo_ratio(void);

/* frequency.c */
void tm_set_ratio(unsigned int ratio);

/* msr.c */
int tm_read_msr(unsigned int msr, u64 *val);
int tm_write_msr(unsigned int msr, u64 val, u64 ip, bool safe);
u64 tm_read_pmc(unsigned int counter);
void tm_trace_off(struct tm_cpu *cpu, u64 ctl);
void tm_set_vmx(bool on);
void tm_clear_debugctl(void);
void tm_lose_power(void);

/* output.c */
void tm_out(struct tm_cpu *cpu, const void *bytes, unsigned int n);
bool tm_output_check(struct tm_cpu *cpu);
void tm_output_fail(bool fail);
u64 tm_topa_sum(u64 base);

/* counters.c */
bool tm_counters_update(struct tm_cpu *cpu, const struct pt_regs *regs);
u64 tm_counters_deadline(const struct tm_cpu *cpu);
bool tm_counters_step(const struct tm_cpu *cpu);
u64 tm_op_retire(struct tm_cpu *cpu, void *arg);

/* pebs.c */
bool tm_pebs_overflow(struct tm_cpu *cpu, unsigned long counters, u64 now,
		      const struct pt_regs *regs);

/*
 * bts_store.c requests an interrupt of its own, TM_PMI_BTS. It is raised after the
 * operation's stores, or is lost if the local APIC doesn't allow it. It sets no bit of
 * GLOBAL_STATUS. tm_bts_start() is called when DEBUGCTL's TR and BTS become both set,
 * tm_bts_stop() when they no longer are; debugctl has the new value.
 */
void tm_bts_start(struct tm_cpu *cpu);
void tm_bts_stop(struct tm_cpu *cpu);

/*
 * step.c: tm_wants may have changed. To be called after the operation, in any context,
 * with preemption disabled.
 */
void tm_flow_update(void);
/* To be called once, before any other handler of debug exceptions registers. */
void tm_step_init_early(void);

#endif /* _TRACE_MODEL_REGISTERS_H */
