// SPDX-License-Identifier: GPL-2.0
/* perf record -M: keep the newest events in memory, dump them on demand; see ring-dump.h */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include <internal/lib.h>
#include "auxtrace.h"
#include "clock-watch.h"
#include "data.h"
#include "data-append.h"
#include "debug.h"
#include "dso.h"
#include "dump-requests.h"
#include "duration.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "ring-dump.h"
#include "ring-dump-output.h"
#include "record-files.h"
#include "session.h"
#include "sideband-store.h"
#include "sideband-system.h"
#include "memory-ring.h"
#include "units.h"

/* If the last dump takes longer than this, tell the user how to give it up, in milliseconds */
#define WAIT_WARN_MS	1000

/* Prune the store of side-band when this many records have been added to it */
#define PRUNE_AT	4096

/* The header has at most this many bytes of reasons for dumps, and one line more */
#define REASONS_MAX	((size_t)SZ_64K)

/* AUX area data for a dump, as it is written: the record, then the data it describes */
struct aux_data {
	struct list_head	node;
	size_t			size;
	union perf_event	event[];
};

/* An array of records of different sizes */
struct records {
	void	*data;
	size_t	size;
};

/*
 * The state of a dump. The main thread changes IDLE to RUNNING, the dump thread changes
 * that to DONE or FAILED, and the main thread changes that to IDLE. The release when the
 * dump thread sets it pairs with the acquire when the main thread reads it, so that the
 * main thread sees all that the dump thread has written.
 */
enum dump_state {
	DUMP_IDLE,
	DUMP_RUNNING,
	DUMP_DONE,
	DUMP_FAILED,
};

struct ring_dump {
	/* Set before the first dump, read by both threads */
	struct ring_dump_opts	opts;
	struct perf_session	*session;
	struct evlist		*evlist;
	bool			same_trailers;
	bool			build_ids;

	/* Shared by both threads; each has its own rules for that */
	struct memory_ring	*ring;
	struct dump_requests	requests;
	enum dump_state		state;

	/*
	 * Owned by the main thread. @noticed: a step of the clock that isn't applied yet.
	 * @mixed: the ring may have records from before and after it. @old_samples:
	 * samples dropped before that.
	 */
	struct sideband_system	system;
	struct clock_watch	clock;
	struct clock_step	noticed;
	bool			mixed;
	u64			old_samples;
	pthread_t		thread;
	bool			started;

	/* Recording has ended; the user doesn't wait for the dump any longer */
	bool			ending;
	bool			given_up;

	/* One is too early; how many have been so, and how many requests came after the last */
	bool			waiting;
	unsigned int		nr_waited;
	unsigned int		nr_refused;

	/* Of all dumps that are complete, and what was in the ring in the end */
	unsigned int		nr;
	struct memory_ring_count dumped;
	u64			nr_skipped;
	u64			unused;

	/*
	 * Owned by the dump thread while a dump is RUNNING, else by the main thread. The
	 * first three are used by the ring's ops. @step: the step of the clock to apply to
	 * records that are evicted.
	 */
	struct sideband_store	*store;
	struct clock_step	step;
	unsigned int		unpruned;
	struct data_append	app;
	struct record_files	files;
	struct list_head	aux;
	struct records		late;
	struct dump_writer	writer;
	struct memory_ring_count count;
	bool			last;
	bool			new_file;
	u64			skip_until;
	u64			skipped;
	u64			first_time;
	u64			last_time;
	u64			bytes;
	int			err;
};

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

static bool wants(const union perf_event *event)
{
	return sideband_store__wants(event);
}

/* If the events' trailers differ, the record's event has to be found first */
static u64 time_of(struct ring_dump *dump, const union perf_event *event)
{
	u64 time;

	if (dump->same_trailers)
		return sideband_store__time(dump->store, event);
	if (evlist__parse_sample_timestamp(dump->evlist, (union perf_event *)event, &time))
		return 0;
	return time;
}

