// SPDX-License-Identifier: GPL-2.0
/*
 * kernel/events/output_shared.c and ring_buffer.c, unchanged, in user space.
 *
 * output_test [SCALE [FIRST]]: storms are SCALE times as long. The tests of the group FIRST are
 * the first. TAP on standard output.
 */
#include <stdlib.h>
#include <string.h>

#include "output_test.h"

int tap_count, tap_failed;

#ifndef __SANITIZE_THREAD__
/* One thread: no race to find. */
static const struct group {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "calls", call_tests },
	{ "leases", lease_tests },
	{ "overwrite", overwrite_tests },
};

static void run_groups(const char *first)
{
	const struct group *group, *end = groups + sizeof(groups) / sizeof(*groups);

	for (group = groups; group < end; group++) {
		if (!strcmp(group->name, first))
			group->run();
	}
	for (group = groups; group < end; group++) {
		if (strcmp(group->name, first))
			group->run();
	}
}
#else
static void run_groups(const char *first) {}
#endif

int main(int argc, char **argv)
{
	int scale = argc > 1 ? atoi(argv[1]) : 1;

	if (scale < 1)
		return 2;
	/* Who waits for the first failure sees it at once. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	run_groups(argc > 2 ? argv[2] : "");
	storm_tests(scale);
	printf("1..%d\n", tap_count);
	return !!tap_failed;
}
