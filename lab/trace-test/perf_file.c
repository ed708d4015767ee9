// SPDX-License-Identifier: GPL-2.0
/* Reads perf.data files. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "perf_file.h"

/* tools/lib/perf/include/perf/event.h */
#define PERF_RECORD_AUXTRACE	71
#define PERF_RECORD_COMPRESSED	81

/* On-disk structures, tools/perf/Documentation/perf.data-file-format.txt */
struct file_section {
	uint64_t offset;
	uint64_t size;
};

struct file_header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size;
	struct file_section attrs;
	struct file_section data;
};

struct auxtrace_record {
	struct perf_event_header header;
	uint64_t size;
	uint64_t offset;
	uint64_t reference;
	uint32_t idx;
	int32_t tid;
	int32_t cpu;
	uint32_t reserved;
};

struct aux_record {
	struct perf_event_header header;
	uint64_t offset;
	uint64_t size;
	uint64_t flags;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t address;
	uint64_t size;
	uint64_t file_offset;
	unsigned char build_id[24];
	uint32_t prot;
	uint32_t flags;
	char path[];
};

/* The identifiers of an event, for the ends of its records */
struct event_id {
	uint64_t id;
	uint64_t sample_type;
};

static struct {
	char *bytes;
	uint64_t size;
	struct event_id *ids;
	size_t nr_ids;
	uint64_t sample_type;	/* of all events, if they have no identifiers */
	bool identified;
} in;

void *grow(void *array, size_t nr, size_t size)
{
	/* Doubles at each power of two; every array starts empty. */
	if (nr & (nr - 1))
		return array;

	array = realloc(array, (nr ? 2 * nr : 1) * size);
	if (!array)
		die("out of memory");
	return array;
}

static void *at(uint64_t offset, uint64_t size)
{
	if (offset > in.size || size > in.size - offset)
		die("truncated file");
	return in.bytes + offset;
}

