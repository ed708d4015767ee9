/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two of its windows are slow: one sleeps, the other one executes many instructions, which
 * takes long on the model.
 */
#include "program.h"

#define NANOSECONDS	400000000

windows 12

function target
	call	leaf
	cmp	$8, %r12d
	jne	1f
	call	sleep
1:	cmp	$4, %r12d
	jne	2f
	call	work
2:	call	leaf
	ret
end_function target

/* nanosleep(&time, NULL) */
function sleep
	push	$NANOSECONDS
	push	$0
	mov	%rsp, %rdi
	xor	%esi, %esi
	system_call __NR_nanosleep
	pop	%rax
	pop	%rax
	ret
end_function sleep

function work
	mov	$20000, %ecx
3:	loop	3b
	ret
end_function work
