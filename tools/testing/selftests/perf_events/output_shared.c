// SPDX-License-Identifier: GPL-2.0
/*
 * Output of several CPUs and tasks into one buffer.
 *
 * Expected: with attr.output_shared an inherited event of any CPU can be mapped, and
 * output of other CPUs' and tasks' events can be sent to its buffer. Each attempted
 * record is found whole, in its writer's order, or is counted as lost. AUX areas
 * aren't shared. Without attr.output_shared everything is as it always was. A kernel
 * without this answers EINVAL to perf_event_open(), and the whole program is skipped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <linux/hw_breakpoint.h>

#include "../kselftest_harness.h"
#include "output_common.h"

#define RW		(PROT_READ | PROT_WRITE)
#define PAGES		16
#define NR_WRITERS	6
#define NR_EACH		2000

PROGRAM_NEEDS(lacks_shared_output())

FIXTURE(shared)
{
	struct perf_event_attr attr;
	struct output out;
	struct writer_shared *writers;
	pid_t pid[NR_WRITERS];
	int nr_pids;
	int fd;
	int nr_cpus;
	struct out_record rec;
	const char *why;
};

FIXTURE_SETUP(shared)
{
	attr_names(&self->attr);
	self->attr.output_shared = 1;
	self->fd = -1;
	for (self->nr_cpus = 0; test_cpu(self->nr_cpus) >= 0; self->nr_cpus++)
		;
	self->writers = writers_alloc();
	ASSERT_NE(NULL, self->writers);
}

/* Memory is accounted back to zero after each test. */
FIXTURE_TEARDOWN(shared)
{
	for (int i = 0; i < self->nr_pids; i++)
		kill(self->pid[i], SIGKILL);
	for (int i = 0; i < self->nr_pids; i++)
		end_writer(self->pid[i]);
	output_unmap(&self->out);
	if (self->fd >= 0)
		close(self->fd);
	writers_free(self->writers);
	EXPECT_EQ(0, pinned_kb());
}

/* A buffer of this process and all its children, on all CPUs */
static int open_tree(struct _test_data_shared *self, unsigned int pages, int prot)
{
	self->attr.inherit = 1;
	self->fd = perf_open(&self->attr, 0, -1, -1);
	if (self->fd < 0)
		return -1;
	return output_map(&self->out, self->fd, pages, prot);
}

static int enable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static int disable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Writers on all CPUs in turn; they wait. */
static int start_writers(struct _test_data_shared *self, int nr, unsigned int nr_each)
{
	for (int i = 0; i < nr; i++) {
		pid_t pid = start_writer(self->writers, i, test_cpu(i % self->nr_cpus), nr_each,
					 false);

		if (pid < 0)
			return -1;
		self->pid[self->nr_pids++] = pid;
	}
	return wait_count(&self->writers->ready, nr);
}

static void let_go(struct _test_data_shared *self)
{
	__atomic_store_n(&self->writers->go, 1, __ATOMIC_RELEASE);
}

static int end_writers(struct _test_data_shared *self)
{
	int failed;

	__atomic_store_n(&self->writers->stop, 1, __ATOMIC_RELAXED);
	failed = wait_count(&self->writers->finished, self->nr_pids);
	disable(self->fd);
	__atomic_store_n(&self->writers->end, 1, __ATOMIC_RELEASE);
	for (; self->nr_pids; self->nr_pids--)
		failed |= end_writer(self->pid[self->nr_pids - 1]);
	return failed ? -1 : 0;
}

/* What became of the records of each writer */
struct tally {
	pid_t	pid[NR_WRITERS + 1];	/* the writers, and this process */
	int	nr;
	long	records[NR_WRITERS + 1];
	long	next[NR_WRITERS + 1];
	long	gaps[NR_WRITERS + 1];
	__u64	lost;
	long	total;
	const char *error;
};

