// SPDX-License-Identifier: GPL-2.0
/* Append records to a perf.data, so that it is readable at any time; see data-append.h */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/zalloc.h>
#include <perf/event.h>
#include <internal/lib.h>
#include "data.h"
#include "data-append.h"
#include "debug.h"
#include "session.h"

/* All readers skip this type: it has been obsolete since 2013 */
#define FILLER_TYPE	PERF_RECORD_HEADER_EVENT_TYPE
#define FILLER_MAX	((size_t)(UINT16_MAX & ~7))

/* Writes to the page cache are fastest if aligned to its large folios */
#define WRITE_ALIGN	((u64)SZ_256K)

/* Does the feature stay the same while recording? */
static bool is_constant(int feat)
{
	switch (feat) {
	case HEADER_BUILD_ID:
	case HEADER_AUXTRACE:
	case HEADER_SAMPLE_TIME:
	case HEADER_BPF_PROG_INFO:
	case HEADER_BPF_BTF:
	case HEADER_COMPRESSED:
		return false;
	default:
		return true;
	}
}

static void copy_features(unsigned long *to, const unsigned long *from)
{
	memcpy(to, from, BITS_TO_LONGS(HEADER_FEAT_BITS) * sizeof(*to));
}

static int append_fd(struct data_append *app)
{
	return perf_data__fd(app->data);
}

