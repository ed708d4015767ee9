// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks on all CPUs write to one buffer.
 *
 * Expected: with attr.output_shared an inherited event of any CPU can be mapped. Each
 * attempted record is found intact, in its writer's order, or is counted as lost. That
 * holds for buffers of every kind, whatever reader and owner do. On a kernel without the
 * feature perf_event_open() fails with EINVAL, and the whole program is skipped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

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

/* Start writers on all CPUs in turn; they wait for ->go. */
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
	perf_disable(self->fd);
	__atomic_store_n(&self->writers->end, 1, __ATOMIC_RELEASE);
	for (; self->nr_pids; self->nr_pids--)
		failed |= end_writer(self->pid[self->nr_pids - 1]);
	return failed ? -1 : 0;
}

/* The fate of each writer's records */
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

/* Write one more record, so that earlier losses are reported. */
static void flush_lost(struct tally *t, struct _test_data_shared *self)
{
	perf_enable(self->fd);
	t->pid[t->nr] = gettid();
	write_name(t->next[t->nr]);
	t->nr++;
	tally_read(t, self);
}

/* ---- all in one buffer */

TEST_F(shared, inherited)
{
	struct tally t;

	ASSERT_EQ(0, open_tree(self, 256, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, perf_enable(self->fd));
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

/* ---- leases: what a CPU writes that writes much */

static long long data_head(const struct _test_data_shared *self)
{
	return __atomic_load_n(&self->out.page->data_head, __ATOMIC_ACQUIRE);
}

static void write_names(int first, int nr)
{
	for (int i = first; i < first + nr; i++)
		write_name(i);
}

/* After a tick, everything is published, although nobody asks for it. */
TEST_F_TIMEOUT(shared, published_at_tick, STORM_TIMEOUT)
{
	long long at_end, at_tick;
	__u64 begin = clock_ns();
	struct tally t = { .nr = 1 };
	bool seen = false;
	int late = 0;

	t.pid[0] = gettid();
	/* The CPU that wakes this task up again has had its tick. */
	ASSERT_EQ(0, pin_to_cpu(test_cpu(0)));
	ASSERT_EQ(0, open_tree(self, 1024, RW));
	ASSERT_EQ(0, perf_enable(self->fd));
	for (int round = 0; !storm_is_over(begin, seen); round++) {
		write_names(round * NR_EACH, NR_EACH);
		at_end = data_head(self);
		usleep(100000);
		at_tick = data_head(self);
		late += at_tick > at_end;
		output_flush(&self->out);
		ASSERT_EQ(at_tick, data_head(self));
		tally_read(&t, self);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		ASSERT_EQ((round + 1) * NR_EACH, t.records[0]);
		seen = round >= 5 && late > 2 && self->out.leases > 20;
	}
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/* Nobody writes. Does poll() publish everything, so that nothing is left for a tick? */
static bool poll_publishes(struct _test_data_shared *self, int *late)
{
	long long before = data_head(self), after;

	output_flush(&self->out);
	after = data_head(self);
	*late += after > before;
	usleep(50000);
	return data_head(self) == after;
}

/* poll() publishes everything at once. */
TEST_F_TIMEOUT(shared, published_at_once, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	struct tally t = { .nr = 1 };
	bool seen = false;
	int late = 0;

	t.pid[0] = gettid();
	ASSERT_EQ(0, open_tree(self, 1024, RW));
	ASSERT_EQ(0, perf_enable(self->fd));
	for (int round = 0; !storm_is_over(begin, seen); round++) {
		write_names(round * NR_EACH, NR_EACH);
		ASSERT_TRUE(poll_publishes(self, &late));
		tally_read(&t, self);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		ASSERT_EQ((round + 1) * NR_EACH, t.records[0]);
		seen = late > 10;
	}
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

static int run_short_writer(void *arg)
{
	int *go = arg;
	char byte;

	close(go[1]);
	if (!read(go[0], &byte, 1))
		write_names(0, NR_EACH);
	return 0;
}

/*
 * A child that waits until @go is closed, writes names, and ends. It has no memory to free,
 * so there is no tick in between.
 */
static pid_t start_short_writer(int *go)
{
	static char stack[65536];
	static int fd[2];
	pid_t pid;

	if (pipe(fd))
		return -1;
	pid = clone(run_short_writer, stack + sizeof(stack), CLONE_VM | SIGCHLD, fd);
	close(fd[0]);
	*go = fd[1];
	return pid;
}

/*
 * Open an event of a new writer, which waits for @go. The buffer is mapped with it, or with
 * an event of this task, to which it is redirected. Return its descriptor.
 */
static int open_short_writer(struct _test_data_shared *self, bool redirected, pid_t *pid,
			     int *go)
{
	int fd;

	*pid = start_short_writer(go);
	if (*pid < 0)
		return -1;
	self->attr.inherit = 1;
	fd = perf_open(&self->attr, *pid, -1, -1);
	self->fd = redirected ? perf_open(&self->attr, 0, -1, -1) : fd;
	if (fd < 0 || self->fd < 0 || output_map(&self->out, self->fd, 1024, RW) ||
	    (redirected && perf_set_output(fd, self->fd)))
		return -1;
	return perf_enable(fd) ? -1 : fd;
}

static void close_short_writer(struct _test_data_shared *self, int fd)
{
	output_unmap(&self->out);
	if (fd != self->fd)
		close(fd);
	close(self->fd);
	self->fd = -1;
}

/* poll() publishes at once also if the event's task has ended, and no wakeup will come. */
TEST_F_TIMEOUT(shared, published_after_exit, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	bool seen = false;
	int late = 0, go;

	for (int round = 0; !storm_is_over(begin, seen); round++) {
		struct tally t = { .nr = 1 };

		ASSERT_LE(0, open_short_writer(self, false, &t.pid[0], &go));
		close(go);
		ASSERT_EQ(0, end_writer(t.pid[0]));
		ASSERT_TRUE(poll_publishes(self, &late));
		while (output_next(&self->out, &self->rec, &self->why) > 0 &&
		       self->rec.type == PERF_RECORD_COMM)
			tally_add(&t, &self->rec);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		ASSERT_EQ(NR_EACH, t.records[0]);
		ASSERT_EQ(PERF_RECORD_EXIT, self->rec.type);
		close_short_writer(self, self->fd);
		seen = late > 2;
	}
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/*
 * poll() until it says that the event's tasks have ended, and make room meanwhile. Return
 * data_head, and add to @late if the last poll() raised it.
 */
static long long poll_until_hangup(struct _test_data_shared *self, int fd, int *late)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	long long before, after;

	do {
		before = data_head(self);
		__atomic_store_n(&self->out.page->data_tail, before, __ATOMIC_RELEASE);
		if (poll(&poll_fd, 1, 0) < 0)
			return -1;
		after = data_head(self);
	} while (!(poll_fd.revents & POLLHUP));

	*late += after > before;
	return after;
}

/*
 * When poll() says that an event's tasks have ended, all that they wrote is published, also
 * if the event is redirected: perf record unmaps a buffer that is empty by then.
 */
TEST_F_TIMEOUT(shared, published_at_hangup, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	int late[2] = { 0, 0 };
	bool seen = false;
	int fd, go;

	for (int round = 0; !storm_is_over(begin, seen); round++) {
		bool redirected = round % 2;
		long long head;
		pid_t pid;

		fd = open_short_writer(self, redirected, &pid, &go);
		ASSERT_LE(0, fd);
		close(go);
		head = poll_until_hangup(self, fd, &late[redirected]);
		ASSERT_EQ(0, end_writer(pid));
		output_flush(&self->out);
		ASSERT_EQ(head, data_head(self)) TH_LOG("round %d", round);
		close_short_writer(self, fd);
		seen = round >= 300 && late[true] > 2;
	}
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/*
 * poll() publishes what was written before, while the writers go on. A record that is
 * being written just then delays that until it ends.
 */
TEST_F_TIMEOUT(shared, published_by_poll, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	bool seen = false;
	struct tally t;

	ASSERT_EQ(0, open_tree(self, 1024, RW));
	ASSERT_EQ(0, start_writers(self, self->nr_cpus < 3 ? self->nr_cpus : 3, 0));
	tally_init(&t, self);
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	for (int round = 0; !storm_is_over(begin, seen); round++) {
		int slot = round % self->nr_pids, tries = 0;
		long wanted;

		/* Time for leases */
		usleep(20000);
		wanted = __atomic_load_n(&self->writers->written[slot], __ATOMIC_ACQUIRE);
		do {
			output_flush(&self->out);
			tally_read(&t, self);
			ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		} while (t.next[slot] < wanted && ++tries < 1000);
		ASSERT_LE(wanted, t.next[slot]) TH_LOG("round %d", round);
		seen = round >= 5 && self->out.leases > 20;
	}
	ASSERT_EQ(0, end_writers(self));
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/* A reader that wants each sample gets it at once: there are no leases. */
TEST_F(shared, none_with_wakeup_events)
{
	struct tally t;
	int ret;

	attr_numbered_nmi(&self->attr, 100000);
	self->attr.output_shared = 1;
	self->attr.wakeup_events = 1;
	self->fd = perf_open(&self->attr, -1, test_cpu(0), -1);
	if (self->fd < 0)
		SKIP(return, "no NMIs: %s", strerror(errno));
	ASSERT_EQ(0, output_map(&self->out, self->fd, 1024, RW));
	memset(&t, 0, sizeof(t));
	ASSERT_EQ(0, perf_enable(self->fd));
	usleep(500000);
	perf_disable(self->fd);
	while ((ret = output_next(&self->out, &self->rec, &self->why)) > 0)
		t.total++;
	EXPECT_EQ(0, ret);
	EXPECT_LT(100, t.total);
	EXPECT_EQ(0, (int)self->out.leases);
}

/* Each process sets its name, starts the next one and waits for it. */
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
	ASSERT_EQ(0, perf_enable(self->fd));
	descend(0, 7);

	while ((ret = output_next(&self->out, &self->rec, &self->why)) > 0) {
		/* Each process's fork and exit are there as well. */
		if (self->rec.type == PERF_RECORD_COMM)
			EXPECT_EQ(records++, record_number(&self->rec));
	}
	EXPECT_EQ(0, ret);
	EXPECT_EQ(8, records);
}

/* poll() reports that an event's tasks have all exited. Its records stay. */
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

/* ---- control page */

struct page_reader {
	struct perf_event_mmap_page *page;
	int stop;
	long reads, torn;
	__u64 head;
	bool head_back;
};

/* Reads as perf_mmap__read_self() does. data_head must never go back. */
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
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	for (int i = 0; i < 200; i++) {
		tally_read(&t, self);
		perf_disable(self->fd);
		perf_enable(self->fd);
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

/* ---- loss */

TEST_F(shared, loss_is_exact)
{
	struct event_count count;
	struct tally t;
	long own = 1;

	/* One page: without a reader nearly all records are lost. */
	ASSERT_EQ(0, open_tree(self, 1, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, perf_enable(self->fd));
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
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	/* Read now and then: some records are lost, some are found. */
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
	ASSERT_EQ(0, perf_enable(self->fd));
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
 * The last records are there, the newest first. A record is missing only if it is
 * counted as lost: that happens when a writer sleeps for a whole lap of the buffer.
 */
static void check_newest(struct __test_metadata *_metadata, struct _test_data_shared *self,
			 struct tally *t, long written, long lost)
{
	long next[NR_WRITERS], missing = 0, number;
	__u64 head = self->out.page->data_head;
	int ret, slot;

	for (int i = 0; i < NR_WRITERS; i++)
		next[i] = written - 1;

	self->out.pos = head;
	while ((ret = output_next_backward(&self->out, &self->rec, &self->why)) > 0) {
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
	/* The oldest one may be partly overwritten. If it is padding, it is long. */
	EXPECT_GT(self->out.size / 2, self->out.size - (self->out.pos - head));
}

TEST_F(shared, backward)
{
	struct event_count count;
	struct tally t;

	self->attr.write_backward = 1;
	ASSERT_EQ(0, open_tree(self, PAGES, PROT_READ));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	ASSERT_EQ(0, read_count(self->fd, &count));
	check_newest(_metadata, self, &t, NR_EACH, count.lost);
}

/*
 * Forward and read-only: records from data_head - size on, the first only partly. The
 * buffer is too small for leases, so that data_head counts nothing but records.
 */
TEST_F(shared, overwrite)
{
	struct event_count count;
	struct tally t;
	__u64 head;

	ASSERT_EQ(0, open_tree(self, 1, PROT_READ));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, NR_EACH));
	tally_init(&t, self);
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	head = self->out.page->data_head;
	EXPECT_LT(self->out.size, head);
	ASSERT_EQ(0, read_count(self->fd, &count));
	/* The smallest records have 56 bytes, the largest 64. Skipping a lost one takes space. */
	EXPECT_LE((NR_WRITERS * NR_EACH - count.lost) * 56, head);
	if (!count.lost)
		EXPECT_GE(NR_WRITERS * NR_EACH * 64, head);
}

/* Write, and then hold a lease, or what is left of the time to its tick. */
static void write_and_hold(int round)
{
	__u64 begin;

	write_names(round * NR_EACH, NR_EACH / 10);
	begin = clock_ns();
	while (clock_ns() - begin < 3000000)
		;
}

/*
 * Others fill the buffer over and over, while a CPU holds a part of it. They go past it, and
 * lose no more than the few records that were being written there.
 */
TEST_F(shared, passed)
{
	int ret, nr = self->nr_cpus - 1;
	struct event_count count;
	__u64 written = 0;

	if (!nr)
		SKIP(return, "needs two CPUs");
	if (nr > NR_WRITERS)
		nr = NR_WRITERS;
	self->attr.write_backward = 1;
	ASSERT_EQ(0, pin_to_cpu(test_cpu(self->nr_cpus - 1)));
	ASSERT_EQ(0, open_tree(self, PAGES, PROT_READ));
	ASSERT_EQ(0, start_writers(self, nr, 0));
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	for (int round = 0; round < 200; round++)
		write_and_hold(round);
	ASSERT_EQ(0, end_writers(self));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	ASSERT_EQ(0, read_count(self->fd, &count));
	for (int i = 0; i < nr; i++)
		written += self->writers->written[i];
	EXPECT_GT(written / 20, count.lost);

	self->out.pos = self->out.page->data_head;
	while ((ret = output_next_backward(&self->out, &self->rec, &self->why)) > 0)
		;
	EXPECT_EQ(0, ret) TH_LOG("%s", self->why);
}

/* When output is paused, nobody writes any more: what is there is complete, and stays. */
TEST_F(shared, paused_while_written)
{
	long long head;
	int ret;

	self->attr.write_backward = 1;
	ASSERT_EQ(0, open_tree(self, PAGES, PROT_READ));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, 0));
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	for (int round = 0; round < 100; round++) {
		usleep(5000);
		ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		head = data_head(self);
		self->out.pos = head;
		while ((ret = output_next_backward(&self->out, &self->rec, &self->why)) > 0)
			;
		ASSERT_EQ(0, ret) TH_LOG("round %d: %s", round, self->why);
		ASSERT_EQ(head, data_head(self)) TH_LOG("round %d", round);
		ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	}
	ASSERT_EQ(0, end_writers(self));
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
	ASSERT_EQ(0, perf_enable(self->fd));
	let_go(self);
	ASSERT_EQ(0, end_writers(self));
	reader.stop = 1;
	pthread_join(thread, NULL);
	EXPECT_LT(0, reader.reads);

	/* From here on the reader behaves, and everything is as usual. */
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

/* The buffer is unmapped and mapped again while writers are active. */
TEST_F_TIMEOUT(shared, unmapped_while_written, 120)
{
	struct tally t;

	ASSERT_EQ(0, open_tree(self, 1, RW));
	ASSERT_EQ(0, start_writers(self, NR_WRITERS, 0));
	ASSERT_EQ(0, perf_enable(self->fd));
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

/* Programs start and exit, under other names, while others write. */
TEST_F(shared, exec)
{
	pid_t pid[20];
	struct tally t;
	int execs = 0;

	ASSERT_EQ(0, open_tree(self, 128, RW));
	ASSERT_EQ(0, start_writers(self, 2, NR_EACH));
	ASSERT_EQ(0, perf_enable(self->fd));
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
		/* 64 MiB exceed any allowance. */
		if (!output_map(&self->out, self->fd, 16384, RW))
			_exit(2);
		_exit(errno == EPERM && !pinned_kb() ? 0 : 3);
	}
	EXPECT_EQ(0, end_writer(pid));
	write_file(paranoid, was);
}

TEST_HARNESS_MAIN
