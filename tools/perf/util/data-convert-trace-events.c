// SPDX-License-Identifier: GPL-2.0
/* perf data convert --to-trace-events; see data-convert-trace-events.h */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <subcmd/parse-options.h>
#include "auxtrace.h"
#include "data.h"
#include "data-convert-trace-events.h"
#include "debug.h"
#include "evlist.h"
#include "header.h"
#include "header-lines.h"
#include "picture-records.h"
#include "session.h"
#include "symbol.h"
#include "time-utils.h"
#include "units.h"

#define SAY(fmt, ...)		fprintf(stderr, "[ perf data convert: " fmt " ]\n", ##__VA_ARGS__)
#define MB			(1024.0 * 1024.0)

/* In the header, before the reason */
#define DUMPED			"dumped because of : "

#define PROGRESS_RECORDS	4096
#define PROGRESS_NS		(NSEC_PER_SEC / 2)

/**
 * struct converter - A conversion
 * @folded:   the file, if it has folded stacks
 * @itrace:   what the decoder of a trace makes
 * @calls:    of progress, since the clock was read
 * @progress: when progress was shown last; 0: it isn't shown
 * @shown:    there is a line of progress
 */
struct converter {
	struct picture_records		records;
	const struct trace_events_opts	*opts;
	struct perf_data		data;
	struct new_file			folded;
	struct itrace_synth_opts	itrace;
	struct perf_time_interval	*ranges;
	int				ranges_size;
	unsigned int			calls;
	u64				progress;
	bool				shown;
	DECLARE_BITMAP(cpus, MAX_NR_CPUS);
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
	session_done = 1;
}

/* ---- options */

int trace_events__parse_size(const struct option *opt, const char *str, int unset)
{
	static struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	unsigned long size = unset ? TRACE_EVENTS_MAX_SIZE : parse_tag_value(str, tags);

	if (!size || size == (unsigned long)-1) {
		pr_err("'%s' is not a size, such as 500M or 2G\n", str);
		return -EINVAL;
	}
	*(u64 *)opt->value = size;
	return 0;
}

static bool is_filtered(const struct trace_events_opts *opts)
{
	return opts->times || opts->cpus || symbol_conf.tid_list_str || symbol_conf.pid_list_str ||
	       symbol_conf.comm_list_str;
}

bool trace_events__are_given(const struct trace_events_opts *opts)
{
	return opts->path || opts->folded || opts->max_size != TRACE_EVENTS_MAX_SIZE ||
	       is_filtered(opts);
}

static int parse_times(struct converter *converter)
{
	struct perf_session *session = converter->records.session;
	struct picture *picture = &converter->records.picture;
	int err;

	if (!converter->opts->times)
		return 0;
	err = perf_time__parse_for_ranges(converter->opts->times, session, &converter->ranges,
					  &converter->ranges_size, &picture->nr_ranges);
	if (err)
		return err;
	picture->ranges = converter->ranges;
	itrace_synth_opts__set_time_range(&converter->itrace, converter->ranges,
					  picture->nr_ranges);
	return 0;
}

static int parse_cpus(struct converter *converter)
{
	if (!converter->opts->cpus)
		return 0;
	if (perf_session__cpu_bitmap(converter->records.session, converter->opts->cpus,
				     converter->cpus))
		return -EINVAL;
	converter->records.cpus = converter->cpus;
	converter->itrace.cpu_bitmap = converter->cpus;
	return 0;
}

/* All branches: jumps are calls, too. No marks of packets that say nothing of the program. */
static void set_itrace(struct converter *converter)
{
	itrace_synth_opts__set_default(&converter->itrace, true);
	converter->itrace.set = true;
	converter->itrace.calls = false;
	converter->itrace.pwr_events = false;
	converter->records.session->itrace_synth_opts = &converter->itrace;
}

/* ---- progress */

