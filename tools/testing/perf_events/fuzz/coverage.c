// SPDX-License-Identifier: GPL-2.0
/* KCOV's interface is described in Documentation/dev-tools/kcov.rst. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>
#include <linux/kcov.h>

#include "coverage.h"

#define DEBUGFS		"/sys/kernel/debug"
#define AREA_WORDS	(64u << 10)

static bool open_one(struct coverage *coverage, unsigned int task, int at)
{
	int fd = open(DEBUGFS "/kcov", O_RDWR);
	void *area;

	if (fd < 0 || dup2(fd, at) != at || ioctl(at, KCOV_INIT_TRACE, AREA_WORDS))
		return false;
	close(fd);
	area = mmap(NULL, AREA_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
		    at, 0);
	coverage->fd[task] = at;
	coverage->area[task] = area;

	return area != MAP_FAILED;
}

bool coverage_open(struct coverage *coverage, int at)
{
	unsigned int i;

	if (access(DEBUGFS "/kcov", F_OK))
		mount("debugfs", DEBUGFS, "debugfs", 0, NULL);
	for (i = 0; i < COVERAGE_TASKS; i++) {
		if (!open_one(coverage, i, at + i))
			return false;
	}

	return true;
}

void coverage_reset(struct coverage *coverage)
{
	unsigned int i;

	for (i = 0; i < COVERAGE_TASKS; i++)
		__atomic_store_n(&coverage->area[i][0], 0, __ATOMIC_RELAXED);
}

void coverage_enable(struct coverage *coverage, unsigned int task)
{
	if (task < COVERAGE_TASKS)
		ioctl(coverage->fd[task], KCOV_ENABLE, KCOV_TRACE_PC);
}

unsigned int coverage_collect(struct coverage *coverage, unsigned char *map)
{
	unsigned int i, found = 0;

	for (i = 0; i < COVERAGE_TASKS; i++) {
		const uint64_t *area = coverage->area[i];
		uint64_t nr = __atomic_load_n(&area[0], __ATOMIC_RELAXED), j, last = 0;

		for (j = 1; j <= nr && j < AREA_WORDS; j++) {
			uint64_t edge = (area[j] ^ last << 1) * 0x9e3779b97f4a7c15 >> 46;

			found += !map[edge];
			map[edge] = 1;
			last = area[j];
		}
	}

	return found;
}
