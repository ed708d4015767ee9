// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: user code, instruction by instruction.
 *
 * User code that is traced, or whose instructions are counted, runs with the trap flag. The
 * flag is set last before a return to user mode, if this CPU's trace or a counter wants it.
 * It is cleared by the first code that uses a task's registers, so that no other code sees
 * it: at a debug exception, a breakpoint, a system call, or a signal. Where it remains set,
 * it is distinguished from a debugger's trap flag as the kernel itself does it: by
 * TIF_FORCED_TF without TIF_SINGLESTEP.
 *
 * Each trap shows the current address, so the instruction before it was executed.
 * All other entries to the kernel interrupt the code, and are noticed late: by the first
 * code that makes trace data, or at the return to user mode. That is early enough, as
 * the registers are unchanged until then; a tracepoint precedes what changes them
 * (system calls, signals).
 */
#include <linux/cpuhotplug.h>
#include <linux/hardirq.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/user-return-notifier.h>

#include <asm/debugreg.h>
#include <asm/ptrace.h>
#include <asm/special_insns.h>
#include <asm/trapnr.h>
#include <asm/tsc.h>

#include <trace/events/sched.h>
#include <trace/events/signal.h>
#include <trace/events/syscalls.h>

#include "flow.h"
#include "registers.h"
#include "trace_model.h"

#define TM_USER		(TM_PT_USER | TM_BTS_USER | TM_COUNT_USER)

/**
 * struct tm_walk - user code on this CPU
 * @ip: its next instruction
 * @era: tm_pt::era that @ip belongs to; if it has changed since, tm_pt::ip is newer
 * @task: whose code it is
 * @stepped: the kernel was entered by the model's trap, which is already handled
 */
struct tm_walk {
	u64			ip;
	u32			era;
	struct task_struct	*task;
	bool			stepped;
};

static DEFINE_PER_CPU(struct tm_walk, tm_walk);

u64 tm_pt_now(void)
{
	return rdtsc();
}

u64 tm_pt_cr3(void)
{
	return __native_read_cr3() & ~CR3_PCID_MASK;
}

/*
 * Position of user code
 */

/* In this order: an NMI in between uses the position of the packets. */
static void tm_walk_to(u64 ip, u32 era)
{
	this_cpu_write(tm_walk.ip, ip);
	barrier();
	this_cpu_write(tm_walk.era, era);
	this_cpu_write(tm_walk.task, current);
}

static u64 tm_walk_ip(const struct tm_cpu *cpu)
{
	if (this_cpu_read(tm_walk.era) == cpu->pt.era)
		return this_cpu_read(tm_walk.ip);
	return cpu->pt.ip;
}

/*
 * Was the kernel entered by SYSCALL? It leaves the address after it and the flags in
 * two registers. A program may have either of these numbers by chance.
 */
static bool tm_entered_by_syscall(const struct pt_regs *regs)
{
	return regs->cx == regs->ip && regs->r11 == regs->flags && regs->orig_ax != -1UL;
}

/* And was it the one at @ip? It is 2 bytes long. */
static bool tm_entered_by_syscall_at(const struct pt_regs *regs, u64 ip)
{
	return this_cpu_read(tm_walk.task) == current && regs->ip == ip + 2 &&
	       tm_entered_by_syscall(regs);
}

/**
 * tm_walk_own_entry() - does the kernel run only because of the model?
 *
 * Entry and exit of the trap don't exist on hardware; interrupts are off during both.
 * On entry, the user's code is one instruction further than the model has recorded. INT3
 * can look the same until its notifier runs; losing a few functions is better than
 * losing an instruction.
 *
 * Return: true if the kernel was entered by the model's trap, and does nothing else.
 */
bool tm_walk_own_entry(void)
{
	const struct pt_regs *regs;

	if (this_cpu_read(tm_walk.task) != current || in_interrupt())
		return false;

	/* There is work on the way out: from now on, this is an interruption. */
	if (!raw_irqs_disabled())
		this_cpu_write(tm_walk.stepped, false);

	if (this_cpu_read(tm_walk.stepped))
		return true;
	if (!raw_irqs_disabled() || !(this_cpu_read(tm_wants) & (TM_USER | TM_PT_PACKETS)))
		return false;

	regs = task_pt_regs(current);
	return regs->orig_ax == -1UL && regs->ip != this_cpu_read(tm_walk.ip);
}

/**
 * tm_pt_left() - user code was interrupted, and no packet shows it yet
 * @cpu: model, tracing code
 */
