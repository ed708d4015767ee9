// SPDX-License-Identifier: GPL-2.0
/* perf record -M: what it prints about dumps; see ring-dump.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/time64.h>
#include "data.h"
#include "debug.h"
#include "ring-dump.h"
#include "ring-dump-state.h"
#include "session.h"

const char *ring_dump__output_name(const struct ring_dump *dump)
{
	return perf_data__is_pipe(dump->session->data) ? "the pipe" : dump->files.base;
}

const char *ring_dump__reason(const struct ring_dump *dump)
{
	switch (dump->err) {
	case -EINVAL:
		return "malformed record";
	case -ESTALE:
		return "it was removed, renamed or replaced, with its copy of the kernel";
	default:
		return strerror(-dump->err);
	}
}

/* Would the same records into the same file fail again? */
bool ring_dump__is_lasting(const struct ring_dump *dump)
{
	switch (dump->err) {
	case -EINVAL:
	case -ESTALE:
	case -EFBIG:
	case -ENAMETOOLONG:
		return true;
	default:
		return false;
	}
}

/* What happens after a failed dump. A broken pipe has a part of it, or no reader any more. */
static const char *consequence(struct ring_dump *dump)
{
	bool ending = __atomic_load_n(&dump->ending, __ATOMIC_ACQUIRE);

	if (dump->app.broken)
		return "; no other dump can follow, so recording ends";
	if (dump->last || ring_dump__is_lasting(dump) || (ending && !ring_dump__at_exit(dump)))
		return "";
	if (dump_requests__retries(&dump->requests))
		return "; its records are kept, to try it again in some seconds";
	return "; its records are kept for the next dump";
}

const char *ring_dump__place(const struct ring_dump *dump)
{
	return dump->app.stream || dump->err ? ring_dump__output_name(dump) : dump->app.data->path;
}

static int print_reason(void *arg __maybe_unused, const char *why)
{
	fprintf(stderr, "[ perf record: Because of %s ]\n", why);
	return 0;
}

void ring_dump__print_result(struct ring_dump *dump)
{
	if (dump->err) {
		pr_err("Failed to dump the memory ring to %s: %s%s\n", ring_dump__place(dump),
		       ring_dump__reason(dump), consequence(dump));
		return;
	}
	if (quiet)
		return;
	fprintf(stderr, "[ perf record: Dump %s: %" PRIu64 " samples of %.3f s, %.3f MB, %" PRIu64
			" lost by the kernel ]\n",
		ring_dump__place(dump), dump->count.samples,
		(dump->last_time - dump->first_time) / (double)NSEC_PER_SEC,
		dump->writer.from / 1024.0 / 1024.0, dump->count.lost);
	dump_requests__reasons(&dump->requests, print_reason, NULL);
}

void ring_dump__print_stats(const struct ring_dump *dump)
{
	const struct memory_ring_count *dropped = memory_ring__dropped(dump->ring);
	const struct sideband_store_stats *stats = sideband_store__stats(dump->store);

	if (!dump->opts.file_each && dump->nr && !ring_dump__has_file(dump))
		pr_warning("%s was removed, renamed or replaced after the last dump\n",
			   ring_dump__place(dump));
	if (quiet)
		return;
	fprintf(stderr, "[ perf record: Memory ring: %u dumps of %" PRIu64 " samples, %" PRIu64
			" dropped by the ring, %" PRIu64 " left in it, %" PRIu64
			" lost by the kernel, %" PRIu64 " side-band records evicted ]\n",
		dump->nr, dump->dumped.samples,
		dropped->samples - dump->unused + dump->nr_skipped, dump->unused,
		dump->dumped.lost + dropped->lost, stats->added);
	if (dropped->overrun)
		fprintf(stderr, "[ perf record: %" PRIu64 " side-band records lost, because a dump took too long ]\n",
			dropped->overrun);
	if (dump->nr_waited || dump->nr_refused)
		fprintf(stderr, "[ perf record: Held back: %u dumps had to wait for --dump-interval, %u requests came after --max-dumps ]\n",
			dump->nr_waited, dump->nr_refused);
	if (stats->dropped)
		fprintf(stderr, "[ perf record: %" PRIu64 " mappings and kernel objects dropped: there were too many ]\n",
			stats->dropped);
	if (!dump->nr)
		fprintf(stderr,
			"[ perf record: No samples were written, because no dump was requested: use SIGUSR2, 'snapshot' on --control, or -M eSIZE for a dump at exit ]\n");
}
