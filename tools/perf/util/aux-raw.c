// SPDX-License-Identifier: GPL-2.0
/*
 * aux-raw.c: record the AUX area of PMUs that perf has no decoder for, and dump
 * the recorded data as bytes.
 *
 * Such files have no PERF_RECORD_AUXTRACE_INFO. It would need a type, and tools
 * refuse a file with an unknown type. Without it, a perf that doesn't know raw
 * data can read the rest of the file with --no-itrace.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include <internal/lib.h>
#include <perf/cpumap.h>

#include "aux-action.h"
#include "aux-raw.h"
#include "auxtrace.h"
#include "color.h"
#include "data.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "evsel_config.h"
#include "parse-events.h"
#include "pmu.h"
#include "print_binary.h"
#include "record.h"
#include "session.h"
#include "util.h"

#define AUX_RAW_SIZE			(4 * 1024 * 1024)
#define AUX_RAW_SIZE_UNPRIVILEGED	(128 * 1024)
#define DATA_SIZE_UNPRIVILEGED		(256 * 1024)

struct aux_raw_recording {
	struct auxtrace_record	itr;
	struct evsel		*evsel;
	/* by mmap index: has the area wrapped, so that its oldest data is overwritten? */
	bool			*wrapped;
	int			nr_wrapped;
};

/*
 * mmap() fails with EOPNOTSUPP if the event's PMU has no AUX area, whatever the
 * size. If the driver doesn't support the size, it fails with another error.
 */
static bool fd__has_aux_area(int fd)
{
	size_t data_size = 2 * page_size;
	struct perf_event_mmap_page *pc;
	bool has_aux = true;
	void *aux;

	pc = mmap(NULL, data_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pc == MAP_FAILED)
		return false;

	pc->aux_offset = data_size;
	pc->aux_size = page_size;

	aux = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, data_size);
	if (aux != MAP_FAILED)
		munmap(aux, page_size);
	else
		has_aux = errno == ENOMEM || errno == EINVAL;

	munmap(pc, data_size);
	return has_aux;
}

/*
 * sysfs doesn't say which PMUs have an AUX area. So try to map one with an event
 * like @evsel, which is never enabled. PMUs with a fixed type have none.
 */
static bool evsel__has_aux_area(struct evsel *evsel)
{
	struct perf_event_attr attr = evsel->core.attr;
	bool has_aux;
	int fd;

	if (attr.type < PERF_TYPE_MAX)
		return false;

	fd = aux_action__try_open(&attr);
	if (fd < 0) {
		pr_debug2("'%s': cannot try for an AUX area, error %d\n",
			  evsel__name(evsel), fd);
		return false;
	}
	has_aux = fd__has_aux_area(fd);
	close(fd);
	return has_aux;
}

static struct aux_raw_recording *itr__raw(struct auxtrace_record *itr)
{
	return container_of(itr, struct aux_raw_recording, itr);
}

static void set_default_sizes(struct record_opts *opts)
{
	bool privileged = perf_event_paranoid_check(-1);
	size_t size = privileged ? AUX_RAW_SIZE : AUX_RAW_SIZE_UNPRIVILEGED;

	if (opts->auxtrace_mmap_pages)
		return;

	/* A snapshot of a given size needs an area as large */
	if (opts->auxtrace_snapshot_size > size)
		size = roundup_pow_of_two(round_up(opts->auxtrace_snapshot_size, page_size));
	opts->auxtrace_mmap_pages = size / page_size;

	if (!privileged && opts->mmap_pages == UINT_MAX)
		opts->mmap_pages = DATA_SIZE_UNPRIVILEGED / page_size;
}

static int check_sizes(struct evlist *evlist, struct record_opts *opts)
{
	size_t size = opts->auxtrace_mmap_pages * (size_t)page_size;
	struct evsel *evsel;

	if (opts->auxtrace_snapshot_mode && !opts->auxtrace_snapshot_size)
		opts->auxtrace_snapshot_size = size;

	if (opts->auxtrace_snapshot_size > size) {
		pr_err("Snapshot size %zu must not be greater than AUX area tracing mmap size %zu\n",
		       opts->auxtrace_snapshot_size, size);
		return -EINVAL;
	}

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.aux_sample_size > size) {
			pr_err("AUX area sample size %u must not be greater than AUX area tracing mmap size %zu\n",
			       evsel->core.attr.aux_sample_size, size);
			return -EINVAL;
		}
	}
	return 0;
}

