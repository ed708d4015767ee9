/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signals: sent to itself, one in the handler of another, and for a fault that the
 * handler repairs, after which the faulting instruction runs.
 */
#include "program.h"

#define SIGUSR1		10
#define SIGSEGV		11
#define SIGUSR2		12
#define SA_SIGINFO	4
#define SA_RESTORER	0x04000000
/* Of struct ucontext: %rbx in uc_mcontext */
#define UC_RBX		128

.macro	handle signal, action
	mov	$\signal, %edi
	lea	\action(%rip), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	system_call __NR_rt_sigaction
.endm

.macro	kill_itself signal
	mov	%r15d, %edi
	mov	$\signal, %esi
	system_call __NR_kill
.endm

function _start
	system_call __NR_getpid
	mov	%eax, %r15d
	handle	SIGUSR1, on_usr1
	handle	SIGUSR2, on_usr2
	handle	SIGSEGV, on_segv

	mov	$3, %r12d
1:	kill_itself SIGUSR2
	dec	%r12d
	jnz	1b
	kill_itself SIGUSR1

	xor	%ebx, %ebx
	nop
	movl	$1, (%rbx)
	mov	(%rbx), %edi
	dec	%edi
	exit_group
end_function _start

function usr1
	nop
	kill_itself SIGUSR2
	ret
end_function usr1

function usr2
	nop
	ret
end_function usr2

function segv
	lea	word(%rip), %rax
	mov	%rax, UC_RBX(%rdx)
	ret
end_function segv

function restorer
	system_call __NR_rt_sigreturn
end_function restorer

	.data
	.balign	8
on_usr1:
	.quad	usr1, SA_RESTORER, restorer, 0
on_usr2:
	.quad	usr2, SA_RESTORER, restorer, 0
on_segv:
	.quad	segv, SA_RESTORER | SA_SIGINFO, restorer, 0
word:	.quad	0