static void map_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die("%s: %s", path, strerror(errno));
	in.size = st.st_size;
	in.bytes = mmap(NULL, in.size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	if (in.bytes == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	fclose(f);
}

static void read_ids(const struct file_section *section, uint64_t sample_type)
{
	for (uint64_t i = 0; i < section->size / sizeof(uint64_t); i++) {
		const uint64_t *id = at(section->offset + i * sizeof(*id), sizeof(*id));

		in.ids = grow(in.ids, in.nr_ids, sizeof(*in.ids));
		in.ids[in.nr_ids++] = (struct event_id){ *id, sample_type };
	}
}

/* If the records of events end differently, identifiers tell the events apart. */
static void read_attrs(const struct file_header *header)
{
	uint64_t nr = header->attrs.size / header->attr_size;
	const struct perf_event_attr *attr;
	const char *entry;

	in.identified = true;
	for (uint64_t i = 0; i < nr; i++) {
		entry = at(header->attrs.offset + i * header->attr_size, header->attr_size);
		attr = (const void *)entry;
		if (!attr->sample_id_all || !(attr->sample_type & PERF_SAMPLE_TID))
			die("records do not say whose they are");
		in.sample_type = attr->sample_type;
		in.identified &= !!(attr->sample_type & PERF_SAMPLE_IDENTIFIER);
		read_ids((const void *)(entry + header->attr_size - sizeof(struct file_section)),
			 attr->sample_type);
	}
}

static uint64_t sample_type_of(uint64_t id)
{
	if (!in.identified)
		return in.sample_type;

	for (size_t i = 0; i < in.nr_ids; i++)
		if (in.ids[i].id == id)
			return in.ids[i].sample_type;
	die("a record of an unknown event");
}

/* The record of an area that is written over has an offset modulo its size. Count instead. */
static uint64_t written_before(const struct perf_file *file, const struct perf_part *part)
{
	const struct perf_part *last;

	for (last = part; last-- > file->parts; ) {
		if (part->cpu != -1 ? last->cpu == part->cpu : last->tid == part->tid)
			return last->offset + last->size;
	}
	return 0;
}

/* Fields have the order of include/uapi/linux/perf_event.h. Read them from the end. */
static void read_aux(struct perf_file *file, const struct aux_record *record)
{
	const uint64_t trailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	const uint64_t *field = (const uint64_t *)((const char *)record + record->header.size);
	uint64_t sample_type = sample_type_of(field[-1]) & trailer;
	struct perf_part *part;

	field -= __builtin_popcountll(sample_type);
	if (field < (const uint64_t *)(record + 1))
		die("AUX record of %u bytes", record->header.size);

	file->parts = grow(file->parts, file->nr_parts, sizeof(*file->parts));
	part = &file->parts[file->nr_parts++];
	part->offset = record->offset;
	part->size = record->size;
	part->flags = record->flags;
	part->tid = (int32_t)(*field >> 32);

	field += 1 + !!(sample_type & PERF_SAMPLE_TIME) + !!(sample_type & PERF_SAMPLE_ID) +
		 !!(sample_type & PERF_SAMPLE_STREAM_ID);
	part->cpu = sample_type & PERF_SAMPLE_CPU ? (int32_t)*field : -1;
	if (part->flags & PERF_AUX_FLAG_OVERWRITE)
		part->offset = written_before(file, part);
}

/* perf pads the data of a record; the next record begins where the padding does. */
#define ALIGNMENT	8

static bool goes_on(struct perf_stream *stream, const struct auxtrace_record *record)
{
	uint64_t padding = stream->offset + stream->size - record->offset;

	if (padding >= ALIGNMENT || padding > stream->size)
		return false;
	stream->size -= padding;
	return true;
}

static struct perf_stream *stream_of(struct perf_file *file, const struct auxtrace_record *record)
{
	struct perf_stream *stream;

	/* Only the last stream of this area may go on. */
	for (size_t i = file->nr_streams; i-- > 0; ) {
		stream = &file->streams[i];
		if (stream->idx != record->idx)
			continue;
		if (goes_on(stream, record))
			return stream;
		break;
	}

	file->streams = grow(file->streams, file->nr_streams, sizeof(*file->streams));
	stream = &file->streams[file->nr_streams++];
	*stream = (struct perf_stream){
		.idx = record->idx,
		.cpu = record->cpu,
		.tid = record->tid,
		.offset = record->offset,
	};
	return stream;
}

static void read_auxtrace(struct perf_file *file, const struct auxtrace_record *record)
{
	const char *data = (const char *)record + record->header.size;
	struct perf_stream *stream = stream_of(file, record);

	at(data - in.bytes, record->size);
	stream->bytes = realloc(stream->bytes, stream->size + record->size + 1);
	if (!stream->bytes)
		die("out of memory");
	memcpy(stream->bytes + stream->size, data, record->size);
	stream->size += record->size;
}

static void read_mmap2(struct perf_file *file, const struct mmap2_record *record)
{
	struct perf_mapping *mapping;

	if (record->header.misc & PERF_RECORD_MISC_MMAP_DATA || record->path[0] != '/')
		return;

	for (size_t i = 0; i < file->nr_mappings; i++) {
		mapping = &file->mappings[i];
		if (mapping->address == record->address && mapping->size == record->size &&
		    !strcmp(mapping->path, record->path))
			return;
	}

	file->mappings = grow(file->mappings, file->nr_mappings, sizeof(*file->mappings));
	file->mappings[file->nr_mappings++] = (struct perf_mapping){
		.address = record->address,
		.size = record->size,
		.file_offset = record->file_offset,
		.path = record->path,
	};
}

/* Returns the number of bytes that follow the record and belong to it. */
static uint64_t read_record(struct perf_file *file, const struct perf_event_header *header)
{
	const struct auxtrace_record *auxtrace;

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		read_mmap2(file, (const void *)header);
		break;
	case PERF_RECORD_AUX:
		read_aux(file, (const void *)header);
		break;
	case PERF_RECORD_AUXTRACE:
		auxtrace = (const void *)header;
		read_auxtrace(file, auxtrace);
		return auxtrace->size;
	case PERF_RECORD_COMPRESSED:
		die("compressed");
	}
	return 0;
}

void perf_file_read(struct perf_file *file, const char *path)
{
	const struct file_header *header;
	uint64_t offset, end;

	memset(&in, 0, sizeof(in));
	map_file(path);
	header = at(0, sizeof(*header));
	if (memcmp(header->magic, "PERFILE2", 8))
		die("%s: not a perf.data file", path);
	read_attrs(header);

	offset = header->data.offset;
	end = offset + header->data.size;
	while (offset < end) {
		const struct perf_event_header *record = at(offset, sizeof(*record));

		if (record->size < sizeof(*record))
			die("record of %u bytes", record->size);
		at(offset, record->size);
		offset += record->size;
		offset += read_record(file, record);
	}
}

int32_t perf_file_owner(const struct perf_file *file, const struct perf_stream *stream,
			uint64_t offset)
{
	offset += stream->offset;

	for (size_t i = 0; i < file->nr_parts; i++) {
		const struct perf_part *part = &file->parts[i];

		if (stream->cpu != -1 ? part->cpu != stream->cpu : part->tid != stream->tid)
			continue;
		if (offset >= part->offset && offset - part->offset < part->size)
			return part->tid;
	}
	return 0;
}
