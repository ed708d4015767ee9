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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "../kselftest_harness.h"
#include "output_tree.h"

#define RW		(PROT_READ | PROT_WRITE)
#define PAGES		16
#define NR_EACH		2000

PROGRAM_NEEDS(lacks_shared_output())

FIXTURE(shared)
{
	struct output_tree tree;
};

FIXTURE_SETUP(shared)
{
	ASSERT_EQ(0, tree_begin(&self->tree));
}

/* Memory is accounted back to zero after each test. */
FIXTURE_TEARDOWN(shared)
{
	tree_end(&self->tree);
	EXPECT_EQ(0, pinned_kb());
}

/* All writers are about to write NR_EACH records each to a new buffer. */
static void prepare_writers(struct __test_metadata *_metadata, struct output_tree *tree,
			    struct tally *t, unsigned int pages, int prot)
{
	ASSERT_EQ(0, tree_open(tree, pages, prot));
	ASSERT_EQ(0, tree_start_writers(tree, TREE_WRITERS, NR_EACH));
	tally_init(t, tree);
}

static void let_writers_go(struct __test_metadata *_metadata, struct output_tree *tree)
{
	ASSERT_EQ(0, perf_enable(tree->fd));
	tree_let_go(tree);
}

/* ---- all in one buffer */

TEST_F(shared, inherited)
{
	struct tally t;

	prepare_writers(_metadata, &self->tree, &t, 256, RW);
	let_writers_go(_metadata, &self->tree);
	ASSERT_EQ(0, tree_end_writers(&self->tree));

	tally_read(&t, &self->tree);
	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	for (int i = 0; i < TREE_WRITERS; i++) {
		EXPECT_EQ(NR_EACH, t.records[i]);
		EXPECT_EQ(0, t.gaps[i]);
	}
	EXPECT_EQ(0, t.lost);
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

	ASSERT_EQ(0, tree_open(&self->tree, PAGES, RW));
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	descend(0, 7);

	while ((ret = output_next(&self->tree.out, &self->tree.rec, &self->tree.why)) > 0) {
		/* Each process's fork and exit are there as well. */
		if (self->tree.rec.type == PERF_RECORD_COMM)
			EXPECT_EQ(records++, record_number(&self->tree.rec));
	}
	EXPECT_EQ(0, ret);
	EXPECT_EQ(8, records);
}

/* poll() reports that an event's tasks have all exited. Its records stay. */
TEST_F(shared, exit_of_all)
{
	struct pollfd poll_fd;
	pid_t pid;

	self->tree.attr.inherit = 1;
	self->tree.attr.disabled = 0;
	ASSERT_EQ(0, tree_start_writers(&self->tree, 1, 3));
	pid = self->tree.pid[0];
	self->tree.fd = perf_open(&self->tree.attr, pid, -1, -1);
	ASSERT_LE(0, self->tree.fd);
	ASSERT_EQ(0, output_map(&self->tree.out, self->tree.fd, 1, RW));
	tree_let_go(&self->tree);
	__atomic_store_n(&self->tree.writers->end, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, end_writer(pid));
	self->tree.nr_pids = 0;

	poll_fd = (struct pollfd) { .fd = self->tree.fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&poll_fd, 1, 10000));
	EXPECT_TRUE(poll_fd.revents & POLLHUP);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(1, output_next(&self->tree.out, &self->tree.rec, &self->tree.why));
		EXPECT_EQ(i, record_number(&self->tree.rec));
	}
	ASSERT_EQ(1, output_next(&self->tree.out, &self->tree.rec, &self->tree.why));
	EXPECT_EQ(PERF_RECORD_EXIT, self->tree.rec.type);
	EXPECT_EQ(0, output_next(&self->tree.out, &self->tree.rec, &self->tree.why));
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

	prepare_writers(_metadata, &self->tree, &t, PAGES, RW);
	reader.page = self->tree.out.page;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_page, &reader));
	let_writers_go(_metadata, &self->tree);
	for (int i = 0; i < 200; i++) {
		tally_read(&t, &self->tree);
		perf_disable(self->tree.fd);
		perf_enable(self->tree.fd);
	}
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	__atomic_store_n(&reader.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);

	EXPECT_LT(0, reader.reads);
	EXPECT_EQ(0, reader.torn);
	EXPECT_FALSE(reader.head_back);
	EXPECT_EQ(0, self->tree.out.page->lock % 2);
	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
}

