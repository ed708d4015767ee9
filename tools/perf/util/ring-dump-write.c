// SPDX-License-Identifier: GPL-2.0
/* perf record -M: what a dump writes into its file; see ring-dump.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "auxtrace.h"
#include "data.h"
#include "debug.h"
#include "evlist.h"
#include "ring-dump.h"
#include "ring-dump-state.h"
#include "session.h"

static int mark_build_id(void *arg, const union perf_event *event)
{
	struct ring_dump *dump = arg;

	return dump_build_ids__mark(dump->session, event);
}

/* Read the build-ids of the binaries in use now, so that a dump has fewer to read */
static int begin_build_ids(struct ring_dump *dump)
{
	dump->build_ids = !perf_data__is_pipe(dump->session->data) &&
			  perf_header__has_feat(&dump->session->header, HEADER_BUILD_ID);
	if (!dump->build_ids)
		return 0;
	dump_build_ids__begin(dump->session, dump->opts.file_each);
	return sideband_store__dump(dump->store, SIDEBAND_DUMP_ALL, mark_build_id, dump);
}

int ring_dump__start(struct ring_dump *dump)
{
	struct perf_session *session = dump->session;
	int err = begin_build_ids(dump);

	if (!err)
		err = data_append__init(&dump->app, session, dump->evlist);
	if (!err && !dump->app.stream)
		err = record_files__init(&dump->files, &dump->app, dump->opts.max_files);
	if (err)
		pr_err("Failed to write %s: %s\n", ring_dump__output_name(dump), strerror(-err));
	dump->started = !err;
	return err;
}

/* Mark all mapped binaries. To find those that samples hit would take long. */
static int write_sideband(void *arg, const union perf_event *event)
{
	struct ring_dump *dump = arg;
	int err = dump->build_ids ? mark_build_id(dump, event) : 0;

	return err ?: dump_writer__add(&dump->writer, event, event->header.size);
}

static int write_late(struct ring_dump *dump)
{
	size_t pos = 0;
	int err = 0;

	while (!err && pos < dump->late.size) {
		const union perf_event *event = dump->late.data + pos;

		err = write_sideband(dump, event);
		pos += event->header.size;
	}
	return err;
}

static int write_piece(void *arg, void *buf, size_t size)
{
	return dump_writer__write(arg, buf, size);
}

/* Records of the ring without the samples that are too old, and the first error */
struct newest {
	struct ring_dump	*dump;
	int			err;
};

static int write_event(void *arg, const union perf_event *event)
{
	struct newest *newest = arg;

	if (!newest->err)
		newest->err = dump_writer__add(&newest->dump->writer, event, event->header.size);
	return newest->err;
}

static bool is_too_old(struct ring_dump *dump, const union perf_event *event)
{
	u64 time;

	return dump->skip_until &&
	       !evlist__parse_sample_timestamp(dump->evlist, (union perf_event *)event, &time) &&
	       time < dump->skip_until;
}

static void write_sample(void *arg, const union perf_event *event)
{
	struct newest *newest = arg;

	if (!is_too_old(newest->dump, event))
		write_event(newest, event);
}

static int write_newest(struct ring_dump *dump)
{
	struct newest newest = { .dump = dump };
	struct memory_ring_visitor visitor = {
		.wanted	= write_event,
		.sample	= write_sample,
		.other	= write_event,
		.arg	= &newest,
	};
	struct memory_ring_count count = {};
	int err = memory_ring__walk_taken(dump->ring, &count, &visitor);

	return err ?: newest.err;
}

static int write_taken(struct ring_dump *dump)
{
	if (dump->skip_until)
		return write_newest(dump);
	return memory_ring__read_taken(dump->ring, write_piece, &dump->writer);
}

static int write_records(struct ring_dump *dump)
{
	enum sideband_dump_mode mode = dump->new_file ? SIDEBAND_DUMP_ALL : SIDEBAND_DUMP_NEW;
	struct dump_writer *writer = &dump->writer;
	int err = dump_writer__begin(writer, &dump->app, dump->opts.comp_level,
				     dump->evlist->core.mmap_len);

	if (!err)
		err = sideband_store__dump(dump->store, mode, write_sideband, dump);
	if (!err)
		err = write_taken(dump);
	if (!err)
		err = write_late(dump);
	if (!err)
		err = dump_writer__finish(writer);
	dump_writer__exit(writer);
	return err;
}

/* Write AUX data before the samples: a reader of a pipe decodes up to each sample's time */
static int write_aux(struct ring_dump *dump)
{
	struct aux_data *aux;
	int err = 0;

	list_for_each_entry(aux, &dump->taken_aux, node) {
		if (!dump->app.stream)
			err = auxtrace_index__auxtrace_event(&dump->session->auxtrace_index,
							     aux->event, dump->app.pos);
		if (!err)
			err = data_append__write(&dump->app, aux->event, aux->size);
		if (err)
			break;
	}
	return err;
}

/*
 * At a FINISHED_ROUND, a reader that sorts by time delivers all records up to the newest
 * one from before the previous FINISHED_ROUND. The records of a dump aren't in order of
 * time, so there must be none between them. With one after each dump, the next dump may
 * have some records that are older than the last of this one.
 */
