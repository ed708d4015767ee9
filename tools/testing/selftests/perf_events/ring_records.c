// SPDX-License-Identifier: GPL-2.0
/*
 * The reader that the documentation shows loses nothing without saying so.
 *
 * A process changes its name again and again. The names are numbered and of different
 * lengths, so the records wrap around the buffer at all places where one can be cut.
 *
 * Expected: what ring_reader prints, and what it says is lost, is what was produced, in
 * order and intact. Each LOST record is where the missing names were, and counts them. A reader
 * that handles the wrap wrongly, or that gives up room before it has read it, fails.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "../kselftest_harness.h"
#include "perf_common.h"
#include "ring_run.h"

/* So many names don't fit into the largest buffer here. */
#define NR_BURST	4000
#define NR_NAMES	100000
#define NR_NAMES_MAX	999999		/* six digits */
#define NR_FAULTS	20000

/* 11 to 15 characters: the records differ in size */
static void make_name(char *name, unsigned int number)
{
	sprintf(name, "%06u-%.*s", number, 1 + number % 8, "abcdefgh");
}

static void produce_name(unsigned int number)
{
	char name[16];

	make_name(name, number);
	prctl(PR_SET_NAME, name);
}

/* What test and producer share */
struct progress {
	unsigned int produced;
	bool enough;		/* the reader has seen as many as the test needs */
};

static bool produce_more(const struct progress *progress, unsigned int number)
{
	return number < NR_NAMES ||
	       (number < NR_NAMES_MAX && !__atomic_load_n(&progress->enough, __ATOMIC_RELAXED));
}

/* A burst for a reader that doesn't read, then the rest */
static void produce_names(void *arg)
{
	struct progress *progress = arg;
	unsigned int number;

	for (number = 0; produce_more(progress, number); number++) {
		if (number == NR_BURST)
			raise(SIGSTOP);
		produce_name(number);
	}
	progress->produced = number;
}

/* What the reader has printed so far */
struct tally {
	unsigned int names;		/* seen */
	unsigned int next;		/* number of the next one, if none is lost */
	unsigned long long time;	/* of the last record */
	unsigned long long samples;
	unsigned long long others;
	unsigned long long lost;	/* by LOST records */
	unsigned long long hits;	/* at the end */
	unsigned long long all_lost;
};

/* @rest: "TID NAME" with the next number. */
static bool is_next_name(struct tally *tally, const char *rest)
{
	const char *name = strchr(rest, ' ');
	char expected[20];

	expected[0] = ' ';
	make_name(expected + 1, tally->next++);
	strcat(expected, "\n");

	return name && !strcmp(name, expected);
}

/* Returns false if the line is not what must come next. */
static bool count_line(struct tally *tally, const struct ring_line *line)
{
	unsigned long long lost;

	/* One thread's records are in the order of their times. */
	if (line->time < tally->time)
		return false;
	tally->time = line->time;

	if (!strcmp(line->what, "name")) {
		tally->names++;
		return is_next_name(tally, line->rest);
	}
	if (!strcmp(line->what, "lost")) {
		lost = strtoull(line->rest, NULL, 10);
		tally->lost += lost;
		tally->next += lost;
		return lost;
	}
	if (!strcmp(line->what, "sample"))
		tally->samples++;
	else
		tally->others++;

	return true;
}

/* Returns false with the line that is wrong in @line. */
static bool count_lines(struct ring_run *run, struct tally *tally, struct ring_line *line,
			struct progress *progress, unsigned int enough)
{
	memset(tally, 0, sizeof(*tally));
	while (ring_next_line(run, line)) {
		if (!count_line(tally, line))
			return false;
		if (tally->names > enough)
			__atomic_store_n(&progress->enough, true, __ATOMIC_RELAXED);
	}

	return sscanf(line->text, "end: %llu hits, %llu records lost", &tally->hits,
		      &tally->all_lost) == 2;
}

FIXTURE(ring)
{
	struct ring_run run;
	struct ring_line line;
	struct tally tally;
	struct progress *progress;
};

