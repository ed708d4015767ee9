/* SPDX-License-Identifier: GPL-2.0 */
/* Returns to the caller and elsewhere, and a call of the next instruction. */
#include "program.h"

function _start
	mov	$10, %ebx
1:	call	first
	dec	%ebx
	jnz	1b

	/* Not a real call: it only gets the own address. */
	call	2f
2:	pop	%rax

	/* Not a real return: a jump. */
	lea	3f(%rip), %rax
	push	%rax
	ret
	ud2

	/* A call whose return address is dropped. */
3:	call	does_not_return
	ud2
4:	exit_with 0
end_function _start

function first
	call	second
	call	second
	ret
end_function first

function second
	call	third
	nop
	ret
end_function second

function third
	test	$1, %bl
	jz	5f
	ret
5:	ret
end_function third

function does_not_return
	pop	%rax
	jmp	4b
end_function does_not_return
