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

function_move
