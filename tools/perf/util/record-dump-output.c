// SPDX-License-Identifier: GPL-2.0
/* Where the dumps of perf record -M go; see record-dump-output.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "data.h"
#include "data-append.h"
#include "debug.h"
#include "dso.h"
#include "machine.h"
#include "namespaces.h"
#include "record-dump-output.h"
#include "session.h"
#include "time-utils.h"
#include "util.h"

/* A record with this much compressed is not too large, even if it didn't shrink */
#define COMP_PIECE	((size_t)SZ_32K)
/* More is written in several pieces anyway */
#define PLAIN_PIECE	((size_t)SZ_256K)

int dump_writer__begin(struct dump_writer *writer, struct data_append *app,
		       unsigned int level, size_t max)
{
	memset(writer, 0, sizeof(*writer));
	writer->app = app;
	writer->room = level ? min(max, COMP_PIECE) : PLAIN_PIECE;
	writer->buf = malloc(writer->room);
	if (!writer->buf)
		return -ENOMEM;
	if (!level)
		return 0;

	writer->record = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!writer->record || zstd_init(&writer->zstd, level))
		return -ENOMEM;
	writer->level = level;
	return 0;
}

void dump_writer__exit(struct dump_writer *writer)
{
	if (writer->level)
		zstd_fini(&writer->zstd);
	zfree(&writer->record);
	zfree(&writer->buf);
}

static int write_compressed(struct dump_writer *writer, bool last)
{
	struct perf_record_compressed *comp = writer->record;
	size_t max = PERF_SAMPLE_MAX_SIZE - sizeof(*comp) - 1;
	ssize_t n;

	n = zstd_compress_piece(&writer->zstd, comp + 1, max, writer->buf, writer->used, last);
	if (n < 0)
		return n;

	comp->header.type = PERF_RECORD_COMPRESSED;
	comp->header.misc = 0;
	comp->header.size = sizeof(*comp) + n;
	writer->to += comp->header.size;
	return data_append__write(writer->app, comp, comp->header.size);
}

static int flush(struct dump_writer *writer, bool last)
{
	int err = 0;

	if (writer->used && writer->level)
		err = write_compressed(writer, last);
	else if (writer->used)
		err = data_append__write(writer->app, writer->buf, writer->used);
	writer->used = 0;
	return err;
}

int dump_writer__add(struct dump_writer *writer, const void *data, size_t size)
{
	writer->from += size;
	while (size) {
		size_t n = min(size, writer->room - writer->used);
		int err = n ? 0 : flush(writer, false);

		if (err)
			return err;
		memcpy(writer->buf + writer->used, data, n);
		writer->used += n;
		data += n;
		size -= n;
	}
	return 0;
}

int dump_writer__write(struct dump_writer *writer, const void *data, size_t size)
{
	int err;

	if (writer->level)
		return dump_writer__add(writer, data, size);
	writer->from += size;
	err = flush(writer, false);
	return err ?: data_append__write(writer->app, data, size);
}

/* The header tells what compression has made of all that was dumped */
static void note_ratio(struct dump_writer *writer)
{
	struct perf_session *session = writer->app->session;
	u64 to;

	session->bytes_transferred += writer->from;
	session->bytes_compressed += writer->to;
	to = session->bytes_compressed;
	if (to)
		session->header.env.comp_ratio = (session->bytes_transferred + to / 2) / to;
}

int dump_writer__finish(struct dump_writer *writer)
{
	int err = flush(writer, true);

	if (!err && writer->level)
		note_ratio(writer);
	return err;
}

int record_files__init(struct record_files *files, struct data_append *app, int max_files)
{
	struct perf_session *session = app->session;
	u64 from = session->header.data_offset;

	files->beginning_size = app->end - from;
	files->beginning = malloc(files->beginning_size ?: 1);
	files->nr_names = max(max_files, 0);
	files->names = calloc(files->nr_names ?: 1, sizeof(*files->names));
	if (!files->beginning || !files->names)
		return -ENOMEM;
	if (pread(perf_data__fd(app->data), files->beginning, files->beginning_size, from) !=
	    (ssize_t)files->beginning_size)
		return -EIO;
	return 0;
}

