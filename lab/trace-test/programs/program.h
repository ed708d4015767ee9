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