static int pwrite_all(int fd, const void *buf, size_t size, u64 pos)
{
	while (size) {
		ssize_t n = pwrite(fd, buf, size, pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		buf += n;
		pos += n;
		size -= n;
	}
	return 0;
}

/* The pipe may have been made non-blocking by whoever opened it */
static int wait_for_pipe(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int write_pipe(int fd, const void *buf, size_t size)
{
	while (size) {
		ssize_t n = write(fd, buf, size);
		int err = 0;

		if (n < 0 && errno == EAGAIN)
			err = wait_for_pipe(fd);
		else if (n < 0 && errno != EINTR)
			err = -errno;
		if (err)
			return err;
		if (n < 0)
			continue;
		buf += n;
		size -= n;
	}
	return 0;
}

struct copier {
	struct feat_copier	fc;
	struct data_append	*app;
};

static int copy_constant(struct feat_copier *fc, int feat, struct feat_writer *fw)
{
	struct data_append *app = container_of(fc, struct copier, fc)->app;
	struct data_section *sec = &app->constant[feat];

	if (!sec->data)
		return 0;
	return fw->write(fw, sec->data, sec->size) < 0 ? -1 : 1;
}

/*
 * Write the features to memory, as for a file in which they begin at @offset. In
 * a file a full disk would go unnoticed: the code that writes a feature drops it
 * on an error.
 */
static int make_features(struct data_append *app, u64 offset, struct data_section *sec)
{
	struct copier copier = { .fc.copy = copy_constant, .app = app };
	int fd = memfd_create("perf.data features", MFD_CLOEXEC);
	off_t end;
	int err;

	if (fd < 0)
		return -errno;

	/* Features that were dropped last time may be available now */
	copy_features(app->session->header.adds_features, app->wanted);
	err = perf_session__write_features(app->session, app->evlist, fd, offset, &copier.fc);
	end = lseek(fd, 0, SEEK_END);
	if (err >= 0 && end > (off_t)offset) {
		sec->size = end - offset;
		sec->data = malloc(sec->size);
		err = sec->data ? 0 : -ENOMEM;
		if (!err && pread(fd, sec->data, sec->size, offset) != (ssize_t)sec->size)
			err = -EIO;
	}
	close(fd);
	return err < 0 ? err : 0;
}

static int keep_constant_feature(struct data_append *app, int feat, struct data_section *all,
				 struct perf_file_section *from)
{
	struct data_section *sec = &app->constant[feat];

	if (!is_constant(feat) || from->offset < app->end)
		return 0;
	if (from->offset - app->end + from->size > all->size)
		return -EINVAL;

	sec->data = malloc(from->size ?: 1);
	if (!sec->data)
		return -ENOMEM;
	memcpy(sec->data, all->data + from->offset - app->end, from->size);
	sec->size = from->size;
	return 0;
}

/* Copy the constant features. Those that this system lacks aren't tried again. */
static int keep_constant_features(struct data_append *app)
{
	struct perf_file_section *from = app->features.data;
	unsigned long *have = app->session->header.adds_features;
	int feat, err;

	for_each_set_bit(feat, app->wanted, HEADER_LAST_FEATURE) {
		if (!test_bit(feat, have)) {
			if (is_constant(feat))
				clear_bit(feat, app->wanted);
			continue;
		}
		err = keep_constant_feature(app, feat, &app->features, from++);
		if (err)
			return err;
	}
	return 0;
}

/* Write the file's header with a new end of the data and new features, NULL: none */
static int write_header(struct data_append *app, u64 end, const unsigned long *features)
{
	app->header.data.size = end - app->header.data.offset;
	if (features)
		copy_features(app->header.adds_features, features);
	else
		bitmap_zero(app->header.adds_features, HEADER_FEAT_BITS);
	return pwrite_all(append_fd(app), &app->header, sizeof(app->header), 0);
}

/* Turn the bytes between @from and @to into filler records */
static int fill(struct data_append *app, u64 from, u64 to)
{
	int err = 0;

	while (!err && from < to) {
		struct perf_event_header filler = {
			.type = FILLER_TYPE,
			.size = min((u64)FILLER_MAX, to - from),
		};

		err = pwrite_all(append_fd(app), &filler, sizeof(filler), from);
		from += filler.size;
	}
	return err;
}

static void set_features(struct data_append *app, u64 end, struct data_section *features)
{
	struct perf_header *header = &app->session->header;

	free(app->features.data);
	app->features = *features;
	app->end = end;
	header->data_size = end - header->data_offset;
	app->data->file.size = end + features->size;
}

static bool is_stream(const struct data_append *app)
{
	struct stat st;

	return perf_data__is_pipe(app->data) ||
	       (!fstat(perf_data__fd(app->data), &st) && !S_ISREG(st.st_mode));
}

int data_append__init(struct data_append *app, struct perf_session *session,
		      struct evlist *evlist)
{
	struct data_section features = { .size = 0 };
	off_t end;
	int err;

	memset(app, 0, sizeof(*app));
	app->session = session;
	app->evlist = evlist;
	app->data = session->data;
	app->stream = is_stream(app);
	if (app->stream)
		return 0;

	end = lseek(append_fd(app), 0, SEEK_CUR);
	if (end < 0 || pread(append_fd(app), &app->header, sizeof(app->header), 0) !=
	    sizeof(app->header))
		return -EIO;

	copy_features(app->wanted, session->header.adds_features);
	err = make_features(app, end, &features);
	if (!err)
		err = pwrite_all(append_fd(app), features.data, features.size, end);
	if (!err)
		err = write_header(app, end, session->header.adds_features);
	set_features(app, end, &features);
	return err ?: keep_constant_features(app);
}

void data_append__exit(struct data_append *app)
{
	int feat;

	zfree(&app->features.data);
	for (feat = 0; feat < HEADER_LAST_FEATURE; feat++)
		zfree(&app->constant[feat].data);
}

int data_append__reopen(struct data_append *app, const void *records, size_t size)
{
	struct perf_session *session = app->session;
	struct data_section none = { .size = 0 };
	int fd = append_fd(app);
	int err;

	session->header.data_size = 0;
	if (perf_session__write_header(session, app->evlist, fd, false) < 0)
		return errno ? -errno : -EIO;
	set_features(app, session->header.data_offset, &none);
	err = pwrite_all(fd, records, size, app->end);
	if (!err)
		set_features(app, app->end + size, &none);
	return err;
}

/* The position after the features, aligned, as the size of a filler is a multiple of 8 */
static u64 after_features(const struct data_append *app)
{
	return app->end + roundup(app->features.size, sizeof(u64));
}

void data_append__begin(struct data_append *app)
{
	app->pos = after_features(app);
}

static int write_file(struct data_append *app, const void *buf, size_t size)
{
	int err = 0;

	while (size && !err) {
		size_t piece = min((u64)size, WRITE_ALIGN - app->pos % WRITE_ALIGN);

		err = pwrite_all(append_fd(app), buf, piece, app->pos);
		app->pos += piece;
		buf += piece;
		size -= piece;
	}
	return err;
}

int data_append__write(struct data_append *app, const void *buf, size_t size)
{
	int err;

	if (!app->stream)
		return write_file(app, buf, size);
	if (app->broken)
		return -EPIPE;
	err = write_pipe(append_fd(app), buf, size);
	app->broken = err;
	return err;
}

/* Only the headers of the fillers overwrite the old features */
static int switch_over(struct data_append *app, u64 from)
{
	int err = write_header(app, app->end, NULL);

	return err ?: fill(app, app->end, from);
}

static void switch_back(struct data_append *app, const unsigned long *features)
{
	pwrite_all(append_fd(app), app->features.data, app->features.size, app->end);
	write_header(app, app->end, features);
}

int data_append__commit(struct data_append *app)
{
	u64 from = after_features(app);
	struct data_section features = { .size = 0 };
	DECLARE_BITMAP(old, HEADER_FEAT_BITS);
	int err;

	if (app->stream)
		return 0;

	copy_features(old, app->header.adds_features);
	err = make_features(app, app->pos, &features);
	if (!err)
		err = pwrite_all(append_fd(app), features.data, features.size, app->pos);
	if (err)
		goto out;

	err = switch_over(app, from);
	if (!err)
		err = write_header(app, app->pos, app->session->header.adds_features);
	if (err) {
		switch_back(app, old);
		goto out;
	}
	set_features(app, app->pos, &features);
	return 0;
out:
	free(features.data);
	return err;
}

/* Write @features over the old ones */
static int overwrite_features(struct data_append *app, const struct data_section *features)
{
	int err = write_header(app, app->end, NULL);

	if (!err)
		err = pwrite_all(append_fd(app), features->data, features->size, app->end);
	if (!err && ftruncate(append_fd(app), app->end + features->size))
		err = -errno;
	return err ?: write_header(app, app->end, app->session->header.adds_features);
}

int data_append__refresh(struct data_append *app)
{
	struct data_section features = { .size = 0 };
	DECLARE_BITMAP(old, HEADER_FEAT_BITS);
	int err;

	if (app->stream)
		return 0;
	copy_features(old, app->header.adds_features);
	err = make_features(app, app->end, &features);
	if (!err) {
		err = overwrite_features(app, &features);
		if (err)
			switch_back(app, old);
	}
	if (err)
		free(features.data);
	else
		set_features(app, app->end, &features);
	return err;
}

void data_append__abort(struct data_append *app)
{
	if (app->stream)
		return;
	if (ftruncate(append_fd(app), app->end + app->features.size))
		pr_debug("Failed to cut %s: %m\n", app->data->path);
}
