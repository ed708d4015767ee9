// SPDX-License-Identifier: GPL-2.0
/* perf data convert --to-pprof; see data-convert-pprof.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include "convert-input.h"
#include "data-convert-pprof.h"
#include "debug.h"
#include "evlist.h"
#include "header.h"
#include "header-lines.h"
#include "new-file.h"
#include "pprof-records.h"
#include "session.h"

#define SAY(fmt, ...)		fprintf(stderr, "[ perf data convert: " fmt " ]\n", ##__VA_ARGS__)

struct converter {
	struct pprof_records		records;
	const struct pprof_opts		*opts;
	struct convert_input		input;
	struct new_file			file;
};

/* ---- what the header says */

/* These lines say what the profile is of */
static bool is_comment(const char *line)
{
	return strstarts(line, "hostname :") || strstarts(line, "os release :") ||
	       strstarts(line, "perf version :") || strstarts(line, "cmdline :") ||
	       strstarts(line, "dumped because of :");
}

static int add_comment(void *arg, const char *line)
{
	struct converter *converter = arg;

	return is_comment(line) ? min(pprof__comment(&converter->records.profile, line), 0) : 0;
}

/* What the kernel lost is missing from all sums */
static int add_losses(struct converter *converter)
{
	const struct events_stats *stats = &converter->records.session->evlist->stats;
	char text[64];
	int err;

	if (!stats->total_lost && !stats->total_lost_samples)
		return 0;
	snprintf(text, sizeof(text), "lost by the kernel : %" PRIu64 " records",
		 stats->total_lost + stats->total_lost_samples);
	err = pprof__comment(&converter->records.profile, text);
	return min(err, 0);
}

/* Only if the file says what its clock has to do with that of the wall */
static void set_times(struct converter *converter)
{
	const struct pprof_records *records = &converter->records;
	const struct perf_env *env = &records->session->header.env;
	struct pprof *profile = &converter->records.profile;

	profile->duration = records->last - records->first;
	if (env->clock.enabled && records->first)
		profile->time = records->first - env->clock.clockid_ns + env->clock.tod_ns;
}

/* ---- the end */

static const char *input_of(const struct converter *converter)
{
	return convert_input__name(&converter->input);
}

static int say_error(const struct converter *converter, int err)
{
	const char *path = converter->opts->path;

	if (err == -EEXIST)
		pr_err("'%s' exists. -f replaces it.\n", path);
	else
		pr_err("Can't write '%s': %s\n", path, strerror(-err));
	return err;
}

static int say_nothing(const struct converter *converter)
{
	bool traced = perf_header__has_feat(&converter->records.session->header, HEADER_AUXTRACE);
	const struct pprof_opts *opts = converter->opts;

	pr_err("'%s' has no samples%s.%s\n", input_of(converter),
	       convert_input__is_filtered(opts->times, opts->cpus) ? " there" : "",
	       traced ? " For its trace, see --to-folded and --to-trace-events." : "");
	return -ENODATA;
}

static void say_done(const struct converter *converter)
{
	const struct pprof_records *records = &converter->records;

	SAY("Converted '%s' into pprof data '%s'", input_of(converter), converter->opts->path);
	SAY("%" PRIu64 " samples, %u different ones, %u locations", records->samples,
	    records->profile.samples.nr, records->profile.locations.nr);
}

static int write_profile(struct converter *converter)
{
	int err = header_lines__each(converter->records.session, add_comment, converter);

	if (!err)
		err = add_losses(converter);
	set_times(converter);
	if (!err)
		err = pprof__write(&converter->records.profile, converter->file.out);
	return new_file__finish(&converter->file, err);
}

static int finish(struct converter *converter)
{
	int err;

	if (!converter->records.samples) {
		new_file__abort(&converter->file);
		return say_nothing(converter);
	}
	err = write_profile(converter);
	if (err)
		return say_error(converter, err);
	say_done(converter);
	return 0;
}

static int fail(struct converter *converter, int err)
{
	const char *path = converter->opts->path;

	new_file__abort(&converter->file);
	if (convert_input__interrupted())
		pr_err("Interrupted: there is no '%s'\n", path);
	else
		pr_err("'%s' can't be processed: there is no '%s'\n", input_of(converter), path);
	return err ?: -EINTR;
}

/* ---- the conversion */

static void show_progress(struct pprof_records *records)
{
	struct converter *converter = container_of(records, struct converter, records);

	convert_input__progress(&converter->input, records->first, records->last, 0);
}

static int convert(struct converter *converter)
{
	int err = new_file__open(&converter->file, converter->opts->path, converter->opts->force);

	if (err)
		return say_error(converter, err);
	err = perf_session__process_events(converter->records.session);
	convert_input__end_progress(&converter->input);
	return err || convert_input__interrupted() ? fail(converter, err) : finish(converter);
}

/* Traces aren't decoded. */
static int prepare(struct converter *converter)
{
	struct convert_input *input = &converter->input;
	struct pprof_records *records = &converter->records;
	int err;

	records->session = input->session;
	input->itrace.set = true;
	input->itrace.dont_decode = true;
	err = convert_input__filter(input, converter->opts->times, converter->opts->cpus);
	records->ranges = input->ranges;
	records->nr_ranges = input->nr_ranges;
	records->cpus = input->wanted_cpus;
	return err ?: pprof_records__add_events(records);
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
	convert_input__close(&converter->input);
	return err;
}

int pprof__convert(const char *input, const struct pprof_opts *opts)
{
	struct converter *converter = zalloc(sizeof(*converter));
	int err;

	if (!converter)
		return -1;
	err = pprof_records__init(&converter->records);
	converter->records.progress = show_progress;
	converter->opts = opts;
	if (!err)
		err = convert_file(converter, input);
	pprof_records__exit(&converter->records);
	free(converter);
	return err ? -1 : 0;
}
