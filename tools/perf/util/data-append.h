/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DATA_APPEND_H
#define __PERF_DATA_APPEND_H 1

/*
 * Append records to a perf.data, so that it is whole at any time
 *
 * A perf.data ends with its features (build-ids, topology, ...), directly behind
 * the records, and the header says where that is:
 *
 *	header | attrs | records | features
 *
 * To append, new records go behind the features, and new features behind those.
 * Nothing that the header refers to is touched until all that is written:
 *
 *	header | attrs | records | features | more records | features
 *
 * Then the old features become the payload of records without a meaning, and
 * the header is made to say where the new ones are. Between these two writes, of
 * a few bytes, the header says that there are no features, so that at any time
 * the file has all records of what was committed, whatever happens to perf.
 *
 * Into a pipe it just writes, and into what can't be read back, as /dev/null.
 */
#include <linux/bitmap.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include "header.h"

struct evlist;
struct perf_data;
struct perf_session;

/* A feature section that stays as it is, or what surrounds all of them */
struct data_section {
	void	*data;
	size_t	size;
};

/**
 * struct data_append - A perf.data that is appended to
 * @end:	where its records end
 * @pos:	where the next one is written
 * @stream:	it is a pipe or a device
 * @broken:	a pipe got a part only, nothing can be appended any more
 * @features:	the features behind @end
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
 * @session, @evlist: with the header and the records so far written, up to the
 *		      file's current position
 *
 * Writes the features, and keeps those that can't change: nothing in /proc or
 * /sys is read for them later. All functions return 0 or -errno.
 */
int data_append__init(struct data_append *app, struct perf_session *session,
		      struct evlist *evlist);
void data_append__exit(struct data_append *app);

/**
 * data_append__reopen - Go on with a new file
 * @records: what it begins with
 *
 * It was opened in place of the old one, and is empty.
 */
int data_append__reopen(struct data_append *app, const void *records, size_t size);

/* What follows is to be committed together, or not at all */
void data_append__begin(struct data_append *app);
int data_append__write(struct data_append *app, const void *buf, size_t size);
int data_append__commit(struct data_append *app);
void data_append__abort(struct data_append *app);

/* Write the features once more, where they are: something about them has changed */
int data_append__refresh(struct data_append *app);

#endif /* __PERF_DATA_APPEND_H */