static int percent(const struct picture_records *records)
{
	const struct evlist *evlist = records->session->evlist;
	u64 last = evlist->last_sample_time;

	if (last <= records->first)
		return -1;
	return min((records->now - records->first) * 100 / (last - records->first), (u64)100);
}

static void show_progress(struct picture_records *records)
{
	struct converter *converter = container_of(records, struct converter, records);
	int done = percent(records);
	u64 now;

	if (!converter->progress || ++converter->calls % PROGRESS_RECORDS)
		return;
	now = rdclock();
	if (now - converter->progress < PROGRESS_NS)
		return;
	converter->progress = now;
	converter->shown = true;
	if (done < 0)
		fprintf(stderr, "\r[ %.1f MB ]", records->picture.events.size / MB);
	else
		fprintf(stderr, "\r[ %d%%, %.1f MB ]", done, records->picture.events.size / MB);
}

static void end_progress(struct converter *converter)
{
	if (converter->shown)
		fprintf(stderr, "\r%30s\r", "");
	converter->shown = false;
}

/* ---- the file */

static const char *output_of(const struct converter *converter)
{
	return converter->opts->path ?: converter->opts->folded;
}

static int open_output(struct converter *converter)
{
	const struct trace_events_opts *opts = converter->opts;
	struct picture *picture = &converter->records.picture;

	if (opts->path)
		return trace_events__open(&picture->events, opts->path, 0, opts->max_size,
					  opts->force);
	trace_events__none(&picture->events);
	picture->fold = true;
	return new_file__open(&converter->folded, opts->folded, opts->force);
}

static void abort_output(struct converter *converter)
{
	if (converter->opts->path)
		trace_events__abort(&converter->records.picture.events);
	else
		new_file__abort(&converter->folded);
}

static int finish_output(struct converter *converter)
{
	struct picture *picture = &converter->records.picture;
	int err;

	if (converter->opts->path)
		return trace_events__finish(&picture->events);
	err = folded__print(&picture->folded, converter->folded.out);
	if (!err && ferror(converter->folded.out))
		err = -(errno ?: EIO);
	return new_file__finish(&converter->folded, err);
}

/* ---- the end */

static const char *input_of(const struct converter *converter)
{
	return converter->data.path ?: "perf.data";
}

static int say_nothing(struct converter *converter)
{
	const struct picture_records *records = &converter->records;

	if (converter->opts->folded)
		pr_err("'%s' has no trace with calls%s. For samples, see perf report -g folded.\n",
		       input_of(converter), is_filtered(converter->opts) ? " there" : "");
	else if (records->timeless)
		pr_err("The samples of '%s' have no times, so there is no picture of them\n",
		       input_of(converter));
	else if (is_filtered(converter->opts))
		pr_err("'%s' has nothing of that: no trace, no samples, no context switches\n",
		       input_of(converter));
	else
		pr_err("'%s' has no trace, no samples and no context switches: nothing to show\n",
		       input_of(converter));
	return -ENODATA;
}

static bool has_nothing(const struct converter *converter)
{
	const struct picture_records *records = &converter->records;

	if (converter->opts->folded)
		return !records->branches;
	return !records->branches && !records->samples && !records->switches && !records->errors;
}

static int say_error(struct converter *converter, int err)
{
	const char *path = output_of(converter);

	if (err == -EEXIST)
		pr_err("'%s' exists. -f replaces it.\n", path);
	else
		pr_err("Can't write '%s': %s\n", path, strerror(-err));
	return err;
}

static void say_what_is_missing(const struct converter *converter)
{
	const struct picture_records *records = &converter->records;

	if (!records->branches && perf_header__has_feat(&records->session->header, HEADER_AUXTRACE))
		pr_warning("The trace has no branches%s\n",
			   is_filtered(converter->opts) ? " there" : "");
	if (records->errors)
		pr_warning("%" PRIu64 " errors of the trace's decoder%s\n", records->errors,
			   converter->opts->path ? ": see the marks" : "");
	if (records->timeless && converter->opts->path)
		pr_warning("%" PRIu64 " samples without a time are not shown\n", records->timeless);
	if (records->picture.events.full)
		pr_warning("The rest is missing, as the file is full: see --max-size, --time\n");
}

