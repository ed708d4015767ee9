// SPDX-License-Identifier: GPL-2.0
/* perf record -M: keep the newest events in memory, dump them on demand; see ring-dump.h */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include "data.h"
#include "debug.h"
#include "duration.h"
#include "evlist.h"
#include "evsel.h"
#include "ring-dump.h"
#include "ring-dump-state.h"
#include "session.h"
#include "units.h"

/* The time behind the size, if there is one */
static int parse_span(const char *str, u64 *span)
{
	const char *end = "";

	*span = 0;
	if (!*str)
		return 0;
	return *str != ',' || duration__parse(str + 1, &end, span) || *end ? -EINVAL : 0;
}

int ring_dump__parse_size(const char *arg, struct ring_dump_opts *opts)
{
	static const char units[] = "BKMG";
	const char *str = arg + (*arg == 'e');
	unsigned int shift = 0;
	const char *unit;
	u64 size, span;
	char *end;

	errno = 0;
	size = isdigit(*str) ? strtoull(str, &end, 10) : 0;
	if (!isdigit(*str))
		goto invalid;
	unit = *end ? strchr(units, toupper(*end)) : NULL;
	if (unit) {
		shift = 10 * (unit - units);
		end++;
	}
	if (!size || errno || size > UINT64_MAX >> shift || parse_span(end, &span))
		goto invalid;

	opts->size = size << shift;
	opts->span = span;
	opts->on_exit = *arg == 'e';
	return 0;
invalid:
	pr_err("Invalid size of the memory ring '%s': [e]SIZE[,TIME] with SIZE in bytes, or with B, K, M or G, and TIME with "
	       DURATION_UNITS "\n", arg);
	return -EINVAL;
}

struct ring_dump *ring_dump__new(const struct ring_dump_opts *opts)
{
	struct ring_dump *dump = zalloc(sizeof(*dump));
	char buf[32];
	u64 size = opts->size;

	if (!dump)
		goto no_memory;

	if (size < MEMORY_RING_MIN_SIZE) {
		size = MEMORY_RING_MIN_SIZE;
		pr_info("Using %" PRIu64 " bytes for the memory ring, so that the largest record fits\n",
			size);
	}
	dump->opts = *opts;
	dump->clock.fd = -1;
	dump->system.cgroup_fd = -1;
	INIT_LIST_HEAD(&dump->aux);
	INIT_LIST_HEAD(&dump->taken_aux);
	if (dump_requests__init(&dump->requests, opts->interval) ||
	    clock_watch__init(&dump->clock, opts->clockid)) {
		pr_err("Failed to create a pipe or a timer for the memory ring: %m\n");
		goto out;
	}
	if (size <= MEMORY_RING_MAX_SIZE)
		dump->ring = memory_ring__new(size, &ring_dump__ring_ops, dump);
	if (!dump->ring)
		goto no_memory;
	return dump;

no_memory:
	unit_number__scnprintf(buf, sizeof(buf), size);
	pr_err("Not enough memory for a memory ring of %s: a dump needs twice that\n",
	       buf);
out:
	ring_dump__delete(dump);
	return NULL;
}

void ring_dump__delete(struct ring_dump *dump)
{
	if (!dump)
		return;
	clock_watch__exit(&dump->clock);
	ring_dump__free_aux(&dump->aux);
	ring_dump__free_aux(&dump->taken_aux);
	free(dump->late.data);
	dump_requests__exit(&dump->requests);
	record_files__exit(&dump->files);
	data_append__exit(&dump->app);
	sideband_store__delete(dump->store);
	sideband_system__exit(&dump->system);
	memory_ring__delete(dump->ring);
	free(dump);
}

int ring_dump__prepare(struct ring_dump *dump, struct perf_data *data)
{
	return record_files__prepare(&dump->files, data, dump->opts.file_each, &dump->opts.files);
}

/* Do the records of all events end with the same fields as those of one with @attr? */
static bool have_same_trailers(struct evlist *evlist, const struct perf_event_attr *attr)
{
	const u64 fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attr.sample_id_all ||
		    ((evsel->core.attr.sample_type ^ attr->sample_type) & fields))
			return false;
	}
	return true;
}

