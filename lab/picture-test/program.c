// SPDX-License-Identifier: GPL-2.0
/*
 * Ways in which a C program calls and leaves functions. Its output is the outline of its
 * calls, as a picture should have it: each function says when it begins and where.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION	__attribute__((noipa)) void

static jmp_buf out;
static volatile int counter;

/* It is written at the end, not to standard output: there a list of its instructions goes */
static char outline[4096];

#define begin(depth)	note(depth, __func__)

static void __attribute__((always_inline)) inline note(int depth, const char *name)
{
	char *at = outline;

	while (*at)
		at++;
	while (depth--)
		*at++ = ' ';
	while (*name)
		*at++ = *name++;
	*at++ = '\n';
}

FUNCTION leaf(int depth)
{
	begin(depth);
	counter++;
}

FUNCTION recursive(int depth, int left)
{
	begin(depth);
	if (left)
		recursive(depth + 1, left - 1);
	leaf(depth + 1);
}

/* The compiler makes a jump of the call */
FUNCTION tail_caller(int depth)
{
	begin(depth);
	counter++;
	leaf(depth + 1);
}

FUNCTION jumps_out(int depth)
{
	begin(depth);
	leaf(depth + 1);
	longjmp(out, 1);
}

FUNCTION calls_what_jumps_out(int depth)
{
	begin(depth);
	jumps_out(depth + 1);
	counter++;
}

FUNCTION catches(int depth)
{
	begin(depth);
	if (!setjmp(out))
		calls_what_jumps_out(depth + 1);
	leaf(depth + 1);
}

static int depth_of_handler;

FUNCTION on_signal(int sig)
{
	(void)sig;
	begin(depth_of_handler);
	leaf(depth_of_handler + 1);
}

FUNCTION is_interrupted(int depth)
{
	begin(depth);
	depth_of_handler = depth + 1;
	raise(SIGUSR1);
	leaf(depth + 1);
}

static int depth_of_compare;

__attribute__((noipa)) int compare(const void *a, const void *b)
{
	begin(depth_of_compare);
	return *(const int *)a - *(const int *)b;
}

FUNCTION work(int depth)
{
	static int numbers[] = { 2, 1 };

	begin(depth);
	leaf(depth + 1);
	recursive(depth + 1, 3);
	tail_caller(depth + 1);
	leaf(depth + 1);
	catches(depth + 1);
	is_interrupted(depth + 1);
	depth_of_compare = depth + 1;
	qsort(numbers, 2, sizeof(int), compare);
	leaf(depth + 1);
}

int main(void)
{
	signal(SIGUSR1, on_signal);
	work(0);
	fputs(outline, stderr);
	return 0;
}
