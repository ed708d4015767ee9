// SPDX-License-Identifier: GPL-2.0
/*
 * Output of events of several CPUs and tasks, redirected to one buffer.
 *
 * Expected: output of other CPUs' and tasks' events can be redirected to the buffer of an
 * event with attr.output_shared; the control page, wake-ups, signals and memory accounting
 * are those of the right event. AUX areas aren't shared. Without attr.output_shared
 * nothing changes. On a kernel without the feature perf_event_open() fails with EINVAL,
 * and the whole program is skipped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <linux/hw_breakpoint.h>

#include "../kselftest_harness.h"
#include "output_common.h"

#define RW		(PROT_READ | PROT_WRITE)

PROGRAM_NEEDS(lacks_shared_output())

FIXTURE(redirect)
{
	struct perf_event_attr attr;
	struct output out;
	int fd[2];
	struct out_record rec;
	const char *why;
};

FIXTURE_SETUP(redirect)
{
	attr_names(&self->attr);
	self->attr.output_shared = 1;
	self->fd[0] = -1;
	self->fd[1] = -1;
	if (test_cpu(1) < 0)
		SKIP(return, "needs two CPUs");
}

FIXTURE_TEARDOWN(redirect)
{
	output_unmap(&self->out);
	close(self->fd[0]);
	close(self->fd[1]);
	EXPECT_EQ(0, pinned_kb());
}

static int open_pair(struct _test_data_redirect *self, pid_t pid0, int cpu0, pid_t pid1, int cpu1)
{
	self->fd[0] = perf_open(&self->attr, pid0, cpu0, -1);
	self->fd[1] = perf_open(&self->attr, pid1, cpu1, -1);
	if (self->fd[0] < 0 || self->fd[1] < 0)
		return -1;
	if (output_map(&self->out, self->fd[0], 1, RW))
		return -1;
	if (perf_set_output(self->fd[1], self->fd[0]))
		return -1;
	return perf_enable(self->fd[0]) || perf_enable(self->fd[1]) ? -1 : 0;
}

/* Count the names that event @n recorded. */
static int records_of(struct _test_data_redirect *self, int n)
{
	__u64 id = perf_id(self->fd[n]);
	int ret, found = 0;

	self->out.pos = 0;
	while ((ret = output_next(&self->out, &self->rec, &self->why)) > 0)
		found += self->rec.type == PERF_RECORD_COMM && self->rec.id == id;
	return ret < 0 ? -1 : found;
}

/* Change this task's name on each of two CPUs. */
static void name_on_both(void)
{
	for (int n = 0; n < 2; n++) {
		pin_to_cpu(test_cpu(n));
		write_name(n);
	}
}

static pid_t name_later(int *go)
{
	pid_t pid;
	int fds[2];
	char c;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid) {
		close(fds[1]);
		if (read(fds[0], &c, 1) == 1)
			write_name(7);
		_exit(0);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static int name_now(pid_t pid, int go)
{
	if (write(go, "", 1) != 1)
		return -1;
	close(go);
	return end_writer(pid);
}

/* ---- what can be redirected */

TEST_F(redirect, cpus_of_a_task)
{
	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 0));
	EXPECT_EQ(1, records_of(self, 1));
}

TEST_F(redirect, cpus)
{
	ASSERT_EQ(0, open_pair(self, -1, test_cpu(0), -1, test_cpu(1)));
	name_on_both();
	EXPECT_LE(1, records_of(self, 0));
	EXPECT_LE(1, records_of(self, 1));
}

TEST_F(redirect, tasks)
{
	pid_t pid;
	int go;

	pid = name_later(&go);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, open_pair(self, 0, -1, pid, -1));
	ASSERT_EQ(0, name_now(pid, go));
	write_name(1);
	EXPECT_EQ(1, records_of(self, 0));
	EXPECT_EQ(1, records_of(self, 1));
}

TEST_F(redirect, inherited_task_to_cpu)
{
	struct perf_event_attr attr = self->attr;

	attr.comm = 0;
	self->fd[0] = perf_open(&attr, -1, test_cpu(0), -1);
	self->attr.inherit = 1;
	self->fd[1] = perf_open(&self->attr, 0, -1, -1);
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	ASSERT_EQ(0, perf_set_output(self->fd[1], self->fd[0]));
	ASSERT_EQ(0, perf_enable(self->fd[1]));
	name_on_both();
	EXPECT_EQ(2, records_of(self, 1));
}

