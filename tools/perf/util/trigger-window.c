// SPDX-License-Identifier: GPL-2.0
/* The latest occurrences of an event; see trigger-window.h */
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "trigger-window.h"

#define SIZE_MIN	16

static struct occurrence *at(const struct trigger_window *window, size_t i)
{
	return &window->ring[(window->first + i) & (window->size - 1)];
}

static void forget_oldest(struct trigger_window *window)
{
	window->sum -= at(window, 0)->weight;
	window->first++;
	window->nr--;
}

static int grow(struct trigger_window *window)
{
	size_t i, size = max(2 * window->size, (size_t)SIZE_MIN);
	struct occurrence *ring = calloc(size, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (i = 0; i < window->nr; i++)
		ring[i] = *at(window, i);
	free(window->ring);
	window->ring = ring;
	window->size = size;
	window->first = 0;
	return 0;
}

int trigger_window__add(struct trigger_window *window, u64 time, u64 weight, u64 within)
{
	while (window->nr && time - at(window, 0)->time > within)
		forget_oldest(window);
	if (window->nr == WINDOW_MAX)
		forget_oldest(window);
	if (window->nr == window->size) {
		int err = grow(window);

		if (err)
			return err;
	}
	*at(window, window->nr++) = (struct occurrence){ .time = time, .weight = weight };
	window->sum += weight;
	return 0;
}

u64 trigger_window__since(const struct trigger_window *window)
{
	return at(window, 0)->time;
}

void trigger_window__clear(struct trigger_window *window)
{
	window->first = 0;
	window->nr = 0;
	window->sum = 0;
}

void trigger_window__exit(struct trigger_window *window)
{
	zfree(&window->ring);
	*window = (struct trigger_window){ .size = 0 };
}
