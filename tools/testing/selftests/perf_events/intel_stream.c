// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the checkers of Intel's streams. See intel_stream.h.
 */
#include <stdlib.h>

#include "intel_stream.h"

int area_append(void **bytes, size_t *nr, const struct aux_group *group, __u64 from,
		size_t size)
{
	unsigned char *to = realloc(*bytes, *nr + size + 1);
	size_t i;

	if (!to)
		return -1;

	*bytes = to;
	for (i = 0; i < size; i++)
		to[*nr + i] = group->area[(from + i) % group->area_size];
	*nr += size;

	return 0;
}

void area_consumed(struct aux_group *group, const struct perf_record *rec)
{
	__atomic_store_n(&group->page->aux_tail, rec->offset + rec->size,
			 __ATOMIC_RELEASE);
}
