// SPDX-License-Identifier: GPL-2.0
/*
 * Lists what a gated trace of a test_aux PMU holds, and compares it with the
 * gates: reads perf.data by itself, as a checker that shares no code with perf.
 *
 * Expected: every window begins after a resume, ends before the pause that
 * follows, and holds packets without a gap. Exit status 0 if so, 1 if not, 2 if
 * the file can't be read.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../../../lib/test_perf_aux_uapi.h"

#define NSEC_PER_SEC		1000000000ULL

typedef unsigned long long u64;
typedef unsigned int u32;

#define PERF_RECORD_AUXTRACE	71	/* tools/lib/perf/include/perf/event.h */

/* The word behind aux_sample_size, which older uapi headers name differently. */
#define ATTR_AUX_ACTION		(offsetof(struct perf_event_attr, aux_sample_size) + 4)
#define AUX_PAUSE		0x2
#define AUX_RESUME		0x4

/* On-disk structures, tools/perf/Documentation/perf.data-file-format.txt */
struct file_section {
	u64 offset;
	u64 size;
};

struct file_header {
	char magic[8];
	u64 size;
	u64 attr_size;
	struct file_section attrs;
	struct file_section data;
};

struct auxtrace_record {
	struct perf_event_header header;
	u64 size;
	u64 offset;
	u64 reference;
	u32 idx;
	u32 tid;
	u32 cpu;
	u32 reserved;
};

struct gate_id {
	u64 id;
	u64 sample_type;
	u32 action;
};

struct gate {
	u64 time;
	u32 tid;
	u32 cpu;
	bool pause;
};

struct window {
	u64 begin, end;
	u64 packets;
	u32 tid, cpu;
	bool open;
};

/* Where the stream of one AUX buffer has got to. */
struct stream {
	bool seen, tracing, joins;
	unsigned char joins_why;
	u64 next_seq;
	size_t window;
};

#define MAX_STREAMS	1024

static struct {
	char *bytes;
	size_t size;
	struct gate_id *ids;
	size_t nr_ids;
	struct gate *gates;
	size_t nr_gates;
	struct window *windows;
	size_t nr_windows;
	struct stream streams[MAX_STREAMS];
	u64 packets;
	unsigned int faults;
	bool by_cpu;
} in;

#define die(fmt, ...) do {						\
	fprintf(stderr, "aux_windows: " fmt "\n", ##__VA_ARGS__);	\
	exit(2);							\
} while (0)

#define fault(fmt, ...) do {						\
	printf("FAULT: " fmt "\n", ##__VA_ARGS__);			\
	in.faults++;							\
} while (0)

static void *grow(void *array, size_t nr, size_t size)
{
	/* Doubles at each power of two, which every array here starts from. */
	if (nr & (nr - 1))
		return array;

	array = realloc(array, (nr ? 2 * nr : 1) * size);
	if (!array)
		die("out of memory");
	return array;
}

static void *at(u64 offset, u64 size)
{
	if (offset > in.size || size > in.size - offset)
		die("truncated file");
	return in.bytes + offset;
}

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die("%s: %s", path, strerror(errno));

	in.size = st.st_size;
	in.bytes = malloc(in.size + 1);
	if (!in.bytes)
		die("out of memory");
	if (fread(in.bytes, 1, in.size, f) != in.size)
		die("%s: %s", path, strerror(errno));
	fclose(f);
}

static void read_attrs(const struct file_header *header)
{
	u64 nr = header->attrs.size / header->attr_size;

	for (u64 i = 0; i < nr; i++) {
		char *entry = at(header->attrs.offset + i * header->attr_size, header->attr_size);
		struct perf_event_attr *attr = (void *)entry;
		struct file_section ids;
		u32 action;

		memcpy(&action, entry + ATTR_AUX_ACTION, sizeof(action));
		memcpy(&ids, entry + header->attr_size - sizeof(ids), sizeof(ids));

		for (u64 j = 0; j < ids.size / sizeof(u64); j++) {
			in.ids = grow(in.ids, in.nr_ids, sizeof(*in.ids));
			memcpy(&in.ids[in.nr_ids].id, at(ids.offset + j * 8, 8), 8);
			in.ids[in.nr_ids].sample_type = attr->sample_type;
			in.ids[in.nr_ids++].action = action;
		}
	}
}

static const struct gate_id *find_id(u64 id)
{
	for (size_t i = 0; i < in.nr_ids; i++)
		if (in.ids[i].id == id)
			return &in.ids[i];
	return NULL;
}

