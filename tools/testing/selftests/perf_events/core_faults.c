// SPDX-License-Identifier: GPL-2.0
/*
 * Former faults of the perf core: mappings that come and go, a leader whose CPU was
 * offline, an event that exec removes, probes of tasks that fork, side-band records of
 * several events.
 *
 * Expected: each test passes, and the kernel is not tainted. A kernel with one of the faults
 * fails the test for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/bpf.h>

#include "../kselftest_harness.h"
#include "perf_mappings.h"

PROGRAM_NEEDS(lacks_root())

FIXTURE(core)
{
	long long taint;
};

FIXTURE_SETUP(core)
{
	self->taint = kernel_taint();
	ASSERT_GE(self->taint, 0);
}

FIXTURE_TEARDOWN(core)
{
	EXPECT_EQ(kernel_taint(), self->taint);
}

static void dummy(struct perf_event_attr *attr)
{
	attr_init(attr, PERF_TYPE_SOFTWARE);
	attr->config = PERF_COUNT_SW_DUMMY;
}

/* --- Mappings --- */

/* The control page belongs to the one event that owns the buffer. */
TEST_F(core, redirected_event_is_not_mapped)
{
	int fd = open_names(-1), other = open_names(-1), third;
	struct perf_event_mmap_page *page = map_buffer(fd);
	struct perf_event_attr attr;

	ASSERT_NE(page, MAP_FAILED);
	ASSERT_EQ(perf_set_output(other, fd), 0);
	EXPECT_EQ(try_map_buffer(other), EBUSY);
	EXPECT_TRUE(is_written(page));

	dummy(&attr);
	third = syscall(__NR_perf_event_open, &attr, 0, -1, fd, PERF_FLAG_FD_OUTPUT);
	ASSERT_GE(third, 0);
	EXPECT_EQ(try_map_buffer(third), EBUSY);

	/* With a buffer of its own again. The other one still belongs to its event. */
	ASSERT_EQ(perf_set_output(other, -1), 0);
	EXPECT_EQ(try_map_buffer(fd), 0);
	munmap(page, BUFFER_SIZE);
	page = map_buffer(other);
	ASSERT_NE(page, MAP_FAILED);
	EXPECT_TRUE(is_written(page));
	munmap(page, BUFFER_SIZE);
	close(third);
	close(other);
	close(fd);
}

static int open_task_clock(void)
{
	struct perf_event_attr attr;

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_TASK_CLOCK;

	return perf_open(&attr, 0, -1, -1);
}

/* The page's times are updated when the event begins to count again. */
static void enable_twice(int fd)
{
	perf_enable(fd);
	perf_disable(fd);
	perf_enable(fd);
}

TEST_F(core, control_page_of_one_event)
{
	int fd = open_task_clock(), other = open_task_clock();
	struct perf_event_mmap_page *page = map_buffer(fd);

	ASSERT_NE(page, MAP_FAILED);
	ASSERT_EQ(perf_set_output(other, fd), 0);

	enable_twice(other);
	EXPECT_EQ(page->time_enabled, 0);
	EXPECT_EQ(page->offset, 0);
	enable_twice(fd);
	EXPECT_GT(page->time_enabled, 0);

	munmap(page, BUFFER_SIZE);
	close(other);
	close(fd);
}

/* A buffer stays exactly as long as it has a mapping, whichever one. */
TEST_F(core, buffer_of_two_mappings)
{
	int fd = open_names(-1), i;

	for (i = 0; i < 2; i++) {
		struct perf_event_mmap_page *page[2] = { map_buffer(fd), map_buffer(fd) };

		ASSERT_NE(page[0], MAP_FAILED);
		ASSERT_NE(page[1], MAP_FAILED);
		munmap(page[i], BUFFER_SIZE);
		EXPECT_TRUE(is_written(page[!i]));
		munmap(page[!i], BUFFER_SIZE);
	}
	/* Another size: a new buffer */
	EXPECT_NE(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0), MAP_FAILED);
	close(fd);
}

/*
 * One thread unmaps the last mapping while another maps the event: the latter gets the
 * event's buffer nevertheless.
 */
TEST_F(core, mmap_against_last_munmap)
{
	struct race race = { .fd = open_names(-1), .map = map_buffer, .size = BUFFER_SIZE };
	unsigned long rounds = 0, alone = 0, lost = 0;

	ASSERT_EQ(race_begin(&race), 0);
	while (race_goes_on(&race, rounds)) {
		struct perf_event_mmap_page *page = map_buffer(race.fd);

		ASSERT_NE(page, MAP_FAILED);
		lost += !is_written(page);
		/* The first to map the buffer finds it empty. */
		alone += page->data_head <= 64;
		/* Room for the next rounds */
		page->data_tail = page->data_head;
		munmap(page, BUFFER_SIZE);
		rounds++;
	}
	race_end(&race);
	close(race.fd);

	EXPECT_EQ(lost, 0);
	EXPECT_GE(alone, 10);
}