TEST_F(redirect, cpu_to_inherited_task)
{
	struct perf_event_attr attr = self->attr;

	attr.comm = 0;
	attr.inherit = 1;
	self->fd[0] = perf_open(&attr, 0, -1, -1);
	self->fd[1] = perf_open(&self->attr, -1, test_cpu(1), -1);
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	ASSERT_EQ(0, perf_set_output(self->fd[1], self->fd[0]));
	ASSERT_EQ(0, perf_enable(self->fd[1]));
	name_on_both();
	EXPECT_LE(1, records_of(self, 1));
}

/* Back to a buffer of its own */
TEST_F(redirect, undo)
{
	struct output own;

	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	ASSERT_EQ(0, perf_set_output(self->fd[1], -1));
	ASSERT_EQ(0, output_map(&own, self->fd[1], 1, RW));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 0));
	EXPECT_EQ(0, records_of(self, 1));
	EXPECT_NE(0, own.page->data_head);
	output_unmap(&own);
}

static int refused(int fd, int target_fd)
{
	return perf_set_output(fd, target_fd) ? errno : 0;
}

TEST_F(redirect, refused)
{
	struct perf_event_attr attr = self->attr;
	struct output own;
	int fd;

	self->fd[0] = perf_open(&self->attr, 0, test_cpu(0), -1);
	self->fd[1] = perf_open(&self->attr, 0, test_cpu(1), -1);
	EXPECT_EQ(EINVAL, refused(self->fd[1], self->fd[0])) TH_LOG("no buffer there");
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	EXPECT_EQ(EINVAL, refused(self->fd[0], self->fd[0])) TH_LOG("itself");

	ASSERT_EQ(0, output_map(&own, self->fd[1], 1, RW));
	EXPECT_EQ(EINVAL, refused(self->fd[1], self->fd[0])) TH_LOG("it has its own buffer");
	output_unmap(&own);

	attr.clockid = CLOCK_MONOTONIC;
	fd = perf_open(&attr, 0, test_cpu(1), -1);
	EXPECT_EQ(EINVAL, refused(fd, self->fd[0])) TH_LOG("another clock");
	close(fd);

	attr = self->attr;
	attr.write_backward = 1;
	fd = perf_open(&attr, 0, test_cpu(1), -1);
	EXPECT_EQ(EINVAL, refused(fd, self->fd[0])) TH_LOG("another direction");
	close(fd);

	/* None of it has changed anything. */
	ASSERT_EQ(0, perf_enable(self->fd[0]));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 0));
	EXPECT_EQ(0, refused(self->fd[1], self->fd[0]));
}

/* Old programs still get EINVAL, and then use a buffer for each CPU. */
TEST_F(redirect, unasked)
{
	struct perf_event_attr attr = self->attr;
	struct output out;
	int fd;

	attr.output_shared = 0;
	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1);
	EXPECT_EQ(-1, output_map(&out, fd, 1, RW));
	EXPECT_EQ(EINVAL, errno) TH_LOG("an inherited event of any CPU");
	close(fd);

	attr.inherit = 0;
	self->fd[0] = perf_open(&attr, 0, test_cpu(0), -1);
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	/* The attribute of the target counts, not that of the redirected event. */
	self->fd[1] = perf_open(&self->attr, 0, test_cpu(1), -1);
	EXPECT_EQ(EINVAL, refused(self->fd[1], self->fd[0])) TH_LOG("another CPU");
	fd = perf_open(&self->attr, 0, -1, -1);
	EXPECT_EQ(EINVAL, refused(fd, self->fd[0])) TH_LOG("any CPU");
	close(fd);
	EXPECT_EQ(-1, perf_open_output(&attr, 0, test_cpu(1), self->fd[0]));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, (int)self->out.page->cap_output_shared);

	fd = perf_open(&attr, 0, test_cpu(0), -1);
	EXPECT_EQ(0, refused(fd, self->fd[0])) TH_LOG("the same CPU");
	close(fd);
}

TEST_F(redirect, opened_with_output)
{
	self->fd[0] = perf_open(&self->attr, 0, test_cpu(0), -1);
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	EXPECT_EQ(1, (int)self->out.page->cap_output_shared);
	self->attr.output_shared = 0;
	self->fd[1] = perf_open_output(&self->attr, 0, test_cpu(1), self->fd[0]);
	ASSERT_LE(0, self->fd[1]);
	ASSERT_EQ(0, perf_enable(self->fd[1]));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 1));
}