FIXTURE_VARIANT(ring)
{
	const char *pages;
	unsigned int enough;	/* names for a test: two laps at least */
};

FIXTURE_VARIANT_ADD(ring, one_page)
{
	.pages = "1",
	.enough = 1000,
};

FIXTURE_VARIANT_ADD(ring, two_pages)
{
	.pages = "2",
	.enough = 1000,
};

FIXTURE_VARIANT_ADD(ring, many_pages)
{
	.pages = "32",
	.enough = 6000,
};

FIXTURE_SETUP(ring)
{
	self->progress = mmap(NULL, sizeof(*self->progress), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(self->progress, MAP_FAILED);
}

FIXTURE_TEARDOWN(ring)
{
	ring_end(&self->run);
	munmap(self->progress, sizeof(*self->progress));
}

TEST_F(ring, names)
{
	/* The dummy event; its period is never over. */
	const char *const options[] = { "-e", "1:9:0", "-m", variant->pages, NULL };
	struct tally *tally = &self->tally;

	ASSERT_EQ(ring_fork_producer(&self->run, produce_names, self->progress), 0);
	ASSERT_EQ(ring_start_reader(&self->run, options), 0);

	ASSERT_EQ(kill(self->run.reader, SIGSTOP), 0);
	ASSERT_EQ(kill(self->run.producer, SIGCONT), 0);
	ASSERT_EQ(ring_wait_stopped(&self->run), 0);
	ASSERT_EQ(kill(self->run.reader, SIGCONT), 0);
	ASSERT_EQ(kill(self->run.producer, SIGCONT), 0);

	ASSERT_TRUE(count_lines(&self->run, tally, &self->line, self->progress,
				variant->enough))
		TH_LOG("after %u names: %s", tally->next, self->line.text);
	ASSERT_EQ(ring_end(&self->run), 0);
	memset(&self->run, 0, sizeof(self->run));

	/* The last record is that of the exit. If it is lost, so is the count before it. */
	EXPECT_LE(tally->others, 1);
	EXPECT_EQ(tally->names + tally->others + tally->all_lost,
		  self->progress->produced + 1);
	if (tally->others)
		EXPECT_EQ(tally->lost, tally->all_lost);
	/* Was it a test at all? */
	EXPECT_GT(tally->lost, 0);
	EXPECT_GT(tally->names, variant->enough);
	TH_LOG("%u names, %llu lost", tally->names, tally->all_lost);
}

static void produce_faults(void *arg)
{
	const size_t size = NR_FAULTS * sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (p == MAP_FAILED)
		_exit(1);
	madvise(p, size, MADV_NOHUGEPAGE);
	for (i = 0; i < size; i += sysconf(_SC_PAGESIZE)) {
		p[i] = 1;
		madvise(p + i, sysconf(_SC_PAGESIZE), MADV_DONTNEED);
	}
}

/* Samples: each hit of the counter has one, or is counted as lost. */
TEST_F(ring, samples)
{
	const char *const options[] = { "-m", variant->pages, NULL };
	struct tally *tally = &self->tally;
	int rate = set_max_sample_rate(RATE_UNLIMITED);

	if (rate < 0)
		SKIP(return, "needs root, to have no event throttled");

	ASSERT_EQ(ring_fork_producer(&self->run, produce_faults, NULL), 0);
	ASSERT_EQ(ring_start_reader(&self->run, options), 0);
	ASSERT_EQ(kill(self->run.producer, SIGCONT), 0);
	EXPECT_TRUE(count_lines(&self->run, tally, &self->line, self->progress, 0))
		TH_LOG("%s", self->line.text);
	EXPECT_EQ(ring_end(&self->run), 0);
	memset(&self->run, 0, sizeof(self->run));
	set_max_sample_rate(rate);

	EXPECT_GE(tally->hits, NR_FAULTS);
	EXPECT_EQ(tally->samples + tally->others + tally->all_lost, tally->hits + 1);
	EXPECT_GT(tally->samples, 0);
	TH_LOG("%llu samples, %llu lost", tally->samples, tally->all_lost);
}

TEST_HARNESS_MAIN