/*
 * A private buffer has one writer at a time. An inherited event for all CPUs has many, so
 * it can't have a private buffer: neither its own nor that of another event.
 */
TEST_F(core, children_have_no_private_buffer)
{
	struct perf_event_mmap_page *page;
	struct perf_event_attr attr;
	int fd = open_names(-1), inherited;

	page = map_buffer(fd);
	ASSERT_NE(page, MAP_FAILED);
	dummy(&attr);
	attr.inherit = 1;
	inherited = perf_open(&attr, 0, -1, -1);
	ASSERT_GE(inherited, 0);

	EXPECT_EQ(try_map_buffer(inherited), EINVAL);
	EXPECT_EQ(perf_set_output(inherited, fd), -1);
	EXPECT_EQ(errno, EINVAL);
	close(inherited);

	munmap(page, BUFFER_SIZE);
	close(fd);

	/* On one CPU they take turns. */
	fd = open_names(nth_cpu(0));
	page = map_buffer(fd);
	ASSERT_NE(page, MAP_FAILED);
	inherited = perf_open(&attr, 0, nth_cpu(0), -1);
	ASSERT_GE(inherited, 0);
	EXPECT_EQ(perf_set_output(inherited, fd), 0);
	close(inherited);
	munmap(page, BUFFER_SIZE);
	close(fd);
}

/* --- A leader whose CPU was offline --- */