/* The tasks may have any owner: a holder of both descriptors may redirect. */
TEST_F(redirect, who_may)
{
	pid_t pid, other;
	int go;

	pid = name_later(&go);
	ASSERT_LT(0, pid);
	self->fd[0] = perf_open(&self->attr, 0, -1, -1);
	self->fd[1] = perf_open(&self->attr, pid, -1, -1);
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));

	other = fork();
	if (!other) {
		/* Inherited descriptors count, too. */
		if (setuid(65534))
			_exit(1);
		_exit(perf_set_output(self->fd[1], self->fd[0]) ? 2 : 0);
	}
	EXPECT_EQ(0, end_writer(other));
	EXPECT_EQ(EBADF, refused(self->fd[1], 12345));
	EXPECT_EQ(EBADF, refused(self->fd[1], STDOUT_FILENO));
	ASSERT_EQ(0, perf_enable(self->fd[1]));
	ASSERT_EQ(0, name_now(pid, go));
	EXPECT_EQ(1, records_of(self, 1));
}

/* ---- AUX areas */

static int open_aux(int cpu, bool inherit, bool output_shared)
{
	struct perf_event_attr attr;

	attr_output(&attr, pmu_type("test_aux"), 0);
	attr.inherit = inherit;
	attr.output_shared = output_shared;
	return perf_open(&attr, cpu < 0 ? 0 : -1, cpu, -1);
}

static int map_aux(const struct output *out, int fd)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	void *p;

	out->page->aux_offset = out->page->data_offset + out->page->data_size;
	out->page->aux_size = 4 * page_size;
	p = mmap(NULL, 4 * page_size, RW, MAP_SHARED, fd, out->page->aux_offset);
	if (p == MAP_FAILED)
		return errno;
	munmap(p, 4 * page_size);
	return 0;
}

TEST_F(redirect, aux_areas)
{
	struct output out;
	int fd;

	if (pmu_type("test_aux") < 0 && load_module("test_perf_aux"))
		SKIP(return, "no module test_perf_aux");

	EXPECT_EQ(-1, open_aux(test_cpu(0), false, true));
	EXPECT_EQ(EOPNOTSUPP, errno);

	fd = open_aux(-1, true, false);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, output_map(&out, fd, 1, RW));
	EXPECT_EQ(EINVAL, errno) TH_LOG("an inherited AUX event of any CPU");
	close(fd);

	self->fd[0] = open_aux(test_cpu(0), false, false);
	self->fd[1] = open_aux(test_cpu(1), false, false);
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	EXPECT_EQ(EINVAL, refused(self->fd[1], self->fd[0])) TH_LOG("AUX events of two CPUs");
	fd = perf_open(&self->attr, -1, test_cpu(1), -1);
	EXPECT_EQ(EINVAL, refused(fd, self->fd[0])) TH_LOG("an event of another CPU, to it");
	EXPECT_EQ(0, map_aux(&self->out, self->fd[0])) TH_LOG("it has an AUX area still");
	close(fd);
}

TEST_F(redirect, no_aux_area_in_a_shared_buffer)
{
	int fd;

	if (pmu_type("test_aux") < 0 && load_module("test_perf_aux"))
		SKIP(return, "no module test_perf_aux");

	ASSERT_EQ(0, open_pair(self, -1, test_cpu(0), -1, test_cpu(1)));
	EXPECT_EQ(EINVAL, map_aux(&self->out, self->fd[0]));
	fd = open_aux(test_cpu(0), false, false);
	ASSERT_LE(0, fd);
	EXPECT_EQ(EINVAL, refused(fd, self->fd[0]));
	close(fd);
}

/* ---- control page */

TEST_F(redirect, mapped_already)
{
	struct perf_event_mmap_page before;
	struct output out;

	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	perf_disable(self->fd[0]);
	perf_disable(self->fd[1]);
	before = *self->out.page;
	EXPECT_EQ(-1, output_map(&out, self->fd[1], 1, RW));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, memcmp(&before, self->out.page, sizeof(before)));
	EXPECT_NE(0, before.data_size);
}

/* The page has the mapped event's times only, however busy the others are. */
TEST_F(redirect, page_of_one_event)
{
	struct perf_event_mmap_page *page;
	__u64 enabled, running;

	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	page = self->out.page;
	ASSERT_EQ(0, perf_disable(self->fd[0]));
	enabled = page->time_enabled;
	running = page->time_running;
	for (int i = 0; i < 100; i++) {
		pin_to_cpu(test_cpu(i % 2));
		perf_disable(self->fd[1]);
		perf_enable(self->fd[1]);
	}
	EXPECT_EQ(0, page->lock % 2);
	EXPECT_EQ(enabled, page->time_enabled);
	EXPECT_EQ(running, page->time_running);
	EXPECT_EQ(0, page->index);
	EXPECT_EQ(0, (int)page->cap_user_rdpmc);
	EXPECT_EQ(self->out.size, page->data_size);
}