static void say_done(const struct converter *converter, u64 size)
{
	const struct picture_records *records = &converter->records;

	SAY("Converted '%s' into %s '%s'", input_of(converter),
	    converter->opts->path ? "Trace Event data" : "folded stacks", output_of(converter));
	if (converter->opts->path)
		SAY("%" PRIu64 " branches, %" PRIu64 " samples, %" PRIu64 " context switches, %.3f MB",
		    records->branches, records->samples, records->switches, size / MB);
	else
		SAY("%" PRIu64 " branches", records->branches);
}

static int mark_dump(void *arg, const char *line)
{
	struct picture_records *records = arg;

	if (!strstarts(line, DUMPED))
		return 0;
	return picture__mark_dump(&records->picture, line + strlen(DUMPED), records->now);
}

static int end_picture(struct picture_records *records)
{
	int err = picture__end(&records->picture, records->now);

	return err ?: header_lines__each(records->session, mark_dump, records);
}

static int finish(struct converter *converter)
{
	struct picture_records *records = &converter->records;
	u64 size;
	int err;

	if (has_nothing(converter)) {
		abort_output(converter);
		return say_nothing(converter);
	}
	err = end_picture(records);
	size = records->picture.events.size;
	if (err)
		abort_output(converter);
	else
		err = finish_output(converter);
	if (err)
		return say_error(converter, err);
	say_what_is_missing(converter);
	say_done(converter, size);
	return 0;
}

static int fail(struct converter *converter, int err)
{
	struct trace_events *events = &converter->records.picture.events;

	abort_output(converter);
	if (interrupted)
		pr_err("Interrupted: there is no '%s'\n", output_of(converter));
	else if (events->err)
		say_error(converter, events->err);
	else
		pr_err("'%s' can't be processed: there is no '%s'\n", input_of(converter),
		       output_of(converter));
	return err ?: -EINTR;
}

/* ---- the conversion */

static int convert(struct converter *converter)
{
	struct picture_records *records = &converter->records;
	int loud = verbose, err = open_output(converter);

	if (err)
		return say_error(converter, err);
	picture_records__look_for_gates(records);
	err = perf_session__process_events(records->session);
	verbose = loud;
	end_progress(converter);
	if (records->picture.events.full && !interrupted && !records->picture.events.err)
		err = 0;
	return err || interrupted ? fail(converter, err) : finish(converter);
}

static int prepare(struct converter *converter)
{
	struct perf_session *session = converter->records.session;
	int err;

	if (symbol__init(&session->header.env) < 0)
		return -EINVAL;
	set_itrace(converter);
	err = parse_times(converter);
	return err ?: parse_cpus(converter);
}

static int convert_session(struct converter *converter)
{
	struct perf_session *session;
	int err;

	session = perf_session__new(&converter->data, &converter->records.tool);
	if (IS_ERR(session)) {
		pr_err("'%s' can't be read\n", input_of(converter));
		return PTR_ERR(session);
	}
	converter->records.session = session;
	err = prepare(converter);
	if (!err)
		err = convert(converter);
	/* What it refers to is freed with it */
	picture__exit(&converter->records.picture);
	zfree(&converter->ranges);
	perf_session__delete(session);
	return err;
}

int trace_events__convert(const char *input, const struct trace_events_opts *opts)
{
	struct converter *converter = zalloc(sizeof(*converter));
	int err;

	if (!converter)
		return -ENOMEM;
	picture_records__init(&converter->records);
	converter->records.progress = show_progress;
	converter->opts = opts;
	converter->data.mode = PERF_DATA_MODE_READ;
	converter->data.path = input;
	converter->data.force = opts->force;
	converter->progress = isatty(STDERR_FILENO) ? rdclock() : 0;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	err = convert_session(converter);
	free(converter);
	return err ? -1 : 0;
}
