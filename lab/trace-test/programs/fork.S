/* SPDX-License-Identifier: GPL-2.0 */
/* A child process, and its parent, which waits for it. */
#include "program.h"

function _start
	system_call __NR_fork
	test	%eax, %eax
	js	failed
	jz	child

	mov	%eax, %edi
	lea	status(%rip), %rsi
	xor	%edx, %edx
	xor	%r10d, %r10d
	system_call __NR_wait4
	mov	status(%rip), %edi
	shr	$8, %edi
	exit_group
failed:
	exit_with 1

child:	mov	$100, %ebx
1:	call	leaf
	dec	%ebx
	jnz	1b
	exit_with 0
end_function _start

function leaf
	ret
end_function leaf

	.bss
status:	.skip	4
