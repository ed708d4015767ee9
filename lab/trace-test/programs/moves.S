/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moves to the other of two CPUs in the middle of each window, and in some more often.
 */
#include "program.h"

windows 6

function target
	call	leaf
	call	move
	call	leaf
	test	$1, %r12d
	jz	1f
	call	move
	call	leaf
1:	ret
end_function target

/* sched_setaffinity(0, 8, &mask), with a mask of 2, 1, 2, ...: %r13 is 0 at first. */
function move
	xor	$1, %r13d
	lea	1(%r13), %rax
	push	%rax
	xor	%edi, %edi
	mov	$8, %esi
	mov	%rsp, %rdx
	system_call __NR_sched_setaffinity
	pop	%rax
	ret
end_function move