static int tally_slot(const struct tally *t, const struct out_record *rec)
{
	for (int i = 0; i < t->nr; i++) {
		if (t->pid[i] == (pid_t)rec->tid)
			return i;
	}
	return -1;
}

static void tally_add(struct tally *t, const struct out_record *rec)
{
	long long number;
	int slot;

	t->total++;
	if (rec->type == PERF_RECORD_LOST) {
		t->lost += rec->lost;
		return;
	}

	slot = tally_slot(t, rec);
	number = record_number(rec);
	if (slot < 0)
		t->error = "a record of none of the writers";
	else if (number < 0)
		t->error = "a record isn't what was written";
	else if (number < t->next[slot])
		t->error = "a record is out of its writer's order";
	if (t->error)
		return;

	t->gaps[slot] += number - t->next[slot];
	t->next[slot] = number + 1;
	t->records[slot]++;
}

static void tally_init(struct tally *t, const struct _test_data_shared *self)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->pid, self->pid, sizeof(self->pid));
	t->nr = self->nr_pids;
}

static void tally_read(struct tally *t, struct _test_data_shared *self)
{
	int ret;

	while (!t->error && (ret = output_next(&self->out, &self->rec, &self->why))) {
		if (ret < 0)
			t->error = self->why;
		else
			tally_add(t, &self->rec);
	}
	output_release(&self->out);
}

static long tally_sum(const struct tally *t)
{
	long sum = 0;

	for (int i = 0; i < t->nr; i++)
		sum += t->records[i];
	return sum;
}

/* Write one more record, so that what was lost before it is reported. */
static void flush_lost(struct tally *t, struct _test_data_shared *self)
{
	enable(self->fd);
	t->pid[t->nr] = gettid();
	write_name(t->next[t->nr]);
	t->nr++;
	tally_read(t, self);
}

/* ---- what can be mapped and redirected */

TEST_F(shared, inherited)
{
	struct tally t;

	ASSERT_EQ(0, open_tree(self, 256, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));

	tally_read(&t, self);
	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	for (int i = 0; i < NR_WRITERS; i++) {
		EXPECT_EQ(NR_EACH, t.records[i]);
		EXPECT_EQ(0, t.gaps[i]);
	}
	EXPECT_EQ(0, t.lost);
}

/* Each process names itself, begins the next one and waits for it. */
static void descend(int generation, int last)
{
	pid_t pid = fork();

	if (pid) {
		end_writer(pid);
		return;
	}
	write_name(generation);
	if (generation < last)
		descend(generation + 1, last);
	_exit(0);
}

TEST_F(shared, generations)
{
	int ret, records = 0;

	ASSERT_EQ(0, open_tree(self, PAGES, RW));
	ASSERT_EQ(0, enable(self->fd));
	descend(0, 7);

	while ((ret = output_next(&self->out, &self->rec, &self->why)) > 0) {
		/* Each one's beginning and end are there as well. */
		if (self->rec.type == PERF_RECORD_COMM)
			EXPECT_EQ(records++, record_number(&self->rec));
	}
	EXPECT_EQ(0, ret);
	EXPECT_EQ(8, records);
}

/* An event that ends with its tasks is found by poll(), its records stay. */
TEST_F(shared, exit_of_all)
{
	struct pollfd poll_fd;
	pid_t pid;

	self->attr.inherit = 1;
	self->attr.disabled = 0;
	ASSERT_EQ(0, start_writers(self, 1, 3));
	pid = self->pid[0];
	self->fd = perf_open(&self->attr, pid, -1, -1);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, output_map(&self->out, self->fd, 1, RW));
	let_go(self);
	__atomic_store_n(&self->writers->end, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, end_writer(pid));
	self->nr_pids = 0;

	poll_fd = (struct pollfd) { .fd = self->fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&poll_fd, 1, 10000));
	EXPECT_TRUE(poll_fd.revents & POLLHUP);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(1, output_next(&self->out, &self->rec, &self->why));
		EXPECT_EQ(i, record_number(&self->rec));
	}
	ASSERT_EQ(1, output_next(&self->out, &self->rec, &self->why));
	EXPECT_EQ(PERF_RECORD_EXIT, self->rec.type);
	EXPECT_EQ(0, output_next(&self->out, &self->rec, &self->why));
}

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
		SKIP_SETUP("needs two CPUs");
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
	if (set_output(self->fd[1], self->fd[0]))
		return -1;
	return enable(self->fd[0]) || enable(self->fd[1]) ? -1 : 0;
}

