/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the traced programs. They are linked without libraries, each to
 * addresses of its own, and execute the same instructions in each run.
 */
#include <asm/unistd.h>

.macro	system_call number
	mov	$\number, %eax
	syscall
.endm

/* The status is in %edi. */
.macro	exit_group
	system_call __NR_exit_group
.endm

.macro	exit_with status
	mov	$\status, %edi
	exit_group
.endm

.macro	function name
	.text
	.globl	\name
	.type	\name, @function
\name:
.endm

.macro	end_function name
	.size	\name, . - \name
.endm

/*
 * A program of so many windows, each from target up to after_target. %r12d is how many are
 * left, this one included.
 */
.macro	windows number
	function _start
	mov	$\number, %r12d
again:
	call	leaf
	call	target
	.globl	after_target
after_target:
	nop
	call	leaf
	dec	%r12d
	jnz	again
	exit_with 0
	end_function _start

	function leaf
	nop
	ret
	end_function leaf
.endm

/*
 * move: sched_setaffinity(0, 8, &mask), with a mask of 2, 1, 2, ...: %r13 is 0 at first. At
 * moved, the program is there.
 */
.macro	function_move
	function move
	xor	$1, %r13d
	lea	1(%r13), %rax
	push	%rax
	xor	%edi, %edi
	mov	$8, %esi
	mov	%rsp, %rdx
	system_call __NR_sched_setaffinity
	.globl	moved
moved:
	pop	%rax
	ret
	end_function move
.endm
