// SPDX-License-Identifier: GPL-2.0
/*
 * one-buffer.c: 'perf record --one-buffer', where all events of all CPUs and
 * tasks write to one buffer.
 *
 * Order: a record gets its time before its place in the buffer. Between the
 * two, other CPUs may reserve places for records with later times, so the
 * buffer isn't sorted by time, and a reader needs the time and the CPU of each
 * record. Behind a record that isn't complete nothing is published, so the
 * disorder is bounded by how long a CPU takes from the time to the place, also
 * when the record itself takes long to write.
 *
 * The rule of PERF_RECORD_FINISHED_ROUND is that a record that isn't found in
 * one round is not older than the newest record of the round before. One buffer
 * keeps it if a whole round takes longer than any CPU takes from time to place.
 * A round over many buffers is slow enough; over one it may be a few us, which
 * an NMI or the hypervisor exceeds. So rounds are merged until one took
 * ROUND_NS. All this costs is that readers sort more records at a time.
 */

#include <errno.h>
#include <unistd.h>
#include <internal/xyarray.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <api/fs/fs.h>

#include "cloexec.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "one-buffer.h"
#include "record.h"
#include "../perf-sys.h"
#include "../perf.h"

#define ROUND_NS	(100 * NSEC_PER_MSEC)

/* ---- what the kernel can do */

/* Open an event that asks for a shared buffer, or not. Return 0 or -errno. */
static int open_trial(bool output_shared)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_DUMMY,
		.disabled	= 1,
		.output_shared	= output_shared,
		.exclude_kernel	= 1,
		.exclude_hv	= 1,
	};
	int fd = sys_perf_event_open(&attr, 0, -1, -1, perf_event_open_cloexec_flag());

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

enum one_buffer_support one_buffer__answer(int shared, int alone)
{
	if (!shared)
		return ONE_BUFFER_SUPPORTED;
	/* These have many causes: was it the sharing? */
	if ((shared == -EINVAL || shared == -EOPNOTSUPP) && !alone)
		return ONE_BUFFER_NOT_BY_KERNEL;
	return ONE_BUFFER_UNKNOWN;
}

enum one_buffer_support one_buffer__kernel_support(void)
{
	int shared = open_trial(true);
	int alone = open_trial(false);

	pr_debug2("event with a shared buffer: %d, without: %d\n", shared, alone);
	return one_buffer__answer(shared, alone);
}

/* ---- perf record */

static int __printf(1, 2) excluded(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	veprintf(0, verbose, fmt, args);
	va_end(args);
	return -EINVAL;
}

static int check_options(struct evlist *evlist, struct record_opts *opts)
{
	struct evsel *evsel;

	if (opts->threads_spec)
		return excluded("--one-buffer and --threads exclude each other: threads share out buffers among them.\n");

	if (opts->affinity != PERF_AFFINITY_SYS)
		return excluded("--one-buffer and --affinity exclude each other: the buffer belongs to no CPU.\n");

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_aux_event(evsel))
			return excluded("--one-buffer: an AUX area belongs to one CPU or task, so '%s' needs a buffer on each.\n",
					evsel__name(evsel));
	}
	return 0;
}

int evlist__prepare_one_buffer(struct evlist *evlist, struct record_opts *opts)
{
	int err;

	if (!opts->target.one_buffer)
		return 0;

	err = check_options(evlist, opts);
	if (err)
		return err;

	if (one_buffer__kernel_support() == ONE_BUFFER_NOT_BY_KERNEL) {
		pr_warning("WARNING: --one-buffer: this kernel does not let several CPUs write to one buffer,\n"
			   "using separate buffers, as without this option.\n");
		opts->target.one_buffer = false;
		return 0;
	}

	if (opts->sample_time_set && !opts->sample_time)
		pr_warning("WARNING: --one-buffer: records are not in order of time, so time is recorded.\n");
	opts->sample_time = true;
	opts->sample_time_set = true;
	opts->sample_cpu = true;
	return 0;
}

bool evlist__round_is_due(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 now)
{
	if (evlist->core.one_buffer && now - rounds->last < ROUND_NS)
		return false;

	rounds->last = now;
	return true;
}

/* ---- what is used */

static int evsel__nr_descriptors(struct evsel *evsel)
{
	struct xyarray *fds = evsel->core.fd;
	int nr = 0;

	if (!fds)
		return 0;

	for (int x = 0; x < xyarray__max_x(fds); x++) {
		for (int y = 0; y < xyarray__max_y(fds); y++)
			nr += *(int *)xyarray__entry(fds, x, y) >= 0;
	}
	return nr;
}

static void add_mmaps(struct buffer_use *use, struct mmap *maps, int nr)
{
	for (int i = 0; maps && i < nr; i++) {
		if (!maps[i].core.base)
			continue;
		use->buffers++;
		use->bytes += mmap__mmap_len(&maps[i]);
		if (maps[i].auxtrace_mmap.base) {
			use->aux_areas++;
			use->bytes += maps[i].auxtrace_mmap.len;
		}
	}
}

void evlist__buffer_use(struct evlist *evlist, struct buffer_use *use)
{
	struct evsel *evsel;

	*use = (struct buffer_use) { .descriptors = 0 };
	evlist__for_each_entry(evlist, evsel)
		use->descriptors += evsel__nr_descriptors(evsel);
	add_mmaps(use, evlist->mmap, evlist->core.nr_mmaps);
	add_mmaps(use, evlist->overwrite_mmap, evlist->core.nr_mmaps);
}

void evlist__report_buffer_use(struct evlist *evlist, u64 elapsed)
{
	struct buffer_use use;

	if (verbose <= 0)
		return;

	evlist__buffer_use(evlist, &use);
	pr_debug("events use %d descriptors, %d buffers, %d AUX areas, %zu kB of locked memory; opened in %llu us\n",
		 use.descriptors, use.buffers, use.aux_areas, use.bytes / 1024,
		 (unsigned long long)elapsed / NSEC_PER_USEC);
}

void evlist__hint_buffer_limit(struct evlist *evlist)
{
	size_t kb = evlist->core.mmap_len / 1024;
	int nr = evlist->core.nr_mmaps;

	pr_err("(%d buffer%s of %zu kB, limits: perf_event_mlock_kb for each CPU, and RLIMIT_MEMLOCK\n"
	       "beyond that, 'ulimit -l')\n", nr, nr == 1 ? "" : "s", kb);
	if (!evlist->core.one_buffer && nr > 1)
		pr_err("One buffer for all CPUs and tasks takes less, if the kernel can: --one-buffer.\n");
}