/* How many names come from the event @n? */
static int records_of(struct _test_data_redirect *self, int n)
{
	__u64 id = perf_id(self->fd[n]);
	int ret, found = 0;

	self->out.pos = 0;
	while ((ret = output_next(&self->out, &self->rec, &self->why)) > 0)
		found += self->rec.type == PERF_RECORD_COMM && self->rec.id == id;
	return ret < 0 ? -1 : found;
}

/* Name itself twice: on two CPUs */
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
	ASSERT_EQ(0, set_output(self->fd[1], self->fd[0]));
	ASSERT_EQ(0, enable(self->fd[1]));
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
	ASSERT_EQ(0, set_output(self->fd[1], self->fd[0]));
	ASSERT_EQ(0, enable(self->fd[1]));
	name_on_both();
	EXPECT_LE(1, records_of(self, 1));
}

/* Back to a buffer of its own */
TEST_F(redirect, undo)
{
	struct output own;

	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	ASSERT_EQ(0, set_output(self->fd[1], -1));
	ASSERT_EQ(0, output_map(&own, self->fd[1], 1, RW));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 0));
	EXPECT_EQ(0, records_of(self, 1));
	EXPECT_NE(0, own.page->data_head);
	output_unmap(&own);
}

static int refused(int fd, int target_fd)
{
	return set_output(fd, target_fd) ? errno : 0;
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
	ASSERT_EQ(0, enable(self->fd[0]));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 0));
	EXPECT_EQ(0, refused(self->fd[1], self->fd[0]));
}

/* What old programs get, who take EINVAL for "use a buffer for each CPU". */
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
	/* It matters what the buffer is, not what the event asks for that is redirected. */
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
	ASSERT_EQ(0, enable(self->fd[1]));
	name_on_both();
	EXPECT_EQ(1, records_of(self, 1));
}

/* The tasks may be anybody's: who holds both descriptors may watch both. */
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
		/* Inherited descriptors are held, too. */
		if (setuid(65534))
			_exit(1);
		_exit(set_output(self->fd[1], self->fd[0]) ? 2 : 0);
	}
	EXPECT_EQ(0, end_writer(other));
	EXPECT_EQ(EBADF, refused(self->fd[1], 12345));
	EXPECT_EQ(EBADF, refused(self->fd[1], STDOUT_FILENO));
	ASSERT_EQ(0, enable(self->fd[1]));
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
	disable(self->fd[0]);
	disable(self->fd[1]);
	before = *self->out.page;
	EXPECT_EQ(-1, output_map(&out, self->fd[1], 1, RW));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, memcmp(&before, self->out.page, sizeof(before)));
	EXPECT_NE(0, before.data_size);
}