/* A sibling that left the group when its CPU went offline survives the leader's close. */
TEST_F(core, sibling_outlives_its_leader)
{
	struct perf_event_attr attr;
	int cpu = nth_cpu(1), leader, sibling, i;
	__u64 buf[8];

	if (cpu < 0)
		SKIP(return, "one CPU only");

	dummy(&attr);
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	leader = perf_open(&attr, -1, cpu, -1);
	sibling = perf_open(&attr, -1, cpu, leader);
	ASSERT_GE(sibling, 0);
	if (cpu_set_online(cpu, false))
		SKIP(return, "CPU %d can't be taken offline", cpu);
	ASSERT_EQ(cpu_set_online(cpu, true), 0);

	close(leader);
	/* Reuse the memory of the leader. */
	for (i = 0; i < 50; i++)
		perf_try_open(&attr, -1);
	EXPECT_EQ(read(sibling, buf, sizeof(buf)), 3 * 8);
	EXPECT_EQ(buf[0], 1);
	EXPECT_EQ(buf[2], perf_id(sibling));
	EXPECT_EQ(ioctl(sibling, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
	EXPECT_EQ(ioctl(sibling, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0);
	errno = 0;
	EXPECT_EQ(perf_open(&attr, -1, cpu, sibling), -1);
	EXPECT_EQ(errno, EINVAL);
	close(sibling);
}

/* --- exec --- */

/* The context has no event any more, so it isn't active although the task runs. */
TEST_F(core, period_of_an_event_removed_by_exec)
{
	struct perf_event_attr attr;
	__u64 end, period = 1;
	struct execer execer;
	int fd;

	ASSERT_EQ(execer_start(&execer), 0);
	attr_page_fault(&attr, true);
	attr.remove_on_exec = 1;
	fd = perf_open(&attr, execer.pid, -1, -1);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(execer_exec(&execer), 0);
	/* The fault needs a moment at which the program runs, on any CPU. */
	for (end = clock_ns() + 500000000; clock_ns() < end; period++)
		EXPECT_EQ(perf_set_period(fd, period), 0);
	execer_end(&execer);
	close(fd);
}

/* --- Probes --- */

/* Forks without privilege, and without @path, the string that the event was opened with. */
static void fork_with_probe(char *path, int ready, int go)
{
	char byte;
	pid_t pid;

	munmap(path, PAGE);
	if (setuid(65534) || write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
		_exit(1);
	probed_first();
	pid = fork();
	if (!pid) {
		probed_first();
		_exit(0);
	}
	_exit(pid < 0 || waitpid(pid, NULL, 0) != pid ? errno : 0);
}

/* A task with a probe forks: the probe counts its child, too. */
static void inherit_probe(struct __test_metadata *_metadata, const char *pmu,
			  const char *where, __u64 offset)
{
	char *path = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int type = pmu_type(pmu), ready[2], go[2], status, fd;
	struct perf_event_attr attr;
	char byte;
	pid_t pid;

	if (type < 0)
		SKIP(return, "no PMU %s", pmu);
	ASSERT_NE(path, MAP_FAILED);
	memcpy(path, where, strlen(where) + 1);
	ASSERT_EQ(pipe(ready) | pipe(go), 0);
	pid = fork();
	if (!pid)
		fork_with_probe(path, ready[1], go[0]);

	attr_probe(&attr, type, path, offset);
	attr.inherit = 1;
	attr.disabled = 0;
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	fd = perf_open(&attr, pid, -1, -1);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(write(go[1], "", 1), 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0)
		TH_LOG("fork: %s", strerror(WEXITSTATUS(status)));
	EXPECT_EQ(perf_count(fd), 2);
	close(fd);
	munmap(path, PAGE);
}

TEST_F(core, inherited_uprobe)
{
	char exe[256] = "";

	ASSERT_GT(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
	inherit_probe(_metadata, "uprobe", exe, file_offset(probed_first));
}

/* Two exits: of the task, and of its child. */
TEST_F(core, inherited_kprobe)
{
	inherit_probe(_metadata, "kprobe", "do_exit", 0);
}

/* --- Side-band records for several events --- */

#define NR_WATCHERS	3

struct watcher {
	int		fd;
	struct perf_event_mmap_page *page;
};

static int watch(struct watcher *watchers, void (*init)(struct perf_event_attr *attr, int n))
{
	struct perf_event_attr attr;

	for (int n = 0; n < NR_WATCHERS; n++) {
		dummy(&attr);
		attr.disabled = 0;
		attr.sample_id_all = 1;
		attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		init(&attr, n);
		watchers[n].fd = perf_open(&attr, 0, -1, -1);
		if (watchers[n].fd < 0)
			return -1;
		watchers[n].page = map_buffer(watchers[n].fd);
		if (watchers[n].page == MAP_FAILED)
			return -1;
	}
	return 0;
}

static void unwatch(struct watcher *watchers)
{
	for (int n = 0; n < NR_WATCHERS; n++) {
		munmap(watchers[n].page, BUFFER_SIZE);
		close(watchers[n].fd);
	}
}

/* The last record of that type. The buffer must not have wrapped. */
static const struct perf_event_header *last_record(const struct watcher *watcher, __u32 type)
{
	const char *data = (const char *)watcher->page + PAGE;
	const struct perf_event_header *header, *found = NULL;
	__u64 head = __atomic_load_n(&watcher->page->data_head, __ATOMIC_ACQUIRE);

	for (__u64 pos = 0; pos < head; pos += header->size) {
		header = (const struct perf_event_header *)(data + pos);
		if (header->type == type)
			found = header;
	}
	return found;
}

static void want_bpf(struct perf_event_attr *attr, int n)
{
	attr->ksymbol = 1;
	attr->bpf_event = 1;
}

static int load_program(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type	= BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt	= 2,
		.insns		= (unsigned long)insns,
		.license	= (unsigned long)"GPL",
	};

	return syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* A faulty kernel makes each event's record longer than the one before. */
TEST_F(core, records_of_bpf_programs)
{
	const struct perf_event_header *record, *first;
	struct watcher watchers[NR_WATCHERS];
	int fd;

	ASSERT_EQ(watch(watchers, want_bpf), 0);
	fd = load_program();
	if (fd < 0)
		SKIP(return, "no BPF programs");
	close(fd);

	first = last_record(&watchers[0], PERF_RECORD_KSYMBOL);
	for (int n = 0; n < NR_WATCHERS; n++) {
		record = last_record(&watchers[n], PERF_RECORD_BPF_EVENT);
		ASSERT_NE(record, NULL);
		/* Type, flags, id, tag, thread, time */
		EXPECT_EQ(record->size, sizeof(*record) + 8 + 8 + 16);
		record = last_record(&watchers[n], PERF_RECORD_KSYMBOL);
		/* There is none without a compiler for BPF. */
		if (first && record)
			EXPECT_EQ(record->size, first->size);
	}
	unwatch(watchers);
}

static void want_maps(struct perf_event_attr *attr, int n)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->build_id = n == 1;
}

TEST_F(core, build_ids_who_asks_for_them)
{
	const struct perf_event_header *record;
	struct watcher watchers[NR_WATCHERS];
	int fd = open("/proc/self/exe", O_RDONLY);
	void *p;

	ASSERT_EQ(watch(watchers, want_maps), 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(p, MAP_FAILED);
	munmap(p, PAGE);
	close(fd);

	for (int n = 0; n < NR_WATCHERS; n++) {
		record = last_record(&watchers[n], PERF_RECORD_MMAP2);
		ASSERT_NE(record, NULL);
		EXPECT_EQ(!!(record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID), n == 1);
	}
	unwatch(watchers);
}

TEST_HARNESS_MAIN
