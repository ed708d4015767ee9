// SPDX-License-Identifier: GPL-2.0
/*
 * Test what a snapshot copies of an AUX area that the kernel writes over, from what the
 * control page says; and which control pages say nothing.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "auxtrace.h"
#include "aux-window.h"
#include "debug.h"
#include "tests.h"

#define AREA	0x1000ULL
#define BIG	0x10000000000ULL

static const struct window_case {
	const char	*what;
	u64		last, total;
	u64		begin, overwritten;
} cases[] = {
	{ "nothing was ever written",	0, 0,			0, 0 },
	{ "first snapshot",		0, 0x123,		0, 0 },
	{ "a full area",		0, AREA,		0, 0 },
	{ "one byte too many",		0, AREA + 1,		1, 1 },
	{ "nothing new",		0x123, 0x123,		0x123, 0 },
	{ "one new byte",		0x123, 0x124,		0x123, 0 },
	{ "new up to the last byte",	0x123, AREA + 0x123,	0x123, 0 },
	{ "one byte is gone",		0x123, AREA + 0x124,	0x124, 1 },
	{ "many laps",			0x123, BIG,		BIG - AREA, BIG - AREA - 0x123 },
	{ "more than 32 bits",		BIG, BIG + 0x10,	BIG, 0 },
};

static bool same_window(const struct window_case *c, const struct aux_window *w)
{
	if (w->begin == c->begin && w->end == c->total && w->overwritten == c->overwritten)
		return true;

	pr_debug("%s: %#llx to %#llx, %#llx overwritten\n", c->what,
		 (unsigned long long)w->begin, (unsigned long long)w->end,
		 (unsigned long long)w->overwritten);
	return false;
}

static bool page_says(struct perf_event_mmap_page *page, const struct window_case *c,
		      struct aux_window *window)
{
	struct auxtrace_mmap mm = { .userpg = page, .len = AREA, .prev = c->last };

	return auxtrace_mmap__window(&mm, window);
}

static void counted_page(struct perf_event_mmap_page *page, const struct window_case *c)
{
	memset(page, 0, sizeof(*page));
	page->cap_aux_total = 1;
	page->aux_seq = 6;
	page->aux_state = PERF_AUX_STATE_PAUSED | PERF_AUX_STATE_COUNTED;
	page->aux_total = c->total;
	page->aux_head = c->total % AREA;
}

static bool test_case(const struct window_case *c)
{
	struct perf_event_mmap_page page;
	struct aux_window window;

	aux_window__init(&window, c->last, c->total, AREA);
	if (!same_window(c, &window))
		return false;

	counted_page(&page, c);
	memset(&window, 0xff, sizeof(window));
	return page_says(&page, c, &window) && same_window(c, &window);
}

/* Records of 24 bytes: a lap has 170, and 16 bytes behind them. */
static const struct cut_case {
	const char	*what;
	u64		begin, end;
	u64		limit;
	unsigned int	alignment;
	u64		cut_begin, cut_end;
} cuts[] = {
	{ "within the limit",		0, 0x123, AREA, 0,		0, 0x123 },
	{ "the newest",			0x100, BIG, 0x80, 0,		BIG - 0x80, BIG },
	{ "bytes of two laps",		0x100, 0x10c0, AREA, 0,		0x100, 0x10c0 },
	{ "records of one lap",		0x18, 0x48, AREA, 24,		0x18, 0x48 },
	{ "records of two laps",	0x18, AREA + 0x18, AREA, 24,	0x18, AREA },
	{ "of the second lap",		AREA, AREA + 0x18, AREA, 24,	AREA, AREA + 0x18 },
	{ "the newest records",		0, 0x48, 0x20, 24,		0x30, 0x48 },
	{ "from behind the records",	0, AREA + 0x18, 0x20, 24,	AREA, AREA + 0x18 },
};

static bool test_cut(const struct cut_case *c)
{
	struct aux_window window = { .begin = c->begin, .end = c->end };

	aux_window__cut(&window, AREA, c->limit, c->alignment);
	if (window.begin == c->cut_begin && window.end == c->cut_end)
		return true;

	pr_debug("%s: %#llx to %#llx\n", c->what, (unsigned long long)window.begin,
		 (unsigned long long)window.end);
	return false;
}

/* Each of these is reason enough to do what was done without the total. */
static bool test_no_total(void)
{
	const struct window_case *c = &cases[1];
	struct perf_event_mmap_page page;
	struct aux_window window;

	counted_page(&page, c);
	page.cap_aux_total = 0;
	if (page_says(&page, c, &window))
		return false;

	counted_page(&page, c);
	page.aux_state = PERF_AUX_STATE_PAUSED;
	if (page_says(&page, c, &window))
		return false;

	counted_page(&page, c);
	page.aux_head++;
	return !page_says(&page, c, &window);
}

static int test__aux_window(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!test_case(&cases[i])) {
			pr_debug("failed: %s\n", cases[i].what);
			return TEST_FAIL;
		}
	}

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		if (!test_cut(&cuts[i]))
			return TEST_FAIL;
	}

	return test_no_total() ? TEST_OK : TEST_FAIL;
}

DEFINE_SUITE("New data of an AUX area", aux_window);
