/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pushf and popf, and the flags that a system call and a signal handler see. Exit
 * status 1: the trap flag was set in one of them, or removed from another number. The
 * path is the same with the trap flag, as a debugger's trap flag can be seen.
 */
#include "program.h"

#define TF		0x100
/* The flags that a program always has, and two that compares set. */
#define FLAGS		0x246
#define SIGUSR1		10
#define SA_SIGINFO	4
#define SA_RESTORER	0x04000000
/* Of struct ucontext: eflags in uc_mcontext */
#define UC_EFLAGS	176

.macro	collect_flags
	pushf
	or	(%rsp), %r13
	lea	8(%rsp), %rsp
.endm

function _start
	xor	%r13d, %r13d
	collect_flags
	pushf
	or	(%rsp), %r13
	popf
	collect_flags

	/* Several in a row, and with 16 bits. */
	.rept	4
	pushf
	.endr
	.rept	4
	pop	%rax
	or	%rax, %r13
	.endr
	pushfw
	movzwl	(%rsp), %eax
	or	%rax, %r13
	popfw

	/* A popf that changes flags, and one with the trap flag clear. */
	pushf
	pop	%rax
	and	$~TF, %rax
	or	$1, %rax
	push	%rax
	popf
	setc	%bl
	collect_flags
	push	$2
	popf
	collect_flags

	/* The SYSCALL instruction copies the flags to %r11. */
	system_call __NR_getpid
	mov	%eax, %r15d
	or	%r11, %r13
	collect_flags

	/* Without a SYSCALL, a number there that looks like flags is just a number. */
	push	$FLAGS
	popf
	mov	$(FLAGS | TF), %r11d
	nop
	nop
	not	%r11d
	or	%r11, %r13

	mov	$SIGUSR1, %edi
	lea	on_usr1(%rip), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	system_call __NR_rt_sigaction
	mov	%r15d, %edi
	mov	$SIGUSR1, %esi
	system_call __NR_kill
	or	%r11, %r13
	collect_flags

	mov	%r13, %rdi
	shr	$8, %edi
	and	$1, %edi
	exit_group
end_function _start

/* In the signal frame, and in the handler. */
function usr1
	or	UC_EFLAGS(%rdx), %r13
	or	%r13, seen(%rip)
	pushf
	pop	%rax
	or	%rax, %r13
	/* %r13 itself is that of the frame again when this returns. */
	mov	%r13, 80(%rdx)
	ret
end_function usr1

function restorer
	system_call __NR_rt_sigreturn
end_function restorer

	.data
	.balign	8
on_usr1:
	.quad	usr1, SA_RESTORER | SA_SIGINFO, restorer, 0
seen:	.quad	0
