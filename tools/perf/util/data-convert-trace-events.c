// SPDX-License-Identifier: GPL-2.0
/* perf data convert --to-trace-events; see data-convert-trace-events.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include <subcmd/parse-options.h>
#include "auxtrace.h"
#include "convert-input.h"
#include "data-convert-trace-events.h"
#include "debug.h"
#include "header.h"
#include "header-lines.h"
#include "picture-records.h"
#include "session.h"
#include "units.h"

#define SAY(fmt, ...)		fprintf(stderr, "[ perf data convert: " fmt " ]\n", ##__VA_ARGS__)
#define MB			(1024.0 * 1024.0)

/* In the header, before the reason */
#define DUMPED			"dumped because of : "

/**
 * struct converter - A conversion
 * @folded: the file, if it has folded stacks
 */
struct converter {
	struct picture_records		records;
	const struct trace_events_opts	*opts;
	struct convert_input		input;
	struct new_file			folded;
};

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

bool trace_events__are_given(const struct trace_events_opts *opts)
{
	return opts->path || opts->folded || opts->max_size != TRACE_EVENTS_MAX_SIZE ||
	       convert_input__is_filtered(opts->times, opts->cpus);
}

static bool is_filtered(const struct converter *converter)
{
	return convert_input__is_filtered(converter->opts->times, converter->opts->cpus);
}

/* All branches: jumps are calls, too. No marks of packets that say nothing of the program. */
static void set_itrace(struct itrace_synth_opts *itrace)
{
	itrace_synth_opts__set_default(itrace, true);
	itrace->set = true;
	itrace->calls = false;
	itrace->pwr_events = false;
}

static void show_progress(struct picture_records *records)
{
	struct converter *converter = container_of(records, struct converter, records);

	convert_input__progress(&converter->input, records->first, records->now,
				records->picture.events.size);
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
	return convert_input__name(&converter->input);
}

static int say_nothing(struct converter *converter)
{
	const struct picture_records *records = &converter->records;

	if (converter->opts->folded)
		pr_err("'%s' has no trace with calls%s. For samples, see perf report -g folded.\n",
		       input_of(converter), is_filtered(converter) ? " there" : "");
	else if (records->timeless)
		pr_err("The samples of '%s' have no times, so there is no picture of them\n",
		       input_of(converter));
	else if (is_filtered(converter))
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
			   is_filtered(converter) ? " there" : "");
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
	if (convert_input__interrupted())
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
	convert_input__end_progress(&converter->input);
	if (records->picture.events.full && !convert_input__interrupted() &&
	    !records->picture.events.err)
		err = 0;
	return err || convert_input__interrupted() ? fail(converter, err) : finish(converter);
}

static int prepare(struct converter *converter)
{
	struct convert_input *input = &converter->input;
	struct picture_records *records = &converter->records;
	int err;

	records->session = input->session;
	set_itrace(&input->itrace);
	err = convert_input__filter(input, converter->opts->times, converter->opts->cpus);
	records->picture.ranges = input->ranges;
	records->picture.nr_ranges = input->nr_ranges;
	records->cpus = input->wanted_cpus;
	return err;
}

static int convert_file(struct converter *converter, const char *path)
{
	int err = convert_input__open(&converter->input, path, converter->opts->force,
				      &converter->records.tool);

	if (err)
		return err;
	err = prepare(converter);
	if (!err)
		err = convert(converter);
	/* What it refers to is freed with the input */
	picture__exit(&converter->records.picture);
	convert_input__close(&converter->input);
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
	err = convert_file(converter, input);
	free(converter);
	return err ? -1 : 0;
}
