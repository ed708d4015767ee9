/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_APPEND_H
#define __PERF_DATA_APPEND_H 1

/*
 * Append records to a perf.data, so that the file is readable at any time
 *
 * A perf.data ends with its features (build-ids, topology, ...), directly after
 * the records. The header says where they are:
 *
 *	header | attrs | records | features
 *
 * New records are appended after the features, followed by new features. Until
 * these are written, nothing that the header refers to is touched:
 *
 *	header | attrs | records | features | more records | features
 *
 * Then the old features become the payload of filler records, which readers skip,
 * and the header is changed to point to the new features. In between, for the time
 * of a few small writes, the header says that there are no features. So the file has
 * all committed records at any time, even if perf is killed.
 *
 * A pipe, or a file that can't be read back, such as /dev/null, is only written to.
 */
#include <linux/bitmap.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include "header.h"

struct evlist;
struct perf_data;
struct perf_session;

/* A copy of one feature section, or of all of them with the table before them */
struct data_section {
	void	*data;
	size_t	size;
};

/**
 * struct data_append - A perf.data that records are appended to
 * @end:	end of the committed records
 * @pos:	where the next record is written
 * @stream:	the output is a pipe or a device
 * @broken:	a write to the pipe failed half-way: nothing more can be appended
 * @features:	the features at @end
 * @wanted:	features to write
 * @constant:	those that don't change while recording
 */
struct data_append {
	struct perf_session	*session;
	struct evlist		*evlist;
	struct perf_data	*data;
	u64			end;
	u64			pos;
	bool			stream;
	bool			broken;
	struct data_section	features;
	struct perf_file_header	header;
	DECLARE_BITMAP(wanted, HEADER_FEAT_BITS);
	struct data_section	constant[HEADER_LAST_FEATURE];
};

/**
 * data_append__init - Begin to append
 * @session, @evlist: the header and the first records are written, up to the
 *		      file's current position
 *
 * Write the features, and keep a copy of those that don't change, so that later
 * nothing is read from /proc or /sys for them. All functions return 0 or -errno.
 */
int data_append__init(struct data_append *app, struct perf_session *session,
		      struct evlist *evlist);
void data_append__exit(struct data_append *app);

/**
 * data_append__reopen - Continue with a new file
 * @records: records to begin the file with
 *
 * The caller has opened the new, empty file in place of the old one.
 */
int data_append__reopen(struct data_append *app, const void *records, size_t size);

/* Begin a transaction: all that is written is committed together, or not at all */
void data_append__begin(struct data_append *app);
int data_append__write(struct data_append *app, const void *buf, size_t size);
int data_append__commit(struct data_append *app);
void data_append__abort(struct data_append *app);

/* Write the features again, in place, after one of them has changed */
int data_append__refresh(struct data_append *app);

#endif /* __PERF_DATA_APPEND_H */
