// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of the ring of the newest records, without the rest of perf: built in
 * seconds, and with sanitizers. TAP on standard output.
 */
#include <stdarg.h>
#include <stdio.h>

#include "debug.h"
#include "tests.h"

int verbose;

/* What failed; perf prints it when asked to. */
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

int main(void)
{
	const struct test_case *test = suite__snapshot_ring.test_cases;
	int number = 0, failed = 0;

	for (; test->name; test++) {
		int bad = test->run_case(&suite__snapshot_ring, number) != TEST_OK;

		failed += bad;
		printf("%s %d - %s\n", bad ? "not ok" : "ok", ++number, test->desc);
	}
	printf("1..%d\n", number);

	return failed != 0;
}