/* Only the mapped event's times are there, however busy the others are. */
TEST_F(redirect, page_of_one_event)
{
	struct perf_event_mmap_page *page;
	__u64 enabled, running;

	ASSERT_EQ(0, open_pair(self, 0, test_cpu(0), 0, test_cpu(1)));
	page = self->out.page;
	ASSERT_EQ(0, disable(self->fd[0]));
	enabled = page->time_enabled;
	running = page->time_running;
	for (int i = 0; i < 100; i++) {
		pin_to_cpu(test_cpu(i % 2));
		disable(self->fd[1]);
		enable(self->fd[1]);
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

	enable(fd);
	for (int i = 0; i < 100; i++) {
		offers += __atomic_load_n(&out->page->index, __ATOMIC_RELAXED) ||
			  out->page->cap_user_rdpmc;
		usleep(1);
	}
	disable(fd);
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

struct page_reader {
	struct perf_event_mmap_page *page;
	int stop;
	long reads, torn;
	__u64 head;
	bool head_back;
};

/* As perf_mmap__read_self() does it, and data_head never goes back. */
static void *read_page(void *arg)
{
	struct page_reader *r = arg;
	__u64 enabled, running, head;
	__u32 seq, index;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		seq = __atomic_load_n(&r->page->lock, __ATOMIC_ACQUIRE);
		enabled = __atomic_load_n(&r->page->time_enabled, __ATOMIC_RELAXED);
		running = __atomic_load_n(&r->page->time_running, __ATOMIC_RELAXED);
		index = __atomic_load_n(&r->page->index, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && seq == __atomic_load_n(&r->page->lock, __ATOMIC_RELAXED)) {
			r->reads++;
			r->torn += running > enabled || index;
		}
		head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		r->head_back |= head < r->head;
		r->head = head;
	}
	return NULL;
}

TEST_F_TIMEOUT(shared, control_page_under_load, 120)
{
	struct page_reader reader = { .stop = 0 };
	struct tally t;
	pthread_t thread;

	ASSERT_EQ(0, open_tree(self, PAGES, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	reader.page = self->out.page;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_page, &reader));
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	for (int i = 0; i < 200; i++) {
		tally_read(&t, self);
		disable(self->fd);
		enable(self->fd);
	}
	ASSERT_EQ(0, end_writers(self));
	__atomic_store_n(&reader.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);

	EXPECT_LT(0, reader.reads);
	EXPECT_EQ(0, reader.torn);
	EXPECT_FALSE(reader.head_back);
	EXPECT_EQ(0, self->out.page->lock % 2);
	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
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

/* With a signal of its own each: it is queued, and tells the descriptor. */
static void notify(int fd, int signal)
{
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, signal);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

/* Each event tells its own owner, whoever maps the buffer that it writes to. */
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
 * Each write of a watched variable is followed by a SIGTRAP before the next instruction
 * of its thread, while other threads' writes wake the reader of the buffer.
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
 * This thread, whose event is the one that was opened, and two that inherit it.
 *
 * Exit status: 0 all signals came in time, 1 some were late, more: no test
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
	if (fd < 0 || output_map(&out, fd, 16, PROT_READ) || enable(fd))
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

TEST_F(redirect, sigtrap)
{
	pid_t pid = fork();

	if (!pid)
		_exit(run_sigtrap());
	EXPECT_EQ(0, end_writer(pid));
}

/* The watermark counts the bytes of all. */
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

/* ---- loss */

TEST_F(shared, loss_is_exact)
{
	struct event_count count;
	struct tally t;
	long own = 1;

	/* One page: nearly all is lost while nobody reads. */
	ASSERT_EQ(0, open_tree(self, 1, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	tally_read(&t, self);
	flush_lost(&t, self);

	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	ASSERT_EQ(0, read_count(self->fd, &count));
	EXPECT_LT(0, count.lost);
	EXPECT_EQ(NR_WRITERS * NR_EACH + own, tally_sum(&t) + count.lost);
	EXPECT_EQ(count.lost, t.lost);
}

TEST_F_TIMEOUT(shared, loss_is_exact_while_read, 120)
{
	struct event_count count;
	struct tally t;
	long own = 1;

	ASSERT_EQ(0, open_tree(self, 1, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	/* Read now and then: records are lost, and found. */
	for (int i = 0; i < 300 && !t.error; i++) {
		usleep(1000);
		tally_read(&t, self);
	}
	ASSERT_EQ(0, end_writers(self));
	tally_read(&t, self);
	flush_lost(&t, self);

	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	ASSERT_EQ(0, read_count(self->fd, &count));
	EXPECT_EQ(NR_WRITERS * NR_EACH + own, tally_sum(&t) + count.lost);
	EXPECT_EQ(count.lost, t.lost);
}

TEST_F(shared, paused)
{
	struct event_count count;
	struct tally t;

	ASSERT_EQ(0, open_tree(self, PAGES, RW));
	ASSERT_EQ(0, start_writers(self, 2, 20));
	tally_init(&t, self);
	ASSERT_EQ(0, enable(self->fd));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	EXPECT_EQ(0, self->out.page->data_head);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	flush_lost(&t, self);

	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	ASSERT_EQ(0, read_count(self->fd, &count));
	EXPECT_EQ(40, count.lost);
	EXPECT_EQ(40, t.lost);
	EXPECT_EQ(1, tally_sum(&t));
}

/* ---- buffers that keep the newest records */

/*
 * The last records are there, the newest ones first. One is missing only if it is
 * counted as lost, which a writer has others do that sleeps for a whole lap.
 */
static void check_newest(struct __test_metadata *_metadata, struct _test_data_shared *self,
			 struct tally *t, long written, long lost)
{
	long next[NR_WRITERS], records = 0, missing = 0, number;
	int ret, slot;

	for (int i = 0; i < NR_WRITERS; i++)
		next[i] = written - 1;

	self->out.pos = self->out.page->data_head;
	while ((ret = output_next_backward(&self->out, &self->rec, &self->why)) > 0) {
		records++;
		if (self->rec.type == PERF_RECORD_LOST)
			continue;
		slot = tally_slot(t, &self->rec);
		ASSERT_LE(0, slot);
		number = record_number(&self->rec);
		ASSERT_LE(0, number);
		ASSERT_GE(next[slot], number);
		missing += next[slot] - number;
		next[slot] = number - 1;
	}
	EXPECT_EQ(0, ret) TH_LOG("%s", self->why);
	EXPECT_GE(lost, missing);
	/* The longest one has 64 bytes, the oldest one may be there in part. */
	EXPECT_LE(self->out.size / 64 - 1, records);
}

TEST_F(shared, backward)
{
	struct event_count count;
	struct tally t;

	self->attr.write_backward = 1;
	ASSERT_EQ(0, open_tree(self, PAGES, PROT_READ));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	ASSERT_EQ(0, read_count(self->fd, &count));
	check_newest(_metadata, self, &t, NR_EACH, count.lost);
}

/* Forward and read-only: records from data_head - size on, the first in part. */
TEST_F(shared, overwrite)
{
	struct event_count count;
	struct tally t;
	__u64 head;

	ASSERT_EQ(0, open_tree(self, PAGES, PROT_READ));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	head = self->out.page->data_head;
	EXPECT_LT(self->out.size, head);
	ASSERT_EQ(0, read_count(self->fd, &count));
	/* The smallest records have 56, the largest 64 bytes. Losses have records, too. */
	EXPECT_LE((NR_WRITERS * NR_EACH - count.lost) * 56, head);
	EXPECT_GE((NR_WRITERS * NR_EACH - count.lost) * 64 + count.lost * 56, head);
}

/* ---- readers and owners that misbehave */

static void *scribble(void *arg)
{
	struct page_reader *r = arg;
	unsigned int seed = 1;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		__u64 wrong = (__u64)rand_r(&seed) << 40 ^ (__u64)rand_r(&seed) << 12 ^
			      rand_r(&seed);

		if (r->reads++ % 3)
			wrong = wrong % 100000 +
				__atomic_load_n(&r->page->data_head, __ATOMIC_RELAXED);
		__atomic_store_n(&r->page->data_tail, wrong, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F(shared, scribbled_tail)
{
	struct page_reader reader = { .stop = 0 };
	struct event_count before, after;
	pthread_t thread;
	struct tally t;

	ASSERT_EQ(0, open_tree(self, 1, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	reader.page = self->out.page;
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &reader));
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	reader.stop = 1;
	pthread_join(thread, NULL);
	EXPECT_LT(0, reader.reads);

	/* From here on the reader is a good one, and everything is as usual. */
	self->out.pos = self->out.page->data_head;
	output_release(&self->out);
	ASSERT_EQ(0, read_count(self->fd, &before));
	flush_lost(&t, self);
	for (int i = 1; i < 1000; i++) {
		write_name(i);
		tally_read(&t, self);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	}
	ASSERT_EQ(0, read_count(self->fd, &after));
	EXPECT_EQ(before.lost, after.lost);
	EXPECT_EQ(1000, tally_sum(&t));
}

/* The buffer goes away and comes again under the writers. */
TEST_F_TIMEOUT(shared, unmapped_while_written, 120)
{
	struct tally t;

	ASSERT_EQ(0, open_tree(self, 1, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, 0));
	ASSERT_EQ(0, enable(self->fd));
	let_go(self);
	for (int i = 0; i < 100; i++) {
		__u64 deadline = clock_ns() + 10000000000ULL;

		while (!__atomic_load_n(&self->out.page->data_head, __ATOMIC_RELAXED))
			ASSERT_GT(deadline, clock_ns()) TH_LOG("nothing is written");
		tally_init(&t, self);
		tally_read(&t, self);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		output_unmap(&self->out);
		ASSERT_EQ(0, output_map(&self->out, self->fd, 1 << i % 4, RW));
	}
	EXPECT_EQ(0, end_writers(self));
}

/* So does the redirection. */
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
		ASSERT_EQ(0, set_output(self->fd[1], -1));
		ASSERT_EQ(0, set_output(self->fd[1], self->fd[0]));
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

/* Programs begin and end, with other names, while others write. */
TEST_F(shared, exec)
{
	pid_t pid[20];
	struct tally t;
	int execs = 0;

	ASSERT_EQ(0, open_tree(self, 64, RW));
	ASSERT_EQ(0, start_writers(self, 2, NR_EACH));
	ASSERT_EQ(0, enable(self->fd));
	tally_init(&t, self);
	let_go(self);
	for (int i = 0; i < 20; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
	}
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(0, end_writer(pid[i]));
	ASSERT_EQ(0, end_writers(self));
	while (output_next(&self->out, &self->rec, &self->why) > 0) {
		if (self->rec.type != PERF_RECORD_COMM)
			continue;
		if (tally_slot(&t, &self->rec) < 0)
			execs += !strcmp(self->rec.text, "true");
		else
			tally_add(&t, &self->rec);
	}
	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	EXPECT_EQ(20, execs);
	EXPECT_EQ(2 * NR_EACH, tally_sum(&t));
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

/* The buffer's memory goes with its mapping, not with the last redirected event. */
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

TEST_F(shared, memory_limit)
{
	const char *paranoid = "/proc/sys/kernel/perf_event_paranoid";
	char was[16];
	pid_t pid;

	self->attr.inherit = 1;
	self->attr.exclude_kernel = 1;
	ASSERT_EQ(0, read_file(paranoid, was, sizeof(was)));
	ASSERT_EQ(0, write_file(paranoid, "2"));
	self->fd = perf_open(&self->attr, 0, -1, -1);
	ASSERT_LE(0, self->fd);
	pid = fork();
	if (!pid) {
		struct rlimit limit = { 65536, 65536 };

		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(65534))
			_exit(1);
		/* 64 MiB are beyond each allowance. */
		if (!output_map(&self->out, self->fd, 16384, RW))
			_exit(2);
		_exit(errno == EPERM && !pinned_kb() ? 0 : 3);
	}
	EXPECT_EQ(0, end_writer(pid));
	write_file(paranoid, was);
}

TEST_HARNESS_MAIN
