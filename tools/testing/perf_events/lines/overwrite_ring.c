// SPDX-License-Identifier: GPL-2.0
/* perf's shared buffer in overwrite mode, without a reader: what is lost there? */
#include <stdlib.h>

#include <linux/perf_event.h>

#include "internal.h"
#include "ring.h"

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct perf_output_handle handle;
	struct perf_sample_data data;

	(void)writer;
	if (perf_output_begin(&handle, &data, ring, size))
		return false;
	perf_output_copy(&handle, record, size);
	perf_output_end(&handle);
	return true;
}

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct perf_event *event = ring_alloc(sizeof(*event));

	event->rb = rb_alloc(bytes / PAGE_SIZE, 0, -1, 0);
	if (!event->rb || perf_output_share(event->rb, false))
		abort();
	return event;
}

static void destroy(void *ring)
{
	struct perf_event *event = ring;

	rb_free_rcu(&event->rb->rcu_head);
}

const struct ring shared_overwrite_ring = {
	.name	 = "one buffer, overwrite mode",
	.create	 = create,
	.write	 = write_record,
	.destroy = destroy,
};