void tm_pt_left(struct tm_cpu *cpu)
{
	u64 ip = tm_walk_ip(cpu);

	if (tm_entered_by_syscall_at(task_pt_regs(current), ip))
		tm_pt_disable(cpu);
	else
		tm_pt_disable_at(cpu, ip);
}

static u64 tm_op_left(struct tm_cpu *cpu, void *arg)
{
	if (cpu->pt.packet_en)
		tm_pt_left(cpu);
	return 0;
}

static u64 tm_op_syscall(struct tm_cpu *cpu, void *arg)
{
	if (cpu->pt.packet_en)
		tm_pt_disable(cpu);
	return 0;
}

/* The registers of interrupted code are about to change: record its position first. */
static void tm_walk_left(tm_op_t op)
{
	this_cpu_write(tm_walk.stepped, false);
	if (this_cpu_read(tm_wants) & TM_PT_PACKETS)
		tm_try(op, NULL);
}

static u64 tm_op_return(struct tm_cpu *cpu, void *arg)
{
	const struct pt_regs *regs = arg;

	if (cpu->pt.packet_en)
		tm_pt_left(cpu);
	if ((cpu->ctl & RTIT_CTL_USR) && tm_context_en(cpu))
		tm_branch_enable(cpu, regs->ip,
				 user_64bit_mode((struct pt_regs *)regs) ? TM_MODE_64 : TM_MODE_32);
	return cpu->pt.era;
}

/*
 * The trap flag
 */

static bool tm_owns_tf(void)
{
	return test_thread_flag(TIF_FORCED_TF) && !test_thread_flag(TIF_SINGLESTEP);
}

static void tm_hide_tf(struct pt_regs *regs)
{
	if (!tm_owns_tf())
		return;

	if (tm_entered_by_syscall(regs))
		regs->r11 &= ~X86_EFLAGS_TF;
	clear_thread_flag(TIF_FORCED_TF);
	regs->flags &= ~X86_EFLAGS_TF;
}

static void tm_show_tf(struct pt_regs *regs)
{
	/* Set by the program itself, a debugger, or uprobes: it serves both purposes. */
	if (regs->flags & X86_EFLAGS_TF)
		return;

	regs->flags |= X86_EFLAGS_TF;
	set_thread_flag(TIF_FORCED_TF);
}

/*
 * The program pushed its flags, and must not see the model's trap flag; or it popped
 * them, and may have set a trap flag of its own.
 */
static void tm_repair_flags(const struct tm_step *step, struct pt_regs *regs)
{
	u8 __user *pushed = (u8 __user *)regs->sp + 1;
	u8 __user *popped = pushed - (step->mode64 ? 8 : 4);
	u8 byte;

	if (step->insn.kind == TM_INSN_PUSHF && !copy_from_user_nofault(&byte, pushed, 1)) {
		byte &= ~(X86_EFLAGS_TF >> 8);
		copy_to_user_nofault(pushed, &byte, 1);
	}
	if (step->insn.kind == TM_INSN_POPF && !copy_from_user_nofault(&byte, popped, 1) &&
	    (byte & (X86_EFLAGS_TF >> 8)))
		clear_thread_flag(TIF_FORCED_TF);
}

/*
 * Steps
 */

static bool tm_needs_op(const struct tm_step *step)
{
	unsigned int wants = this_cpu_read(tm_wants);

	if (!(wants & ~TM_COUNT_USER))
		return false;
	/* With filters each address matters. Or the trace of user code has yet to start. */
	if ((wants & TM_PT_FILTERS) || (wants & (TM_PT_USER | TM_PT_PACKETS)) == TM_PT_USER)
		return true;

	switch (step->insn.kind) {
	case TM_INSN_PLAIN:
	case TM_INSN_PUSHF:
	case TM_INSN_POPF:
		return step->to != step->from + step->insn.length;
	case TM_INSN_REP:
		return step->to != step->from + step->insn.length && step->to != step->from;
	default:
		return true;
	}
}

/*
 * Counted when they are over: not if they have faulted, and not after each round of a
 * repeated one.
 */
static void tm_retire(unsigned int instructions, const struct pt_regs *regs)
{
	struct tm_retired retired = { .instructions = instructions, .regs = regs };

	if (instructions && (this_cpu_read(tm_wants) & TM_COUNT_USER))
		tm_run(tm_op_retire, &retired);
}

static struct tm_step tm_step_read(const struct pt_regs *regs, unsigned int *instructions)
{
	struct tm_step step = {
		.from	= this_cpu_read(tm_walk.ip),
		.to	= regs->ip,
		.mode64	= user_64bit_mode((struct pt_regs *)regs),
	};

