// SPDX-License-Identifier: GPL-2.0
/*
 * The AUX area in overwrite mode, as documented: with a read-only mapping new data
 * overwrites old, aux_tail is ignored, aux_head is an offset inside the area,
 * there are no wake-ups, and each AUX record has the flag.
 *
 * Expected: each test passes. A second fixture runs the same workload on a
 * normal mapping, to show that the checks can tell the two modes apart.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_trace.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define AUX_PAGES	4	/* 512 packets */
#define PERIOD		50000	/* a wrap takes 26 ms */
#define WRAPS		20
#define WRAP_NS		((AUX_PAGES * 4096 / 32) * PERIOD)

FIXTURE(aux_overwrite)
{
	struct rate_limit limit;
	struct aux_spec spec;
	struct aux_group group;
	struct perf_records records;
	struct aux_trace trace;
};

FIXTURE_VARIANT(aux_overwrite)
{
	const char *pmu;
};

FIXTURE_VARIANT_ADD(aux_overwrite, sg)
{
	.pmu = "test_aux",
};

FIXTURE_VARIANT_ADD(aux_overwrite, contig)
{
	.pmu = "test_aux_contig",
};

static void init_spec(struct aux_spec *spec, const char *pmu, bool overwrite)
{
	memset(spec, 0, sizeof(*spec));
	spec->pmu = pmu;
	/* A CPU event: only the tests stop it. */
	spec->pid = -1;
	spec->cpu = nth_cpu(0);
	spec->overwrite = overwrite;
	spec->aux_pages = AUX_PAGES;
	spec->period = PERIOD;
	attr_nmi(&spec->resume, 0, TAG_RESUME);
	attr_nmi(&spec->pause, 0, TAG_PAUSE);
}

FIXTURE_SETUP(aux_overwrite)
{
	memset(self, 0, sizeof(*self));
	init_spec(&self->spec, variant->pmu, true);
	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(&self->group), 0);
}

FIXTURE_TEARDOWN(aux_overwrite)
{
	EXPECT_EQ(nmi_at(""), 0);
	set_rate_limit(&self->limit);
	perf_records_free(&self->records);
	aux_trace_free(&self->trace);
	aux_group_close(&self->group);
}

static void read_overwritten(struct __test_metadata *_metadata,
			     struct aux_trace *trace, struct aux_group *group)
{
	aux_trace_free(trace);
	ASSERT_EQ(aux_trace_read_overwrite(trace, group), 0)
		TH_LOG("%s", trace->error);
}

static bool woken_up(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLIN;
}

/* The area holds the newest packets, without a gap, up to aux_head. */
TEST_F(aux_overwrite, newest_data_up_to_head)
{
	spin_ns(WRAPS * WRAP_NS);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	read_overwritten(_metadata, &self->trace, &self->group);

	EXPECT_EQ(self->trace.packets, AUX_PAGES * 4096 / 32);
	EXPECT_GE(self->trace.next_seq, (WRAPS - 1) * AUX_PAGES * 4096 / 32);
	EXPECT_LT(self->group.page->aux_head, self->group.area_size);
	EXPECT_EQ(self->group.page->aux_head,
		  self->trace.next_seq * 32 % self->group.area_size);
}

/* After disable and enable, the stream goes on where it stopped. */
TEST_F(aux_overwrite, goes_on_after_disable)
{
	__u64 seq;
	int i;

	for (i = 0; i < 20; i++) {
		seq = self->trace.next_seq;
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(WRAP_NS / 3);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		read_overwritten(_metadata, &self->trace, &self->group);
		EXPECT_GT(self->trace.next_seq, seq + 2);
	}
}

/*
 * Where a packet takes longer than a period, the trace gets gaps, and the CPU isn't lost to
 * the tick. An area that is overwritten never fills, which would end it, too.
 */
