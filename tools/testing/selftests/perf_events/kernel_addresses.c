// SPDX-License-Identifier: GPL-2.0
/*
 * What a user without privilege gets to see of the kernel's addresses: nothing. Asked
 * for openly, it is refused; events that exclude the kernel don't show it by chance.
 *
 * Expected: with kernel.perf_event_paranoid at 2, EACCES for what tells of the kernel,
 * and no record of another event with an address of the kernel in it. A kernel that
 * misses the checks hands out callchains, or the registers of late samples.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "aux_common.h"
#include "user_only.h"

PROGRAM_NEEDS(lacks_test_pmus())

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

/* Those of perf record -g; that they don't show the kernel is tested below. */
TEST_F(user_only, callchains)
{
	struct perf_event_attr attr;

	clock_attr(&attr);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	EXPECT_EQ(perf_try_open(&attr, -1), 0);
	attr.exclude_callchain_user = 1;
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

/* Its number, as only root finds it */
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
	unsigned int	min;		/* records */
} kinds[] = {
	{ "cpu-clock", clock_attr, 5 },
	{ "page-faults", fault_attr, 5 },
	{ "context-switches", switch_attr, 0 },
	{ "breakpoint", watched_attr, 5 },
	{ "system call", syscall_attr, 5 },
	{ "side-band", sideband_attr, 5 },
};

/* User and kernel both write to @watched and to pages that aren't there yet. */
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
		soft_resume();
		usleep(1);
		spin_ns(300000);
	}
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	close(fd);
}

TEST_F(user_only, records_of_events_in_user_mode)
{
	struct perf_event_attr attr;
	unsigned int i;

	ASSERT_EQ(seteuid(0), 0);
	ASSERT_EQ(attr_tracepoint(&attr, AT_RESUME), 0);
	syscall_number = attr.config;
	ASSERT_EQ(user_only_drop(), 0);

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct user_records rec;

		kinds[i].init(&attr);
		ASSERT_EQ(user_records_open(&rec, &attr), 0)
			TH_LOG("%s: %s", kinds[i].name, strerror(errno));
		work();
		ASSERT_EQ(user_records_close(&rec), 0);
		EXPECT_EQ(rec.kernel, 0)
			TH_LOG("%s: %#llx in record of type %u", kinds[i].name,
			       rec.address, rec.type);
		EXPECT_EQ(rec.in_kernel, 0)
			TH_LOG("%s", kinds[i].name);
		EXPECT_GE(rec.nr, kinds[i].min)
			TH_LOG("%s", kinds[i].name);
	}
}

/*
 * An overflow in the kernel of an event that excludes it, as a hardware counter has it
 * when it comes late. The NMI comes in the system call that fires it.
 */
TEST_F(user_only, late_sample)
{
	struct perf_event_attr attr;
	struct user_records rec;

	ASSERT_EQ(seteuid(0), 0);
	attr_nmi(&attr, 0, TAG_SAMPLE);
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	ASSERT_EQ(user_records_open(&rec, &attr), 0);
	ASSERT_EQ(nmi_fire(10, TAG_SAMPLE), 0);
	ASSERT_EQ(user_records_close(&rec), 0);
	EXPECT_EQ(rec.nr, 10);
	EXPECT_EQ(rec.with_ip, 10);
	EXPECT_EQ(rec.with_regs, 0);
	EXPECT_EQ(rec.in_kernel, 0);
	EXPECT_EQ(rec.kernel, 0)
		TH_LOG("%#llx", rec.address);

	/* That is what there is to see. */
	attr_nmi(&attr, 0, TAG_SAMPLE);
	attr.disabled = 1;
	ASSERT_EQ(user_records_open(&rec, &attr), 0);
	ASSERT_EQ(nmi_fire(10, TAG_SAMPLE), 0);
	ASSERT_EQ(user_records_close(&rec), 0);
	EXPECT_EQ(rec.nr, 10);
	EXPECT_EQ(rec.with_regs, 10);
	EXPECT_EQ(rec.in_kernel, 10);
	EXPECT_EQ(rec.kernel, 10);
}

TEST_HARNESS_MAIN