/* ---- loss */

TEST_F(shared, loss_is_exact)
{
	struct event_count count;
	struct tally t;
	long own = 1;

	/* One page: without a reader nearly all records are lost. */
	prepare_writers(_metadata, &self->tree, &t, 1, RW);
	let_writers_go(_metadata, &self->tree);
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	tally_read(&t, &self->tree);
	tally_flush_lost(&t, &self->tree);

	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	ASSERT_EQ(0, read_count(self->tree.fd, &count));
	EXPECT_LT(0, count.lost);
	EXPECT_EQ(TREE_WRITERS * NR_EACH + own, tally_sum(&t) + count.lost);
	EXPECT_EQ(count.lost, t.lost);
}

TEST_F_TIMEOUT(shared, loss_is_exact_while_read, 120)
{
	struct event_count count;
	struct tally t;
	long own = 1;

	prepare_writers(_metadata, &self->tree, &t, 1, RW);
	let_writers_go(_metadata, &self->tree);
	/* Read now and then: some records are lost, some are found. */
	for (int i = 0; i < 300 && !t.error; i++) {
		usleep(1000);
		tally_read(&t, &self->tree);
	}
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	tally_read(&t, &self->tree);
	tally_flush_lost(&t, &self->tree);

	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	ASSERT_EQ(0, read_count(self->tree.fd, &count));
	EXPECT_EQ(TREE_WRITERS * NR_EACH + own, tally_sum(&t) + count.lost);
	EXPECT_EQ(count.lost, t.lost);
}

