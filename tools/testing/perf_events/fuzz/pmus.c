// SPDX-License-Identifier: GPL-2.0
/* The PMUs of this machine, as sysfs describes them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attr.h"
#include "pmus.h"

#define PMU_DIR		"/sys/bus/event_source/devices"
#define TRACE_DIR	"/sys/kernel/tracing"

struct pmu pmus[MAX_PMUS];
unsigned int nr_pmus;

volatile uint64_t watched[2];

/*
 * Without optimization it begins with a push, which uprobes emulate: QEMU can't
 * single-step an instruction that another breakpoint watches.
 */
__attribute__((optimize("O0"))) void watched_function(void)
{
	watched[0]++;
}

#define MAX_TRACEPOINTS	8

static const char * const tracepoint_names[MAX_TRACEPOINTS] = {
	"syscalls/sys_enter_getppid", "syscalls/sys_exit_getppid", "raw_syscalls/sys_enter",
	"raw_syscalls/sys_exit", "sched/sched_switch", "sched/sched_process_fork",
	"sched/sched_process_exit", "exceptions/page_fault_user",
};

static uint64_t tracepoints[MAX_TRACEPOINTS];
static unsigned int nr_tracepoints;

static bool read_line(char *line, size_t size, const char *dir, const char *name,
		      const char *file)
{
	char path[1024];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, size, f);
	fclose(f);

	return ok;
}

/* Parse "config1:0-7,32" into the field and a mask. */
static void read_field(struct pmu *pmu, const char *line)
{
	struct field field = {};
	unsigned int first, last;
	const char *range;

	if (pmu->nr_fields == MAX_FIELDS || strncmp(line, "config", 6))
		return;
	if (line[6] == '1' || line[6] == '2')
		field.word = line[6] - '0';
	range = strchr(line, ':');
	while (range) {
		range++;
		if (sscanf(range, "%u-%u", &first, &last) != 2)
			last = first;
		field.mask |= (~0ull << first) & (~0ull >> (63 - last));
		range = strchr(range, ',');
	}
	pmu->field[pmu->nr_fields++] = field;
}

/* Sort by name: a seed then gives the same run on machines with the same PMUs. */
static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_fields(struct pmu *pmu)
{
	char path[256], line[128];
	struct dirent **names;
	int i, nr;

	snprintf(path, sizeof(path), PMU_DIR "/%s/format", pmu->name);
	nr = scandir(path, &names, is_visible, alphasort);
	for (i = 0; i < nr; i++) {
		if (read_line(line, sizeof(line), path, ".", names[i]->d_name))
			read_field(pmu, line);
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
}

static void classify(struct pmu *pmu)
{
	const char *name = pmu->name;

	pmu->has_aux = !strncmp(name, "test_aux", 8) || !strcmp(name, "intel_pt") ||
		       !strcmp(name, "intel_bts");
	pmu->counts_only = !strcmp(name, "msr");
	pmu->for_root = !strcmp(name, "msr") || !strcmp(name, "uprobe") ||
			!strcmp(name, "test_nmi");
}

unsigned int pmus_init(void)
{
	struct dirent **names;
	char line[128];
	unsigned int i;
	int j, nr;

	nr = scandir(PMU_DIR, &names, is_visible, alphasort);
	for (j = 0; j < nr; j++) {
		struct pmu *pmu = &pmus[nr_pmus];

		/* Opening one of these patches the kernel's text */
		if (nr_pmus < MAX_PMUS && strcmp(names[j]->d_name, "kprobe") &&
		    strlen(names[j]->d_name) < sizeof(pmu->name) &&
		    read_line(line, sizeof(line), PMU_DIR, names[j]->d_name, "type")) {
			memcpy(pmu->name, names[j]->d_name, strlen(names[j]->d_name) + 1);
			pmu->type = atoi(line);
			classify(pmu);
			read_fields(pmu);
			nr_pmus++;
		}
		free(names[j]);
	}
	if (nr >= 0)
		free(names);

	if (access(TRACE_DIR "/events", F_OK))
		mount("tracefs", TRACE_DIR, "tracefs", 0, NULL);
	for (i = 0; i < MAX_TRACEPOINTS; i++) {
		if (read_line(line, sizeof(line), TRACE_DIR "/events", tracepoint_names[i], "id"))
			tracepoints[nr_tracepoints++] = atoi(line);
	}

	return nr_pmus;
}

int pmus_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_pmus; i++) {
		if (!strcmp(pmus[i].name, name))
			return i;
	}

	return -1;
}

