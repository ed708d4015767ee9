/* SPDX-License-Identifier: GPL-2.0 */
/* System calls: in a row, in a loop, one that fails, one that sleeps. */
#include "program.h"

function _start
	system_call __NR_getpid
	system_call __NR_getppid
	mov	$10, %ebx
1:	lea	name(%rip), %rdi
	system_call __NR_uname
	test	%rax, %rax
	jnz	failed
	dec	%ebx
	jnz	1b

	mov	$-1, %edi
	system_call __NR_close
	cmp	$-9, %eax
	jne	failed

	lea	one_millisecond(%rip), %rdi
	xor	%esi, %esi
	system_call __NR_nanosleep
	test	%rax, %rax
	jnz	failed
	exit_with 0
failed:
	exit_with 1
end_function _start

	.section .rodata
one_millisecond:
	.quad	0, 1000000
	.bss
name:	.skip	390
