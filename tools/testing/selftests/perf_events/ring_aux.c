// SPDX-License-Identifier: GPL-2.0
/*
 * The reader that the documentation shows, with an AUX area.
 *
 * The test PMU numbers its packets, so nothing can be missing unnoticed. Its area is small
 * here, and the reader is held up, so that the area is full and the kernel stops the event:
 * the reader has to start it again.
 *
 * Expected: the file has the packets 0, 1, 2, ... intact; the AUX records describe all of
 * the file, piece by piece; and the trace goes on after the area was full.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "perf_common.h"
#include "ring_run.h"
#include "../../../../lib/test_perf_aux_uapi.h"

static const char *lacks_test_aux(void)
{
	if (lacks_root())
		return lacks_root();
	if (load_module("test_perf_aux") || pmu_type("test_aux") < 0)
		return "needs the module test_perf_aux";

	return NULL;
}

PROGRAM_NEEDS(lacks_test_aux())

#define PERIOD		20000		/* ns between packets */
#define AUX_PAGES	"4"		/* 512 packets: full after 10 ms */
#define HOLD_UP_NS	30000000
#define RUN_NS		500000000

FIXTURE(ring_aux)
{
	struct ring_run run;
	struct ring_line line;
	char event[64];
	char path[32];
	FILE *file;
};

FIXTURE_SETUP(ring_aux)
{
	int fd;

	snprintf(self->event, sizeof(self->event), "%d:%d:1", pmu_type("test_aux"), PERIOD);
	strcpy(self->path, "/tmp/ring_aux.XXXXXX");
	fd = mkstemp(self->path);
	ASSERT_GE(fd, 0);
	self->file = fdopen(fd, "r");
}

FIXTURE_TEARDOWN(ring_aux)
{
	ring_end(&self->run);
	fclose(self->file);
	unlink(self->path);
}

static void work(void *arg)
{
	spin_ns(HOLD_UP_NS);
	raise(SIGSTOP);
	spin_ns(RUN_NS);
}

struct tally {
	uint64_t end;		/* of the last AUX record's piece */
	unsigned int records;
	unsigned int full;	/* records with PERF_AUX_FLAG_TRUNCATED */
};

/* @rest: "OFFSET SIZE FLAGS". False if the pieces aren't adjacent. */
static bool count_aux(struct tally *tally, const char *rest)
{
	uint64_t offset, size, flags;

	if (sscanf(rest, "%" SCNu64 " %" SCNu64 " %" SCNx64, &offset, &size, &flags) != 3)
		return false;
	if (offset != tally->end)
		return false;
	tally->end += size;
	tally->records++;
	tally->full += flags & PERF_AUX_FLAG_TRUNCATED;

	return true;
}

static bool count_lines(struct ring_run *run, struct tally *tally, struct ring_line *line)
{
	memset(tally, 0, sizeof(*tally));
	while (ring_next_line(run, line)) {
		if (!strcmp(line->what, "aux") && !count_aux(tally, line->rest))
			return false;
	}

	return !strncmp(line->text, "end:", 4);
}

/* Number of packets, or -1 if one isn't intact or isn't the next one. */
static int64_t count_packets(FILE *file)
{
	struct test_perf_aux_packet packet;
	int64_t nr = 0;

	while (fread(&packet, sizeof(packet), 1, file) == 1) {
		if (packet.magic != TEST_PERF_AUX_MAGIC || packet.seq != nr ||
		    packet.check != test_perf_aux_check(&packet))
			return -1;
		nr++;
	}

	return nr;
}

TEST_F(ring_aux, trace)
{
	const char *const options[] = { "-e", self->event, "-m", "8", "-a", AUX_PAGES,
				  "-o", self->path, NULL };
	struct tally tally;
	int64_t packets;

	ASSERT_EQ(ring_fork_producer(&self->run, work, NULL), 0);
	ASSERT_EQ(ring_start_reader(&self->run, options), 0);

	ASSERT_EQ(kill(self->run.reader, SIGSTOP), 0);
	ASSERT_EQ(kill(self->run.producer, SIGCONT), 0);
	ASSERT_EQ(ring_wait_stopped(&self->run), 0);
	ASSERT_EQ(kill(self->run.reader, SIGCONT), 0);
	ASSERT_EQ(kill(self->run.producer, SIGCONT), 0);

	ASSERT_TRUE(count_lines(&self->run, &tally, &self->line))
		TH_LOG("%s", self->line.text);
	ASSERT_EQ(ring_end(&self->run), 0);
	memset(&self->run, 0, sizeof(self->run));

	packets = count_packets(self->file);
	EXPECT_EQ(packets * sizeof(struct test_perf_aux_packet), tally.end);
	EXPECT_GT(tally.full, 0);
	/* Several laps of the area, after the first that was full */
	EXPECT_GT(packets, 4 * 512);
	TH_LOG("%" PRId64 " packets in %u records, full %u times", packets, tally.records,
	       tally.full);
}

TEST_HARNESS_MAIN
