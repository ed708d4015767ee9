// SPDX-License-Identifier: GPL-2.0
/* The debug output of perf's own tests, for a program that isn't perf */
#include <stdarg.h>
#include <stdio.h>

#include "debug.h"

int verbose;

/* perf prints this with -v only. */
int eprintf(int level, int var, const char *fmt, ...)
{
	va_list args;
	int length;

	(void)level;
	(void)var;
	printf("# ");
	va_start(args, fmt);
	length = vprintf(fmt, args);
	va_end(args);

	return length;
}
