// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: what a CPU that writes much has written to a shared buffer, and not published yet.
 *
 * Expected: all is published by the next tick; and at once by poll(), also after the writer's
 * end or while it goes on. A reader that wants each sample gets it at once. Skips what needs
 * leases on a machine that is too slow for them, within the time that storm_is_over() lets
 * it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "output_tree.h"

#define RW		(PROT_READ | PROT_WRITE)
#define NR_EACH		2000
#define SLOW_NS		60000000000ULL	/* then fewer rounds must do */

PROGRAM_NEEDS(lacks_shared_output())

FIXTURE(leases)
{
	struct output_tree tree;
};

FIXTURE_SETUP(leases)
{
	ASSERT_EQ(0, tree_begin(&self->tree));
}

FIXTURE_TEARDOWN(leases)
{
	tree_end(&self->tree);
	EXPECT_EQ(0, pinned_kb());
}

/* After a tick, everything is published, although nobody asks for it. */
TEST_F_TIMEOUT(leases, published_at_tick, STORM_TIMEOUT)
{
	long long at_end, at_tick;
	__u64 begin = clock_ns();
	struct tally t = { .nr = 1 };
	bool seen = false;
	int late = 0;

	t.pid[0] = gettid();
	/* The CPU that wakes this task up again has had its tick. */
	ASSERT_EQ(0, pin_to_cpu(test_cpu(0)));
	ASSERT_EQ(0, tree_open(&self->tree, 1024, RW));
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	for (int round = 0; !storm_is_over(begin, seen); round++) {
		write_names(round * NR_EACH, NR_EACH);
		at_end = tree_data_head(&self->tree);
		usleep(100000);
		at_tick = tree_data_head(&self->tree);
		late += at_tick > at_end;
		output_flush(&self->tree.out);
		ASSERT_EQ(at_tick, tree_data_head(&self->tree));
		tally_read(&t, &self->tree);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		ASSERT_EQ((round + 1) * NR_EACH, t.records[0]);
		seen = round >= 5 && late > 2 && self->tree.out.leases > 20;
	}
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/* Nobody writes. Does poll() publish everything, so that nothing is left for a tick? */
static bool poll_publishes(struct output_tree *tree, int *late)
{
	long long before = tree_data_head(tree), after;

	output_flush(&tree->out);
	after = tree_data_head(tree);
	*late += after > before;
	usleep(50000);
	return tree_data_head(tree) == after;
}

/* poll() publishes everything at once. */
TEST_F_TIMEOUT(leases, published_at_once, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	struct tally t = { .nr = 1 };
	bool seen = false;
	int late = 0;

	t.pid[0] = gettid();
	ASSERT_EQ(0, tree_open(&self->tree, 1024, RW));
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	for (int round = 0; !storm_is_over(begin, seen); round++) {
		write_names(round * NR_EACH, NR_EACH);
		ASSERT_TRUE(poll_publishes(&self->tree, &late));
		tally_read(&t, &self->tree);
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
static int open_short_writer(struct output_tree *tree, bool redirected, pid_t *pid, int *go)
{
	int fd;

	*pid = start_short_writer(go);
	if (*pid < 0)
		return -1;
	tree->attr.inherit = 1;
	fd = perf_open(&tree->attr, *pid, -1, -1);
	tree->fd = redirected ? perf_open(&tree->attr, 0, -1, -1) : fd;
	if (fd < 0 || tree->fd < 0 || output_map(&tree->out, tree->fd, 1024, RW) ||
	    (redirected && perf_set_output(fd, tree->fd)))
		return -1;
	return perf_enable(fd) ? -1 : fd;
}

static void close_short_writer(struct output_tree *tree, int fd)
{
	output_unmap(&tree->out);
	if (fd != tree->fd)
		close(fd);
	close(tree->fd);
	tree->fd = -1;
}

/* poll() publishes at once also if the event's task has ended, and no wakeup will come. */
TEST_F_TIMEOUT(leases, published_after_exit, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	bool seen = false;
	int late = 0, go;

	for (int round = 0; !storm_is_over(begin, seen); round++) {
		struct tally t = { .nr = 1 };

		ASSERT_LE(0, open_short_writer(&self->tree, false, &t.pid[0], &go));
		close(go);
		ASSERT_EQ(0, end_writer(t.pid[0]));
		ASSERT_TRUE(poll_publishes(&self->tree, &late));
		while (output_next(&self->tree.out, &self->tree.rec, &self->tree.why) > 0 &&
		       self->tree.rec.type == PERF_RECORD_COMM)
			tally_add(&t, &self->tree.rec);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		ASSERT_EQ(NR_EACH, t.records[0]);
		ASSERT_EQ(PERF_RECORD_EXIT, self->tree.rec.type);
		close_short_writer(&self->tree, self->tree.fd);
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
static long long poll_until_hangup(struct output_tree *tree, int fd, int *late)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	long long before, after;

	do {
		before = tree_data_head(tree);
		__atomic_store_n(&tree->out.page->data_tail, before, __ATOMIC_RELEASE);
		if (poll(&poll_fd, 1, 0) < 0)
			return -1;
		after = tree_data_head(tree);
	} while (!(poll_fd.revents & POLLHUP));

	*late += after > before;
	return after;
}

/*
 * When poll() says that an event's tasks have ended, all that they wrote is published, also
 * if the event is redirected: perf record unmaps a buffer that is empty by then.
 */
TEST_F_TIMEOUT(leases, published_at_hangup, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	int late[2] = { 0, 0 };
	bool seen = false;
	int fd, go;

	for (int round = 0; !storm_is_over(begin, seen); round++) {
		bool redirected = round % 2;
		long long head;
		pid_t pid;

		fd = open_short_writer(&self->tree, redirected, &pid, &go);
		ASSERT_LE(0, fd);
		close(go);
		head = poll_until_hangup(&self->tree, fd, &late[redirected]);
		ASSERT_EQ(0, end_writer(pid));
		output_flush(&self->tree.out);
		ASSERT_EQ(head, tree_data_head(&self->tree)) TH_LOG("round %d", round);
		close_short_writer(&self->tree, fd);
		seen = late[true] > 2 && (round >= 300 || clock_ns() - begin > SLOW_NS);
	}
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/*
 * Does poll() publish what this writer wrote before? A record that is being written just then
 * delays that until it ends.
 */
static bool poll_publishes_of(struct tally *t, struct output_tree *tree, int slot)
{
	long wanted = __atomic_load_n(&tree->writers->written[slot], __ATOMIC_ACQUIRE);
	__u64 end = clock_ns() + 10000000000ULL;

	do {
		output_flush(&tree->out);
		tally_read(t, tree);
	} while (!t->error && t->next[slot] < wanted && clock_ns() < end);

	return t->next[slot] >= wanted;
}

/* poll() publishes what was written before, while the writers go on. */
TEST_F_TIMEOUT(leases, published_by_poll, STORM_TIMEOUT)
{
	__u64 begin = clock_ns();
	int nr = self->tree.nr_cpus;
	bool seen = false;
	struct tally t;

	ASSERT_EQ(0, tree_open(&self->tree, 1024, RW));
	ASSERT_EQ(0, tree_start_writers(&self->tree, nr < 3 ? nr : 3, 0));
	tally_init(&t, &self->tree);
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	tree_let_go(&self->tree);
	for (int round = 0; !storm_is_over(begin, seen); round++) {
		bool published;

		/* Time for leases */
		usleep(20000);
		published = poll_publishes_of(&t, &self->tree, round % self->tree.nr_pids);
		ASSERT_EQ(NULL, t.error) TH_LOG("%s", t.error);
		ASSERT_TRUE(published) TH_LOG("round %d", round);
		seen = round >= 5 && self->tree.out.leases > 20;
	}
	ASSERT_EQ(0, tree_end_writers(&self->tree));
	if (storm_was_short(seen))
		SKIP(return, "too slow for leases");
	EXPECT_TRUE(seen);
}

/* A reader that wants each sample gets it at once: there are no leases. */
TEST_F(leases, none_with_wakeup_events)
{
	struct tally t;
	int ret;

	attr_numbered_nmi(&self->tree.attr, 100000);
	self->tree.attr.output_shared = 1;
	self->tree.attr.wakeup_events = 1;
	self->tree.fd = perf_open(&self->tree.attr, -1, test_cpu(0), -1);
	if (self->tree.fd < 0)
		SKIP(return, "no NMIs: %s", strerror(errno));
	ASSERT_EQ(0, output_map(&self->tree.out, self->tree.fd, 1024, RW));
	memset(&t, 0, sizeof(t));
	ASSERT_EQ(0, perf_enable(self->tree.fd));
	usleep(500000);
	perf_disable(self->tree.fd);
	while ((ret = output_next(&self->tree.out, &self->tree.rec, &self->tree.why)) > 0)
		t.total++;
	EXPECT_EQ(0, ret);
	EXPECT_LT(100, t.total);
	EXPECT_EQ(0, (int)self->tree.out.leases);
}

TEST_HARNESS_MAIN
