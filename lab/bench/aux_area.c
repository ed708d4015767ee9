// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aux_area.h"

#define STATS	"/sys/kernel/debug/trace_model/stats"

static unsigned int pmu_type(const char *pmu)
{
	unsigned int type;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%u", &type) != 1)
		err(125, "%s", pmu);
	fclose(file);

	return type;
}

void aux_area_open(struct aux_area *area, const char *pmu, __u64 config, pid_t pid, size_t size,
		   bool overwrite)
{
	struct perf_event_attr attr = {
		.type = pmu_type(pmu), .size = sizeof(attr), .config = config,
		.disabled = 1, .exclude_kernel = 1,
	};
	size_t data = 2 * sysconf(_SC_PAGESIZE);

	area->size = size;
	area->fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	if (area->fd < 0)
		err(125, "perf_event_open");
	area->page = mmap(NULL, data, PROT_READ | PROT_WRITE, MAP_SHARED, area->fd, 0);
	if (area->page == MAP_FAILED)
		err(125, "mmap");
	area->page->aux_offset = data;
	area->page->aux_size = size;
	area->bytes = mmap(NULL, size, PROT_READ | (overwrite ? 0 : PROT_WRITE), MAP_SHARED,
			   area->fd, data);
	if (area->bytes == MAP_FAILED)
		err(125, "AUX area");
}

void aux_area_request(const struct aux_area *area, unsigned long request, unsigned long value)
{
	if (ioctl(area->fd, request, value))
		err(125, "ioctl");
}

unsigned long model_stat(const char *name)
{
	char line[256], format[64];
	unsigned long n = 0;
	FILE *file = fopen(STATS, "r");

	if (!file)
		err(125, STATS);
	snprintf(format, sizeof(format), "total.%s %%lu\n", name);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, format, &n) == 1)
			break;
	fclose(file);

	return n;
}

void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(125, "CPU %d", cpu);
}
