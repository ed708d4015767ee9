/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moves to the other of two CPUs in each window, and forks there. The child is in no window:
 * it leaves that of its parent, moves on, and has one of its own.
 */
#include "program.h"

windows 2

/* %r14d is 0 in the parent. */
function target
	call	leaf
	call	move
	call	leaf
	test	%r14d, %r14d
	jnz	1f
	system_call __NR_fork
	test	%eax, %eax
	js	failed
	jz	child

	mov	%eax, %ebx
	call	leaf
	call	move
	call	wait_for_child
1:	call	leaf
	ret
child:
	inc	%r14d
	mov	$2, %r12d
	call	move
	call	leaf
	ret
failed:
	exit_with 1
end_function target

/* It is %ebx, and its status must be 0. */
function wait_for_child
	mov	%ebx, %edi
	lea	status(%rip), %rsi
	xor	%edx, %edx
	xor	%r10d, %r10d
	system_call __NR_wait4
	cmpl	$0, status(%rip)
	jne	failed
	ret
end_function wait_for_child

function_move

	.bss
status:	.skip	4
