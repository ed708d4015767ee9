// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of instructions in user mode, by code whose instructions are known.
 *
 * Expected: counts are exact, and overflows come when their period is over. On some
 * processors each interrupt adds one. On the model of Intel's trace hardware counters
 * follow the time, so its setting "step" is used.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "intel_env.h"

#define ROUNDS	5000
#define PERIOD	1000

PROGRAM_NEEDS(lacks_counters())

/* --- Loops. The last two instructions of each round are those of the loop. --- */

#define LOOP(body)							\
	asm volatile("1:\n\t" body "dec %0\n\tjnz 1b"			\
		     : "+r" (rounds) : [nr] "i" (__NR_getppid), [at] "r" (bytes) \
		     : "rax", "rcx", "rdi", "r11", "memory", "cc")

static char bytes[64];

static void plain(unsigned long rounds)
{
	LOOP("");
}

static void calls(unsigned long rounds)
{
	/* Below the red zone */
	LOOP("lea -128(%%rsp), %%rsp\n\t call 2f\n\t lea 128(%%rsp), %%rsp\n\t jmp 3f\n"
	     "2: ret\n"
	     "3: ");
}

static void flags(unsigned long rounds)
{
	LOOP("lea -128(%%rsp), %%rsp\n\t pushf\n\t popf\n\t lea 128(%%rsp), %%rsp\n\t");
}

/* One instruction, however often it is repeated */
static void repeated(unsigned long rounds)
{
	LOOP("mov %[at], %%rdi\n\t mov $64, %%ecx\n\t rep stosb\n\t");
}

/* There is no trap after MOV SS. */
static void shadow(unsigned long rounds)
{
	LOOP("mov %%ss, %%eax\n\t mov %%eax, %%ss\n\t nop\n\t");
}

/* Page by page of memory that isn't there yet: what has faulted counts when it is repeated. */
static void faults(unsigned long rounds)
{
	static char *memory;
	const size_t size = (ROUNDS + 1) * 4096UL;
	char *at;

	if (memory)
		munmap(memory, size);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	madvise(memory, size, MADV_NOHUGEPAGE);
	at = memory;
	asm volatile("1: movb $1, (%1)\n\t add $4096, %1\n\t dec %0\n\t jnz 1b"
		     : "+r" (rounds), "+r" (at) : : "memory", "cc");
}

static void system_calls(unsigned long rounds)
{
	LOOP("mov $%c[nr], %%eax\n\t syscall\n\t");
}

/* Where an emulator lacks the instruction, the model executes it. */
static void read_counter(unsigned long rounds)
{
	asm volatile("1: xor %%ecx, %%ecx\n\t rdpmc\n\t dec %0\n\t jnz 1b"
		     : "+r" (rounds) : : "rax", "rcx", "rdx", "cc");
}

FIXTURE(counters)
{
	struct perf_event_attr attr;
	struct perf_event_mmap_page *page;
	struct rate_limit limit;
	int fd;
};

FIXTURE_VARIANT(counters)
{
	void (*loop)(unsigned long rounds);
	unsigned int instructions;	/* in a round */
};

FIXTURE_VARIANT_ADD(counters, plain)
{
	.loop = plain,
	.instructions = 2,
};

FIXTURE_VARIANT_ADD(counters, calls)
{
	.loop = calls,
	.instructions = 7,
};

FIXTURE_VARIANT_ADD(counters, flags)
{
	.loop = flags,
	.instructions = 6,
};

FIXTURE_VARIANT_ADD(counters, repeated)
{
	.loop = repeated,
	.instructions = 5,
};

FIXTURE_VARIANT_ADD(counters, shadow)
{
	.loop = shadow,
	.instructions = 5,
};

FIXTURE_VARIANT_ADD(counters, faults)
{
	.loop = faults,
	.instructions = 4,
};

FIXTURE_VARIANT_ADD(counters, system_calls)
{
	.loop = system_calls,
	.instructions = 4,
};

FIXTURE_VARIANT_ADD(counters, read_counter)
{
	.loop = read_counter,
	.instructions = 4,
};

FIXTURE_SETUP(counters)
{
	self->fd = -1;
	if (has_model())
		ASSERT_EQ(model_step(true), 0);
	ASSERT_EQ(pin_to_cpu(nth_cpu(0)), 0);
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	attr_init(&self->attr, PERF_TYPE_HARDWARE);
	self->attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	self->attr.exclude_kernel = 1;
	self->attr.exclude_hv = 1;
}

FIXTURE_TEARDOWN(counters)
{
	if (self->fd >= 0)
		close(self->fd);
	set_rate_limit(&self->limit);
	if (has_model())
		EXPECT_EQ(model_reset(), 0);
}

