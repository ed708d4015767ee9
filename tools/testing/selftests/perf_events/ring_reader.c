// SPDX-License-Identifier: GPL-2.0
/*
 * A complete reader of perf's ring buffer, to be copied. It follows a thread until its end:
 * prints the hits of an event, page faults by default, and saves the AUX area if told to.
 *
 * Documentation/trace/perf-ring-buffer.rst describes the buffer; C and D are points of the
 * order described there. The program needs the C library and linux/perf_event.h, nothing
 * else. ring_records tests it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/perf_event.h>

struct reader {
	int fd;
	struct perf_event_mmap_page *page;
	const char *data;
	__u64 size;		/* of the data area: a power of two */
	const char *aux;
	__u64 aux_size;		/* 0: no AUX area */
	FILE *aux_file;
	bool aux_stopped;	/* the kernel has found the AUX area full */
};

/* The record of a hit. Its fields are in the order of the bits of attr.sample_type. */
struct sample {
	struct perf_event_header header;
	__u64 ip;
	__u32 pid, tid;
	__u64 time, addr;
};

/* Other records begin like this ... */
struct record {
	struct perf_event_header header;
	union {
		struct { __u32 pid, tid; char name[]; } comm;
		struct { __u64 id, count; } lost;
		struct { __u64 count; } lost_samples;
		struct { __u64 offset, size, flags; } aux;
	};
};

/* ... and end like this, with attr.sample_id_all. */
struct sample_id {
	__u32 pid, tid;
	__u64 time;
};

/* --- The control page --- */

/* What the kernel stored before this head is there after the load. */
static __u64 load_head(const __u64 *head)
{
	return __atomic_load_n(head, __ATOMIC_ACQUIRE); /* C, matches B */
}

/* The kernel may write to what is below the tail: everything there was read before. */
static void store_tail(__u64 *tail, __u64 position)
{
	__atomic_store_n(tail, position, __ATOMIC_RELEASE); /* D, matches A */
}

/* --- Records --- */

static void print_record(const struct perf_event_header *header)
{
	const struct sample_id *id = (const void *)((const char *)header + header->size);
	const struct sample *sample = (const void *)header;
	const struct record *record = (const void *)header;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		printf("%llu sample %u %#llx %#llx\n", sample->time, sample->tid, sample->ip,
		       sample->addr);
		return;
	case PERF_RECORD_COMM:
		printf("%llu name %u %s\n", id[-1].time, record->comm.tid, record->comm.name);
		return;
	case PERF_RECORD_LOST: /* no room in the buffer */
		printf("%llu lost %llu\n", id[-1].time, record->lost.count);
		return;
	case PERF_RECORD_LOST_SAMPLES: /* by the hardware */
		printf("%llu lost-samples %llu\n", id[-1].time, record->lost_samples.count);
		return;
	case PERF_RECORD_AUX:
		printf("%llu aux %llu %llu %#llx\n", id[-1].time, record->aux.offset,
		       record->aux.size, record->aux.flags);
		return;
	default: /* New kernels have new types; the size tells where the next record is. */
		printf("%llu type %u\n", id[-1].time, header->type);
	}
}

static bool says_aux_full(const struct perf_event_header *header)
{
	const struct record *record = (const void *)header;

	return header->type == PERF_RECORD_AUX && record->aux.flags & PERF_AUX_FLAG_TRUNCATED;
}

/*
 * The record at @position in one piece: in place or, if it goes on at the beginning of the
 * buffer, as a copy. A header is never cut: positions and sizes are multiples of eight.
 */
static const struct perf_event_header *record_at(const struct reader *reader, __u64 position)
{
	static __u64 copy[(UINT16_MAX + 1) / sizeof(__u64)];
	__u64 offset = position & (reader->size - 1);
	__u64 first = reader->size - offset;
	const struct perf_event_header *header = (const void *)(reader->data + offset);

	if (header->size <= first)
		return header;

	memcpy(copy, header, first);
	memcpy((char *)copy + first, reader->data, header->size - first);

	return (const void *)copy;
}

static void read_records(struct reader *reader)
{
	__u64 tail = reader->page->data_tail; /* only this program stores it */
	__u64 head = load_head(&reader->page->data_head);

	while (tail != head) {
		const struct perf_event_header *header = record_at(reader, tail);
		__u16 size = header->size;

		if (size < sizeof(*header) || size > head - tail)
			errx(1, "what begins at %llu is no record", tail);
		print_record(header);
		reader->aux_stopped |= says_aux_full(header);
		tail += size;
		store_tail(&reader->page->data_tail, tail);
	}
}

/* --- The AUX area: bytes that only the decoder of the PMU understands --- */

