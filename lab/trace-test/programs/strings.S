/* SPDX-License-Identifier: GPL-2.0 */
/*
 * String instructions: one with a repeat prefix is one instruction, however often
 * it repeats, and whatever interrupts it. The pages written are not present yet.
 */
#include "program.h"

#define SIZE	(3 * 4096)

function _start
	cld
	mov	$SIZE / 8, %ecx
	mov	$0x5a, %eax
	lea	from(%rip), %rdi
	rep stosq

	mov	$SIZE / 8, %ecx
	lea	from(%rip), %rsi
	lea	to(%rip), %rdi
	rep movsq

	mov	$64, %ecx
	lea	from(%rip), %rsi
	lea	to(%rip), %rdi
	repe cmpsb
	jne	failed

	mov	$64, %ecx
	mov	$0x5a, %eax
	lea	from + 1(%rip), %rdi
	repne scasb
	jne	failed

	xor	%ecx, %ecx
	rep movsb
	rep movsb
	mov	$1, %ecx
	rep stosb
	movsb
	stosb

	/* Two of the same kind in a row, backwards. */
	std
	mov	$4, %ecx
	lea	to + 64(%rip), %rdi
	lea	from + 64(%rip), %rsi
	rep movsb
	mov	$4, %ecx
	rep movsb
	cld
	exit_with 0
failed:
	exit_with 1
end_function _start

	.bss
	.balign	4096
from:	.skip	SIZE
to:	.skip	SIZE
