// SPDX-License-Identifier: GPL-2.0
/* The perf.data of a conversion; see convert-input.h */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "convert-input.h"
#include "debug.h"
#include "evlist.h"
#include "session.h"
#include "symbol.h"
#include "time-utils.h"
#include "util.h"

#define MB			(1024.0 * 1024.0)
#define PROGRESS_RECORDS	4096
#define PROGRESS_NS		(NSEC_PER_SEC / 2)

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
	session_done = 1;
}

bool convert_input__interrupted(void)
{
	return interrupted;
}

const char *convert_input__name(const struct convert_input *input)
{
	return input->data.path ?: "perf.data";
}

int convert_input__open(struct convert_input *input, const char *path, bool force,
			struct perf_tool *tool)
{
	struct perf_session *session;

	input->data.mode = PERF_DATA_MODE_READ;
	input->data.path = path;
	input->data.force = force;
	input->progress = isatty(STDERR_FILENO) ? rdclock() : 0;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);

	session = perf_session__new(&input->data, tool);
	if (IS_ERR(session)) {
		pr_err("'%s' can't be read\n", convert_input__name(input));
		return PTR_ERR(session);
	}
	if (symbol__init(&session->header.env) < 0) {
		perf_session__delete(session);
		return -EINVAL;
	}
	session->itrace_synth_opts = &input->itrace;
	input->session = session;
	return 0;
}

void convert_input__close(struct convert_input *input)
{
	zfree(&input->ranges);
	perf_session__delete(input->session);
}

/* ---- filters */

static int parse_times(struct convert_input *input, const char *times)
{
	int err;

	if (!times)
		return 0;
	err = perf_time__parse_for_ranges(times, input->session, &input->ranges,
					  &input->ranges_size, &input->nr_ranges);
	if (!err)
		itrace_synth_opts__set_time_range(&input->itrace, input->ranges,
						  input->nr_ranges);
	return err;
}

static int parse_cpus(struct convert_input *input, const char *cpus)
{
	if (!cpus)
		return 0;
	if (perf_session__cpu_bitmap(input->session, cpus, input->cpus))
		return -EINVAL;
	input->wanted_cpus = input->cpus;
	input->itrace.cpu_bitmap = input->cpus;
	return 0;
}

int convert_input__filter(struct convert_input *input, const char *times, const char *cpus)
{
	int err = parse_times(input, times);

	return err ?: parse_cpus(input, cpus);
}

bool convert_input__is_filtered(const char *times, const char *cpus)
{
	return times || cpus || symbol_conf.tid_list_str || symbol_conf.pid_list_str ||
	       symbol_conf.comm_list_str;
}

/* ---- progress */

static int percent(const struct convert_input *input, u64 first, u64 now)
{
	u64 last = input->session->evlist->last_sample_time;

	if (last <= first)
		return -1;
	return min((now - first) * 100 / (last - first), (u64)100);
}

static void show(int done, u64 size)
{
	if (done < 0 && !size)
		return;
	fprintf(stderr, "\r[");
	if (done >= 0)
		fprintf(stderr, " %d%%", done);
	if (size)
		fprintf(stderr, " %.1f MB", size / MB);
	fprintf(stderr, " ]");
}

void convert_input__progress(struct convert_input *input, u64 first, u64 now, u64 size)
{
	u64 clock;

	if (!input->progress || ++input->calls % PROGRESS_RECORDS)
		return;
	clock = rdclock();
	if (clock - input->progress < PROGRESS_NS)
		return;
	input->progress = clock;
	input->shown = true;
	show(percent(input, first, now), size);
}

void convert_input__end_progress(struct convert_input *input)
{
	if (input->shown)
		fprintf(stderr, "\r%30s\r", "");
	input->shown = false;
}
