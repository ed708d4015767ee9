// SPDX-License-Identifier: GPL-2.0
/* Probe whether one event's build-ids show up in other events; see build-id-probe.h */
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <perf/event.h>
#include <internal/lib.h>
#include "build-id-probe.h"
#include "perf-sys.h"

/* An event and its buffer of one page */
struct probe {
	int				fd;
	struct perf_event_mmap_page	*buffer;
};

static bool probe__open(struct probe *probe, bool build_id)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_DUMMY,
		.exclude_kernel	= 1,
		.exclude_hv	= 1,
		.mmap		= 1,
		.mmap2		= 1,
		.build_id	= build_id,
	};

	probe->buffer = MAP_FAILED;
	probe->fd = sys_perf_event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (probe->fd >= 0)
		probe->buffer = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				     probe->fd, 0);
	return probe->buffer != MAP_FAILED;
}

static void probe__close(struct probe *probe)
{
	if (probe->buffer != MAP_FAILED)
		munmap(probe->buffer, 2 * page_size);
	if (probe->fd >= 0)
		close(probe->fd);
}

/* Is there a record that claims to have a build-id? The few records fit into the buffer. */
static bool probe__has_build_id(const struct probe *probe)
{
	u64 pos = 0, head = __atomic_load_n(&probe->buffer->data_head, __ATOMIC_ACQUIRE);
	u64 end = min_t(u64, head, page_size);

	while (pos < end) {
		const struct perf_event_header *header = (void *)probe->buffer + page_size + pos;

		if (header->type == PERF_RECORD_MMAP2 &&
		    header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
			return true;
		pos += header->size;
	}
	return false;
}

/* Map code that has a build-id, to get a record of it */
static void map_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (map != MAP_FAILED)
		munmap(map, page_size);
	if (fd >= 0)
		close(fd);
}

bool perf_can_record_build_id_alone(void)
{
	/*
	 * The kernel spoils the events that it visits after the one that asks. With one
	 * opened before and one after that, the order of its visits doesn't matter.
	 */
	struct probe probes[3];
	bool open = true, alone;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		open &= probe__open(&probes[i], i == 1);
	if (open)
		map_program();
	alone = open && probe__has_build_id(&probes[1]) && !probe__has_build_id(&probes[0]) &&
		!probe__has_build_id(&probes[2]);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probe__close(&probes[i]);
	return alone;
}
