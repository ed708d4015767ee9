/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A 32-bit program. Some opcodes are prefixes or other instructions in 64-bit mode, so
 * that a decoder in the wrong mode gets lost. Other parts depend on the mode, too:
 * targets, the size of flags on the stack, string instructions.
 *
 * In a trace, a software interrupt is an interruption at its address, not an executed
 * instruction: so each has a label, software_interrupt*.
 */
	.code32

#define NR_EXIT		1	/* asm/unistd_32.h, which needs no other headers */
#define NR_GETPID	20
#define TF		0x100

	.text
	.globl	_start
	.type	_start, @function
_start:
	/* 0x40 to 0x4f are REX prefixes in 64-bit mode. */
	mov	$7, %ecx
	xor	%esi, %esi
1:	inc	%esi
	dec	%edi
	test	$1, %cl
	jz	2f
	inc	%eax
	inc	%ebp
2:	loop	1b
	jecxz	3f
	jmp	failed

	/* Get the own address, and jump through a table. */
3:	call	4f
4:	pop	%ebx
	lea	table - 4b(%ebx), %edx
	mov	$2, %edi
5:	call	*(%edx, %edi, 4)
	dec	%edi
	jns	5b
	call	recursive

	/* No trap flag in pushed flags of either size, and pop them. */
	pushf
	orl	(%esp), %ebp
	xorl	%ebp, %ebp
	orl	(%esp), %ebp
	popf
	pushfw
	orw	(%esp), %bp
	popfw
	push	$0x246
	popf
	jnz	failed

	/* 0x62, 0xc4 and 0xc5 begin vector instructions in 64-bit mode, but not here. */
	sub	$8, %esp
	movl	$0, (%esp)
	movl	$100, 4(%esp)
	mov	$50, %eax
	bound	%eax, (%esp)
	add	$8, %esp
	pusha
	mov	$20, %ecx
	lea	from, %esi
	lea	to, %edi
	cld
	rep movsb
	mov	$20, %ecx
	lea	from, %esi
	lea	to, %edi
	repe cmpsb
	popa
	jne	failed

	mov	$3, %edi
6:	mov	$NR_GETPID, %eax
software_interrupt_getpid:
	int	$0x80
	test	%eax, %eax
	jle	failed
	dec	%edi
	jnz	6b

	mov	%ebp, %ebx
	shr	$8, %ebx
	and	$1, %ebx
	jmp	exit
failed:
	mov	$2, %ebx
exit:
	mov	$NR_EXIT, %eax
software_interrupt_exit:
	int	$0x80
	.size	_start, . - _start

	.type	recursive, @function
recursive:
	dec	%ecx
	cmp	$-5, %ecx
	jl	7f
	call	recursive
7:	ret
	.size	recursive, . - recursive

	.type	first, @function
first:
	ret
	.size	first, . - first

	.type	second, @function
second:
	push	%edi
	pop	%edi
	ret	$0
	.size	second, . - second

	.type	third, @function
third:
	push	$8f
	ret
8:	jmp	*table
	.size	third, . - third

	.data
table:	.long	first, second, third
from:	.ascii	"12345678901234567890"
to:	.ascii	"...................."
