// SPDX-License-Identifier: GPL-2.0
/*
 * aux-keep.c: the 'keep' event term: of the windows of an AUX area event that is paused
 * and resumed, those are kept that last longer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <internal/xyarray.h>

#include "aux-action.h"
#include "aux-keep.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "record.h"

u64 aux_keep__parse(const char *str)
{
	const char *end;
	u64 longer;

	return duration__parse(str, &end, &longer) || *end ? 0 : longer;
}

/* What is wrong with @evsel's keep term, NULL: nothing */
static const char *evsel__aux_keep_misuse(struct evsel *evsel, const struct record_opts *opts)
{
	if (evsel__nr_config_terms(evsel, EVSEL__CONFIG_TERM_AUX_KEEP) > 1)
		return "more than one keep";
	if (!evsel__is_aux_event(evsel))
		return "keep is for AUX area events. Put it beside aux-action=start-paused";
	if (!evsel__leads_aux_gates(evsel))
		return "keep needs windows: no event after it has aux-action=resume or =pause";
	if (opts->auxtrace_snapshot_mode)
		return "-S writes over old data: there is no room that keep could give back";
	if (opts->auxtrace_sample_mode)
		return "keep and AUX area sampling exclude each other. Leave out one of them";
	return NULL;
}

int evlist__check_aux_keep(struct evlist *evlist, const struct record_opts *opts,
			   char *msg, size_t size)
{
	const char *misuse;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__get_config_term(evsel, AUX_KEEP))
			continue;
		misuse = evsel__aux_keep_misuse(evsel, opts);
		if (misuse) {
			scnprintf(msg, size, "'%s': %s", evsel__name(evsel), misuse);
			return -EINVAL;
		}
	}
	return 0;
}

static int set_limit(int fd, void *longer)
{
	return ioctl(fd, PERF_EVENT_IOC_KEEP_AUX, longer) ? -errno : 0;
}

int evsel__aux_keep_strerror(struct evsel *evsel, int err, char *msg, size_t size)
{
	const char *reason;

	switch (err) {
	case ENOTTY:
		reason = "this kernel cannot discard windows. Leave out keep";
		break;
	case EOPNOTSUPP:
		reason = "the driver of its PMU cannot discard windows. Leave out keep";
		break;
	default:
		reason = strerror(err);
	}
	return scnprintf(msg, size, "'%s': %s", evsel__name(evsel), reason);
}

/* Try it on this process, before there is a file. If that can't be opened, open will say why. */
static int evsel__probe_aux_keep(struct evsel *evsel, u64 *longer)
{
	struct perf_event_attr attr = evsel->core.attr;
	int fd, err;

	attr.aux_action = 0;
	fd = aux_action__try_open(&attr);
	if (fd < 0)
		return 0;
	err = set_limit(fd, longer);
	close(fd);
	return err;
}

static int evlist__probe_aux_keep(struct evlist *evlist, char *msg, size_t size)
{
	struct evsel_config_term *term;
	struct evsel *evsel;
	int err;

	evlist__for_each_entry(evlist, evsel) {
		term = evsel__get_config_term(evsel, AUX_KEEP);
		err = term ? evsel__probe_aux_keep(evsel, &term->val.aux_keep) : 0;
		if (err) {
			evsel__aux_keep_strerror(evsel, -err, msg, size);
			return err;
		}
	}
	return 0;
}

int evlist__prepare_aux_keep(struct evlist *evlist, const struct record_opts *opts)
{
	char msg[BUFSIZ];
	int err = evlist__check_aux_keep(evlist, opts, msg, sizeof(msg)) ?:
		  evlist__probe_aux_keep(evlist, msg, sizeof(msg));

	if (err)
		pr_err("%s\n", msg);
	return err;
}

/* Call @fn for each descriptor of @evsel, until one fails. Return 0, or -errno. */
static int evsel__call_fds(struct evsel *evsel, int (*fn)(int fd, void *arg), void *arg)
{
	struct xyarray *fds = evsel->core.fd;
	int cpu, thread;
	int err;

	for (cpu = 0; cpu < xyarray__max_x(fds); cpu++) {
		for (thread = 0; thread < xyarray__max_y(fds); thread++) {
			int fd = *(int *)xyarray__entry(fds, cpu, thread);

			/* A thread that was gone before its event could be opened */
			if (fd < 0)
				continue;
			err = fn(fd, arg);
			if (err)
				return err;
		}
	}
	return 0;
}

int evlist__apply_aux_keep(struct evlist *evlist, char *msg, size_t size)
{
	struct evsel_config_term *term;
	struct evsel *evsel;
	int err;

	evlist__for_each_entry(evlist, evsel) {
		term = evsel__get_config_term(evsel, AUX_KEEP);
		if (!term)
			continue;
		err = evsel__call_fds(evsel, set_limit, &term->val.aux_keep);
		if (err) {
			evsel__aux_keep_strerror(evsel, -err, msg, size);
			return err;
		}
	}
	return 0;
}

static int add_windows(int fd, void *sum)
{
	struct perf_event_aux_windows windows, *total = sum;

	if (ioctl(fd, PERF_EVENT_IOC_AUX_WINDOWS, &windows))
		return -errno;
	total->kept += windows.kept;
	total->partial += windows.partial;
	total->discarded += windows.discarded;
	total->lost += windows.lost;
	return 0;
}

static void evsel__fprintf_aux_windows(struct evsel *evsel, FILE *fp)
{
	struct perf_event_aux_windows sum = {};

	if (evsel__call_fds(evsel, add_windows, &sum))
		return;
	if (evsel__get_config_term(evsel, AUX_KEEP)) {
		fprintf(fp, "[ perf record: %s: %" PRIu64 " windows kept that lasted longer, ",
			evsel__name(evsel), (u64)sum.kept);
		fprintf(fp, "%" PRIu64 " discarded", (u64)sum.discarded);
		if (sum.partial)
			fprintf(fp, ", %" PRIu64 " kept as they could not be discarded",
				(u64)sum.partial);
		fprintf(fp, " ]\n");
	}
	if (sum.lost)
		fprintf(fp, "[ perf record: %s: %" PRIu64 " windows are cut: too many threads were in one and on no CPU ]\n",
			evsel__name(evsel), (u64)sum.lost);
}

void evlist__fprintf_aux_windows(struct evlist *evlist, FILE *fp)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__get_config_term(evsel, AUX_KEEP) || evsel->thread_windows)
			evsel__fprintf_aux_windows(evsel, fp);
	}
}