/* How often does the page offer the counter to the RDPMC instruction? */
static int rdpmc_offers(int fd, const struct output *out)
{
	int offers = 0;

	perf_enable(fd);
	for (int i = 0; i < 100; i++) {
		offers += __atomic_load_n(&out->page->index, __ATOMIC_RELAXED) ||
			  out->page->cap_user_rdpmc;
		usleep(1);
	}
	perf_disable(fd);
	return offers;
}

TEST_F(redirect, no_rdpmc)
{
	int offers;

	attr_output(&self->attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	self->attr.exclude_kernel = 1;
	self->fd[0] = perf_open(&self->attr, 0, -1, -1);
	if (self->fd[0] < 0)
		SKIP(return, "no hardware counter");
	ASSERT_EQ(0, output_map(&self->out, self->fd[0], 1, RW));
	offers = rdpmc_offers(self->fd[0], &self->out);
	output_unmap(&self->out);
	if (!offers)
		SKIP(return, "no counter that user space can read");

	self->attr.output_shared = 1;
	self->fd[1] = perf_open(&self->attr, 0, -1, -1);
	ASSERT_LE(0, self->fd[1]);
	ASSERT_EQ(0, output_map(&self->out, self->fd[1], 1, RW));
	EXPECT_EQ(0, rdpmc_offers(self->fd[1], &self->out));
}

/* ---- wake-ups */

static short polled(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) == 1 ? poll_fd.revents : 0;
}

static void attr_page_faults(struct perf_event_attr *attr)
{
	attr_output(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr->sample_period = 1;
	attr->output_shared = 1;
}

static void page_fault(void)
{
	size_t len = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, len, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	__atomic_store_n(p, 1, __ATOMIC_SEQ_CST);
	munmap(p, len);
}

TEST_F(redirect, wakes_up_after_events)
{
	attr_page_faults(&self->attr);
	self->attr.wakeup_events = 1;
	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	pin_to_cpu(test_cpu(1));
	for (int n = 0; n < 2; n++) {
		polled(self->fd[n], 0);
		page_fault();
		EXPECT_EQ(POLLIN, polled(self->fd[n], 10000)) TH_LOG("poll of event %d", n);
	}
}

/* Each event has its own signal, which is queued and carries the descriptor. */
static void notify(int fd, int signal)
{
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, signal);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

/* Each event signals its own owner, whoever maps the buffer that it writes to. */
TEST_F(redirect, sigio)
{
	const struct timespec ten_seconds = { .tv_sec = 10 };
	siginfo_t info;
	sigset_t set;

	attr_page_faults(&self->attr);
	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	for (int n = 0; n < 2; n++) {
		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN + n);
		ASSERT_EQ(0, sigprocmask(SIG_BLOCK, &set, NULL));
		notify(self->fd[n], SIGRTMIN + n);
		pin_to_cpu(test_cpu(n));
		page_fault();
		ASSERT_EQ(SIGRTMIN + n, sigtimedwait(&set, &info, &ten_seconds))
			TH_LOG("event %d", n);
		EXPECT_EQ(self->fd[n], info.si_fd);
	}
}

/*
 * After each write of a watched variable, SIGTRAP comes before the thread's next
 * instruction, while other threads' writes wake the reader of the buffer.
 */
static volatile int watched;
static __thread unsigned int traps;

static void on_trap(int number)
{
	traps++;
}

static void *write_watched(void *late)
{
	static int cpu;

	if (pin_to_cpu(test_cpu(__atomic_fetch_add(&cpu, 1, __ATOMIC_RELAXED) % 2)))
		return NULL;
	for (unsigned int i = 0; i < 20000; i++) {
		watched = i;
		if (traps != i + 1)
			__atomic_add_fetch((int *)late, 1, __ATOMIC_RELAXED);
		traps = i + 1;
	}
	return late;
}

static void attr_sigtrap(struct perf_event_attr *attr)
{
	attr_output(attr, PERF_TYPE_BREAKPOINT, 0);
	attr->output_shared = 1;
	attr->sample_period = 1;
	attr->wakeup_events = 1;
	attr->bp_addr = (unsigned long)&watched;
	attr->bp_type = HW_BREAKPOINT_W;
	attr->bp_len = HW_BREAKPOINT_LEN_4;
	attr->inherit = 1;
	attr->inherit_thread = 1;
	attr->remove_on_exec = 1;
	attr->sigtrap = 1;
	attr->exclude_kernel = 1;
}

/*
 * Three threads: this one, which opened the event, and two that inherit it.
 *
 * Exit status: 0: all signals came in time, 1: some were late, above: the test didn't run
 */
