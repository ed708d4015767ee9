// SPDX-License-Identifier: GPL-2.0
/*
 * A user without privilege sees no kernel addresses. Events that would show them are
 * refused; events that exclude the kernel don't leak them.
 *
 * Expected: with kernel.perf_event_paranoid at 2, EACCES for events of the kernel, and
 * no kernel address in any record of other events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "user_only.h"

PROGRAM_NEEDS(lacks_root())

FIXTURE(user_only)
{
	struct user_only user;
};

FIXTURE_SETUP(user_only)
{
	ASSERT_EQ(user_only_begin(&self->user), 0);
}

FIXTURE_TEARDOWN(user_only)
{
	EXPECT_EQ(user_only_end(&self->user), 0);
}

static void clock_attr(struct perf_event_attr *attr)
{
	attr_init(attr, PERF_TYPE_SOFTWARE);
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_period = 100000;
	attr->exclude_kernel = 1;
}

/* --- What is refused --- */

TEST_F(user_only, events_of_the_kernel)
{
	struct perf_event_attr attr;

	clock_attr(&attr);
	EXPECT_EQ(perf_try_open(&attr, -1), 0);
	attr.exclude_kernel = 0;
	EXPECT_EQ(perf_try_open(&attr, -1), EACCES);
}

/* Callchains without the kernel's part are accepted. Others are refused, or get none of it. */
static bool taken_or_refused(struct perf_event_attr *attr)
{
	int err = perf_try_open(attr, -1);

	return !err || err == EACCES;
}

/* As perf record -g asks for them. Whether they leak addresses is tested below. */
TEST_F(user_only, callchains)
{
	struct perf_event_attr attr;

	clock_attr(&attr);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	EXPECT_TRUE(taken_or_refused(&attr));
	attr.exclude_callchain_user = 1;
	EXPECT_TRUE(taken_or_refused(&attr));
	attr.exclude_callchain_user = 0;
	attr.exclude_callchain_kernel = 1;
	EXPECT_EQ(perf_try_open(&attr, -1), 0);
}

TEST_F(user_only, other_addresses)
{
	struct perf_event_attr attr;

	clock_attr(&attr);
	attr.text_poke = 1;
	EXPECT_EQ(perf_try_open(&attr, -1), EACCES);

	attr.text_poke = 0;
	attr.sample_type |= PERF_SAMPLE_PHYS_ADDR;
	EXPECT_EQ(perf_try_open(&attr, -1), EACCES);
}

/* --- What records show --- */

static volatile __u64 watched;

static void watched_attr(struct perf_event_attr *attr)
{
	attr_breakpoint(attr, (const void *)&watched, true);
	attr->disabled = 1;
	attr->exclude_kernel = 1;
}

static void fault_attr(struct perf_event_attr *attr)
{
	attr_page_fault(attr, true);
	attr->disabled = 1;
}

static void switch_attr(struct perf_event_attr *attr)
{
	clock_attr(attr);
	attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr->sample_period = 1;
}

/* The number of the tracepoint, which only root can read */
static int syscall_number;

static void syscall_attr(struct perf_event_attr *attr)
{
	attr_init(attr, PERF_TYPE_TRACEPOINT);
	attr->config = syscall_number;
	attr->sample_period = 1;
	attr->exclude_kernel = 1;
}

static void sideband_attr(struct perf_event_attr *attr)
{
	clock_attr(attr);
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->comm = 1;
	attr->task = 1;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->mmap_data = 1;
	attr->context_switch = 1;
	attr->cgroup = 1;
	attr->ksymbol = 1;
	attr->bpf_event = 1;
}

static const struct {
	const char	*name;
	void		(*init)(struct perf_event_attr *attr);
	unsigned int	min;		/* number of records */
} kinds[] = {
	{ "cpu-clock", clock_attr, 5 },
	{ "page-faults", fault_attr, 5 },
	{ "context-switches", switch_attr, 0 },
	{ "breakpoint", watched_attr, 5 },
	{ "system call", syscall_attr, 5 },
	{ "side-band", sideband_attr, 5 },
};

/* User and kernel both write to @watched and to pages that aren't present yet. */
static void work(void)
{
	static const char zero[] = "/dev/zero";
	int fd = open(zero, O_RDONLY | O_CLOEXEC), i;
	pid_t pid;
	char *page;

	for (i = 0; i < 20; i++) {
		page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		page[0] = 1;
		watched = i;
		if (read(fd, page + 4096, 8) != 8 || read(fd, (void *)&watched, 8) != 8)
			break;
		munmap(page, 8192);
		syscall(__NR_getppid);
		usleep(1);
		spin_ns(300000);
	}
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	close(fd);
}

/* On a busy machine a clock may have found user mode seldom. */
#define TRIES	20

TEST_F(user_only, records_of_events_in_user_mode)
{
	struct perf_event_attr attr;
	unsigned int i, tries;

	ASSERT_EQ(seteuid(0), 0);
	ASSERT_EQ(attr_tracepoint(&attr, "syscalls/sys_enter_getppid"), 0);
	syscall_number = attr.config;
	ASSERT_EQ(user_only_drop(), 0);

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct user_records rec;

		kinds[i].init(&attr);
		for (tries = 0; tries < TRIES; tries++) {
			ASSERT_EQ(user_records_open(&rec, &attr), 0)
				TH_LOG("%s: %s", kinds[i].name, strerror(errno));
			work();
			ASSERT_EQ(user_records_close(&rec), 0);
			if (rec.nr >= kinds[i].min || rec.kernel || rec.in_kernel)
				break;
		}
		EXPECT_EQ(rec.kernel, 0)
			TH_LOG("%s: %#llx in record of type %u", kinds[i].name,
			       rec.address, rec.type);
		EXPECT_EQ(rec.in_kernel, 0)
			TH_LOG("%s", kinds[i].name);
		EXPECT_GE(rec.nr, kinds[i].min)
			TH_LOG("%s", kinds[i].name);
	}
}

TEST_HARNESS_MAIN
