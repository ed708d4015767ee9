// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of the calls of a thread, without the rest of perf: built in
 * seconds, and with sanitizers. TAP on standard output.
 */
#include <stdio.h>

#include "tests.h"
#include "../tap.h"

int tap_count, tap_failed;

int main(void)
{
	tap_result(suite__call_track.test_cases->run_case(&suite__call_track, 0) == TEST_OK,
		   "perf's own test of them");
	printf("1..%d\n", tap_count);

	return tap_failed;
}
