// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of profiles for pprof, without the rest of perf: built in seconds, and with
 * sanitizers. Then each allocation fails once: that must be reported, and nothing may leak. TAP
 * on standard output.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "pprof.h"
#include "tests.h"
#include "../perf_alloc.h"
#include "../tap.h"

/* More than there is room for at first */
#define SAMPLES		300

int tap_count, tap_failed;

static int add_sample(struct pprof *profile, int number)
{
	struct pprof_mapping mapping = { .start = 0x1000, .limit = 0x2000, .file = "/bin/f" };
	struct pprof_sample sample = { .comm = "comm", .stack = PPROF_NONE, .tid = number };
	int function, location, map;

	sample.event = pprof__event(profile, "clock", "nanoseconds");
	if (sample.event < 0)
		return sample.event;
	map = pprof__mapping(profile, &mapping);
	if (map < 0)
		return map;
	function = pprof__function(profile, "f\xff");
	if (function < 0)
		return function;
	location = pprof__location(profile, map, number, &function, 1);
	if (location < 0)
		return location;
	sample.stack = pprof__stack(profile, PPROF_NONE, location);
	return sample.stack < 0 ? sample.stack : pprof__sample(profile, &sample);
}

static int add_samples(struct pprof *profile)
{
	int i, err = pprof__init(profile);

	for (i = 0; i < SAMPLES && err >= 0; i++)
		err = add_sample(profile, i);
	return err < 0 ? err : 0;
}

static int write_profile(void)
{
	FILE *out = fopen("/dev/null", "w");
	struct pprof profile;
	int err = add_samples(&profile);

	if (!err)
		err = pprof__write(&profile, out);
	pprof__exit(&profile);
	fclose(out);
	return err;
}

/* Each allocation fails, until there is none that could */
static bool test_allocations(void)
{
	int nr, err;

	for (nr = 0;; nr++) {
		fail_allocation = nr;
		err = write_profile();
		if (fail_allocation >= 0)
			break;
		if (err != -ENOMEM) {
			printf("# without allocation %d: %d\n", nr, err);
			return false;
		}
	}
	fail_allocation = -1;
	printf("# %d allocations\n", nr);
	return !err && nr > 2 * SAMPLES;
}

int main(void)
{
	tap_result(suite__pprof.test_cases->run_case(&suite__pprof, 0) == TEST_OK,
		   "perf's own test of the profiles");
	tap_result(test_allocations(), "no memory");
	printf("1..%d\n", tap_count);

	return tap_failed;
}
