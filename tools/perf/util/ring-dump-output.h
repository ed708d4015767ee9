/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RING_DUMP_OUTPUT_H
#define __PERF_RING_DUMP_OUTPUT_H 1

/*
 * Output of the dumps of perf record -M: compression, build-ids
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
 * @app:    the file
 * @level:  of compression, 0: none
 * @buf:    @used bytes to be written next. Small records are written together. The
 *	    last piece that is compressed ends the frame.
 * @room:   size of @buf. If compressed, a reader's buffer has this size, too.
 * @from:   bytes before compression
 * @to:	    bytes after compression
 * @record: the PERF_RECORD_COMPRESSED being made
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
 * dump_writer__begin - Begin a dump, and a frame that is independent of all others
 * @max: size of the buffer into which a reader decompresses a record
 *
 * Call dump_writer__exit() even if this fails.
 */
int dump_writer__begin(struct dump_writer *writer, struct data_append *app,
		       unsigned int level, size_t max);
/* Write a small piece: collect it in the buffer */
int dump_writer__add(struct dump_writer *writer, const void *data, size_t size);
/* Write a large piece: directly, if not compressed */
int dump_writer__write(struct dump_writer *writer, const void *data, size_t size);
/* Write what is left, and end the frame */
int dump_writer__finish(struct dump_writer *writer);
void dump_writer__exit(struct dump_writer *writer);

/**
 * dump_build_ids__begin - Begin to mark the binaries whose build-ids go into the header
 * @new_file: forget the marks of earlier dumps
 *
 * The kernel and its modules are always marked.
 */
void dump_build_ids__begin(struct perf_session *session, bool new_file);
/* Unmark all. From now on a sample that hits a binary marks it. */
void dump_build_ids__forget(struct perf_session *session);
/* If @event is a mapping, mark the binary that it maps */
int dump_build_ids__mark(struct perf_session *session, const union perf_event *event);

#endif /* __PERF_RING_DUMP_OUTPUT_H */
