/* SPDX-License-Identifier: GPL-2.0 */
/* Loops, with all instructions that count in %rcx. */
#include "program.h"

function _start
	mov	$5, %ebx
outer:
	mov	$9, %ecx
inner:
	dec	%ecx
	jnz	inner
	dec	%ebx
	jnz	outer

	mov	$7, %ecx
1:	nop
	loop	1b

	/* loopne ends at a match, loope at a mismatch, not by the count. */
	lea	bytes(%rip), %rsi
	mov	$8, %ecx
2:	lodsb
	cmp	$3, %al
	loopne	2b

	lea	bytes(%rip), %rsi
	mov	$8, %ecx
3:	lodsb
	cmp	$1, %al
	loope	3b

	xor	%ecx, %ecx
	jrcxz	4f
	ud2
4:	inc	%ecx
	jrcxz	5f
	nop
5:	exit_with 0
end_function _start

	.section .rodata
bytes:	.byte	1, 1, 2, 2, 3, 3, 4, 4
