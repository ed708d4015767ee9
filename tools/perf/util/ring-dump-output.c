// SPDX-License-Identifier: GPL-2.0
/* Output of the dumps of perf record -M; see ring-dump-output.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include "data.h"
#include "build-id.h"
#include "data-append.h"
#include "debug.h"
#include "dso.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "namespaces.h"
#include "ring-dump-output.h"
#include "session.h"

/* The compressed piece fits into a record, even if it doesn't shrink */
#define COMP_PIECE	((size_t)SZ_32K)
/* data_append__write() splits larger ones */
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

/* The header has the compression ratio of all dumps */
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

static void forget(struct dso *dso)
{
	if (dso->root)
		rb_erase(&dso->rb_node, dso->root);
	RB_CLEAR_NODE(&dso->rb_node);
	dso->root = NULL;
	list_del_init(&dso->node);
	dso__put(dso);
}

/* Keep the binaries of the last file, with their build-ids: this one is likely to need them */
void dump_build_ids__begin(struct perf_session *session, bool new_file)
{
	struct dso *dso, *tmp;

	list_for_each_entry_safe(dso, tmp, &session->machines.host.dsos.head, node) {
		if (dso->kernel)
			dso->hit = true;
		else if (new_file && !dso->hit)
			forget(dso);
		else if (new_file)
			dso->hit = false;
	}
}

void dump_build_ids__forget(struct perf_session *session)
{
	struct dso *dso;

	list_for_each_entry(dso, &session->machines.host.dsos.head, node)
		dso->hit = false;
}

static int mark(struct perf_session *session, u32 pid, const char *name, struct dso_id *id,
		struct build_id *bid)
{
	struct dso *dso;

	/* //anon, [heap] and so on are no files, and have no build-id */
	if (name[0] != '/' || name[1] == '/')
		return 0;
	dso = machine__findnew_dso_id(&session->machines.host, name, id);
	if (!dso)
		return -ENOMEM;
	if (build_id__is_defined(bid))
		dso__set_build_id(dso, bid);
	/* In the process's mount namespace the name can be another file's */
	if (!dso->hit && !dso->has_build_id && !dso->nsinfo)
		dso->nsinfo = nsinfo__new(pid);
	dso->hit = true;
	dso__put(dso);
	return 0;
}

int dump_build_ids__mark(struct perf_session *session, const union perf_event *event)
{
	u16 misc = event->header.misc;
	struct build_id bid = { .size = 0 };
	struct dso_id id;

	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
	    misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
	if (event->header.type == PERF_RECORD_MMAP)
		return mark(session, event->mmap.pid, event->mmap.filename, NULL, NULL);
	if (event->header.type != PERF_RECORD_MMAP2)
		return 0;

	/* If a build-id is in their place, that tells files apart as well */
	id = (struct dso_id) {
		.maj		= event->mmap2.maj,
		.min		= event->mmap2.min,
		.ino		= event->mmap2.ino,
		.ino_generation	= event->mmap2.ino_generation,
	};
	/* Some kernels set the flag even if only another recording has asked for build-ids */
	if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	    evlist__get_tracking_event(session->evlist)->core.attr.build_id)
		build_id__init(&bid, event->mmap2.build_id, event->mmap2.build_id_size);
	return mark(session, event->mmap2.pid, event->mmap2.filename, &id, &bid);
}
