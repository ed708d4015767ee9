// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of how buffers come and go. See perf_mappings.h.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "perf_mappings.h"

#define RACE_NS		2000000000ULL
#define RACE_ROUNDS	100

int open_names(int cpu)
{
	struct perf_event_attr attr;

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.comm = 1;
	attr.disabled = 0;

	return perf_open(&attr, 0, cpu, -1);
}

void *map_buffer(int fd)
{
	return mmap(NULL, BUFFER_SIZE, RW, MAP_SHARED, fd, 0);
}

int try_map_buffer(int fd)
{
	void *p = map_buffer(fd);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, BUFFER_SIZE);

	return 0;
}

bool is_written(const struct perf_event_mmap_page *page)
{
	__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	prctl(PR_SET_NAME, "name");

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) > head;
}

static void *map_and_unmap(void *arg)
{
	struct race *race = arg;

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		void *p = race->map(race->fd);

		if (p != MAP_FAILED)
			munmap(p, race->size);
		__atomic_add_fetch(&race->rounds, 1, __ATOMIC_RELAXED);
	}

	return NULL;
}

int race_begin(struct race *race)
{
	race->end = clock_ns() + RACE_NS;

	return pthread_create(&race->thread, NULL, map_and_unmap, race);
}

bool race_goes_on(const struct race *race, unsigned long own_rounds)
{
	return clock_ns() < race->end || own_rounds < RACE_ROUNDS ||
	       __atomic_load_n(&race->rounds, __ATOMIC_RELAXED) < RACE_ROUNDS;
}

void race_end(struct race *race)
{
	__atomic_store_n(&race->stop, true, __ATOMIC_RELAXED);
	pthread_join(race->thread, NULL);
}
