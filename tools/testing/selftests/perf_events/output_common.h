/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of output of several CPUs to one buffer: buffers, their
 * records, and writers whose records are numbered.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _OUTPUT_COMMON_H
#define _OUTPUT_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>

#include "perf_common.h"

/* --- Events --- */

/*
 * All have the sample_type and the clock that struct out_record expects, and begin
 * disabled. Each counts the records that it lost (PERF_FORMAT_LOST).
 */
void attr_output(struct perf_event_attr *attr, int type, __u64 config);
/* Writes a record for each change of a task's name. */
void attr_names(struct perf_event_attr *attr);
/* Writes a record, with the name of the file, for each mapping of data. */
void attr_maps(struct perf_event_attr *attr);
/* Writes numbered samples, from NMIs that are @interval ns apart. */
void attr_numbered_nmi(struct perf_event_attr *attr, unsigned int interval);

/* For PROGRAM_NEEDS() */
const char *lacks_shared_output(void);

/* An event that is opened with its output redirected to @target_fd */
int perf_open_output(struct perf_event_attr *attr, pid_t pid, int cpu, int target_fd);

struct event_count {
	__u64	value;
	__u64	lost;
};

int read_count(int fd, struct event_count *count);

/* --- Buffers --- */

struct output {
	struct perf_event_mmap_page *page;
	unsigned char	*data;
	size_t		size;
	__u64		pos;		/* read up to here */
	__u64		wraps;
	__u64		leases;		/* of CPUs, that were found */
	int		fd;
};

int output_map(struct output *out, int fd, unsigned int pages, int prot);
void output_unmap(struct output *out);

struct out_record {
	__u32	type;
	__u32	size;
	__u32	pid, tid;
	__u64	id;
	__u64	time;
	__u32	cpu;
	__u64	value, value_lost;	/* PERF_RECORD_SAMPLE of an NMI */
	__u64	lost;			/* PERF_RECORD_LOST */
	__u64	offset;			/* PERF_RECORD_MMAP2 */
	const char *text;		/* PERF_RECORD_COMM, PERF_RECORD_MMAP2 */
	__u64	raw[65536 / sizeof(__u64)];
};

/*
 * Take the next record. Before it finds none, it lets the CPUs end their leases. What is
 * left of those is no record here. Return 1, or 0 if there is none, or -1 if the data
 * can't be a record, with the reason in @why.
 */
int output_next(struct output *out, struct out_record *rec, const char **why);
/* Let the CPUs end their leases: all that was written is published. */
void output_flush(struct output *out);
/* Let the kernel reuse the space of the records taken. */
void output_release(struct output *out);
/* The same for a backward buffer, from the newest (@pos = data_head) on. */
int output_next_backward(struct output *out, struct out_record *rec, const char **why);

/* --- Numbered writers --- */

/* Write one record each; the number can be read back from it. */
void write_name(unsigned int number);
int write_map(unsigned int number);
/* The files for write_map(), with names of very different lengths */
int make_map_files(void);
void remove_map_files(void);

/* Return the number, or -1 if the record differs from what was written. */
long long record_number(const struct out_record *rec);

/* Shared memory of the test and its writers, which are a process each */
struct writer_shared {
	int		ready;		/* writers that wait */
	int		finished;	/* writers that have written all */
	int		go, stop, end;	/* flags for them */
	__u64		written[64];	/* per writer, records attempted */
};

struct writer_shared *writers_alloc(void);
void writers_free(struct writer_shared *shared);
/*
 * Starts a process on @cpu (-1: any). It increments ->ready, waits for ->go, writes @nr
 * records (0: until ->stop), increments ->finished, and waits for ->end. Returns its pid.
 */
pid_t start_writer(struct writer_shared *shared, int slot, int cpu, unsigned int nr,
		   bool maps);
/* Wait until @count is @nr; -1 after a minute. */
int wait_count(const int *count, int nr);
int end_writer(pid_t pid);

/* The n-th of the CPUs that this process could use at the first call, or -1 */
int test_cpu(int n);

/* Memory that this process has pinned beyond its free allowance, in kB */
long long pinned_kb(void);
/* Set /proc/sys/kernel/perf_event_mlock_kb. Returns the old value. */
int set_mlock_kb(int kb);

#endif /* _OUTPUT_COMMON_H */
