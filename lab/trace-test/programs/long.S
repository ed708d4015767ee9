/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many instructions, whose trace wraps small buffers: a pseudo-random walk over
 * functions, through a table.
 */
#include "program.h"

#define STEPS	9000

function _start
	mov	$STEPS, %r12d
	mov	$12345, %ebx
walk:
	imul	$1103515245, %ebx, %ebx
	add	$12345, %ebx
	mov	%ebx, %eax
	shr	$16, %eax
	and	$7, %eax
	lea	functions(%rip), %rdx
	call	*(%rdx, %rax, 8)
	dec	%r12d
	jnz	walk
	exit_with 0
end_function _start

.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
function visit_\n
	test	$(1 << (\n + 8)), %ebx
	jz	1f
	xor	$(\n << 4), %ebx
1:	ret
end_function visit_\n
	.fill	256, 1, 0xcc
.endr

	.section .rodata
	.balign	8
functions:
	.quad	visit_0, visit_1, visit_2, visit_3, visit_4, visit_5, visit_6, visit_7
