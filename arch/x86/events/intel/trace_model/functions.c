// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: functions of the kernel.
 *
 * The kernel can't single-step itself. The model sees only the entries of functions,
 * by the function tracer: each entry becomes the call that led there, with nothing in
 * between. Functions that the tracer can't see (entry code, the model itself, what
 * KPROBES and noinstr exclude) are missing.
 *
 * The tracer is on from boot, before there is a second CPU, and stays on: emulators
 * have most trouble with text that is patched while it runs.
 */
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/uaccess.h>

#include <asm/msr-index.h>
#include <asm/text-patching.h>

#include "flow.h"
#include "registers.h"
#include "trace_model.h"

/*
 * Indirect calls, by the bytes that remain without SIB bytes and displacements. Bits that
 * are one in a mask must match the value. ModRM with /2, and a base that isn't RSP.
 */
static const struct tm_call_form {
	u8	length;
	u8	opcode_at;
	u8	mask;
	u8	value;
} tm_call_forms[] = {
	{ 2, 0, 0xf8, 0xd0 },	/* call *%reg */
	{ 3, 1, 0xf8, 0xd0 },	/* the same with a prefix */
	{ 6, 0, 0xff, 0x15 },	/* call *disp32(%rip) */
	{ 6, 0, 0xf8, 0x90 },	/* call *disp32(%reg) */
	{ 7, 0, 0xff, 0x14 },	/* call *disp32(,%reg,8) */
	{ 7, 1, 0xf8, 0x90 },
	{ 3, 0, 0xf8, 0x50 },	/* call *disp8(%reg) */
	{ 4, 1, 0xf8, 0x50 },
	{ 2, 0, 0xf8, 0x10 },	/* call *(%reg) */
	{ 3, 1, 0xf8, 0x10 },
};

/* Length of the indirect call at the end of the 8 bytes before a return address. */
static u8 tm_indirect_call(const u8 *end)
{
	const struct tm_call_form *form;
	const u8 *opcode;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tm_call_forms); i++) {
		form = &tm_call_forms[i];
		opcode = end - form->length + form->opcode_at;
		if (opcode[0] == 0xff && (opcode[1] & form->mask) == form->value &&
		    (!form->opcode_at || (opcode[-1] & 0xf0) == 0x40))
			return form->length;
	}
	return 0;
}

/*
 * A function that was entered by a jump has the return address of the jumping function:
 * the call there then names another function. No function that the tracer sees may be
 * called here.
 */
static struct tm_call tm_call_of(unsigned long callee, unsigned long ret)
{
	struct tm_call call = { .callee = callee, .ret = ret };
	unsigned long target;
	u8 bytes[8];

	__get_kernel_nofault(bytes, (u8 *)ret - sizeof(bytes), u64, unreadable);

	if (bytes[sizeof(bytes) - CALL_INSN_SIZE] == CALL_INSN_OPCODE) {
		target = ret + *(s32 *)(bytes + sizeof(bytes) - sizeof(s32));
		if (target == callee)
			call.length = CALL_INSN_SIZE;
		if (target == callee || core_kernel_text(target))
			return call;
	}
	call.length = tm_indirect_call(bytes + sizeof(bytes));
	call.indirect = call.length;
unreadable:
	return call;
}

static u64 tm_op_call(struct tm_cpu *cpu, void *arg)
{
	const struct tm_call *call = arg;

	if ((cpu->debugctl & DEBUGCTLMSR_BTS) &&
	    !(cpu->debugctl & DEBUGCTLMSR_BTS_OFF_OS) && call->length)
		tm_bts_record(cpu, call->ret - call->length, call->callee);

	if ((cpu->ctl & RTIT_CTL_OS) && tm_context_en(cpu)) {
		if (cpu->pt.packet_en)
			tm_pt_left(cpu);
		tm_branch_call(cpu, call);
	}
	return 0;
}

static u64 tm_op_nothing(struct tm_cpu *cpu, void *arg)
{
	return 0;
}

/* At the end of the operation the interrupt comes, if one was waiting. */
static void tm_interrupt_here(void)
{
	WRITE_ONCE(tm_delivery.until, 0);
	tm_run(tm_op_nothing, NULL);
}

static void tm_function(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			struct ftrace_regs *regs)
{
	struct tm_call call;

	if (unlikely(ip == READ_ONCE(tm_delivery.until)))
		tm_interrupt_here();

	if (likely(!(this_cpu_read(tm_wants) & (TM_PT_KERNEL | TM_BTS_KERNEL))))
		return;
	if (tm_walk_own_entry())
		return;

	call = tm_call_of(ip, parent);
	if (tm_try(tm_op_call, &call))
		tm_count(TM_STAT_FUNCTIONS);
	tm_flow_update();
}

static struct ftrace_ops tm_function_ops = {
	.func	= tm_function,
	/* It must stay on. RECURSION: it calls functions that the tracer sees. */
	.flags	= FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_RECURSION,
};

static int __init tm_functions_init(void)
{
	if (tm_config.on)
		WARN_ON(register_ftrace_function(&tm_function_ops));
	return 0;
}
early_initcall(tm_functions_init);
