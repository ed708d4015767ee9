// SPDX-License-Identifier: GPL-2.0
/*
 * kernel/events/aux_action.c in user space. Expected: every test passes, the
 * ones included that say that mainline's algorithm loses gates: they show that
 * what the tests look for is found where it is.
 *
 * Usage: aux_action_test [--pairs], with interrupts of interrupts at each pair
 * of instructions, and with a task that moves and is woken.
 */
#include <string.h>

#include "aux_action_test.h"
#include "../single_step.h"
#include "../tap.h"

int tap_count, tap_failed;

int main(int argc, char **argv)
{
	bool pairs = argc > 1 && !strcmp(argv[1], "--pairs");

	printf("TAP version 13\n");
	single_step_init();
	call_tests();
	level_tests();
	step_tests(pairs);
	storm_tests();
	printf("1..%d\n", tap_count);

	return tap_failed ? 1 : 0;
}
