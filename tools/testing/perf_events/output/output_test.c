// SPDX-License-Identifier: GPL-2.0
/*
 * kernel/events/output_shared.c and ring_buffer.c, unchanged, in user space.
 *
 * output_test [SCALE]: storms are SCALE times as long. TAP on standard output.
 */
#include <stdlib.h>

#include "output_test.h"

int tap_count, tap_failed;

int main(int argc, char **argv)
{
	int scale = argc > 1 ? atoi(argv[1]) : 1;

	if (scale < 1)
		return 2;
	/* Who waits for the first failure sees it at once. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
#ifndef __SANITIZE_THREAD__
	/* One thread: no race to find. */
	call_tests();
	lease_tests();
	overwrite_tests();
#endif
	storm_tests(scale);
	printf("1..%d\n", tap_count);
	return !!tap_failed;
}
