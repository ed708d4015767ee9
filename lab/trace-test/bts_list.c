// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the branches in the Intel BTS data of a perf.data file, "FROM TO", if both ends
 * are in mappings of files: without those to and from the kernel.
 *
 * usage: bts_list FILE
 *
 * Exit status: 0; 1 if the data is damaged or a part of it was lost; 2 if the file
 * can't be read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

#include "perf_file.h"

/* Intel SDM, volume 3, "Debug Store (DS) Mechanism" */
struct branch {
	uint64_t from;
	uint64_t to;
	uint64_t flags;
};

#define BRANCH_PREDICTED	0x10

static struct perf_file file;
static unsigned int faults;

#define fault(fmt, ...) do {						\
	fprintf(stderr, "FAULT: " fmt "\n", ##__VA_ARGS__);		\
	faults++;							\
} while (0)

static bool is_mapped(uint64_t address)
{
	for (size_t i = 0; i < file.nr_mappings; i++)
		if (address - file.mappings[i].address < file.mappings[i].size)
			return true;
	return false;
}

static void list_stream(const struct perf_stream *stream)
{
	struct branch branch;

	if (stream->size % sizeof(branch))
		fault("AUX area %u has a part of a branch at its end", stream->idx);

	printf("process %u\n", stream->idx + 1);
	for (uint64_t i = 0; i + sizeof(branch) <= stream->size; i += sizeof(branch)) {
		memcpy(&branch, stream->bytes + i, sizeof(branch));
		if (branch.flags & ~(uint64_t)BRANCH_PREDICTED)
			fault("flags 0x%" PRIx64 " at offset 0x%" PRIx64, branch.flags,
			      stream->offset + i);
		if (is_mapped(branch.from) && is_mapped(branch.to))
			printf("%" PRIx64 " %" PRIx64 "\n", branch.from, branch.to);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 || argv[1][0] == '-')
		die("usage: bts_list FILE");

	perf_file_read(&file, argv[1]);
	for (size_t i = 0; i < file.nr_parts; i++)
		if (file.parts[i].flags & PERF_AUX_FLAG_TRUNCATED)
			fault("truncated at offset 0x%" PRIx64, file.parts[i].offset);
	for (size_t i = 0; i < file.nr_streams; i++)
		list_stream(&file.streams[i]);
	return faults ? 1 : 0;
}
