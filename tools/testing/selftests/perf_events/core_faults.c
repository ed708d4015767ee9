// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that the perf core once had, where AUX area tracing, its gates and buffers
 * pass: mappings that come and go, members of groups that are off or gone, probes of
 * tasks that fork, events that exec removes, signals that are on their way when their
 * event is closed, side-band of several events.
 *
 * Expected: each test passes, no event is left, the kernel is not tainted. Leaders that
 * have left their context are tested by aux_action_errors, groups that are taken apart
 * while gates act by aux_teardown.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/bpf.h>

#include "../kselftest_harness.h"
#include "aux_common.h"

PROGRAM_NEEDS(lacks_test_pmus())

#define PAGE		4096UL
#define RW		(PROT_READ | PROT_WRITE)
#define SIZE		(PAGE * 9)
#define AUX_SIZE	(PAGE * 8)
#define RACE_NS		2000000000ULL
#define RACE_ROUNDS	100
#define LONGEST_WAIT	10000000000ULL

FIXTURE(core)
{
	char tainted[32];
	int nmi_users;
};

FIXTURE_SETUP(core)
{
	ASSERT_EQ(read_file("/proc/sys/kernel/tainted", self->tainted,
			    sizeof(self->tainted)), 0);
	ASSERT_EQ(aux_stats_reset(), 0);
	self->nmi_users = module_users("test_perf_nmi");
}

FIXTURE_TEARDOWN(core)
{
	char tainted[32] = "";

	EXPECT_EQ(module_wait_unused("test_perf_aux"), 0);
	EXPECT_EQ(module_users("test_perf_nmi"), self->nmi_users);
	EXPECT_EQ(read_file("/proc/sys/kernel/tainted", tainted, sizeof(tainted)), 0);
	EXPECT_STREQ(self->tainted, tainted);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

/* --- Mappings --- */

/* Its records: one for each name that this thread takes. */
static int open_names(void)
{
	struct perf_event_attr attr;

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.comm = 1;
	attr.disabled = 0;

	return perf_open(&attr, 0, -1, -1);
}

static struct perf_event_mmap_page *map(int fd)
{
	return mmap(NULL, SIZE, RW, MAP_SHARED, fd, 0);
}

/* Is this mapping that of the event's buffer? */
static bool is_written(const struct perf_event_mmap_page *page)
{
	__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	prctl(PR_SET_NAME, "name");

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) > head;
}

static void expect_no_map(struct __test_metadata *_metadata, int fd)
{
	errno = 0;
	EXPECT_EQ(map(fd), MAP_FAILED);
	EXPECT_EQ(errno, EBUSY);
}

/* The control page is that of the one event whose buffer it is. */
TEST_F(core, redirected_event_is_not_mapped)
{
	int fd = open_names(), other = open_names(), third;
	struct perf_event_mmap_page *page = map(fd);
	struct perf_event_attr attr;

	ASSERT_NE(page, MAP_FAILED);
	ASSERT_EQ(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd), 0);
	expect_no_map(_metadata, other);
	EXPECT_TRUE(is_written(page));

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	attr.config = PERF_COUNT_SW_DUMMY;
	third = syscall(__NR_perf_event_open, &attr, 0, -1, fd, PERF_FLAG_FD_OUTPUT);
	ASSERT_GE(third, 0);
	expect_no_map(_metadata, third);

	/* With a buffer of its own again */
	ASSERT_EQ(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, -1UL), 0);
	munmap(page, SIZE);
	page = map(other);
	ASSERT_NE(page, MAP_FAILED);
	EXPECT_TRUE(is_written(page));
	munmap(page, SIZE);
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

