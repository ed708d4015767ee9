// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of files in the Trace Event format, without the rest of perf: built in
 * seconds, and with sanitizers. TAP on standard output.
 */
#include <stdio.h>

#include "tests.h"
#include "../tap.h"

int tap_count, tap_failed;

int main(void)
{
	tap_result(suite__trace_events.test_cases->run_case(&suite__trace_events, 0) == TEST_OK,
		   "perf's own test of the format");
	printf("1..%d\n", tap_count);

	return tap_failed;
}
