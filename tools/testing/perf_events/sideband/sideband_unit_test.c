// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of its store of side-band records, without the rest of perf: built in
 * seconds, and with sanitizers. Instead of perf's machine, sideband_playback.c says what
 * samples resolve to. TAP on standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <perf/event.h>

#include "sideband-resolve.h"
#include "sideband-store.h"
#include "sideband_playback.h"
#include "tests.h"
#include "../tap.h"

#define TIDS	10000
#define PAGES	(5 * SIDEBAND_MAX_MAPS)
#define NAMES	100

int tap_count, tap_failed;
long fail_allocation = -1;

static struct playback *playback;
/* It knows numbers only */
static char names[NAMES][32];

static int number_of(const char *name)
{
	int i;

	for (i = 0; i < NAMES && names[i][0]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	if (i == NAMES || strlen(name) >= sizeof(names[0]))
		abort();
	strcpy(names[i], name);
	return i;
}

static const char *name_of(int number)
{
	return number == NOBODY ? "" : names[number];
}

void sideband_resolve__init(void)
{
	memset(names, 0, sizeof(names));
	playback = playback__new(TIDS, PAGES);
}

void sideband_resolve__exit(void)
{
	playback__delete(playback);
}

void sideband_resolve__event(const union perf_event *event, u64 time)
{
	union perf_event numbered;

	switch (event->header.type) {
	case PERF_RECORD_COMM:
		numbered.comm = event->comm;
		snprintf(numbered.comm.comm, sizeof(numbered.comm.comm), "%d",
			 number_of(event->comm.comm));
		playback__event(playback, &numbered);
		break;
	case PERF_RECORD_MMAP2:
		memcpy(&numbered, event, offsetof(struct perf_record_mmap2, filename));
		numbered.mmap2.pgoff = number_of(event->mmap2.filename);
		playback__event(playback, &numbered);
		break;
	case PERF_RECORD_FORK:
		playback__event(playback, event);
		break;
	default:
		break;
	}
}

const char *sideband_resolve__comm(u32 pid, u32 tid)
{
	return name_of(playback__comm(playback, tid));
}

bool sideband_resolve__has_execed(u32 pid)
{
	return playback__has_execed(playback, pid);
}

const char *sideband_resolve__file(u32 pid, u32 tid, u64 addr)
{
	return name_of(playback__map(playback, tid, addr / WORLD_PAGE));
}

int main(void)
{
	struct test_suite *suite = &suite__sideband_store;
	const struct test_case *test;

	for (test = suite->test_cases; test->name; test++)
		tap_result(test->run_case(suite, tap_count) == TEST_OK, "%s", test->desc);
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
