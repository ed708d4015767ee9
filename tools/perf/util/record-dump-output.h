/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_RECORD_DUMP_OUTPUT_H
#define __PERF_RECORD_DUMP_OUTPUT_H 1

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
 * @buf:   what is to be written next, @used bytes of it: small records are written
 *	   together, and the last that is compressed ends the frame
 * @room:  so much is written at once. If compressed, a reader has room for it.
 * @from:  how many bytes have been written
 * @to:	   and to how many they were compressed
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
 * @max: how many bytes a reader has room for to decompress a record into
 *
 * dump_writer__exit() is due even if that fails.
 */
int dump_writer__begin(struct dump_writer *writer, struct data_append *app,
		       unsigned int level, size_t max);
/* For small pieces */
int dump_writer__add(struct dump_writer *writer, const void *data, size_t size);
/* For large ones */
int dump_writer__write(struct dump_writer *writer, const void *data, size_t size);
/* That was all */
int dump_writer__finish(struct dump_writer *writer);
void dump_writer__exit(struct dump_writer *writer);

/**
 * dump_build_ids__begin - The build-ids of which binaries go into the header?
 * @anew: of those only that are marked from now on
 *
 * Those of the kernel and its modules always do.
 */
void dump_build_ids__begin(struct perf_session *session, bool anew);
/* Of none, until one is marked or a sample hits one */
void dump_build_ids__forget(struct perf_session *session);
/* If @event is a mapping: of the binary that it maps */
int dump_build_ids__mark(struct perf_session *session, const union perf_event *event);

#endif /* __PERF_RECORD_DUMP_OUTPUT_H */