	step.insn = tm_insn_at(step.from, step.mode64);
	*instructions = 1;
	/* There was no trap after this one. */
	while (step.insn.kind == TM_INSN_SHADOW &&
	       step.to != step.from + step.insn.length) {
		step.from += step.insn.length;
		step.insn = tm_insn_at(step.from, step.mode64);
		++*instructions;
	}
	if (step.insn.kind == TM_INSN_REP && step.to == step.from)
		--*instructions;
	return step;
}

static void tm_step_taken(struct pt_regs *regs)
{
	unsigned int instructions;
	struct tm_step step = tm_step_read(regs, &instructions);
	u32 era = this_cpu_read(tm_walk.era);

	tm_count(TM_STAT_USER_STEPS);
	if (tm_owns_tf())
		tm_repair_flags(&step, regs);

	if (tm_needs_op(&step))
		era = tm_run(tm_op_step, &step);
	tm_walk_to(step.to, era);
	tm_retire(instructions, regs);
}

/* DR6's bits for a matching address, of breakpoints that are disabled. */
static unsigned long tm_stale_traps(unsigned long dr6)
{
	unsigned long dr7 = this_cpu_read(cpu_dr7), stale = 0;
	unsigned int i;

	for (i = 0; i < HBP_NUM; i++) {
		if (!(dr7 >> (i * DR_ENABLE_SIZE) & 3))
			stale |= DR_TRAP0 << i;
	}
	return dr6 & stale;
}

/*
 * After a watchpoint has hit, QEMU reports another hit with each step, until the
 * breakpoint is set up again.
 */
static void tm_rearm(unsigned long dr6)
{
	unsigned long dr7 = this_cpu_read(cpu_dr7);

	if (!(dr6 & DR_TRAP_BITS & ~tm_stale_traps(dr6)))
		return;

	set_debugreg(0UL, 7);
	set_debugreg(dr7, 7);
}

/*
 * The model removes its own trap from DR6, the real one and the one that ptrace sees, and
 * leaves other causes to others. It also removes stale bits: where a step ends, the
 * address of a disabled breakpoint sets its bit, too, which would become a SIGTRAP.
 */
static int tm_debug_exception(struct pt_regs *regs, unsigned long *dr6)
{
	bool own = tm_owns_tf();

	tm_rearm(*dr6);
	if (!(*dr6 & DR_STEP))
		return NOTIFY_DONE;

	if (this_cpu_read(tm_walk.task) == current && (this_cpu_read(tm_wants) & TM_USER)) {
		tm_step_taken(regs);
		this_cpu_write(tm_walk.stepped, true);
	}
	tm_hide_tf(regs);
	if (!own)
		return NOTIFY_DONE;

	*dr6 &= ~(DR_STEP | tm_stale_traps(*dr6));
	current->thread.virtual_dr6 &= ~DR_STEP;
	return *dr6 & DR_TRAP_BITS ? NOTIFY_DONE : NOTIFY_STOP;
}

NOKPROBE_SYMBOL(tm_debug_exception);

/* Instructions that the model executes */
static bool tm_executes(struct pt_regs *regs)
{
	return tm_rdpmc(regs) || (tm_config.ptwrite && tm_ptwrite(regs));
}

/* The program continues after the instruction, as if there had been no exception. */
static bool tm_refused(struct pt_regs *regs)
{
	u64 ip = regs->ip;

	if (!tm_executes(regs))
		return false;

	tm_retire(1, regs);
	if (this_cpu_read(tm_walk.task) == current && this_cpu_read(tm_walk.ip) == ip &&
	    !(this_cpu_read(tm_wants) & TM_PT_FILTERS)) {
		this_cpu_write(tm_walk.ip, regs->ip);
		this_cpu_write(tm_walk.stepped, true);
	}
	return true;
}

static int tm_exception(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (!args->regs || !user_mode(args->regs))
		return NOTIFY_DONE;

	switch (event) {
	case DIE_DEBUG:
		return tm_debug_exception(args->regs, (unsigned long *)args->err);
	case DIE_INT3:
		tm_walk_left(tm_op_left);
		tm_hide_tf(args->regs);
		break;
	case DIE_TRAP:
		if (args->trapnr == X86_TRAP_UD && tm_refused(args->regs))
			return NOTIFY_STOP;
		break;
	}
	return NOTIFY_DONE;
}

NOKPROBE_SYMBOL(tm_exception);