static int evict(void *priv, const union perf_event *event, u64 round)
{
	struct ring_dump *dump = priv;
	u64 time = time_of(dump, event);
	int err;

	/* The store takes all records for older than the step */
	if (dump->step.by && time >= dump->step.from && time <= dump->step.to)
		time += dump->step.by;
	dump->unpruned++;
	err = sideband_store__add(dump->store, event, time, round);
	/* If one record can't be stored, don't lose all others */
	return err == -ENOMEM || err == -EINVAL ? 0 : err;
}

/* Prune rarely: processes that have begun and ended since the last time cost least */
static void advance(void *priv, u64 oldest_round)
{
	struct ring_dump *dump = priv;

	sideband_store__settle(dump->store, oldest_round);
	if (dump->unpruned < PRUNE_AT)
		return;
	dump->unpruned = 0;
	sideband_store__prune(dump->store, oldest_round, memory_ring__round(dump->ring));
}

static const struct memory_ring_ops ring_ops = {
	.wants	 = wants,
	.evict	 = evict,
	.advance = advance,
};

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
	if (dump_requests__init(&dump->requests, opts->interval) ||
	    clock_watch__init(&dump->clock, opts->clockid)) {
		pr_err("Failed to create a pipe or a timer for the memory ring: %m\n");
		goto out;
	}
	if (size <= MEMORY_RING_MAX_SIZE)
		dump->ring = memory_ring__new(size, &ring_ops, dump);
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

static void free_aux(struct ring_dump *dump)
{
	struct aux_data *aux, *tmp;

	list_for_each_entry_safe(aux, tmp, &dump->aux, node) {
		list_del_init(&aux->node);
		free(aux);
	}
}