TEST_F(aux_overwrite, engine_falls_behind)
{
	aux_group_close(&self->group);
	self->spec.period = TEST_PERF_AUX_PERIOD_MIN;
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_stats_reset(), 0);
	/* Of no event */
	ASSERT_EQ(nmi_at("engine-write:100"), 0);
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	/* The test fails by its time limit. */
	while (aux_stat("total.behind") < 2)
		;
	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(aux_group_disable(&self->group), 0);
}

/* Whatever user space writes to aux_tail: nothing stops, and nothing is kept. */
TEST_F(aux_overwrite, tail_is_ignored)
{
	static const __u64 tails[] = {
		0, 32, AUX_PAGES * 4096, 1ULL << 40, -1ULL,
	};
	__u64 seq;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tails); i++) {
		seq = self->trace.next_seq;
		self->group.page->aux_tail = tails[i];
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(3 * WRAP_NS);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		read_overwritten(_metadata, &self->trace, &self->group);
		EXPECT_GE(self->trace.next_seq, seq + 2 * AUX_PAGES * 4096 / 32);
		EXPECT_EQ(self->group.page->aux_tail, tails[i]);
	}
}

TEST_F(aux_overwrite, no_wakeups)
{
	int i;

	for (i = 0; i < WRAPS; i++) {
		spin_ns(WRAP_NS);
		ASSERT_FALSE(woken_up(self->group.aux));
	}
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	EXPECT_FALSE(woken_up(self->group.aux));
}

/* Every AUX record has the flag, and lies in the area. */
TEST_F(aux_overwrite, flag_on_records)
{
	const struct perf_record *rec;
	size_t i;
	int n;

	for (n = 0; n < 5; n++) {
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		spin_ns(2 * WRAP_NS);
		ASSERT_EQ(aux_group_disable(&self->group), 0);
	}
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	EXPECT_GE(perf_records_count(&self->records, PERF_RECORD_AUX, 0), 5);

	for (i = 0; i < self->records.nr; i++) {
		rec = &self->records.rec[i];
		if (rec->type != PERF_RECORD_AUX)
			continue;
		EXPECT_EQ(rec->flags, PERF_AUX_FLAG_OVERWRITE);
		EXPECT_LT(rec->offset, self->group.area_size);
		EXPECT_LE(rec->size, self->group.area_size);
	}
}

static void ten_windows(struct __test_metadata *_metadata,
			struct aux_group *group)
{
	int i;

	ASSERT_EQ(aux_group_enable(group), 0);
	ASSERT_EQ(nmi_fire(1, TAG_PAUSE), 0);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(nmi_fire(1, TAG_RESUME), 0);
		spin_ns(20 * PERIOD);
		ASSERT_EQ(nmi_fire(1, TAG_PAUSE), 0);
		spin_ns(20 * PERIOD);
	}
	ASSERT_EQ(aux_group_disable(group), 0);
}

static size_t gated_windows(const struct aux_trace *trace)
{
	size_t i, n = 0;

	for (i = 0; i < trace->nr; i++)
		n += trace->win[i].opened_by == TEST_PERF_AUX_BY_RESUME &&
		     trace->win[i].closed_by == TEST_PERF_AUX_BY_PAUSE;

	return n;
}

/*
 * Gates work as in normal mode. The area holds 26 ms of windows: if the machine
 * stalls that long in one window, the others are overwritten.
 */
TEST_F(aux_overwrite, gates)
{
	size_t windows = 0;
	int i;

	for (i = 0; i < 50 && windows < 5; i++) {
		ten_windows(_metadata, &self->group);
		read_overwritten(_metadata, &self->trace, &self->group);
		windows = gated_windows(&self->trace);
	}
	ASSERT_GE(windows, 5)
		TH_LOG("%zu windows in the area", windows);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_PAUSE);
}

/* --- The same on a normal mapping --- */

FIXTURE(aux_normal)
{
	struct rate_limit limit;
	struct aux_spec spec;
	struct aux_group group;
	struct perf_records records;
	struct aux_trace trace;
};