/* The same priority as that of breakpoints: the first to register is the first to run. */
static struct notifier_block tm_exception_nb = {
	.notifier_call	= tm_exception,
	.priority	= INT_MAX,
};

static void tm_sys_enter(void *data, struct pt_regs *regs, long id)
{
	struct tm_insn insn;

	if (this_cpu_read(tm_wants) & TM_PT_PACKETS) {
		insn = tm_insn_at(regs->ip - 2, user_64bit_mode(regs));
		tm_walk_left(insn.kind == TM_INSN_SYSCALL ? tm_op_syscall : tm_op_left);
	}
	tm_hide_tf(regs);
	tm_retire(1, regs);
}

/*
 * perf records the owner of the code at the task switch, with a time: packets of the
 * code must not have a later one.
 */
static void tm_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	tm_walk_left(tm_op_left);
}

static void tm_signal_deliver(void *data, int sig, struct kernel_siginfo *info,
			      struct k_sigaction *ka)
{
	tm_walk_left(tm_op_left);
	tm_hide_tf(task_pt_regs(current));
}

/*
 * Return to user mode
 */

/* Did nothing happen between the trap and its end that needs a packet? */
static bool tm_goes_on(const struct pt_regs *regs, unsigned int wants)
{
	return this_cpu_read(tm_walk.stepped) &&
	       this_cpu_read(tm_walk.task) == current &&
	       this_cpu_read(tm_walk.ip) == regs->ip &&
	       (!(wants & TM_PT_USER) || (wants & TM_PT_PACKETS));
}

static void tm_user_return(struct user_return_notifier *urn)
{
	unsigned int wants = this_cpu_read(tm_wants);
	struct pt_regs *regs = task_pt_regs(current);

	if (!(wants & (TM_USER | TM_PT_PACKETS))) {
		tm_hide_tf(regs);
		this_cpu_write(tm_walk.task, NULL);
	} else {
		if (!tm_goes_on(regs, wants))
			tm_walk_to(regs->ip, tm_run(tm_op_return, regs));
		tm_show_tf(regs);
	}
	this_cpu_write(tm_walk.stepped, false);
}

static DEFINE_PER_CPU(struct user_return_notifier, tm_return_notifier) = {
	.on_user_return = tm_user_return,
};

static void tm_return_soon(struct irq_work *work)
{
	/* The return from the interrupt is all that is needed. */
}

static DEFINE_PER_CPU(struct irq_work, tm_return_work) = IRQ_WORK_INIT_HARD(tm_return_soon);

/**
 * tm_flow_update() - what is traced may have changed
 *
 * All returns to user mode call the notifier, except for that of an NMI. So an NMI queues
 * an interrupt, which comes before the first instruction, if that one is to be traced.
 * An NMI that came from user mode is on the task's stack.
 */
void tm_flow_update(void)
{
	unsigned int wants = this_cpu_read(tm_wants);

	if (!in_nmi())
		return;

	if ((wants & (TM_BTS_USER | TM_COUNT_USER)) ||
	    (wants & (TM_PT_USER | TM_PT_PACKETS)) == TM_PT_USER)
		irq_work_queue(this_cpu_ptr(&tm_return_work));
	else if (!(wants & TM_PT_USER) && on_thread_stack())
		this_cpu_write(tm_walk.task, NULL);
}

static int tm_step_online(unsigned int cpu)
{
	preempt_disable();
	user_return_notifier_register(this_cpu_ptr(&tm_return_notifier));
	preempt_enable();
	return 0;
}

static int tm_step_offline(unsigned int cpu)
{
	preempt_disable();
	user_return_notifier_unregister(this_cpu_ptr(&tm_return_notifier));
	preempt_enable();
	return 0;
}

/**
 * tm_step_init_early() - register before breakpoints do
 *
 * A gate that is a breakpoint then finds that the instruction before it was executed.
 */
void __init tm_step_init_early(void)
{
	WARN_ON(register_die_notifier(&tm_exception_nb));
}

static int __init tm_step_init(void)
{
	int err;

	if (!tm_config.on)
		return 0;

	err = register_trace_sys_enter(tm_sys_enter, NULL);
	err = err ?: register_trace_signal_deliver(tm_signal_deliver, NULL);
	err = err ?: register_trace_sched_switch(tm_sched_switch, NULL);
	err = err ?: cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "x86/trace_model:step",
				       tm_step_online, tm_step_offline);
	WARN_ON(err < 0);
	return 0;
}
early_initcall(tm_step_init);