static int write_stretch(struct ring_dump *dump)
{
	static const struct perf_event_header round = {
		.type = PERF_RECORD_FINISHED_ROUND,
		.size = sizeof(round),
	};
	int err = write_aux(dump);

	if (!err)
		err = write_records(dump);
	if (!err)
		err = data_append__write(&dump->app, &round, sizeof(round));
	return err;
}

/* The header has the times of the first and the last sample of the file */
static void note_time(void *arg, const union perf_event *event)
{
	struct ring_dump *dump = arg;
	struct evlist *evlist = dump->evlist;
	u64 time;

	if (evlist__parse_sample_timestamp(evlist, (union perf_event *)event, &time))
		return;
	if (time < dump->skip_until) {
		dump->skipped++;
		return;
	}
	if (!dump->first_time || time < dump->first_time)
		dump->first_time = time;
	if (time > dump->last_time)
		dump->last_time = time;
	if (!evlist->first_sample_time || time < evlist->first_sample_time)
		evlist->first_sample_time = time;
	if (time > evlist->last_sample_time)
		evlist->last_sample_time = time;
}

static void note_newest(void *arg, const union perf_event *event)
{
	struct ring_dump *dump = arg;
	u64 time;

	if (!evlist__parse_sample_timestamp(dump->evlist, (union perf_event *)event, &time) &&
	    time > dump->last_time)
		dump->last_time = time;
}

/* How far back is wanted: so many nanoseconds before the newest sample; 0: all */
static u64 span_of(const struct ring_dump *dump)
{
	u64 span = dump_requests__span(&dump->requests);

	return span && dump->opts.span ? min(span, dump->opts.span) : span ?: dump->opts.span;
}

static int find_span(struct ring_dump *dump)
{
	struct memory_ring_visitor visitor = { .sample = note_newest, .arg = dump };
	struct memory_ring_count count = {};
	u64 span = span_of(dump);
	int err;

	dump->skip_until = 0;
	dump->skipped = 0;
	dump->last_time = 0;
	if (!span)
		return 0;
	err = memory_ring__walk_taken(dump->ring, &count, &visitor);
	if (!err && dump->last_time > span)
		dump->skip_until = dump->last_time - span;
	return err;
}

/* Walk the taken records once to count them, and for the times and build-ids of the header */
static int scan_taken(struct ring_dump *dump)
{
	struct memory_ring_visitor visitor = {
		.wanted	= dump->build_ids ? mark_build_id : NULL,
		.sample	= note_time,
		.arg	= dump,
	};
	int err = find_span(dump);

	if (err)
		return err;
	if (dump->build_ids)
		dump_build_ids__begin(dump->session, dump->new_file);
	dump->first_time = 0;
	dump->last_time = 0;
	if (dump->new_file) {
		dump->evlist->first_sample_time = 0;
		dump->evlist->last_sample_time = 0;
	}
	err = memory_ring__walk_taken(dump->ring, &dump->count, &visitor);
	dump->count.samples -= dump->skipped;
	return err;
}

/* The header says why each dump in the file was made */
static int note_reason(void *arg, const char *why)
{
	struct ring_dump *dump = arg;

	return dump_requests__add_line(&dump->session->header.env.dumps, why);
}

static int note_reasons(struct ring_dump *dump)
{
	if (dump->new_file)
		zfree(&dump->session->header.env.dumps);
	if (!dump_requests__nr(&dump->requests))
		return note_reason(dump, "end of recording");
	return dump_requests__reasons(&dump->requests, note_reason, dump);
}

static int write_dump(struct ring_dump *dump)
{
	u64 first = dump->evlist->first_sample_time, last = dump->evlist->last_sample_time;
	char **dumps = &dump->session->header.env.dumps;
	char *before = *dumps ? strdup(*dumps) : NULL;
	int err = scan_taken(dump);

	if (!err)
		err = note_reasons(dump);
	if (!err)
		err = write_stretch(dump);
	if (!err)
		err = data_append__commit(&dump->app);
	if (err) {
		dump->evlist->first_sample_time = first;
		dump->evlist->last_sample_time = last;
		free(*dumps);
		*dumps = before;
	} else {
		free(before);
	}
	return err;
}

static int open_output(struct ring_dump *dump)
{
	int new_file = dump->app.stream ? 0 : record_files__begin(&dump->files, &dump->app);

	if (new_file < 0)
		return new_file;
	dump->new_file = new_file;
	/* Each file has an index of its own */
	if (new_file)
		auxtrace_index__free(&dump->session->auxtrace_index);
	return 0;
}

int ring_dump__write(struct ring_dump *dump)
{
	struct list_head *index = &dump->session->auxtrace_index;
	struct data_append *app = &dump->app;
	int err = open_output(dump);
	size_t nr_aux;
	u64 from;

	if (err)
		return err;

	nr_aux = auxtrace_index__nr(index);
	data_append__begin(app);
	from = app->pos;
	err = write_dump(dump);
	if (!err && !app->stream)
		err = record_files__finish(&dump->files, app,
					   dump_requests__label(&dump->requests));
	if (err) {
		data_append__abort(app);
		auxtrace_index__truncate(index, nr_aux);
		record_files__abort(&dump->files, app);
		return err;
	}
	dump->bytes += app->pos - from;
	return 0;
}
