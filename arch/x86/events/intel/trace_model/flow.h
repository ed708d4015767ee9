/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Software model of Intel's trace hardware: from executed code to trace data.
 */
#ifndef _TRACE_MODEL_FLOW_H
#define _TRACE_MODEL_FLOW_H

#include <linux/types.h>

#include <asm/ptrace.h>

struct tm_cpu;

/* The meaning of an instruction for the trace. */
enum tm_insn_kind {
	TM_INSN_UNKNOWN,	/* unreadable */
	TM_INSN_PLAIN,
	TM_INSN_REP,		/* the IP stays until the instruction is done */
	TM_INSN_SHADOW,		/* MOV SS: no trap after it */
	TM_INSN_COND,
	TM_INSN_JUMP,
	TM_INSN_CALL,
	TM_INSN_JUMP_INDIRECT,
	TM_INSN_CALL_INDIRECT,
	TM_INSN_RET,
	TM_INSN_FAR,
	TM_INSN_SYSCALL,	/* and SYSENTER */
	TM_INSN_PUSHF,
	TM_INSN_POPF,
};

/**
 * struct tm_insn - an instruction
 * @kind: its meaning
 * @length: in bytes
 * @distance: from the next instruction to the target, if it has one
 */
struct tm_insn {
	u8	kind;
	u8	length;
	s32	distance;
};

/**
 * struct tm_step - an instruction that was executed
 * @insn: the instruction
 * @from: its address
 * @to: address of the instruction executed after it
 * @mode64: 64-bit code
 */
struct tm_step {
	struct tm_insn	insn;
	u64		from;
	u64		to;
	bool		mode64;
};

/**
 * struct tm_call - a function was called
 * @callee: the function
 * @ret: its return address
 * @length: length of the call instruction before @ret, 0 if unknown
 * @indirect: the call's target isn't in the instruction
 */
struct tm_call {
	u64	callee;
	u64	ret;
	u8	length;
	bool	indirect;
};

/* insn.c */
struct tm_insn tm_insn_at(u64 ip, bool mode64);

/* branch.c */
u64 tm_op_step(struct tm_cpu *cpu, void *arg);
bool tm_context_en(const struct tm_cpu *cpu);
bool tm_filter_en(const struct tm_cpu *cpu, u64 ip);
void tm_branch_enable(struct tm_cpu *cpu, u64 ip, u8 mode);
void tm_branch_start(struct tm_cpu *cpu, u64 ip);
void tm_branch_end(struct tm_cpu *cpu, u64 ip);
void tm_branch_call(struct tm_cpu *cpu, const struct tm_call *call);

/* bts_store.c */
void tm_bts_record(struct tm_cpu *cpu, u64 from, u64 to);

/* ptwrite.c */
bool tm_ptwrite(struct pt_regs *regs);

/* rdpmc.c */
bool tm_rdpmc(struct pt_regs *regs);

/* step.c */
bool tm_walk_own_entry(void);

#endif /* _TRACE_MODEL_FLOW_H */
