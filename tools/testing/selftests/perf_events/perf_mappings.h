/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of how buffers come and go: an event whose records are easy to make, its
 * buffer, and a thread that maps and unmaps the buffer all the time.
 */
#ifndef _PERF_MAPPINGS_H
#define _PERF_MAPPINGS_H

#include <pthread.h>
#include <unistd.h>

#include "perf_common.h"

#define PAGE		((size_t)sysconf(_SC_PAGESIZE))
#define BUFFER_SIZE	(PAGE * 9)
#define RW		(PROT_READ | PROT_WRITE)

/* An event of this task on @cpu. It writes a record for each change of this task's name. */
int open_names(int cpu);
void *map_buffer(int fd);
/* Map and unmap; 0 or the error. */
int try_map_buffer(int fd);
/* Does the event of open_names() write to the buffer that is mapped here? */
bool is_written(const struct perf_event_mmap_page *page);

struct race {
	int fd;
	void *(*map)(int fd);
	size_t size;
	pthread_t thread;
	__u64 end;
	bool stop;
	unsigned long rounds;
};

/* Begin to race the thread for ->fd; 0 or the error. */
int race_begin(struct race *race);
/* For a while, or until both sides have done a minimum of rounds, whichever is longer. */
bool race_goes_on(const struct race *race, unsigned long own_rounds);
void race_end(struct race *race);

#endif /* _PERF_MAPPINGS_H */
