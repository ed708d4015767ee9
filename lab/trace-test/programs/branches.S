/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conditional branches in a row: more than a TNT packet holds, which is 47 at most.
 */
#include "program.h"

.macro	not_taken count
	.rept	\count
	jc	never
	.endr
.endm

.macro	taken count
	.rept	\count
	jnc	1f
	ud2
1:
	.endr
.endm

function _start
	clc
	not_taken 200
	taken	200
	.rept	60
	not_taken 1
	taken	1
	.endr

	/* All numbers around the packets' sizes, each ended by a call. */
	.irp	count, 1, 5, 6, 7, 12, 13, 46, 47, 48, 94, 95
	taken	\count
	call	leaf
	not_taken \count
	call	leaf
	.endr

	/* Branches of six bytes, forward and backward. */
	jnc	far_forth
never:	ud2
far_back:
	exit_with 0
end_function _start

function leaf
	ret
end_function leaf

	.fill	200, 1, 0x90
function far_forth
	jnc	far_back
	ud2
end_function far_forth
