/* SPDX-License-Identifier: GPL-2.0 */
/* Jump tables and calls through registers and memory, near and far apart. */
#include "program.h"

function _start
	xor	%ebx, %ebx
next:
	lea	table(%rip), %rdx
	mov	%ebx, %eax
	and	$3, %eax
	jmp	*(%rdx, %rax, 8)

case_0:	lea	leaf(%rip), %rax
	call	*%rax
	jmp	end_of_case
case_1:	call	*far_leaf_pointer(%rip)
	jmp	end_of_case
case_2:	lea	1f(%rip), %rax
	notrack jmp *%rax
	ud2
1:	jmp	end_of_case
case_3:	push	$1
	push	$2
	push	$3
	call	pops_three
end_of_case:
	inc	%ebx
	cmp	$20, %ebx
	jne	next
	exit_with 0
end_function _start

function leaf
	ret
end_function leaf

/* A return that takes arguments off the stack. */
function pops_three
	nop
	ret	$24
end_function pops_three

	/* The address differs from the callers' in more than 16 bits. */
	.section .text.far, "ax", @progbits
	.fill	0x20000, 1, 0xcc
far_leaf:
	rep ret

	.section .rodata
	.balign	8
table:	.quad	case_0, case_1, case_2, case_3
far_leaf_pointer:
	.quad	far_leaf
