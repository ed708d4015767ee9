/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of a perf.data file that a checker needs: AUX area data with its owners, and
 * mappings. Shares no code with perf.
 */
#ifndef PERF_FILE_H
#define PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Exit status of a checker: the file can't be read or checked. */
#define STATUS_UNREADABLE	2

#define die(fmt, ...) do {						\
	fprintf(stderr, "%s: " fmt "\n", program_invocation_short_name,	\
		##__VA_ARGS__);						\
	exit(STATUS_UNREADABLE);					\
} while (0)

/* A run of bytes of one AUX area without a gap. */
struct perf_stream {
	uint32_t idx;		/* of the AUX area */
	int32_t cpu;		/* -1: the area of a thread */
	int32_t tid;		/* -1: the area of a CPU */
	uint64_t offset;	/* of the first byte, counted over all data ever written */
	uint64_t size;
	unsigned char *bytes;
};

/* PERF_RECORD_AUX: a part of an AUX area, and the thread that ran at its end. */
struct perf_part {
	uint64_t offset;
	uint64_t size;
	uint64_t flags;
	int32_t tid;
	int32_t cpu;
};

struct perf_mapping {
	uint64_t address;
	uint64_t size;
	uint64_t file_offset;
	const char *path;
};

struct perf_file {
	struct perf_stream *streams;
	size_t nr_streams;
	struct perf_part *parts;
	size_t nr_parts;
	struct perf_mapping *mappings;	/* executable mappings of files, each once */
	size_t nr_mappings;
};

void *grow(void *array, size_t nr, size_t size);

/* Exits if the file isn't valid. */
void perf_file_read(struct perf_file *file, const char *path);

/* The thread that the byte at @offset of @stream belongs to, 0 if not known. */
int32_t perf_file_owner(const struct perf_file *file, const struct perf_stream *stream,
			uint64_t offset);

#endif