/* Mapped, so that user space may use RDPMC. False: the test skips. */
static bool open_counter(struct __test_metadata *_metadata, struct perf_event_attr *attr, int *fd,
			 struct perf_event_mmap_page **page, bool rdpmc)
{
	*fd = perf_open(attr, 0, -1, -1);
	if (*fd < 0)
		SKIP(return false, "no counter of instructions: %s", strerror(errno));
	*page = mmap(NULL, 65 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	ASSERT_NE(*page, MAP_FAILED);
	if (rdpmc && !(*page)->cap_user_rdpmc)
		SKIP(return false, "the control page says that RDPMC doesn't work");

	return true;
}

/* Of the loop, and of what is around it */
static __u64 count_of(int fd, void (*loop)(unsigned long rounds), unsigned long rounds)
{
	__u64 before = perf_count(fd);

	loop(rounds);

	return perf_count(fd) - before;
}

TEST_F(counters, exact)
{
	__u64 begin, some, more, interrupts;

	self->attr.disabled = 0;
	if (!open_counter(_metadata, &self->attr, &self->fd, &self->page,
			  variant->loop == read_counter))
		return;
	/* All calls are bound after two of them. */
	count_of(self->fd, variant->loop, 1);
	count_of(self->fd, variant->loop, 1);
	begin = clock_ns();
	some = count_of(self->fd, variant->loop, 1);
	more = count_of(self->fd, variant->loop, ROUNDS + 1);
	interrupts = has_model() ? 0 : 10 + (clock_ns() - begin) / 100000;
	EXPECT_GE(more - some, (__u64)ROUNDS * variant->instructions);
	EXPECT_LE(more - some, (__u64)ROUNDS * variant->instructions + interrupts);
}

static __u64 min_u64(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/*
 * Instructions of any mode, where the emulator's clock counts them, one in 2^N ticks. A
 * timer's interrupt adds its own to what it comes in, but doesn't come each time.
 */
TEST_F(counters, all_modes)
{
	__u64 some = ~0ULL, more = ~0ULL;
	char ticks[16];
	int i;

	if (!has_model() || model_setting("icount", ticks, sizeof(ticks)))
		SKIP(return, "the emulator's clock doesn't count instructions");
	if (variant->loop == system_calls || variant->loop == faults ||
	    variant->loop == read_counter)
		SKIP(return, "nobody knows how many instructions the kernel executes");
	if (variant->loop == repeated)
		SKIP(return, "for the emulator's clock, each round is an instruction");
	self->attr.disabled = 0;
	self->attr.exclude_kernel = 0;
	if (!open_counter(_metadata, &self->attr, &self->fd, &self->page,
			  variant->loop == read_counter))
		return;
	for (i = 0; i < 20; i++) {
		some = min_u64(some, count_of(self->fd, variant->loop, 1));
		more = min_u64(more, count_of(self->fd, variant->loop, ROUNDS + 1));
	}
	EXPECT_GE(more - some + 1, (__u64)ROUNDS * variant->instructions);
	EXPECT_LE(more - some, (__u64)ROUNDS * variant->instructions * 101 / 100);
}

struct counted {
	struct perf_event_header header;
	__u64 count;
};

/* Each sample has the count at its time: that of the overflow, or some more. */
TEST_F(counters, overflow_when_the_period_is_over)
{
	const struct counted *sample;
	__u64 nr, count, i;

	self->attr.sample_period = PERIOD;
	self->attr.sample_type = PERF_SAMPLE_READ;
	if (!open_counter(_metadata, &self->attr, &self->fd, &self->page,
			  variant->loop == read_counter))
		return;
	ASSERT_EQ(perf_enable(self->fd), 0);
	variant->loop(ROUNDS);
	ASSERT_EQ(perf_disable(self->fd), 0);
	count = perf_count(self->fd);

	nr = self->page->data_head / sizeof(*sample);
	EXPECT_EQ(nr, count / PERIOD);
	sample = (void *)self->page + self->page->data_offset;
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(sample[i].header.type, PERF_RECORD_SAMPLE);
		ASSERT_EQ(sample[i].header.size, sizeof(*sample));
		ASSERT_GE(sample[i].count, (i + 1) * PERIOD);
		ASSERT_LT(sample[i].count, (i + 2) * PERIOD);
	}
}

/* A number of overflows, and then the event is disabled. */
TEST_F(counters, refresh)
{
	__u64 count;

	self->attr.sample_period = PERIOD;
	self->attr.sample_type = PERF_SAMPLE_READ;
	if (!open_counter(_metadata, &self->attr, &self->fd, &self->page,
			  variant->loop == read_counter))
		return;
	ASSERT_EQ(ioctl(self->fd, PERF_EVENT_IOC_REFRESH, 5), 0);
	variant->loop(ROUNDS);
	count = perf_count(self->fd);

	EXPECT_EQ(self->page->data_head, 5 * sizeof(struct counted));
	EXPECT_GE(count, 5 * PERIOD);
	EXPECT_LT(count, 6 * PERIOD);
}

TEST_HARNESS_MAIN