void ring_dump__delete(struct ring_dump *dump)
{
	if (!dump)
		return;
	clock_watch__exit(&dump->clock);
	free_aux(dump);
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
	return record_files__prepare(&dump->files, data, dump->opts.file_each);
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

int ring_dump__take_synthesized(struct ring_dump *dump, const union perf_event *event)
{
	if (event->header.type >= PERF_RECORD_USER_TYPE_START)
		return 0;
	return sideband_store__add(dump->store, event, 0, 0) ?: 1;
}

int ring_dump__append(struct ring_dump *dump, const void *buf, size_t size)
{
	int err = memory_ring__append(dump->ring, buf, size);

	if (err)
		pr_err("Failed to put records into the memory ring: %s\n",
		       err == -EINVAL ? "malformed record" : strerror(-err));
	return err;
}

void ring_dump__end_round(struct ring_dump *dump)
{
	memory_ring__end_round(dump->ring);
	clock_watch__check(&dump->clock, &dump->noticed);
	dump->mixed = dump->noticed.by;
}

/*
 * Time stamps from before and after the step can't be sorted, neither in the ring nor in
 * a file. While a dump is being made, this has to wait.
 */
int ring_dump__check_clock(struct ring_dump *dump)
{
	int err = 0;

	clock_watch__check(&dump->clock, &dump->noticed);
	if (!dump->noticed.by || dump->state != DUMP_IDLE)
		return 0;
	dump->old_samples = memory_ring__dropped(dump->ring)->samples;
	/* No round since the step: the whole ring is from before it, whatever its times are */
	if (!dump->mixed)
		err = memory_ring__drop(dump->ring);
	return err ?: 1;
}

int ring_dump__apply_clock_step(struct ring_dump *dump)
{
	int err;

	clock_watch__check(&dump->clock, &dump->noticed);
	dump->step = dump->noticed;
	err = memory_ring__drop(dump->ring);
	pr_warning("The clock was set back by %.3f s: dropped %" PRIu64 " samples from before that\n",
		   dump->step.by / (double)NSEC_PER_SEC,
		   memory_ring__dropped(dump->ring)->samples - dump->old_samples);
	sideband_store__set_back(dump->store, dump->step.by);
	dump->step.by = 0;
	dump->noticed.by = 0;
	dump->mixed = false;
	return err;
}

int ring_dump__add_auxtrace(struct ring_dump *dump, const union perf_event *event,
			    const void *data1, size_t len1, const void *data2, size_t len2)
{
	size_t size = event->header.size, total = size + roundup(len1 + len2, sizeof(u64));
	struct aux_data *aux = zalloc(sizeof(*aux) + total);
	void *to;

	if (!aux) {
		pr_err("Not enough memory for %zu bytes of the AUX area\n", total);
		return -ENOMEM;
	}
	aux->size = total;
	to = aux->event;
	memcpy(to, event, size);
	memcpy(to + size, data1, len1);
	if (len2)
		memcpy(to + size + len1, data2, len2);
	list_add_tail(&aux->node, &dump->aux);
	return 0;
}

void ring_dump__request(struct ring_dump *dump)
{
	dump_requests__add(&dump->requests);
}

void ring_dump__request_named(struct ring_dump *dump, const struct dump_request *request)
{
	dump_requests__add_named(&dump->requests, dump->evlist, request);
}

void ring_dump__request_ack(struct ring_dump *dump, const char *arg)
{
	char why[EVLIST_CTL_CMD_MAX_LEN + sizeof("snapshot ")];
	struct dump_request request = { .label = arg, .why = why, .answer = true };
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

/* What the user calls the output */
static const char *output_name(const struct ring_dump *dump)
{
	return perf_data__is_pipe(dump->session->data) ? "the pipe" : dump->files.base;
}

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
		pr_err("Failed to write %s: %s\n", output_name(dump), strerror(-err));
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

	list_for_each_entry(aux, &dump->aux, node) {
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

/* Of so many bytes of reasons at most. They begin with a whole line. */
static const char *newest_lines(const char *text)
{
	size_t len = strlen(text);
	const char *line;

	if (len <= REASONS_MAX)
		return text;
	line = strchr(text + len - REASONS_MAX, '\n');
	return line ? line + 1 : "";
}

/* The header says why each dump in the file was made */
static int note_reason(void *arg, const char *why)
{
	struct ring_dump *dump = arg;
	char **dumps = &dump->session->header.env.dumps;
	char *text;

	if (asprintf(&text, "%s%s\n", *dumps ? newest_lines(*dumps) : "", why) < 0)
		return -ENOMEM;
	free(*dumps);
	*dumps = text;
	return 0;
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

static int make_dump(struct ring_dump *dump)
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

static const char *reason(const struct ring_dump *dump)
{
	switch (dump->err) {
	case -EINVAL:
		return "malformed record";
	case -ESTALE:
		return "it was removed, renamed or replaced, with its copy of the kernel";
	default:
		return strerror(-dump->err);
	}
}

/* Would the same records into the same file fail again? */
static bool is_lasting(int err)
{
	switch (err) {
	case -EINVAL:
	case -ESTALE:
	case -EFBIG:
	case -ENAMETOOLONG:
		return true;
	default:
		return false;
	}
}

/* What happens after a failed dump. A broken pipe has a part of it, or no reader any more. */
static const char *consequence(struct ring_dump *dump)
{
	bool ending = __atomic_load_n(&dump->ending, __ATOMIC_ACQUIRE);

	if (dump->app.broken)
		return "; no other dump can follow, so recording ends";
	if (dump->last || is_lasting(dump->err) || (ending && !ring_dump__at_exit(dump)))
		return "";
	return "; its records are kept for the next dump";
}

/* The file or pipe that has the dump */
static const char *place(const struct ring_dump *dump)
{
	return dump->app.stream || dump->err ? output_name(dump) : dump->app.data->path;
}

static int print_reason(void *arg __maybe_unused, const char *why)
{
	fprintf(stderr, "[ perf record: Because of %s ]\n", why);
	return 0;
}

static void print_result(struct ring_dump *dump)
{
	if (dump->err) {
		pr_err("Failed to dump the memory ring to %s: %s%s\n", place(dump), reason(dump),
		       consequence(dump));
		return;
	}
	if (quiet)
		return;
	fprintf(stderr, "[ perf record: Dump %s: %" PRIu64 " samples of %.3f s, %.3f MB, %" PRIu64
			" lost by the kernel ]\n",
		place(dump), dump->count.samples,
		(dump->last_time - dump->first_time) / (double)NSEC_PER_SEC,
		dump->writer.from / 1024.0 / 1024.0, dump->count.lost);
	dump_requests__reasons(&dump->requests, print_reason, NULL);
}

/* The file has the taken records. Keep in the store what later samples need of them. */
static int evict_dumped(struct ring_dump *dump)
{
	int err = memory_ring__evict_taken(dump->ring);

	if (!err && !dump->opts.file_each) {
		sideband_store__begin_write(dump->store);
		sideband_store__end_write(dump->store, true);
	}
	return err;
}

static void set_state(struct ring_dump *dump, enum dump_state state)
{
	__atomic_store_n(&dump->state, state, __ATOMIC_RELEASE);
	dump_requests__wake_up(&dump->requests);
}

static enum dump_state get_state(struct ring_dump *dump)
{
	return __atomic_load_n(&dump->state, __ATOMIC_ACQUIRE);
}

static void acknowledge(struct ring_dump *dump)
{
	dump_requests__answer(&dump->requests, dump->evlist, place(dump),
			      dump->err ? reason(dump) : NULL);
}

/* Return the memory for build-ids and copies to the system until the next dump */
static void trim_heap(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void *dump_thread(void *arg)
{
	struct ring_dump *dump = arg;

	dump->err = make_dump(dump);
	print_result(dump);
	acknowledge(dump);
	if (dump->err) {
		set_state(dump, DUMP_FAILED);
		return NULL;
	}
	dump->err = evict_dumped(dump);
	trim_heap();
	set_state(dump, DUMP_DONE);
	return NULL;
}

static int start_thread(struct ring_dump *dump)
{
	sigset_t full, mask;
	pthread_attr_t attrs;
	int err;

	/* The main thread handles signals. A closed pipe is an ordinary error, without SIGPIPE. */
	sigfillset(&full);
	pthread_sigmask(SIG_SETMASK, &full, &mask);
	pthread_attr_init(&attrs);
	/* With --realtime, only the main thread has real-time priority */
	pthread_attr_setinheritsched(&attrs, PTHREAD_EXPLICIT_SCHED);
	err = pthread_create(&dump->thread, &attrs, dump_thread, dump);
	pthread_attr_destroy(&attrs);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return -err;
}

/* A dump has ended, and so has its thread: get ready for the next one */
static int end_dump(struct ring_dump *dump, bool ok)
{
	int err;

	/* Deferred records may be newer than the step */
	dump->step = dump->noticed;
	zfree(&dump->late.data);
	/* Even if the dump failed: the next one takes a newer trace */
	free_aux(dump);
	if (ok) {
		dump->nr++;
		dump->dumped.samples += dump->count.samples;
		dump->nr_skipped += dump->skipped;
		dump->dumped.lost += dump->count.lost;
		err = dump->err ?: memory_ring__release(dump->ring);
	} else {
		err = memory_ring__give_back(dump->ring);
	}
	dump->state = DUMP_IDLE;
	if (err)
		pr_err("Failed to evict records of the memory ring: %s\n", strerror(-err));
	return err ?: dump->app.broken ? dump->err : 0;
}

static int reap(struct ring_dump *dump)
{
	enum dump_state state = get_state(dump);

	if (state == DUMP_IDLE || state == DUMP_RUNNING)
		return 0;
	pthread_join(dump->thread, NULL);
	return end_dump(dump, state == DUMP_DONE);
}

bool ring_dump__at_exit(const struct ring_dump *dump)
{
	return dump_requests__any(&dump->requests) || dump->opts.on_exit;
}

static bool is_enough(const struct ring_dump *dump)
{
	return dump->opts.max_dumps && dump->nr >= dump->opts.max_dumps;
}

static void refuse(struct ring_dump *dump)
{
	dump_requests__take(&dump->requests);
	dump->nr_refused += dump_requests__nr(&dump->requests);
	dump_requests__answer(&dump->requests, dump->evlist, NULL,
			      "there were as many dumps as --max-dumps allows");
}

/* Is it too early for the dump that is requested? */
static bool has_to_wait(struct ring_dump *dump)
{
	bool wait = dump->requests.too_early && !dump->ending;

	dump->nr_waited += wait && !dump->waiting;
	dump->waiting = wait;
	return wait;
}

int ring_dump__due(struct ring_dump *dump)
{
	int err;

	dump_requests__woken_up(&dump->requests);
	err = reap(dump);
	if (err)
		return err;
	if (dump->state != DUMP_IDLE || !dump_requests__any(&dump->requests))
		return 0;
	if (is_enough(dump)) {
		refuse(dump);
		return 0;
	}
	if (has_to_wait(dump))
		return 0;
	/* Apply the step of the clock before the next dump */
	if (dump->noticed.by && !dump->ending) {
		dump_requests__wake_up(&dump->requests);
		return 0;
	}
	dump_requests__take(&dump->requests);
	return 1;
}

void ring_dump__take(struct ring_dump *dump)
{
	memset(&dump->count, 0, sizeof(dump->count));
	memset(&dump->late, 0, sizeof(dump->late));
	memory_ring__take(dump->ring);
	/* What was read meanwhile can have made another request, and is in this dump */
	dump_requests__take_more(&dump->requests);
	dump->state = DUMP_RUNNING;
	dump_requests__begin(&dump->requests);
}

static int add_late(void *arg, const union perf_event *event)
{
	struct records *late = arg;
	void *data = realloc(late->data, late->size + event->header.size);

	if (!data)
		return -ENOMEM;
	memcpy(data + late->size, event, event->header.size);
	late->data = data;
	late->size += event->header.size;
	return 0;
}

/*
 * A sample's side-band is in one of the kernel's buffers before the sample is in
 * another. But if the first buffer was read before the side-band was there, and the
 * second after the sample was, the dump's last round has only the sample. The next
 * round has the side-band. It stays in the ring as well, because later samples need
 * it. A file may have it twice: sorted by time, the second one directly follows the
 * first, and changes nothing.
 */
static int collect_late(struct ring_dump *dump)
{
	struct memory_ring_visitor visitor = { .wanted = add_late, .arg = &dump->late };

	return memory_ring__walk_new(dump->ring, &visitor);
}

int ring_dump__begin(struct ring_dump *dump)
{
	int err = collect_late(dump);

	if (!err)
		err = start_thread(dump);
	if (!err)
		return 0;

	dump->err = err;
	print_result(dump);
	acknowledge(dump);
	return end_dump(dump, false);
}

void ring_dump__give_up(struct ring_dump *dump)
{
	__atomic_store_n(&dump->given_up, true, __ATOMIC_RELEASE);
	dump_requests__wake_up(&dump->requests);
}

static bool is_given_up(struct ring_dump *dump)
{
	return __atomic_load_n(&dump->given_up, __ATOMIC_ACQUIRE);
}

/* The write may never end: nobody reads the pipe, or a file server is down */
static int wait_for_dump(struct ring_dump *dump)
{
	struct pollfd pfd = { .fd = dump->requests.wakeup[0], .events = POLLIN };
	int timeout = WAIT_WARN_MS;

	while (dump->state != DUMP_IDLE) {
		int err;

		if (!poll(&pfd, 1, timeout)) {
			timeout = -1;
			pr_warning("Waiting for the dump to %s: another signal makes perf give up\n",
				   output_name(dump));
		}
		dump_requests__woken_up(&dump->requests);
		err = reap(dump);
		if (err)
			return err;
		if (dump->state != DUMP_IDLE && is_given_up(dump)) {
			pr_err("Gave up waiting for the dump to %s\n", output_name(dump));
			record_files__give_up(&dump->files);
			return -ECANCELED;
		}
	}
	return 0;
}

/* Make the last dump, if one is due. If it fails, there is no other try. */
static int last_dump(struct ring_dump *dump, bool failed)
{
	int due = ring_dump__due(dump);
	int err;

	if (due < 0)
		return due;
	if (!due && (failed || is_enough(dump) ||
		     (!dump->opts.on_exit && list_empty(&dump->aux))))
		return 0;

	dump->last = true;
	ring_dump__take(dump);
	err = ring_dump__begin(dump);
	if (!err)
		err = wait_for_dump(dump);
	return err ?: dump->err;
}

int ring_dump__finish(struct ring_dump *dump, bool failed)
{
	int err;

	if (!dump->started) {
		dump_requests__refuse(&dump->requests, dump->evlist);
		return 0;
	}
	__atomic_store_n(&dump->ending, true, __ATOMIC_RELEASE);
	err = wait_for_dump(dump);
	if (err == -ECANCELED)
		return err;
	if (!err && !dump->app.broken)
		err = last_dump(dump, failed);
	if (err == -ECANCELED)
		return err;
	dump_requests__refuse(&dump->requests, dump->evlist);
	dump->unused = memory_ring__dropped(dump->ring)->samples;
	if (!err)
		err = memory_ring__drop(dump->ring);
	dump->unused = memory_ring__dropped(dump->ring)->samples - dump->unused;
	return err;
}

int ring_dump__refresh_header(struct ring_dump *dump)
{
	int err = data_append__refresh(&dump->app);

	if (err)
		pr_err("Failed to write the header of %s: %s\n", place(dump), strerror(-err));
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

u64 ring_dump__bytes_written(const struct ring_dump *dump)
{
	return dump->bytes;
}

void ring_dump__print_stats(const struct ring_dump *dump)
{
	const struct memory_ring_count *dropped = memory_ring__dropped(dump->ring);
	const struct sideband_store_stats *stats = sideband_store__stats(dump->store);

	if (!dump->opts.file_each && dump->nr && !ring_dump__has_file(dump))
		pr_warning("%s was removed, renamed or replaced after the last dump\n",
			   place(dump));
	if (quiet)
		return;
	fprintf(stderr, "[ perf record: Memory ring: %u dumps of %" PRIu64 " samples, %" PRIu64
			" dropped by the ring, %" PRIu64 " left in it, %" PRIu64
			" lost by the kernel, %" PRIu64 " side-band records evicted ]\n",
		dump->nr, dump->dumped.samples,
		dropped->samples - dump->unused + dump->nr_skipped, dump->unused,
		dump->dumped.lost + dropped->lost, stats->added);
	if (dropped->overrun)
		fprintf(stderr, "[ perf record: %" PRIu64 " side-band records lost, because a dump took too long ]\n",
			dropped->overrun);
	if (dump->nr_waited || dump->nr_refused)
		fprintf(stderr, "[ perf record: Held back: %u dumps had to wait for --dump-interval, %u requests came after --max-dumps ]\n",
			dump->nr_waited, dump->nr_refused);
	if (stats->dropped)
		fprintf(stderr, "[ perf record: %" PRIu64 " mappings and kernel objects dropped: there were too many ]\n",
			stats->dropped);
	if (!dump->nr)
		fprintf(stderr,
			"[ perf record: No samples were written, because no dump was requested: use SIGUSR2, 'snapshot' on --control, or -M eSIZE for a dump at exit ]\n");
}
