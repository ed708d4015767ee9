// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of side-band for perf record -M: play a recording into ring and store, and
 * empty the caches between rounds of reading, as the other programs of a system would.
 * "make cost" counts instructions and cache misses with cachegrind.
 *
 *	sideband_cost drop|keep PERF-DATA
 *
 * With "drop", side-band is dropped like samples: the difference to "keep" is the cost of
 * the store.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <perf/event.h>
#include <linux/perf_event.h>
#include "sideband-store.h"
#include "sideband_history.h"
#include "memory-ring.h"

/* As in perf record */
#define PRUNE_AT	4096
#define RING_SIZE	1000000
/* More than the caches hold */
#define OTHERS		(4 << 20)
#define TIMES		8
#define SECOND		1000000000ULL

struct player {
	struct memory_ring *ring;
	struct sideband_store *store;
	u64 sample_type;
	bool keep;
	unsigned int unpruned;
	u64 records;
	u64 shift, last;		/* keep time increasing when it is repeated */
	unsigned char others[OTHERS];
};

static bool wants(const union perf_event *event)
{
	return sideband_store__wants(event);
}

static int evict(void *priv, const union perf_event *event, u64 round)
{
	struct player *p = priv;

	if (!p->keep)
		return 0;
	p->unpruned++;
	return sideband_store__add(p->store, event, sideband_store__time(p->store, event), round);
}

static void advance(void *priv, u64 round)
{
	struct player *p = priv;

	sideband_store__sort(p->store, round);
	if (p->unpruned < PRUNE_AT)
		return;
	p->unpruned = 0;
	sideband_store__prune(p->store, round, memory_ring__round(p->ring));
}

static const struct memory_ring_ops ops = { .wants = wants, .evict = evict, .advance = advance, };

static void run_others(struct player *p)
{
	size_t i;

	for (i = 0; i < OTHERS; i += 64)
		p->others[i]++;
}

/* Later than the last record of the previous round */
static void shift_time(struct player *p, union perf_event *event)
{
	const u64 behind = PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
			   PERF_SAMPLE_IDENTIFIER;
	u64 *time = (u64 *)((void *)event + event->header.size) - 1 -
		    __builtin_popcountll(p->sample_type & behind);

	if (*time) {
		*time += p->shift;
		if (p->last < *time)
			p->last = *time;
	}
}

/* perf's own records, between those of the kernel, end a piece */
static int play(struct player *p, unsigned char *pos, unsigned char *end)
{
	unsigned char *from = pos;

	for (; pos < end; pos += ((union perf_event *)pos)->header.size) {
		union perf_event *event = (void *)pos;

		if (event->header.type < PERF_RECORD_USER_TYPE_START) {
			if (wants(event)) {
				shift_time(p, event);
				p->records++;
			}
			continue;
		}
		if (memory_ring__append(p->ring, from, pos - from))
			return -1;
		from = pos + event->header.size;
		if (event->header.type == PERF_RECORD_FINISHED_ROUND) {
			memory_ring__end_round(p->ring);
			run_others(p);
		}
	}
	return memory_ring__append(p->ring, from, pos - from);
}

/* The header of a file: magic, its size, the size of an attr, positions of attrs and data */
static int play_file(struct player *p, unsigned char *file, size_t size)
{
	unsigned char *copy = malloc(size);
	const u64 *header = (void *)file;
	u64 first = 0;
	int i, err = !copy;

	p->sample_type = ((struct perf_event_attr *)(file + header[3]))->sample_type;
	p->store = sideband_store__new(p->sample_type, NULL, NULL);
	p->ring = memory_ring__new(RING_SIZE, &ops, p);
	for (i = 0; i < TIMES && !err; i++) {
		memcpy(copy, file, size);
		err = play(p, copy + header[5], copy + header[5] + header[6]);
		first = first ?: p->last;
		p->shift += first + SECOND;
	}
	free(copy);
	return err;
}

int main(int argc, char **argv)
{
	struct player *p = calloc(1, sizeof(*p));
	int fd = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	unsigned char *file;
	struct stat st;

	if (!p || fd < 0 || fstat(fd, &st))
		return EXIT_FAILURE;
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	p->keep = !strcmp(argv[1], "keep");
	if (file == MAP_FAILED || play_file(p, file, st.st_size))
		return EXIT_FAILURE;
	printf("%" PRIu64 "\n", p->records);
	memory_ring__delete(p->ring);
	sideband_store__delete(p->store);
	return EXIT_SUCCESS;
}