int ring_dump__open(struct ring_dump *dump, struct perf_session *session,
		    struct evlist *evlist)
{
	struct evsel *evsel;

	dump->session = session;
	dump->evlist = evlist;

	evlist__for_each_entry(evlist, evsel) {
		if (!(evsel->core.attr.sample_type & PERF_SAMPLE_TIME)) {
			pr_err("-M needs time stamps, but event %s has none\n",
			       evsel__name(evsel));
			return -EINVAL;
		}
	}

	evsel = evlist__get_tracking_event(evlist);
	sideband_system__init(&dump->system, &session->header.env);
	dump->store = sideband_store__new(evsel->core.attr.sample_id_all ?
					  evsel->core.attr.sample_type : 0,
					  &sideband_system_ops, &dump->system);
	if (!dump->store) {
		pr_err("Not enough memory for side-band\n");
		return -ENOMEM;
	}
	dump->same_trailers = have_same_trailers(evlist, &evsel->core.attr);
	return 0;
}

int ring_dump__wakeup_fd(const struct ring_dump *dump)
{
	return dump->requests.wakeup[0];
}

int ring_dump__timer_fd(const struct ring_dump *dump)
{
	return dump->requests.timer;
}

int ring_dump__clock_fd(const struct ring_dump *dump)
{
	return dump->clock.fd;
}

void ring_dump__request(struct ring_dump *dump)
{
	dump_requests__add(&dump->requests);
}

void ring_dump__request_named(struct ring_dump *dump, const struct dump_request *request)
{
	dump_requests__add_named(&dump->requests, request);
}

/* On the control descriptor: "ack FILE LABEL", or "nack REASON" */
static void answer_ctlfd(void *arg, const struct dump_request *request,
			 const struct dump_outcome *outcome)
{
	char text[PATH_MAX + EVLIST_CTL_CMD_MAX_LEN];

	if (outcome->failure) {
		evlist__ctlfd_answer(arg, EVLIST_CTL_CMD_NACK_TAG, outcome->failure);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", outcome->file, *request->label ? " " : "",
		 request->label);
	evlist__ctlfd_answer(arg, EVLIST_CTL_CMD_ACK_TAG, text);
}

void ring_dump__request_ack(struct ring_dump *dump, const char *arg)
{
	char why[EVLIST_CTL_CMD_MAX_LEN + sizeof("snapshot ")];
	struct dump_request request = {
		.label = arg, .why = why, .answer = answer_ctlfd, .arg = dump->evlist,
	};
	const char *rest;

	switch (duration__parse(arg, &rest, &request.span)) {
	case 0:
		/* Else it is a label that begins as a time does */
		if (*rest && *rest != ' ')
			request.span = 0;
		else
			request.label = rest + (*rest == ' ');
		break;
	case -ERANGE:
		evlist__ctlfd_answer(dump->evlist, EVLIST_CTL_CMD_NACK_TAG,
				     "the time to dump is out of range");
		return;
	default:
		break;
	}
	snprintf(why, sizeof(why), "snapshot%s%s", *arg ? " " : "", arg);
	ring_dump__request_named(dump, &request);
}

int ring_dump__refresh_header(struct ring_dump *dump)
{
	int err = data_append__refresh(&dump->app);

	if (err)
		pr_err("Failed to write the header of %s: %s\n", ring_dump__place(dump),
		       strerror(-err));
	return err;
}

void ring_dump__forget_hits(struct ring_dump *dump)
{
	dump_build_ids__forget(dump->session);
}

bool ring_dump__has_file(const struct ring_dump *dump)
{
	return dump->app.stream ||
	       record_files__exists(dump->session->data);
}

int ring_dump__add_time(struct ring_dump *dump)
{
	return record_files__add_time(&dump->files, &dump->app);
}

unsigned int ring_dump__nr(const struct ring_dump *dump)
{
	return dump->nr;
}

void ring_dump__watch(struct ring_dump *dump, dump_watcher_t watcher, void *priv)
{
	dump->watcher = watcher;
	dump->watcher_priv = priv;
}

u64 ring_dump__bytes_written(const struct ring_dump *dump)
{
	return dump->bytes;
}
