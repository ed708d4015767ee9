// SPDX-License-Identifier: GPL-2.0
/* A picture of a recording; see picture.h */
#include <string.h>
#include "picture.h"

void picture__init(struct picture *picture)
{
	memset(picture, 0, sizeof(*picture));
	INIT_LIST_HEAD(&picture->threads);
	picture_functions__init(&picture->functions);
}

int picture__range(const struct picture *picture, u64 time)
{
	const struct perf_time_interval *range = picture->ranges;
	int i;

	if (!range)
		return 0;
	for (i = 0; i < picture->nr_ranges; i++, range++) {
		if (time >= range->start && (time <= range->end || !range->end))
			return i;
	}
	return -1;
}

int picture__end(struct picture *picture, u64 time)
{
	struct picture_thread *thread;
	int err;

	list_for_each_entry(thread, &picture->threads, node) {
		err = picture_thread__end(thread, time);
		if (err)
			return err;
	}
	return picture__end_cpus(picture, time);
}

void picture__exit(struct picture *picture)
{
	folded__free(&picture->folded);
	picture__free_threads(picture);
	picture__free_cpus(picture);
	picture_functions__exit(&picture->functions);
}
