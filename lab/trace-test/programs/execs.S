/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moves to the other of two CPUs and back in a window, and becomes the program that its first
 * argument names, which goes on in that window.
 */
#include "program.h"

function _start
	call	leaf
	call	target
	exit_with 1
end_function _start

/* Behind the return address: the number of arguments, and these. */
function target
	call	move
	call	leaf
	call	move
	call	leaf
	mov	24(%rsp), %rdi
	lea	24(%rsp), %rsi
	xor	%edx, %edx
	system_call __NR_execve
	ret
end_function target

function leaf
	nop
	ret
end_function leaf

function_move