static void read_aux(struct reader *reader)
{
	__u64 tail = reader->page->aux_tail;
	__u64 head = load_head(&reader->page->aux_head);

	while (tail != head) {
		__u64 offset = tail & (reader->aux_size - 1);
		__u64 piece = reader->aux_size - offset;

		if (piece > head - tail)
			piece = head - tail;
		if (fwrite(reader->aux + offset, 1, piece, reader->aux_file) != piece)
			err(1, "file of the AUX area");
		tail += piece;
		store_tail(&reader->page->aux_tail, tail);
	}
}

static bool aux_is_full(const struct reader *reader)
{
	return load_head(&reader->page->aux_head) - reader->page->aux_tail == reader->aux_size;
}

/*
 * The kernel disables the event of a full area, but may wake us before that. After our own
 * PERF_EVENT_IOC_DISABLE it has done so, and has handed over the last of the data.
 */
static void restart_aux(struct reader *reader)
{
	ioctl(reader->fd, PERF_EVENT_IOC_DISABLE, 0);
	read_aux(reader);
	ioctl(reader->fd, PERF_EVENT_IOC_ENABLE, 0);
	reader->aux_stopped = false;
}

/* --- The loop --- */

/* A wake-up is reported once, so everything is read. POLLHUP: the task has exited. */
static void read_until_exit(struct reader *reader)
{
	struct pollfd pollfd = { .fd = reader->fd, .events = POLLIN };

	do {
		if (poll(&pollfd, 1, -1) < 0)
			err(1, "poll");
		read_records(reader);
		if (!reader->aux_size)
			continue;
		if (reader->aux_stopped || aux_is_full(reader))
			restart_aux(reader);
		else
			read_aux(reader);
	} while (!(pollfd.revents & POLLHUP));
}

/* Losses after the last record are found in the counter only. */
static void print_end(const struct reader *reader)
{
	struct { __u64 hits, lost; } values;

	if (read(reader->fd, &values, sizeof(values)) != sizeof(values))
		err(1, "cannot read the counter");
	printf("end: %llu hits, %llu records lost\n", values.hits, values.lost);
	if (fflush(stdout) || (reader->aux_file && fclose(reader->aux_file)))
		err(1, "output");
}

/* --- Before the loop --- */

static int open_event(struct perf_event_attr *attr, pid_t thread)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			    PERF_SAMPLE_ADDR;
	attr->sample_id_all = 1;
	attr->comm = 1;
	attr->read_format = PERF_FORMAT_LOST;
	attr->exclude_kernel = 1;
	attr->disabled = 1; /* until there is a buffer */

	fd = syscall(__NR_perf_event_open, attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		err(1, "perf_event_open");

	return fd;
}

/* Writable, so that the kernel overwrites nothing that hasn't been read. */
static void map_buffer(struct reader *reader, size_t pages, size_t aux_pages)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	const int prot = PROT_READ | PROT_WRITE;
	struct perf_event_mmap_page *page;

	page = mmap(NULL, (1 + pages) * page_size, prot, MAP_SHARED, reader->fd, 0);
	if (page == MAP_FAILED)
		err(1, "mmap of %zu pages; it takes a power of two", pages);
	reader->page = page;
	reader->data = (const char *)page + page->data_offset;
	reader->size = page->data_size;
	if (!aux_pages)
		return;

	page->aux_offset = page->data_offset + page->data_size;
	page->aux_size = aux_pages * page_size;
	reader->aux = mmap(NULL, page->aux_size, prot, MAP_SHARED, reader->fd,
			   page->aux_offset);
	if (reader->aux == MAP_FAILED)
		err(1, "mmap of an AUX area of %zu pages for this event", aux_pages);
	reader->aux_size = page->aux_size;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
	};
	size_t pages = 64, aux_pages = 0;
	struct reader reader = {};
	bool valid = true;
	int option;

	while ((option = getopt(argc, argv, "e:m:a:o:")) != -1) {
		if (option == 'e')
			valid &= sscanf(optarg, "%u:%lli:%lli", &attr.type, &attr.config,
					&attr.sample_period) == 3;
		else if (option == 'm')
			valid &= sscanf(optarg, "%zu", &pages) == 1;
		else if (option == 'a')
			valid &= sscanf(optarg, "%zu", &aux_pages) == 1;
		else
			valid &= option == 'o' && (reader.aux_file = fopen(optarg, "w"));
	}
	if (!valid || optind != argc - 1 || (aux_pages && !reader.aux_file))
		errx(2, "usage: ring_reader [-e TYPE:CONFIG:PERIOD] [-m PAGES] [-a PAGES -o FILE] TID");

	reader.fd = open_event(&attr, atoi(argv[optind]));
	map_buffer(&reader, pages, aux_pages);
	ioctl(reader.fd, PERF_EVENT_IOC_ENABLE, 0);
	puts("begin");
	fflush(stdout);
	read_until_exit(&reader);
	print_end(&reader);

	return 0;
}
