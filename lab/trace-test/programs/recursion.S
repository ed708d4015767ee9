/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recursion: deeper than the 64 return addresses that the hardware keeps for
 * compressed returns, and as a tree.
 */
#include "program.h"

function _start
	mov	$200, %edi
	call	descend
	mov	$64, %edi
	call	descend
	mov	$9, %edi
	call	fibonacci
	exit_with 0
end_function _start

function descend
	dec	%edi
	jz	1f
	call	descend
	nop
1:	ret
end_function descend

function fibonacci
	mov	%edi, %eax
	cmp	$2, %edi
	jb	2f
	push	%rdi
	dec	%edi
	call	fibonacci
	mov	(%rsp), %edi
	mov	%rax, (%rsp)
	sub	$2, %edi
	call	fibonacci
	add	(%rsp), %rax
	add	$8, %rsp
2:	ret
end_function fibonacci
