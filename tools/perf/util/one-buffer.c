// SPDX-License-Identifier: GPL-2.0
/*
 * one-buffer.c: 'perf record --one-buffer', where all events of all CPUs and
 * tasks write to one buffer.
 *
 * Order: a record gets its time stamp before it reserves space in the buffer. In
 * between, other CPUs may reserve space for newer records. So the buffer isn't
 * sorted by time, and a reader needs the time and the CPU of each record. Nothing
 * is published past a record that isn't complete. So the disorder is bounded by
 * the time from a record's time stamp to its reservation, even if the record
 * itself takes long to write.
 *
 * PERF_RECORD_FINISHED_ROUND promises that a record that was not read in a round
 * is not older than the newest record of the round before. This holds for one
 * buffer if a round takes longer than any CPU takes from time stamp to
 * reservation. A round over many buffers does. A round over one buffer may take
 * only a few us, less than an NMI or a preempted vCPU. So rounds are merged until
 * ROUND_NS have passed. The only cost is that readers sort more records at a time.
 *
 * A CPU that writes much fills a part of the buffer of its own, and publishes it at
 * its next tick. Its vCPU may have no time until long after. Other parts that lie
 * before it have newer records, and may be read at once. So a round begins with
 * poll(), which waits until each CPU has published what it wrote until then.
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>
#include <internal/lib.h>
#include <internal/xyarray.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include <api/fs/fs.h>

#include "cloexec.h"
#include "cpumap.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "one-buffer.h"
#include "record.h"
#include "../perf-sys.h"
#include "../perf.h"

#define ROUND_NS	(100 * NSEC_PER_MSEC)

/* What a CPU reserves at a time is an eighth of that: enough for several records */
#define KB_PER_CPU	16

/* ---- support of the kernel */

/* Open an event that asks for a shared buffer, or not. Return 0 or -errno. */
static int probe_open(bool output_shared)
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

enum one_buffer_support one_buffer__probe_result(int shared, int alone)
{
	if (!shared)
		return ONE_BUFFER_SUPPORTED;
	/* These have many causes. If it works alone, sharing is the cause. */
	if ((shared == -EINVAL || shared == -EOPNOTSUPP) && !alone)
		return ONE_BUFFER_NO_KERNEL_SUPPORT;
	return ONE_BUFFER_UNKNOWN;
}

enum one_buffer_support one_buffer__kernel_support(void)
{
	int shared = probe_open(true);
	int alone = probe_open(false);

	pr_debug2("event with a shared buffer: %d, without: %d\n", shared, alone);
	return one_buffer__probe_result(shared, alone);
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
		return excluded("--one-buffer and --threads can't be used together: each thread reads buffers of its own.\n");

	if (opts->affinity != PERF_AFFINITY_SYS)
		return excluded("--one-buffer and --affinity can't be used together: the buffer belongs to no CPU.\n");

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_aux_event(evsel))
			return excluded("--one-buffer: an AUX area belongs to one CPU or task, so '%s' needs a buffer for each.\n",
					evsel__name(evsel));
	}
	return 0;
}

unsigned int one_buffer__default_pages(unsigned int usual, unsigned int possible_cpus,
				       unsigned int online_cpus)
{
	unsigned int wanted = possible_cpus * (KB_PER_CPU * 1024 / page_size);
	unsigned int allowed = usual * online_cpus / 2;

	wanted = roundup_pow_of_two(max(wanted, 1u));
	if (wanted > allowed)
		wanted = rounddown_pow_of_two(max(allowed, 1u));
	return max(usual, wanted);
}

int evlist__prepare_one_buffer(struct evlist *evlist, struct record_opts *opts)
{
	int err;

	if (!opts->target.one_buffer)
		return 0;

	err = check_options(evlist, opts);
	if (err)
		return err;

	if (one_buffer__kernel_support() == ONE_BUFFER_NO_KERNEL_SUPPORT) {
		pr_warning("WARNING: --one-buffer: this kernel does not let several CPUs write to one buffer,\n"
			   "using separate buffers instead.\n");
		opts->target.one_buffer = false;
		return 0;
	}

	if (opts->sample_time_set && !opts->sample_time)
		pr_warning("WARNING: --one-buffer: recording time stamps, because records are not in order of time.\n");
	opts->sample_time = true;
	opts->sample_time_set = true;
	opts->sample_cpu = true;
	if (opts->mmap_pages == UINT_MAX)
		opts->mmap_pages = one_buffer__default_pages(perf_event_mlock_kb_in_pages(),
							     cpu__max_cpu().cpu,
							     sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}

/* poll() of the mapped event publishes. Each direction has its buffer and its event. */
static void publish(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		struct pollfd pollfd = { .events = POLLIN };

		pollfd.fd = *(int *)xyarray__entry(evsel->core.fd, 0, 0);
		poll(&pollfd, 1, 0);
	}
}

void evlist__begin_round(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 now,
			 bool complete)
{
	if (!evlist->core.one_buffer)
		return;

	rounds->due = now - rounds->last >= ROUND_NS;
	if (rounds->due || complete)
		publish(evlist);
}

bool evlist__end_round(struct evlist *evlist, struct one_buffer_rounds *rounds, u64 now)
{
	if (!evlist->core.one_buffer)
		return true;
	if (!rounds->due)
		return false;

	rounds->due = false;
	rounds->last = now;
	return true;
}

/* ---- resources in use */

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
		pr_err("With --one-buffer, all CPUs and tasks share one buffer, which takes less, if the kernel supports it.\n");
}