static void breakpoint_config(struct random *random, uint64_t config[3])
{
	static const unsigned int lengths[] = { 1, 2, 4, 8 };

	config[0] = 0;
	config[1] = (uintptr_t)&watched[random_below(random, 2)];
	config[2] = lengths[random_below(random, 4)];
	if (one_in(random, 4)) {
		config[1] = (uintptr_t)watched_function;
		config[2] = sizeof(long);
	}
}

/* The offset of watched_function() in its file, which begins at __executable_start. */
static void uprobe_config(struct random *random, uint64_t config[3])
{
	config[0] = random_below(random, 2);
	config[1] = (uintptr_t)"/proc/self/exe";
	config[2] = (uintptr_t)watched_function - (uintptr_t)__executable_start;
}

/* With an NMI every 2 microseconds, an emulated CPU has no time for anything else. */
static uint64_t test_nmi_config(struct random *random)
{
	static const uint64_t intervals[] = { 0, 0, 500000, 1000000, 10000000, 1 };

	return intervals[random_below(random, 6)] | random_below(random, 2) << 32;
}

/* 0: the PMU chooses; it refuses 1. */
static uint64_t test_aux_config(struct random *random)
{
	static const uint64_t periods[] = { 0, 0, 0, 1, 100000, 5000000 };

	return periods[random_below(random, 6)];
}

void pmus_config(struct random *random, unsigned int pmu, uint64_t config[3])
{
	const struct pmu *p = &pmus[pmu];
	unsigned int i;

	memset(config, 0, 3 * sizeof(config[0]));
	switch (p->type) {
	case PERF_TYPE_SOFTWARE:
		config[0] = random_below(random, PERF_COUNT_SW_MAX + 1);
		return;
	case PERF_TYPE_TRACEPOINT:
		if (nr_tracepoints)
			config[0] = tracepoints[random_below(random, nr_tracepoints)];
		return;
	case PERF_TYPE_BREAKPOINT:
		breakpoint_config(random, config);
		return;
	}
	if (!strcmp(p->name, "test_nmi")) {
		config[0] = test_nmi_config(random);
		return;
	}
	if (!strncmp(p->name, "test_aux", 8)) {
		config[0] = test_aux_config(random);
		return;
	}
	if (!strcmp(p->name, "uprobe")) {
		uprobe_config(random, config);
		return;
	}
	for (i = 0; i < p->nr_fields; i++) {
		uint64_t mask = p->field[i].mask;

		if (one_in(random, 3))
			config[p->field[i].word] |= (mask & -mask) * random_below(random, 4) & mask;
		else if (one_in(random, 20))
			config[p->field[i].word] |= random_word(random) & mask;
	}
}

static void hold(unsigned int type, uint64_t config)
{
	struct attr attr = { .type = type, .config = config, .size = sizeof(attr),
			     .flags = ATTR_DISABLED };

	/* For as long as this process lives */
	syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void pmus_hold(void)
{
	unsigned int i;

	for (i = 0; i < PERF_COUNT_SW_MAX; i++)
		hold(PERF_TYPE_SOFTWARE, i);
	for (i = 0; i < nr_tracepoints; i++)
		hold(PERF_TYPE_TRACEPOINT, tracepoints[i]);
}
