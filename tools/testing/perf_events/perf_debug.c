// SPDX-License-Identifier: GPL-2.0
/* What perf's own tests say when they fail, in a program that isn't perf */
#include <stdarg.h>
#include <stdio.h>

#include "debug.h"

int verbose;

/* perf prints it when asked to. */
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