/* aux_offset is in the control page, which is read-only for such a buffer */
static int check_overwrite(struct evsel *aux, struct record_opts *opts)
{
	struct evsel_config_term *term = evsel__get_config_term(aux, OVERWRITE);

	if (!(term ? term->val.overwrite : opts->overwrite))
		return 0;

	pr_err("'%s': an AUX area event cannot have an overwritable buffer. Give it 'no-overwrite', or use -S to keep the newest trace data\n",
	       evsel__name(aux));
	return -EINVAL;
}

/* Record the program's mappings, even if there is no other event */
static int add_tracking_event(struct evlist *evlist)
{
	struct evsel *evsel;
	int err;

	err = parse_event(evlist, "dummy:u");
	if (err)
		return err;

	evsel = evlist__last(evlist);
	evlist__set_tracking_event(evlist, evsel);
	evsel->core.attr.freq = 0;
	evsel->core.attr.sample_period = 1;
	return 0;
}

static int aux_raw_recording_options(struct auxtrace_record *itr,
				     struct evlist *evlist,
				     struct record_opts *opts)
{
	struct evsel *evsel, *aux = itr__raw(itr)->evsel;
	int err;

	aux->core.attr.freq = 0;
	aux->core.attr.sample_period = 1;
	aux->needs_auxtrace_mmap = true;
	opts->full_auxtrace = true;

	set_default_sizes(opts);
	err = check_sizes(evlist, opts);
	if (!err)
		err = check_overwrite(aux, opts);
	if (err)
		return err;

	/* The AUX area is mapped through the first event's descriptor */
	evlist__to_front(evlist, aux);

	err = add_tracking_event(evlist);
	if (err)
		return err;

	/* Windows of the trace have times, so all records must have them */
	evlist__for_each_entry(evlist, evsel)
		evsel__set_sample_bit(evsel, TIME);
	if (!perf_cpu_map__empty(evlist->core.user_requested_cpus))
		evsel__set_sample_bit(aux, CPU);
	return 0;
}

static size_t aux_raw_info_priv_size(struct auxtrace_record *itr __maybe_unused,
				     struct evlist *evlist __maybe_unused)
{
	return 0;
}

static int aux_raw_parse_snapshot_options(struct auxtrace_record *itr __maybe_unused,
					  struct record_opts *opts, const char *str)
{
	unsigned long long size = 0;
	char *end;

	if (*str) {
		errno = 0;
		size = strtoull(str, &end, 0);
		if (errno || *end || size > SIZE_MAX) {
			pr_err("Bad snapshot size: '%s'\n", str);
			return -EINVAL;
		}
	}
	opts->auxtrace_snapshot_mode = true;
	opts->auxtrace_snapshot_size = size;
	return 0;
}

static int aux_raw_snapshot_start(struct auxtrace_record *itr)
{
	return evsel__disable(itr__raw(itr)->evsel);
}

static int aux_raw_snapshot_finish(struct auxtrace_record *itr)
{
	return evsel__enable(itr__raw(itr)->evsel);
}

static bool *area__wrapped(struct aux_raw_recording *raw, int idx)
{
	if (idx >= raw->nr_wrapped) {
		bool *wrapped = realloc(raw->wrapped, (idx + 1) * sizeof(*wrapped));

		if (!wrapped)
			return NULL;
		memset(wrapped + raw->nr_wrapped, 0,
		       (idx + 1 - raw->nr_wrapped) * sizeof(*wrapped));
		raw->wrapped = wrapped;
		raw->nr_wrapped = idx + 1;
	}
	return &raw->wrapped[idx];
}

/*
 * The kernel zeroes the area when it is mapped. So non-zero data after the write
 * position is left from an earlier pass: the area has wrapped. If that data is
 * all zeros, a wrap goes unnoticed, and the snapshot lacks the oldest data.
 */
static bool area__is_zero(const unsigned char *data, size_t from, size_t to)
{
	while (from < to) {
		if (data[from++])
			return false;
	}
	return true;
}

/*
 * In overwrite mode, *head is an offset in the area. The caller copies what
 * is between *old and *head, and takes both modulo the size of the area.
 *
 * Until the area wraps, the new data is exactly what is between the two. After
 * that it is unknown how often the area wrapped since the last snapshot. So take
 * all of it: some data may be recorded twice, but none is missing.
 */
static int aux_raw_find_snapshot(struct auxtrace_record *itr, int idx,
				 struct auxtrace_mmap *mm, unsigned char *data,
				 u64 *head, u64 *old)
{
	bool *wrapped = area__wrapped(itr__raw(itr), idx);

	if (!wrapped)
		return -ENOMEM;

	*head %= mm->len;
	if (!*wrapped && (*head < *old || !area__is_zero(data, *head, mm->len)))
		*wrapped = true;

	if (*wrapped) {
		*old = *head;
		*head += mm->len;
	}
	return 0;
}