FIXTURE_SETUP(aux_normal)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	init_spec(&self->spec, "test_aux", false);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(&self->group), 0);
}

FIXTURE_TEARDOWN(aux_normal)
{
	set_rate_limit(&self->limit);
	perf_records_free(&self->records);
	aux_trace_free(&self->trace);
	aux_group_close(&self->group);
}

/* Room for one packet may be left: START and STOP need two. */
static int wait_until_full(const struct aux_group *group)
{
	__u64 end = clock_ns() + 10000000000ULL;
	__u64 full = group->page->aux_tail + group->area_size - 32;

	while (__atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE) < full) {
		if (clock_ns() > end)
			return -1;
	}

	return 0;
}

/* Stops when it is full, says so, and wakes the reader. */
TEST_F(aux_normal, stops_when_full)
{
	ASSERT_EQ(wait_until_full(&self->group), 0)
		TH_LOG("not full within ten seconds");
	spin_ns(WRAPS * WRAP_NS);
	EXPECT_TRUE(woken_up(self->group.aux));
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	EXPECT_GT(perf_records_flagged(&self->records, 0, PERF_AUX_FLAG_TRUNCATED), 0);
	EXPECT_LE(self->group.page->aux_head, self->group.area_size);

	ASSERT_EQ(aux_trace_read(&self->trace, &self->group), 0)
		TH_LOG("%s", self->trace.error);
	EXPECT_EQ(self->trace.packets, self->group.page->aux_head / 32);
	EXPECT_EQ(self->trace.win[self->trace.nr - 1].closed_by,
		  TEST_PERF_AUX_BY_FULL);
}

/*
 * An event that finds the area full is disabled at once. Later, with room, it would be
 * disabled by the first wakeup, in the middle of the area.
 */
TEST_F(aux_normal, enabled_when_full)
{
	struct perf_event_mmap_page *page = self->group.page;

	ASSERT_EQ(aux_group_disable(&self->group), 0);
	page->aux_tail = page->aux_head + 1 - self->group.area_size;
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	ASSERT_EQ(aux_group_disable(&self->group), 0);

	page->aux_tail = page->aux_head;
	ASSERT_EQ(aux_group_enable(&self->group), 0);
	EXPECT_EQ(wait_until_full(&self->group), 0)
		TH_LOG("not full within ten seconds");
}

