/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The AUX area of a traced task, and the statistics of the model of the trace hardware. On
 * an error the program ends with status 125.
 */
#ifndef _AUX_AREA_H
#define _AUX_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <linux/perf_event.h>

struct aux_area {
	int fd;
	struct perf_event_mmap_page *page;
	char *bytes;
	size_t size;
};

/*
 * An event of @pmu, still disabled, for the user code of @pid. @overwrite: the area always has
 * the newest; else the trace stops while it is full.
 */
void aux_area_open(struct aux_area *area, const char *pmu, __u64 config, pid_t pid, size_t size,
		   bool overwrite);
void aux_area_request(const struct aux_area *area, unsigned long request, unsigned long value);

/* What all CPUs of the model have counted */
unsigned long model_stat(const char *name);

/* Moves the calling task. */
void run_on(int cpu);

#endif /* _AUX_AREA_H */
