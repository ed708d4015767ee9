// SPDX-License-Identifier: GPL-2.0
/*
 * lttng-ust's ring, as one buffer for all CPUs that discards what finds no room: the
 * channel for metadata, through the library that consumer daemons use. The code is that
 * of its buffers for each CPU, which take the same atomic operations. But those have a
 * tracepoint before them, which also asks for the time and the CPU, and it doesn't tell
 * the writer what is lost. So what is measured here is less than what lttng's users pay.
 *
 * The library cuts a record at the end of a sub-buffer. It is written again as a whole, so
 * the reader looks for those that are whole.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lttng/ust-abi.h>
#include <lttng/ust-ctl.h>
#include <lttng/ust-sigbus.h>

#include "bench.h"

#define SUB_BUFFERS	16

/* The library wants this of its users. */
DEFINE_LTTNG_UST_SIGBUS_STATE();

struct lttng {
	struct lttng_ust_ctl_consumer_channel	*channel;
	struct lttng_ust_ctl_consumer_stream	*stream;
	int					memory;
	unsigned int				size;	/* of all records */
};

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct lttng *lttng = ring_alloc(sizeof(*lttng));
	struct lttng_ust_ctl_consumer_channel_attr attr = {
		.type		= LTTNG_UST_ABI_CHAN_METADATA,
		.output		= LTTNG_UST_ABI_MMAP,
		.subbuf_size	= bytes / SUB_BUFFERS,
		.num_subbuf	= SUB_BUFFERS,
	};

	(void)writers;
	lttng->size = size;
	lttng->memory = memfd_create("lttng_ring", MFD_CLOEXEC);
	lttng->channel = lttng_ust_ctl_create_channel(&attr, &lttng->memory, 1);
	if (!lttng->channel)
		abort();
	lttng->stream = lttng_ust_ctl_create_stream(lttng->channel, -1);
	if (!lttng->stream)
		abort();
	/* The benchmark wakes its reader itself. */
	lttng_ust_ctl_stream_close_wakeup_fd(lttng->stream);
	return lttng;
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct lttng *lttng = ring;
	ssize_t written;

	(void)writer;
	do {
		written = lttng_ust_ctl_write_one_packet_to_channel(lttng->channel, record,
								    size);
	} while (written >= 0 && written < size);
	return written >= 0;
}

/* Where the next record begins, or what is left of one; or NULL */
static const char *find_record(const struct lttng *lttng, const char *from, const char *end)
{
	struct record_header header;

	record_fill(&header, sizeof(header));
	header.size = lttng->size;
	return memmem(from, end - from, &header, sizeof(header));
}

static void read_packet(const struct lttng *lttng, const char *packet, size_t size,
			struct sink *sink)
{
	const char *end = packet + size, *record = find_record(lttng, packet, end), *next;

	for (; record; record = next) {
		next = find_record(lttng, record + 1, end);
		if ((next ?: end) - record >= lttng->size)
			sink_take(sink, record, lttng->size);
	}
}

static bool read_next(struct lttng *lttng, struct sink *sink)
{
	unsigned long at, size;

	if (lttng_ust_ctl_get_next_subbuf(lttng->stream))
		return false;
	if (lttng_ust_ctl_get_mmap_read_offset(lttng->stream, &at) ||
	    lttng_ust_ctl_get_subbuf_size(lttng->stream, &size))
		abort();
	read_packet(lttng, (char *)lttng_ust_ctl_get_mmap_base(lttng->stream) + at, size, sink);
	lttng_ust_ctl_put_next_subbuf(lttng->stream);
	return true;
}

/* A sub-buffer is read when it is full, or when it is closed. */
static void read_records(void *ring, struct sink *sink)
{
	struct lttng *lttng = ring;

	lttng_ust_ctl_flush_buffer(lttng->stream, 1);
	while (read_next(lttng, sink))
		;
}

static void destroy(void *ring)
{
	struct lttng *lttng = ring;

	lttng_ust_ctl_destroy_stream(lttng->stream);
	lttng_ust_ctl_destroy_channel(lttng->channel);
	close(lttng->memory);
	free(lttng);
}

const struct ring lttng_ring = {
	.name	 = "lttng-ust's ring, one buffer",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = destroy,
};