TEST_F(shared, paused)
{
	struct event_count count;
	struct tally t;

	ASSERT_EQ(0, tree_open(&self->tree, PAGES, RW));
	ASSERT_EQ(0, tree_start_writers(&self->tree, 2, 20));
	tally_init(&t, &self->tree);
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	ASSERT_EQ(0, ioctl(self->tree.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	tree_let_go(&self->tree);
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	EXPECT_EQ(0, self->tree.out.page->data_head);
	ASSERT_EQ(0, ioctl(self->tree.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	tally_flush_lost(&t, &self->tree);

	ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	ASSERT_EQ(0, read_count(self->tree.fd, &count));
	EXPECT_EQ(40, count.lost);
	EXPECT_EQ(40, t.lost);
	EXPECT_EQ(1, tally_sum(&t));
}

/* ---- buffers that keep the newest records */

/*
 * The last records are there, the newest first. A record is missing only if it is
 * counted as lost: that happens when a writer sleeps for a whole lap of the buffer.
 */
static void check_newest(struct __test_metadata *_metadata, struct output_tree *tree,
			 struct tally *t, long written, long lost)
{
	long next[TREE_WRITERS], missing = 0, number;
	__u64 head = tree->out.page->data_head;
	int ret, slot;

	for (int i = 0; i < TREE_WRITERS; i++)
		next[i] = written - 1;

	tree->out.pos = head;
	while ((ret = output_next_backward(&tree->out, &tree->rec, &tree->why)) > 0) {
		if (tree->rec.type == PERF_RECORD_LOST)
			continue;
		slot = tally_slot(t, &tree->rec);
		ASSERT_LE(0, slot);
		number = record_number(&tree->rec);
		ASSERT_LE(0, number);
		ASSERT_GE(next[slot], number);
		missing += next[slot] - number;
		next[slot] = number - 1;
	}
	EXPECT_EQ(0, ret) TH_LOG("%s", tree->why);
	EXPECT_GE(lost, missing);
	/* The oldest one may be partly overwritten. If it is padding, it is long. */
	EXPECT_GT(tree->out.size / 2, tree->out.size - (tree->out.pos - head));
}

TEST_F(shared, backward)
{
	struct event_count count;
	struct tally t;

	self->tree.attr.write_backward = 1;
	prepare_writers(_metadata, &self->tree, &t, PAGES, PROT_READ);
	let_writers_go(_metadata, &self->tree);
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	ASSERT_EQ(0, ioctl(self->tree.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	ASSERT_EQ(0, read_count(self->tree.fd, &count));
	check_newest(_metadata, &self->tree, &t, NR_EACH, count.lost);
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

	prepare_writers(_metadata, &self->tree, &t, 1, PROT_READ);
	let_writers_go(_metadata, &self->tree);
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	head = self->tree.out.page->data_head;
	EXPECT_LT(self->tree.out.size, head);
	ASSERT_EQ(0, read_count(self->tree.fd, &count));
	/* The smallest records have 56 bytes, the largest 64. Skipping a lost one takes space. */
	EXPECT_LE((TREE_WRITERS * NR_EACH - count.lost) * 56, head);
	if (!count.lost)
		EXPECT_GE(TREE_WRITERS * NR_EACH * 64, head);
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

/* Return 0 if all that a backward buffer has from @head on are whole records. */
static int read_backward(struct output_tree *tree, __u64 head)
{
	int ret;

	tree->out.pos = head;
	while ((ret = output_next_backward(&tree->out, &tree->rec, &tree->why)) > 0)
		;
	return ret;
}

/*
 * Others fill the buffer over and over, while a CPU holds a part of it. They go past it, and
 * lose no more than the few records that were being written there.
 */
TEST_F(shared, passed)
{
	int nr = self->tree.nr_cpus - 1;
	struct event_count count;
	__u64 written = 0;

	if (!nr)
		SKIP(return, "needs two CPUs");
	if (nr > TREE_WRITERS)
		nr = TREE_WRITERS;
	self->tree.attr.write_backward = 1;
	ASSERT_EQ(0, pin_to_cpu(test_cpu(self->tree.nr_cpus - 1)));
	ASSERT_EQ(0, tree_open(&self->tree, PAGES, PROT_READ));
	ASSERT_EQ(0, tree_start_writers(&self->tree, nr, 0));
	let_writers_go(_metadata, &self->tree);
	for (int round = 0; round < 200; round++)
		write_and_hold(round);
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	ASSERT_EQ(0, ioctl(self->tree.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	ASSERT_EQ(0, read_count(self->tree.fd, &count));
	for (int i = 0; i < nr; i++)
		written += self->tree.writers->written[i];
	EXPECT_GT(written / 20, count.lost);

	EXPECT_EQ(0, read_backward(&self->tree, tree_data_head(&self->tree)))
		TH_LOG("%s", self->tree.why);
}

/* When output is paused, nobody writes any more: what is there is complete, and stays. */
TEST_F(shared, paused_while_written)
{
	long long head;

	self->tree.attr.write_backward = 1;
	ASSERT_EQ(0, tree_open(&self->tree, PAGES, PROT_READ));
	ASSERT_EQ(0, tree_start_writers(&self->tree, TREE_WRITERS, 0));
	let_writers_go(_metadata, &self->tree);
	for (int round = 0; round < 100; round++) {
		usleep(5000);
		ASSERT_EQ(0, ioctl(self->tree.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		head = tree_data_head(&self->tree);
		ASSERT_EQ(0, read_backward(&self->tree, head))
			TH_LOG("round %d: %s", round, self->tree.why);
		ASSERT_EQ(head, tree_data_head(&self->tree)) TH_LOG("round %d", round);
		ASSERT_EQ(0, ioctl(self->tree.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	}
	ASSERT_EQ(0, tree_end_writers(&self->tree));
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

	prepare_writers(_metadata, &self->tree, &t, 1, RW);
	reader.page = self->tree.out.page;
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &reader));
	let_writers_go(_metadata, &self->tree);
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	reader.stop = 1;
	pthread_join(thread, NULL);
	EXPECT_LT(0, reader.reads);

	/* From here on the reader behaves, and everything is as usual. */
	self->tree.out.pos = self->tree.out.page->data_head;
	output_release(&self->tree.out);
	ASSERT_EQ(0, read_count(self->tree.fd, &before));
	tally_flush_lost(&t, &self->tree);
	for (int i = 1; i < 1000; i++) {
		write_name(i);
		tally_read(&t, &self->tree);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
	}
	ASSERT_EQ(0, read_count(self->tree.fd, &after));
	EXPECT_EQ(before.lost, after.lost);
	EXPECT_EQ(1000, tally_sum(&t));
}

/* The buffer is unmapped and mapped again while writers are active. */
TEST_F_TIMEOUT(shared, unmapped_while_written, 120)
{
	struct tally t;

	ASSERT_EQ(0, tree_open(&self->tree, 1, RW));
	ASSERT_EQ(0, tree_start_writers(&self->tree, TREE_WRITERS, 0));
	let_writers_go(_metadata, &self->tree);
	for (int i = 0; i < 100; i++) {
		__u64 deadline = clock_ns() + 10000000000ULL;

		while (!__atomic_load_n(&self->tree.out.page->data_head, __ATOMIC_RELAXED))
			ASSERT_GT(deadline, clock_ns()) TH_LOG("nothing is written");
		tally_init(&t, &self->tree);
		tally_read(&t, &self->tree);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		output_unmap(&self->tree.out);
		ASSERT_EQ(0, output_map(&self->tree.out, self->tree.fd, 1 << i % 4, RW));
	}
	EXPECT_EQ(0, tree_end_writers(&self->tree));
}

/* Programs start and exit, under other names, while others write. */
TEST_F(shared, exec)
{
	pid_t pid[20];
	struct tally t;
	int execs = 0;

	ASSERT_EQ(0, tree_open(&self->tree, 128, RW));
	ASSERT_EQ(0, tree_start_writers(&self->tree, 2, NR_EACH));
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	tally_init(&t, &self->tree);
	tree_let_go(&self->tree);
	for (int i = 0; i < 20; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
	}
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(0, end_writer(pid[i]));
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	while (output_next(&self->tree.out, &self->tree.rec, &self->tree.why) > 0) {
		if (self->tree.rec.type != PERF_RECORD_COMM)
			continue;
		if (tally_slot(&t, &self->tree.rec) < 0)
			execs += !strcmp(self->tree.rec.text, "true");
		else
			tally_add(&t, &self->tree.rec);
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

	self->tree.attr.inherit = 1;
	self->tree.attr.exclude_kernel = 1;
	ASSERT_EQ(0, read_file(paranoid, was, sizeof(was)));
	ASSERT_EQ(0, write_file(paranoid, "2"));
	self->tree.fd = perf_open(&self->tree.attr, 0, -1, -1);
	ASSERT_LE(0, self->tree.fd);
	pid = fork();
	if (!pid) {
		struct rlimit limit = { 65536, 65536 };

		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(65534))
			_exit(1);
		/* 64 MiB exceed any allowance. */
		if (!output_map(&self->tree.out, self->tree.fd, 16384, RW))
			_exit(2);
		_exit(errno == EPERM && !pinned_kb() ? 0 : 3);
	}
	EXPECT_EQ(0, end_writer(pid));
	write_file(paranoid, was);
}

static unsigned long long free_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (unsigned long long)info.freeram * info.mem_unit;
}

#define NR_MAPPED	100
#define PAGES_MAPPED	256

/* Map, pause and unmap buffers, and return whether at least half of their memory stays in use. */
static bool mapped_memory_stays(struct __test_metadata *_metadata, struct output_tree *tree)
{
	unsigned long long half = NR_MAPPED / 2 * PAGES_MAPPED * sysconf(_SC_PAGESIZE);
	unsigned long long before = free_bytes();
	__u64 deadline;

	for (int i = 0; i < NR_MAPPED; i++) {
		EXPECT_EQ(0, output_map(&tree->out, tree->fd, PAGES_MAPPED, PROT_READ));
		EXPECT_EQ(0, ioctl(tree->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		output_unmap(&tree->out);
	}
	/* The kernel frees them after an RCU grace period. */
	for (deadline = clock_ns() + 10000000000ULL; clock_ns() < deadline; usleep(10000)) {
		if (free_bytes() + half > before)
			return false;
	}
	return true;
}

/*
 * The pages of a buffer whose output was paused are free after it is unmapped. Other programs
 * may take as much memory meanwhile, but not each time.
 */
TEST_F_TIMEOUT(shared, memory_is_freed, 60)
{
	int tries = 3;

	self->tree.attr.write_backward = 1;
	ASSERT_EQ(0, tree_open(&self->tree, PAGES, PROT_READ));
	output_unmap(&self->tree.out);
	while (tries && mapped_memory_stays(_metadata, &self->tree))
		tries--;
	EXPECT_LT(0, tries);
}

TEST_HARNESS_MAIN