/* The time before is written to the page when the event begins to count again. */
static void enable_twice(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

TEST_F(core, control_page_of_one_event)
{
	int fd = open_task_clock(), other = open_task_clock();
	struct perf_event_mmap_page *page = map(fd);

	ASSERT_NE(page, MAP_FAILED);
	ASSERT_EQ(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd), 0);

	enable_twice(other);
	EXPECT_EQ(page->time_enabled, 0);
	EXPECT_EQ(page->offset, 0);
	enable_twice(fd);
	EXPECT_GT(page->time_enabled, 0);

	munmap(page, SIZE);
	close(other);
	close(fd);
}

struct aux_pair {
	int fd, other;		/* the latter's output goes to the former */
	pid_t pid;		/* the latter's task */
	struct perf_event_mmap_page *page;
};

static void *map_aux(int fd)
{
	return mmap(NULL, AUX_SIZE, RW, MAP_SHARED, fd, SIZE);
}

static int open_aux_pair(struct aux_pair *pair)
{
	struct perf_event_attr attr;

	pair->pid = fork();
	if (!pair->pid) {
		pause();
		_exit(0);
	}
	attr_init(&attr, pmu_type("test_aux"));
	pair->fd = perf_open(&attr, 0, nth_cpu(0), -1);
	pair->other = perf_open(&attr, pair->pid, nth_cpu(0), -1);
	pair->page = map(pair->fd);
	if (pair->page == MAP_FAILED)
		return -1;

	pair->page->aux_offset = SIZE;
	pair->page->aux_size = AUX_SIZE;

	return ioctl(pair->other, PERF_EVENT_IOC_SET_OUTPUT, pair->fd);
}

static void close_aux_pair(struct aux_pair *pair)
{
	munmap(pair->page, SIZE);
	close(pair->fd);
	close(pair->other);
	kill(pair->pid, SIGKILL);
	waitpid(pair->pid, NULL, 0);
}

/* Its AUX area can be mapped: that is no way to the control page. */
TEST_F(core, redirected_aux_event_is_not_mapped)
{
	struct perf_event_mmap_page *page;
	struct aux_pair pair;
	void *area;

	ASSERT_EQ(open_aux_pair(&pair), 0);
	expect_no_map(_metadata, pair.other);
	area = map_aux(pair.other);
	ASSERT_NE(area, MAP_FAILED);
	expect_no_map(_metadata, pair.other);

	/* The end of its last mapping ends the redirection: the buffer is its own. */
	munmap(area, AUX_SIZE);
	page = map(pair.other);
	ASSERT_NE(page, MAP_FAILED);
	EXPECT_EQ(page->aux_size, 0);
	EXPECT_EQ(pair.page->aux_size, AUX_SIZE);
	munmap(page, SIZE);
	close_aux_pair(&pair);
}

/* A buffer stays as long as it is mapped, whichever mapping that is, no longer. */
TEST_F(core, buffer_of_two_mappings)
{
	int fd = open_names(), i;

	for (i = 0; i < 2; i++) {
		struct perf_event_mmap_page *page[2] = { map(fd), map(fd) };

		ASSERT_NE(page[0], MAP_FAILED);
		ASSERT_NE(page[1], MAP_FAILED);
		munmap(page[i], SIZE);
		EXPECT_TRUE(is_written(page[!i]));
		munmap(page[!i], SIZE);
	}
	/* Another size: a new buffer */
	EXPECT_NE(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0), MAP_FAILED);
	close(fd);
}

struct race {
	int fd;
	bool stop;
	unsigned long rounds;
	void *(*map)(int fd);
	size_t size;
};