/* Fields of a sample stand in the order of include/uapi/linux/perf_event.h. */
static void read_sample(const struct perf_event_header *header)
{
	const u64 *field = (const u64 *)(header + 1);
	const struct gate_id *id = find_id(*field++);
	struct gate *gate;

	if (!id || !(id->action & (AUX_PAUSE | AUX_RESUME)))
		return;

	if (!(id->sample_type & PERF_SAMPLE_IDENTIFIER) ||
	    !(id->sample_type & PERF_SAMPLE_TID) ||
	    !(id->sample_type & PERF_SAMPLE_TIME))
		die("samples of the gates lack identifier, tid or time");

	in.gates = grow(in.gates, in.nr_gates, sizeof(*in.gates));
	gate = &in.gates[in.nr_gates++];
	gate->pause = id->action & AUX_PAUSE;

	if (id->sample_type & PERF_SAMPLE_IP)
		field++;
	gate->tid = *field++ >> 32;
	gate->time = *field++;
	for (u64 type = PERF_SAMPLE_ADDR; type < PERF_SAMPLE_CPU; type <<= 1)
		if (id->sample_type & type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
					      PERF_SAMPLE_STREAM_ID))
			field++;
	gate->cpu = id->sample_type & PERF_SAMPLE_CPU ? (u32)*field : 0;
}

/*
 * A task that was scheduled out may have passed gates on another CPU before it came
 * back: then it is another window.
 */
static bool gate_between(u32 tid, u64 from, u64 to)
{
	for (size_t i = 0; i < in.nr_gates; i++) {
		const struct gate *gate = &in.gates[i];

		if (gate->tid == tid && gate->time > from && gate->time < to)
			return true;
	}
	return false;
}

static bool joins(const struct stream *stream, const struct test_perf_aux_packet *packet)
{
	const struct window *window = &in.windows[stream->window];

	return stream->joins && packet->why == stream->joins_why &&
	       window->tid == packet->tid &&
	       (packet->why != TEST_PERF_AUX_BY_START ||
		!gate_between(window->tid, window->end, packet->time));
}

static void begin_window(struct stream *stream, const struct test_perf_aux_packet *packet)
{
	struct window *window;

	if (stream->tracing)
		fault("START in a window, at sequence number %llu", (u64)packet->seq);
	stream->tracing = true;
	if (joins(stream, packet))
		return;

	in.windows = grow(in.windows, in.nr_windows, sizeof(*in.windows));
	stream->window = in.nr_windows++;
	window = &in.windows[stream->window];
	*window = (struct window){
		.begin = packet->time,
		.tid = packet->tid,
		.cpu = packet->cpu,
	};
}

/*
 * What interrupts a window and is not a gate: the driver's own doing, and that the
 * task was scheduled out. The packet that goes on says the same.
 */
static void expect_join(struct stream *stream, const struct test_perf_aux_packet *packet)
{
	stream->joins_why = packet->why == TEST_PERF_AUX_BY_STOP ? TEST_PERF_AUX_BY_START :
							  packet->why;
	stream->joins = packet->type == TEST_PERF_AUX_STOP &&
			packet->why != TEST_PERF_AUX_BY_PAUSE;
}

static void read_packet(struct stream *stream, const struct test_perf_aux_packet *packet)
{
	struct window *window;

	if (packet->magic != TEST_PERF_AUX_MAGIC ||
	    packet->check != test_perf_aux_check(packet)) {
		fault("damaged packet where sequence number %llu is due",
		      stream->next_seq);
		return;
	}

	if (stream->seen && packet->seq != stream->next_seq)
		fault("sequence number %llu where %llu is due",
		      (u64)packet->seq, stream->next_seq);
	stream->seen = true;
	stream->next_seq = packet->seq + 1;
	in.packets++;

	if (packet->type == TEST_PERF_AUX_START)
		begin_window(stream, packet);
	if (!stream->tracing) {
		fault("packet outside a window, at sequence number %llu",
		      (u64)packet->seq);
		return;
	}

	window = &in.windows[stream->window];
	window->end = packet->time;
	window->packets++;
	window->open = packet->type != TEST_PERF_AUX_STOP;
	stream->tracing = window->open;
	expect_join(stream, packet);
}