static int open_new_dir(const char *path)
{
	return mkdir(path, 0755) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool join_cgroup(int cgroup, pid_t pid)
{
	int fd = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && dprintf(fd, "%d", pid) > 0;

	if (fd >= 0)
		close(fd);

	return ok;
}

/* When told to. The exit status is 0 if an event of the cgroup counts from its beginning. */
static void count_in_cgroup(int cgroup, int go)
{
	struct perf_event_attr attr;
	int clock;
	char byte;

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	if (read(go, &byte, 1) != 1)
		_exit(2);
	clock = perf_open_cgroup(&attr, cgroup, nth_cpu(0));
	if (clock < 0 || perf_enable(clock))
		_exit(3);
	spin_ns(100000);
	_exit(!perf_count(clock));
}

/* The event finds the area full. The exit status is 0 if that could be tried. */
static void fill_in_cgroup(int cgroup, struct aux_spec spec)
{
	struct aux_group group;

	spec.cgroup_fd = &cgroup;
	spec.resume.size = 0;
	spec.pause.size = 0;
	if (!join_cgroup(cgroup, getpid()) || aux_group_open(&group, &spec))
		_exit(1);
	group.page->aux_tail = 1 - group.area_size;
	_exit(!!aux_group_enable(&group));
}

static int exit_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * An event that is disabled because it finds the area full is no longer one of its CPU's events
 * of cgroups: else the next one of them doesn't know which cgroup runs. 6.12 looks at each
 * switch of tasks, also while there is no such event, so there it would only be slower.
 */
TEST_F(aux_normal, cgroup_when_full)
{
	char root[] = "/tmp/cgroups.XXXXXX", first_path[32], second_path[32];
	int first, second, go[2];
	pid_t counts, fills;

	aux_group_close(&self->group);
	ASSERT_NE(mkdtemp(root), NULL);
	if (mount("none", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		SKIP(return, "no cgroup2");
	}
	snprintf(first_path, sizeof(first_path), "%s/first", root);
	snprintf(second_path, sizeof(second_path), "%s/second", root);
	first = open_new_dir(first_path);
	second = open_new_dir(second_path);
	EXPECT_EQ(pipe2(go, O_CLOEXEC), 0);

	counts = fork();
	if (!counts)
		count_in_cgroup(second, go[0]);
	EXPECT_TRUE(join_cgroup(second, counts));
	fills = fork();
	if (!fills)
		fill_in_cgroup(first, self->spec);
	EXPECT_EQ(exit_status(fills), 0);
	EXPECT_EQ(write(go[1], "", 1), 1);
	EXPECT_EQ(exit_status(counts), 0);

	close(go[0]);
	close(go[1]);
	close(first);
	close(second);
	EXPECT_EQ(rmdir(first_path), 0);
	EXPECT_EQ(rmdir(second_path), 0);
	EXPECT_EQ(umount(root), 0);
	rmdir(root);
}

/*
 * A window of three packets and many of two fill the area to the last packet, as one
 * packet of it is never used. The next resume finds no room, unless a tick disables the
 * event first, or the machine stalls in a window.
 */
TEST_F(aux_normal, full_of_windows)
{
	int windows = self->group.area_size / 64, i, n;

	aux_group_close(&self->group);
	self->spec.period = 100 * PERIOD;
	self->spec.start_paused = true;
	ASSERT_EQ(aux_group_open(&self->group, &self->spec), 0);

	for (n = 0; n < 10; n++) {
		ASSERT_EQ(aux_group_enable(&self->group), 0);
		for (i = 0; i < windows; i++) {
			ASSERT_EQ(nmi_fire(1, TAG_RESUME), 0);
			if (!i)
				spin_ns(150 * PERIOD);
			ASSERT_EQ(nmi_fire(1, TAG_PAUSE), 0);
		}
		ASSERT_EQ(aux_group_disable(&self->group), 0);
		ASSERT_EQ(aux_trace_read(&self->trace, &self->group), 0)
			TH_LOG("%s", self->trace.error);
		EXPECT_GE(self->group.page->aux_head, (n + 1) * (self->group.area_size - 64));
	}
	EXPECT_GE(gated_windows(&self->trace), 9U * windows);
}

/* With room again, aux_head counts on: it isn't an offset, and nothing is missing. */
TEST_F(aux_normal, goes_on_when_read)
{
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(wait_until_full(&self->group), 0)
			TH_LOG("%d: not full within ten seconds", i);
		ASSERT_EQ(aux_trace_read(&self->trace, &self->group), 0)
			TH_LOG("%s", self->trace.error);
		ASSERT_EQ(aux_group_enable(&self->group), 0);
	}
	ASSERT_EQ(aux_group_disable(&self->group), 0);
	ASSERT_EQ(aux_trace_read(&self->trace, &self->group), 0)
		TH_LOG("%s", self->trace.error);

	EXPECT_GE(self->trace.packets, 10 * (AUX_PAGES * 4096 / 32 - 1));
	EXPECT_EQ(self->group.page->aux_head, self->trace.packets * 32);
	ASSERT_EQ(perf_records_read(&self->records, &self->group), 0);
	for (i = 0; i < (int)self->records.nr; i++)
		EXPECT_FALSE(self->records.rec[i].type == PERF_RECORD_AUX &&
			     self->records.rec[i].flags & PERF_AUX_FLAG_OVERWRITE);
}

TEST_HARNESS_MAIN
