// SPDX-License-Identifier: GPL-2.0
/*
 * Test auxtrace_buffer__continues(): does a snapshot of an AUX area begin where the
 * previous one ends, or may the two overlap?
 */
#include <linux/kernel.h>

#include "auxtrace.h"
#include "debug.h"
#include "tests.h"

#define AREA	0x1000

static const struct snapshots {
	const char	*what;
	u64		offset;		/* of the first snapshot */
	size_t		size;
	u64		next_offset;	/* of the second snapshot */
	bool		continues;
} cases[] = {
	{ "begins where the first ends",	0,	0x100,	0x100,		true },
	{ "ditto, later in the area",		0x480,	0x180,	0x600,		true },
	{ "begins in the padding",		0,	0x108,	0x101,		true },
	{ "begins before the padding",		0,	0x108,	0x100,		false },
	{ "begins after the end of the first",	0,	0x100,	0x101,		false },
	{ "is the same",			0x100,	0x100,	0x100,		false },
	{ "whole area after part of it",	0,	0x100,	0x800,		false },
	{ "whole area twice",			0x200,	AREA,	0x800,		false },
	{ "whole area, head passed the end",	0xf00,	AREA,	0x10,		false },
};

static int test__auxtrace_snapshot(struct test_suite *t __maybe_unused,
				   int subtest __maybe_unused)
{
	int ret = TEST_OK;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct snapshots *c = &cases[i];
		struct auxtrace_buffer a = { .offset = c->offset, .size = c->size };
		struct auxtrace_buffer b = { .offset = c->next_offset };

		if (auxtrace_buffer__continues(&b, &a) == c->continues)
			continue;
		pr_debug("%s: expected %d\n", c->what, c->continues);
		ret = TEST_FAIL;
	}
	return ret;
}

DEFINE_SUITE("AUX area snapshots that continue each other", auxtrace_snapshot);