void record_files__exit(struct record_files *files)
{
	int i;

	for (i = 0; files->names && i < files->nr_names; i++)
		free(files->names[i]);
	zfree(&files->names);
	zfree(&files->last);
	zfree(&files->beginning);
}

int record_files__open(struct record_files *files, struct data_append *app)
{
	int err;

	if (!files->named)
		return 0;

	close(app->data->file.fd);
	app->data->file.fd = -1;
	zfree(&app->data->file.path);
	errno = 0;
	if (perf_data__open(app->data))
		return errno ? -errno : -EIO;
	err = data_append__reopen(app, files->beginning, files->beginning_size);
	if (err)
		record_files__remove(files, app);
	else
		files->named = false;
	return err;
}

void record_files__remove(struct record_files *files, struct data_append *app)
{
	rm_rf_perf_data(app->data->path);
	files->named = true;
}

/* Two dumps can end within the hundredth of a second that the name tells */
static char *new_name(const char *path)
{
	char timestamp[] = "InvalidTimestamp";
	char *name;
	int i;

	if (fetch_current_timestamp(timestamp, sizeof(timestamp)))
		return NULL;
	if (asprintf(&name, "%s.%s", path, timestamp) < 0)
		return NULL;
	for (i = 1; !access(name, F_OK); i++) {
		free(name);
		if (asprintf(&name, "%s.%s-%d", path, timestamp, i) < 0)
			return NULL;
	}
	return name;
}

static void remove_oldest(struct record_files *files)
{
	char **slot = &files->names[files->next];

	files->next = (files->next + 1) % files->nr_names;
	if (*slot && rm_rf_perf_data(*slot))
		pr_warning("Failed to remove %s: %m\n", *slot);
	free(*slot);
	*slot = strdup(files->last);
}

/* If it can't be named it is a complete file all the same, and the next will be another */
const char *record_files__finish(struct record_files *files, struct data_append *app)
{
	const char *path = app->data->path;

	files->named = true;
	free(files->last);
	files->last = new_name(path);
	if (!files->last || rename(path, files->last)) {
		pr_warning("Failed to rename %s: %m\n", path);
		return path;
	}
	if (files->nr_names)
		remove_oldest(files);
	return files->last;
}

void dump_build_ids__begin(struct perf_session *session, bool anew)
{
	struct dso *dso;

	list_for_each_entry(dso, &session->machines.host.dsos.head, node) {
		if (dso->kernel)
			dso->hit = true;
		else if (anew)
			dso->hit = false;
	}
}

void dump_build_ids__forget(struct perf_session *session)
{
	struct dso *dso;

	list_for_each_entry(dso, &session->machines.host.dsos.head, node)
		dso->hit = false;
}

static int mark(struct perf_session *session, u32 pid, const char *name, struct dso_id *id)
{
	struct dso *dso;

	/* Not a file: //anon, [heap] and so on. These have no build-id. */
	if (name[0] != '/' || name[1] == '/')
		return 0;
	dso = machine__findnew_dso_id(&session->machines.host, name, id);
	if (!dso)
		return -ENOMEM;
	/* The file can be another one than that which has this name here */
	if (!dso->hit && !dso->has_build_id && !dso->nsinfo)
		dso->nsinfo = nsinfo__new(pid);
	dso->hit = true;
	dso__put(dso);
	return 0;
}

int dump_build_ids__mark(struct perf_session *session, const union perf_event *event)
{
	u16 misc = event->header.misc;
	struct dso_id id;

	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
	    misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
	if (event->header.type == PERF_RECORD_MMAP)
		return mark(session, event->mmap.pid, event->mmap.filename, NULL);
	if (event->header.type != PERF_RECORD_MMAP2 || misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		return 0;

	id = (struct dso_id) {
		.maj		= event->mmap2.maj,
		.min		= event->mmap2.min,
		.ino		= event->mmap2.ino,
		.ino_generation	= event->mmap2.ino_generation,
	};
	return mark(session, event->mmap2.pid, event->mmap2.filename, &id);
}
