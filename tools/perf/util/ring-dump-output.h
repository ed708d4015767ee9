/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RING_DUMP_OUTPUT_H
#define __PERF_RING_DUMP_OUTPUT_H 1

/*
 * Where the dumps of perf record -M go: compression, build-ids
 *
 * All functions that return an int return 0 or -errno.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include "compress.h"

struct data_append;
struct perf_session;
union perf_event;

/**
 * struct dump_writer - Writes the records of one dump, compressed if wanted
 * @buf:   @used bytes to be written next. Small records are written together, and
 *	   the last piece that is compressed ends the frame.
 * @room:  size of @buf. If compressed, a reader has room for as much.
 * @from:  number of bytes written
 * @to:	   and their number after compression
 */
struct dump_writer {
	struct data_append	*app;
	unsigned int		level;
	struct zstd_data	zstd;
	void			*buf;
	size_t			used;
	size_t			room;
	u64			from;
	u64			to;
	void			*record;
};

/**
 * dump_writer__begin - Begin a frame that is independent of all others
 * @max: the room in bytes into which a reader decompresses a record
 *
 * Call dump_writer__exit() even if this fails.
 */
int dump_writer__begin(struct dump_writer *writer, struct data_append *app,
		       unsigned int level, size_t max);
/* For small pieces */
int dump_writer__add(struct dump_writer *writer, const void *data, size_t size);
/* For large ones */
int dump_writer__write(struct dump_writer *writer, const void *data, size_t size);
/* Write what is left, and end the frame */
int dump_writer__finish(struct dump_writer *writer);
void dump_writer__exit(struct dump_writer *writer);

/**
 * dump_build_ids__begin - Begin to mark the binaries whose build-ids go into the header
 * @anew: only those marked from now on; else those marked before, too
 *
 * The kernel and its modules are always marked.
 */
void dump_build_ids__begin(struct perf_session *session, bool anew);
/* Unmark all; a sample that hits a binary marks it, too */
void dump_build_ids__forget(struct perf_session *session);
/* If @event is a mapping, mark the binary that it maps */
int dump_build_ids__mark(struct perf_session *session, const union perf_event *event);

#endif /* __PERF_RING_DUMP_OUTPUT_H */