static int run_sigtrap(void)
{
	struct sigaction action = { .sa_handler = on_trap };
	struct perf_event_attr attr;
	pthread_t threads[2];
	struct output out;
	int fd, late = 0;
	void *done;

	attr_sigtrap(&attr);
	if (setuid(65534) || sigaction(SIGTRAP, &action, NULL))
		return 2;
	fd = perf_open(&attr, 0, -1, -1);
	if (fd < 0 || output_map(&out, fd, 16, PROT_READ) || perf_enable(fd))
		return 3;
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, write_watched, &late))
			return 4;
	}
	if (!write_watched(&late))
		return 5;
	for (int i = 0; i < 2; i++) {
		if (pthread_join(threads[i], &done) || !done)
			return 5;
	}
	if (out.page->data_head < 60000 * sizeof(struct perf_event_header))
		return 6;
	return late ? 1 : 0;
}

TEST_F_TIMEOUT(redirect, sigtrap, 120)
{
	pid_t pid = fork();

	if (!pid)
		_exit(run_sigtrap());
	EXPECT_EQ(0, end_writer(pid));
}

/* The watermark counts the bytes of all events. */
TEST_F(redirect, watermark)
{
	__u32 watermark = 1000;
	__u64 head = 0;
	int n;

	self->attr.watermark = 1;
	self->attr.wakeup_watermark = watermark;
	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	for (n = 0; n < 100 && !polled(self->fd[0], 0); n++) {
		pin_to_cpu(test_cpu(n % 2));
		head = self->out.page->data_head;
		write_name(n);
	}
	EXPECT_LE(head, watermark) TH_LOG("woken after %llu bytes", head);
	EXPECT_LT(watermark, self->out.page->data_head);
}

/* ---- while others write */

/* The redirection is undone and made again while writers are active. */
TEST_F_TIMEOUT(redirect, redirected_while_written, 120)
{
	pid_t pid[2];

	ASSERT_EQ(0, open_pair(self, -1, test_cpu(0), -1, test_cpu(1)));
	for (int n = 0; n < 2; n++) {
		pid[n] = fork();
		if (!pid[n]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pin_to_cpu(test_cpu(n));
			for (int i = 0; ; i++)
				write_name(i % 1000);
		}
	}
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, perf_set_output(self->fd[1], -1));
		ASSERT_EQ(0, perf_set_output(self->fd[1], self->fd[0]));
		ASSERT_EQ(0, output_next(&self->out, &self->rec, &self->why) < 0)
			TH_LOG("%s", self->why);
		self->out.pos = self->out.page->data_head;
		output_release(&self->out);
	}
	for (int n = 0; n < 2; n++) {
		kill(pid[n], SIGKILL);
		waitpid(pid[n], NULL, 0);
	}
}

/* ---- memory */

TEST_F(redirect, memory)
{
	long long page_kb = sysconf(_SC_PAGESIZE) / 1024;
	int mlock_kb = set_mlock_kb(0);
	struct output again, refused;

	ASSERT_LE(0, mlock_kb);
	EXPECT_EQ(0, pinned_kb());
	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	EXPECT_EQ(2 * page_kb, pinned_kb());
	EXPECT_EQ(0, output_map(&again, self->fd[0], 1, RW));
	EXPECT_EQ(2 * page_kb, pinned_kb()) TH_LOG("mapped twice");
	EXPECT_EQ(-1, output_map(&refused, self->fd[1], 1, RW));
	EXPECT_EQ(2 * page_kb, pinned_kb()) TH_LOG("refused");
	output_unmap(&self->out);
	EXPECT_EQ(2 * page_kb, pinned_kb()) TH_LOG("one of two mappings is left");
	output_unmap(&again);
	EXPECT_EQ(0, pinned_kb());
	set_mlock_kb(mlock_kb);
}

/* The buffer's memory is unaccounted at munmap, not when the last redirected event closes. */
TEST_F(redirect, memory_of_an_unmapped_target)
{
	int mlock_kb = set_mlock_kb(0);

	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	output_unmap(&self->out);
	EXPECT_EQ(0, pinned_kb());
	name_on_both();
	ASSERT_EQ(0, output_map(&self->out, self->fd[1], 2, RW));
	EXPECT_EQ(3 * sysconf(_SC_PAGESIZE) / 1024, pinned_kb());
	name_on_both();
	EXPECT_EQ(1, records_of(self, 1));
	output_unmap(&self->out);
	set_mlock_kb(mlock_kb);
}

TEST_HARNESS_MAIN