/* Returns the number of bytes of trace data that follow the record. */
static u64 read_auxtrace(const struct perf_event_header *header)
{
	const struct auxtrace_record *record = (const void *)header;
	const char *data = (const char *)header + header->size;
	struct test_perf_aux_packet packet;

	if (record->idx >= MAX_STREAMS)
		die("more than %d AUX buffers", MAX_STREAMS);

	at(data - in.bytes, record->size);
	for (u64 i = 0; i + sizeof(packet) <= record->size; i += sizeof(packet)) {
		memcpy(&packet, data + i, sizeof(packet));
		read_packet(&in.streams[record->idx], &packet);
	}

	return record->size;
}

static u64 auxtrace_size(const struct perf_event_header *header)
{
	return ((const struct auxtrace_record *)header)->size;
}

/* First the gates, then the trace, which needs them. */
static void read_records(const struct file_section *section, bool trace)
{
	u64 offset = section->offset;
	u64 end = offset + section->size;

	while (offset < end) {
		struct perf_event_header *header = at(offset, sizeof(*header));

		if (header->size < sizeof(*header))
			die("record of %u bytes", header->size);
		at(offset, header->size);
		offset += header->size;
		if (header->type == PERF_RECORD_SAMPLE && !trace)
			read_sample(header);
		else if (header->type == PERF_RECORD_AUXTRACE)
			offset += trace ? read_auxtrace(header) : auxtrace_size(header);
	}
}

static int compare_gates(const void *a, const void *b)
{
	const struct gate *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * A resume takes its time stamp before it acts, a pause after. So the last gate
 * before the window is a resume, and no pause lies within it.
 */
static void check_window(const struct window *window)
{
	const struct gate *last = NULL;

	for (size_t i = 0; i < in.nr_gates; i++) {
		const struct gate *gate = &in.gates[i];

		if (in.by_cpu ? gate->cpu != window->cpu : gate->tid != window->tid)
			continue;
		if (gate->time <= window->begin)
			last = gate;
		else if (gate->time < window->end && gate->pause)
			fault("a pause lies within the window that begins at %llu ns",
			      window->begin);
	}

	if (!last || last->pause)
		fault("no resume before the window that begins at %llu ns",
		      window->begin);
}

static void print_time(u64 ns)
{
	printf("  %6llu.%09llu", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

static void print_windows(void)
{
	printf("window   cpu     tid            begin [s]              end [s]");
	printf("  length [ns]   bytes\n");
	for (size_t i = 0; i < in.nr_windows; i++) {
		const struct window *window = &in.windows[i];

		printf("%6zu  %4u  %6u", i + 1, window->cpu, window->tid);
		print_time(window->begin);
		print_time(window->end);
		printf("  %11llu  %6llu%s\n", window->end - window->begin,
		       window->packets * sizeof(struct test_perf_aux_packet),
		       window->open ? "  (open)" : "");
	}
}

static size_t count_gates(bool pause)
{
	size_t nr = 0;

	for (size_t i = 0; i < in.nr_gates; i++)
		nr += in.gates[i].pause == pause;
	return nr;
}

int main(int argc, char **argv)
{
	struct file_header *header;

	if (argc == 3 && !strcmp(argv[1], "--by-cpu")) {
		in.by_cpu = true;
		argv++;
	} else if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr,
			"usage: aux_windows [--by-cpu] FILE\n"
			"Lists the windows of a gated trace of a test_aux PMU in a perf.data file\n"
			"and compares them with the gates of the same task, or of the same CPU.\n");
		return 2;
	}

	read_file(argv[1]);
	header = at(0, sizeof(*header));
	if (memcmp(header->magic, "PERFILE2", 8))
		die("%s: not a perf.data file", argv[1]);
	if (header->attr_size < ATTR_AUX_ACTION + 4 + sizeof(struct file_section))
		die("%s: attributes of an old perf", argv[1]);

	read_attrs(header);
	read_records(&header->data, false);
	qsort(in.gates, in.nr_gates, sizeof(*in.gates), compare_gates);
	read_records(&header->data, true);

	print_windows();
	for (size_t i = 0; i < in.nr_windows; i++)
		check_window(&in.windows[i]);
	printf("%zu windows with %llu bytes, %zu resumes, %zu pauses: %s\n",
	       in.nr_windows, (u64)(in.packets * sizeof(struct test_perf_aux_packet)),
	       count_gates(false), count_gates(true),
	       in.faults ? "the windows do not fit the gates" :
	       "nothing was traced outside the gates");

	return in.faults ? 1 : 0;
}
