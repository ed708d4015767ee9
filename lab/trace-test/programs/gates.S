/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls a function several times, among others, with gates around it.
 *
 * Uprobes are put on target and after_target. The kernel emulates these instructions,
 * so that none runs from a copy at another address.
 */
#include "program.h"

function _start
	mov	$4, %r12d
again:
	call	before
	call	target
	.globl	after_target
after_target:
	nop
	call	after

	/* The user code between two system calls: from_call up to to_call. */
	system_call __NR_getpgrp
	.globl	from_call
from_call:
	call	leaf
	system_call __NR_getppid
	.globl	to_call
to_call:
	call	after
	dec	%r12d
	jnz	again
	exit_with 0
end_function _start

function target
	push	%rbx
	.globl	in_target
in_target:
	mov	$5, %ebx
1:	call	leaf
	dec	%ebx
	jnz	1b
	lea	leaf(%rip), %rax
	call	*%rax
	pop	%rbx
	ret
end_function target

function before
	mov	$3, %ecx
2:	loop	2b
	ret
end_function before

function after
	call	leaf
	ret
end_function after

function leaf
	nop
	ret
end_function leaf