/* Nothing decodes the data, so there is no clock to relate it to */
static u64 aux_raw_reference(struct auxtrace_record *itr __maybe_unused)
{
	return 0;
}

static void aux_raw_free(struct auxtrace_record *itr)
{
	struct aux_raw_recording *raw = itr__raw(itr);

	free(raw->wrapped);
	free(raw);
}

static struct evsel *evlist__find_aux(struct evlist *evlist, int *err)
{
	struct evsel *evsel, *aux = NULL;

	evlist__for_each_entry(evlist, evsel) {
		struct perf_pmu *pmu = evsel__find_pmu(evsel);

		if (!pmu || !evsel__has_aux_area(evsel))
			continue;
		if (aux) {
			pr_err("'%s': there may be only one AUX area event, and there is '%s' already\n",
			       evsel__name(evsel), evsel__name(aux));
			*err = -EINVAL;
			return NULL;
		}
		pmu->auxtrace = true;
		aux = evsel;
	}
	return aux;
}

struct auxtrace_record *aux_raw_recording_init(struct evlist *evlist, int *err)
{
	struct evsel *aux = evlist__find_aux(evlist, err);
	struct aux_raw_recording *raw;

	if (!aux)
		return NULL;

	raw = zalloc(sizeof(*raw));
	if (!raw) {
		*err = -ENOMEM;
		return NULL;
	}

	raw->evsel = aux;
	raw->itr.pmu = evsel__find_pmu(aux);
	raw->itr.recording_options = aux_raw_recording_options;
	raw->itr.info_priv_size = aux_raw_info_priv_size;
	raw->itr.free = aux_raw_free;
	raw->itr.snapshot_start = aux_raw_snapshot_start;
	raw->itr.snapshot_finish = aux_raw_snapshot_finish;
	raw->itr.find_snapshot = aux_raw_find_snapshot;
	raw->itr.parse_snapshot_options = aux_raw_parse_snapshot_options;
	raw->itr.reference = aux_raw_reference;
	raw->itr.read_finish = auxtrace_record__read_finish;
	return &raw->itr;
}

static int dump_printer(enum binary_printer_ops op, unsigned int val,
			void *extra, FILE *fp)
{
	u64 *offset = extra;
	unsigned char ch = val;

	switch (op) {
	case BINARY_PRINT_LINE_BEGIN:
		return fprintf(fp, ".");
	case BINARY_PRINT_ADDR:
		return fprintf(fp, "  %08llx: ", (unsigned long long)*offset + val);
	case BINARY_PRINT_NUM_DATA:
		return fprintf(fp, " %02x", val);
	case BINARY_PRINT_NUM_PAD:
		return fprintf(fp, "   ");
	case BINARY_PRINT_SEP:
		return fprintf(fp, "  ");
	case BINARY_PRINT_CHAR_DATA:
		return fprintf(fp, "%c", ch >= ' ' && ch <= '~' ? ch : '.');
	case BINARY_PRINT_CHAR_PAD:
		return fprintf(fp, " ");
	case BINARY_PRINT_LINE_END:
		return fprintf(fp, "\n");
	case BINARY_PRINT_DATA_BEGIN:
	case BINARY_PRINT_DATA_END:
	default:
		return 0;
	}
}

static void dump_bytes(unsigned char *data, size_t size, u64 offset)
{
	print_binary(data, size, 16, dump_printer, &offset);
}

static void dump_heading(u64 size)
{
	color_fprintf(stdout, PERF_COLOR_BLUE,
		      ". ... raw AUX area data: size %llu bytes\n",
		      (unsigned long long)size);
}

s64 aux_raw__process_auxtrace(struct perf_session *session, union perf_event *event)
{
	int fd = perf_data__fd(session->data);
	u64 size = event->auxtrace.size, done = 0;
	unsigned char buf[4096];

	/* The caller skips the data in a file, but can't do so in a pipe */
	if (!dump_trace && !perf_data__is_pipe(session->data))
		return size;

	if (dump_trace)
		dump_heading(size);

	while (done < size) {
		size_t len = min_t(u64, size - done, sizeof(buf));
		ssize_t ret = readn(fd, buf, len);

		if (ret != (ssize_t)len)
			return ret < 0 ? -errno : -EIO;
		if (dump_trace)
			dump_bytes(buf, len, event->auxtrace.offset + done);
		done += len;
	}
	return size;
}

void aux_raw__dump_sample(struct perf_sample *sample)
{
	dump_heading(sample->aux_sample.size);
	dump_bytes(sample->aux_sample.data, sample->aux_sample.size, 0);
}