static void *map_data(int fd)
{
	return map(fd);
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

static int race_begin(struct race *race, pthread_t *thread)
{
	race->stop = false;
	race->rounds = 0;

	return pthread_create(thread, NULL, map_and_unmap, race);
}

/* For a while, and for as long as a busy machine takes to have had enough of it. */
static bool race_goes_on(const struct race *race, unsigned long rounds, __u64 end)
{
	return clock_ns() < end || rounds < RACE_ROUNDS ||
	       __atomic_load_n(&race->rounds, __ATOMIC_RELAXED) < RACE_ROUNDS;
}

static void race_end(struct race *race, pthread_t thread)
{
	__atomic_store_n(&race->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/*
 * What is the last mapping to one thread is the first to another: that one has the
 * event's buffer all the same.
 */
TEST_F(core, mmap_against_last_munmap)
{
	struct race race = { .fd = open_names(), .map = map_data, .size = SIZE };
	unsigned long rounds = 0, alone = 0, shared = 0, lost = 0;
	__u64 end = clock_ns() + RACE_NS;
	pthread_t thread;

	ASSERT_EQ(race_begin(&race, &thread), 0);
	while (race_goes_on(&race, rounds, end)) {
		struct perf_event_mmap_page *page = map(race.fd);

		ASSERT_NE(page, MAP_FAILED);
		lost += !is_written(page);
		/* Who maps it first finds it empty. */
		if (page->data_head <= 64)
			alone++;
		else
			shared++;
		/* Room for the next rounds */
		page->data_tail = page->data_head;
		munmap(page, SIZE);
		rounds++;
	}
	race_end(&race, thread);
	close(race.fd);

	EXPECT_EQ(lost, 0);
	EXPECT_GE(alone, 10);
}

/* The AUX area belongs to the buffer, and has one lock whichever event it is mapped by. */
TEST_F(core, aux_area_mapped_by_two_events)
{
	struct race race = { .map = map_aux, .size = AUX_SIZE };
	__u64 end = clock_ns() + RACE_NS;
	unsigned long rounds = 0;
	struct aux_pair pair;
	pthread_t thread;

	ASSERT_EQ(open_aux_pair(&pair), 0);
	race.fd = pair.other;
	ASSERT_EQ(race_begin(&race, &thread), 0);
	while (race_goes_on(&race, rounds, end)) {
		volatile char *area = map_aux(pair.fd);

		ASSERT_NE(area, MAP_FAILED);
		area[0];
		area[AUX_SIZE - 1];
		munmap((void *)area, AUX_SIZE);
		rounds++;
	}
	race_end(&race, thread);
	close_aux_pair(&pair);
}

/* --- Members of groups that are off, or gone --- */

static void expect_idle(struct __test_metadata *_metadata, const struct aux_group *group)
{
	struct aux_actions act = { .requested = 1 };

	ASSERT_EQ(aux_actions_read(group, &act), 0);
	EXPECT_EQ(act.requested, 0);
	EXPECT_EQ(aux_stat("total.starts"), 0);
	EXPECT_EQ(aux_stat("total.pauses"), 0);
	EXPECT_EQ(aux_stat("total.resumes"), 0);
}

static int set_period(int fd, __u64 period)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

/* Gates whose leader is off don't act, and nobody starts or stops the leader. */
TEST_F(core, gates_of_a_leader_that_is_off)
{
	struct aux_spec spec = { .pid = 0, .cpu = -1, .overwrite = true };
	struct aux_group group;

	attr_nmi(&spec.resume, 0, TAG_RESUME);
	attr_nmi(&spec.pause, 0, TAG_PAUSE);
	ASSERT_EQ(aux_group_open(&group, &spec), 0);

	ASSERT_EQ(nmi_fire(10, 0), 0);
	ASSERT_EQ(set_period(group.aux, 2), 0);
	ASSERT_EQ(set_period(group.pause, 2), 0);
	ASSERT_EQ(ioctl(group.pause, PERF_EVENT_IOC_ENABLE, 0), 0);
	ASSERT_EQ(nmi_fire(10, 0), 0);
	EXPECT_EQ(perf_count(group.pause), 0);
	expect_idle(_metadata, &group);
	aux_group_close(&group);
}

static bool throttled_ten_times(const struct aux_group *group)
{
	static long long since;

	if (nmi_stat("total.throttled") < since + 10)
		return false;
	since += 10;

	return true;
}

static bool pause_counts(const struct aux_group *group)
{
	return perf_count(group->pause) > 0;
}

static bool waits_for(bool (*condition)(const struct aux_group *group),
		      const struct aux_group *group)
{
	__u64 end = clock_ns() + LONGEST_WAIT;

	while (!condition(group)) {
		if (clock_ns() > end)
			return false;
	}

	return true;
}

/*
 * A gate that is off beside one that is throttled, time and again: what stops and
 * starts the one leaves the other alone.
 */
TEST_F(core, gate_that_is_off)
{
	struct aux_spec spec = { .pid = -1, .cpu = nth_cpu(0), .overwrite = true };
	struct aux_group group;
	int rate;

	ASSERT_EQ(pin_to_cpu(spec.cpu), 0);
	rate = set_max_sample_rate(1000);
	ASSERT_GE(rate, 0);
	attr_nmi(&spec.resume, 20000, 0);
	attr_nmi(&spec.pause, 20000, 0);
	spec.pause.disabled = 1;
	ASSERT_EQ(aux_group_open(&group, &spec), 0);
	ASSERT_EQ(aux_group_enable(&group), 0);
	EXPECT_TRUE(waits_for(throttled_ten_times, &group));
	ASSERT_EQ(set_period(group.pause, 1), 0);
	EXPECT_TRUE(waits_for(throttled_ten_times, &group));
	EXPECT_GT(perf_count(group.resume), 0);
	EXPECT_EQ(perf_count(group.pause), 0);

	ASSERT_EQ(ioctl(group.pause, PERF_EVENT_IOC_ENABLE, 0), 0);
	EXPECT_TRUE(waits_for(pause_counts, &group));
	aux_group_close(&group);
	set_max_sample_rate(rate);
}

/* A sibling that left the group with its CPU is no part of it when the leader is gone. */
TEST_F(core, sibling_outlives_its_leader)
{
	struct perf_event_attr attr;
	int cpu = nth_cpu(1), leader, sibling, i;
	__u64 buf[8];

	if (cpu < 0)
		SKIP(return, "one CPU only");

	attr_nmi(&attr, 0, TAG_SAMPLE);
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	leader = perf_open(&attr, -1, cpu, -1);
	sibling = perf_open(&attr, -1, cpu, leader);
	ASSERT_GE(sibling, 0);
	if (cpu_set_online(cpu, false))
		SKIP(return, "CPU %d can't be taken offline", cpu);
	ASSERT_EQ(cpu_set_online(cpu, true), 0);

	close(leader);
	/* Have the memory of the leader used for something else. */
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

/* Once told to, go on as another program, that doesn't sleep but for a word at first. */
static void exec_and_spin(int go, int out)
{
	char byte;

	dup2(out, STDOUT_FILENO);
	if (read(go, &byte, 1) == 1)
		execl("/bin/sh", "sh", "-c", "echo; while :; do :; done", NULL);
	_exit(1);
}

/* Its context has no event any more, so it isn't active, though the task runs. */
TEST_F(core, period_of_an_event_removed_by_exec)
{
	struct perf_event_attr attr;
	int go[2], out[2], fd, i;
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe2(go, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		exec_and_spin(go[0], out[1]);
	close(out[1]);
	attr_page_fault(&attr, true);
	attr.remove_on_exec = 1;
	fd = perf_open(&attr, pid, -1, -1);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(write(go[1], "", 1), 1);
	EXPECT_EQ(read(out[0], &byte, 1), 1);
	for (i = 1; i <= 1000; i++)
		EXPECT_EQ(set_period(fd, i), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	close(go[0]);
	close(go[1]);
	close(out[0]);
}

/* --- Probes --- */

/* Without privilege and without what was said to the one who opened the event, @path */
static void fork_with_probe(char *path, int ready, int go)
{
	char byte;
	pid_t pid;

	munmap(path, PAGE);
	if (setuid(65534) || write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
		_exit(1);
	marker_resume();
	pid = fork();
	if (!pid) {
		marker_resume();
		_exit(0);
	}
	_exit(pid < 0 || waitpid(pid, NULL, 0) != pid ? errno : 0);
}

/* A task that is watched by a probe forks, and so is what it forks. */
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
	strcpy(path, where);
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
	inherit_probe(_metadata, "uprobe", exe, file_offset(marker_resume));
}

/* As often as there is an exit: of the task, and of its child. */
TEST_F(core, inherited_kprobe)
{
	inherit_probe(_metadata, "kprobe", "__x64_sys_exit_group", 0);
}

/* --- Signals --- */

static volatile sig_atomic_t traps;

static void take_trap(int sig, siginfo_t *info, void *context)
{
	traps++;
}

static void trapped_task(int report)
{
	while (traps < 5)
		usleep(100);
	if (write(report, "", 1) != 1)
		_exit(1);
	while (1)
		usleep(100);
}

/*
 * An overflow in the middle of a switch of tasks, behind which the event is scheduled
 * out: its signal is sent when the task runs again. Close the event in between, or kill
 * the task. Nobody waits for ever, and the event goes away.
 */
static void trap_and_end(struct __test_metadata *_metadata, bool kill_first)
{
	struct sigaction action = { .sa_sigaction = take_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr;
	struct pollfd pfd = { .events = POLLIN };
	int report[2], fd, aux;
	pid_t pid;

	ASSERT_EQ(pipe(report), 0);
	/* The first one can come before the task has run at all. */
	sigaction(SIGTRAP, &action, NULL);
	pid = fork();
	if (!pid)
		trapped_task(report[1]);
	ASSERT_GT(pid, 0);

	attr_init(&attr, pmu_type("test_aux"));
	attr.disabled = 0;
	aux = perf_open(&attr, pid, -1, -1);
	ASSERT_GE(aux, 0);
	attr_nmi(&attr, 0, TAG_SAMPLE);
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	fd = perf_open(&attr, pid, -1, -1);
	ASSERT_GE(fd, 0);

	pfd.fd = report[0];
	EXPECT_EQ(poll(&pfd, 1, 10000), 1);
	if (kill_first)
		kill(pid, SIGKILL);
	close(fd);
	close(aux);
	kill(pid, SIGKILL);
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
	close(report[0]);
	close(report[1]);
}

TEST_F(core, event_with_a_signal_on_its_way)
{
	int i;

	ASSERT_EQ(nmi_at("stop-entry:3"), 0);
	for (i = 0; i < 20; i++)
		trap_and_end(_metadata, i & 1);
	ASSERT_EQ(nmi_at(""), 0);
}

/* --- Side-band that several events want --- */

#define NR_WATCHERS	3

struct watcher {
	int		fd;
	struct perf_event_mmap_page *page;
};

static int watch(struct watcher *watchers, void (*init)(struct perf_event_attr *attr, int n))
{
	struct perf_event_attr attr;

	for (int n = 0; n < NR_WATCHERS; n++) {
		attr_init(&attr, PERF_TYPE_SOFTWARE);
		attr.config = PERF_COUNT_SW_DUMMY;
		attr.disabled = 0;
		attr.sample_id_all = 1;
		attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		init(&attr, n);
		watchers[n].fd = perf_open(&attr, 0, -1, -1);
		if (watchers[n].fd < 0)
			return -1;
		watchers[n].page = map(watchers[n].fd);
		if (watchers[n].page == MAP_FAILED)
			return -1;
	}
	return 0;
}

static void unwatch(struct watcher *watchers)
{
	for (int n = 0; n < NR_WATCHERS; n++) {
		munmap(watchers[n].page, SIZE);
		close(watchers[n].fd);
	}
}

/* The last record of that type, which the buffer has not wrapped before */
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

/* A base that is wrong: each event's record is longer than that of the one before. */
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
