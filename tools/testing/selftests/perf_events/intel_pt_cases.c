// SPDX-License-Identifier: GPL-2.0
/*
 * Which packets of Intel PT there are when the driver switches the trace on and off, when
 * the kernel switches to another address space, when the frequency changes, and when the
 * processor's internal buffer overflows.
 *
 * Expected: what the Software Developer's Manual says, volume 3, chapter on Intel Processor
 * Trace; names of its sections are in quotes, numbers as 2d are those of "Packet Generation
 * under Different Enable Conditions".
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "intel_pt_packets.h"
#include "intel_test.h"

PROGRAM_NEEDS(lacks_pmu("intel_pt"))

FIXTURE(pt_case)
{
	struct gated gated;
	struct pt_trace trace;
};

FIXTURE_SETUP(pt_case)
{
	struct gated *gated = &self->gated;

	memset(self, 0, sizeof(*self));
	gated_init_pt(gated, &self->trace);
	gated->spec.exclude_kernel = true;
	if (!setup_kind(_metadata, gated, "tracepoint"))
		return;
}

FIXTURE_TEARDOWN(pt_case)
{
	if (has_model())
		EXPECT_EQ(model_reset(), 0);
	pt_close(_metadata, &self->gated);
}

static void run_windows(struct __test_metadata *_metadata, struct gated *gated,
			unsigned int nr, __u64 loops)
{
	while (nr--)
		ASSERT_EQ(gated_window(gated, loops), 0);
}

/* --- TraceEn 0 to 1 --- */

/* Does the trace begin with PSB? */
static bool begins_with_psb(const struct pt_trace *trace)
{
	return pt_find_psb(trace->bytes, trace->nr_bytes) == trace->bytes;
}

/*
 * 2a, 2b: PSB+ if PacketByteCnt is 0, which the driver writes when it starts an event for the
 * first time. Else TSC and CBR. Hardware may have more.
 */
TEST_F(pt_case, psb_at_the_first_start)
{
	struct gated *gated = &self->gated;
	bool has_byte_count = pmu_cap("intel_pt", "psb_cyc") == 1;
	int i;

	for (i = 0; i < 3; i++) {
		open_and_enable(_metadata, gated);
		run_windows(_metadata, gated, ROUNDS, 20);
		pt_finish(_metadata, gated);

		EXPECT_TRUE(begins_with_psb(&self->trace));
		/* The other starts */
		EXPECT_GE(self->trace.nr, ROUNDS);
		EXPECT_GE(self->trace.cbr, ROUNDS);
		/* Without PacketByteCnt each start has PSB+. */
		if (!has_byte_count)
			EXPECT_GE(self->trace.psb, ROUNDS);
		if (has_byte_count && has_model())
			EXPECT_LE(self->trace.psb, 1 + self->trace.nr_bytes / 2048);
		expect_exact(_metadata, gated);

		pt_trace_free(&self->trace);
		gated_close(gated);
		gated_init_pt(gated, &self->trace);
		gated->spec.exclude_kernel = true;
		ASSERT_TRUE(setup_kind(_metadata, gated, "tracepoint"));
	}
	open_group(_metadata, gated);
}

/* --- TraceEn changes in traced code --- */

/* Bytes of the running kernel */
static int read_kernel(__u64 address, void *bytes, size_t size)
{
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC), i, ret = -1;
	Elf64_Phdr segment;
	Elf64_Ehdr header;

	if (fd < 0)
		return -1;
	if (read(fd, &header, sizeof(header)) != sizeof(header))
		header.e_phnum = 0;
	for (i = 0; i < header.e_phnum && ret; i++) {
		if (pread(fd, &segment, sizeof(segment),
			  header.e_phoff + i * sizeof(segment)) != sizeof(segment))
			break;
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address + size <= segment.p_vaddr + segment.p_memsz &&
		    pread(fd, bytes, size, segment.p_offset + address -
			  segment.p_vaddr) == (ssize_t)size)
			ret = 0;
	}
	close(fd);

	return ret;
}

/* Is there a call of @function, 5 bytes long? That of the model stands for a WRMSR. */
static bool is_call(__u64 address, __u64 function)
{
	unsigned char code[5];
	__s32 distance;

	if (read_kernel(address, code, sizeof(code)) || code[0] != 0xe8)
		return false;
	memcpy(&distance, code + 1, sizeof(distance));

	return address + sizeof(code) + distance == function;
}

struct changes {
	unsigned int	on, off;
};

/*
 * The model can't follow the kernel's code. So no other address is between TIP.PGE and FUP
 * where the code is known: at the WRMSR. PSB+ may be.
 */
static struct changes find_changes(const struct pt_trace *trace, __u64 wrmsr)
{
	struct changes found = { };
	bool in_psb = false;
	enum pt_packet what;
	__u64 ip = 0, pge = 0;
	size_t at, len;

	for (at = 0; at < trace->nr_bytes; at += len) {
		what = pt_next(trace->bytes + at, trace->nr_bytes - at, &len);
		if (what == PT_PSB)
			ip = 0;
		if (what == PT_PSB || what == PT_PSBEND)
			in_psb = what == PT_PSB;
		if (what < PT_TIP || what > PT_FUP)
			continue;
		ip = pt_ip(trace->bytes + at, ip);
		if (in_psb)
			continue;
		if (what == PT_FUP && ip == pge) {
			found.on += is_call(ip - 5, wrmsr);
			found.off += is_call(ip, wrmsr);
		}
		pge = what == PT_PGE ? ip : 0;
	}

	return found;
}

TEST_F(pt_case, wrmsr_in_traced_code)
{
	__u64 wrmsr = kernel_symbol("tm_hook_write_msr");
	struct gated *gated = &self->gated;
	struct changes found;

	if (!wrmsr)
		SKIP(return, "needs the model of the trace hardware");
	if (access("/proc/kcore", R_OK))
		SKIP(return, "no /proc/kcore (CONFIG_PROC_KCORE)");

	gated->spec.exclude_kernel = false;
	gated->spec.exclude_user = true;
	gated->spec.aux_pages = 1024;
	open_and_enable(_metadata, gated);
	run_windows(_metadata, gated, ROUNDS, 20);
	pt_finish(_metadata, gated);

	found = find_changes(&self->trace, wrmsr);
	EXPECT_GE(found.on, ROUNDS);
	EXPECT_GE(found.off, ROUNDS);
}

/* --- MOV to CR3 --- */

#define SWITCHES	200

/* Two tasks on a CPU that wait for each other */
static void switch_tasks(struct __test_metadata *_metadata)
{
	int there[2], back[2], i;
	char byte = 0;
	pid_t child;

	ASSERT_EQ(pipe(there), 0);
	ASSERT_EQ(pipe(back), 0);
	child = fork();
	if (!child) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			write(back[1], &byte, 1);
		_exit(0);
	}
	ASSERT_GT(child, 0);
	for (i = 0; i < SWITCHES; i++) {
		ASSERT_EQ(write(there[1], &byte, 1), 1);
		ASSERT_EQ(read(back[0], &byte, 1), 1);
	}
	close(there[1]);
	ASSERT_EQ(waitpid(child, NULL, 0), child);
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

/* 5f: PIP although PacketEn is 0. No code of the kernel is in the filter's range. */
TEST_F(pt_case, pip_at_mov_cr3)
{
	struct gated *gated = &self->gated;
	__u64 never = kernel_symbol("panic");
	char filter[64];

	if (!never)
		SKIP(return, "no addresses in /proc/kallsyms");

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = false;
	gated->spec.exclude_user = true;
	gated->spec.start_paused = false;
	open_group(_metadata, gated);
	snprintf(filter, sizeof(filter), "filter %#llx/0x1", never);
	if (perf_set_filter(gated->group.aux, filter))
		SKIP(return, "no address filters");

	enable_group(_metadata, gated);
	switch_tasks(_metadata);
	pt_finish(_metadata, gated);

	EXPECT_GE(self->trace.pip, 2 * SWITCHES);
	EXPECT_EQ(self->trace.ips, 0);
}

/* --- Frequency --- */

/* "Core:Bus Ratio (CBR) Packet": after any frequency change */
TEST_F(pt_case, cbr_at_a_change_of_frequency)
{
	struct gated *gated = &self->gated;
	unsigned long before;
	unsigned int ratio;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	gated->spec.start_paused = false;
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	open_and_enable(_metadata, gated);
	pt_finish(_metadata, gated);
	before = self->trace.cbr;
	enable_group(_metadata, gated);
	for (ratio = 10; ratio < 30; ratio++)
		ASSERT_EQ(model_ratio(ratio), 0);
	pt_finish(_metadata, gated);

	EXPECT_GE(self->trace.cbr, before + 20);
	EXPECT_EQ(self->trace.ratio, 29);
	EXPECT_EQ(model_ratio(256), -1);
}

/* --- Overflow --- */

/*
 * A TIP for every other instruction: so few are lost in an overflow that hardly any of them is
 * interrupted, however slow this machine is.
 */
static void jumps(void)
{
	asm volatile(".rept 300\n\t"
		     "lea 1f(%%rip), %%rax\n\t"
		     "jmp *%%rax\n"
		     "1:\n\t"
		     ".endr"
		     : : : "rax");
}

/* Code that isn't traced is never far: the next system call */
static void calls(void)
{
	branches(20);
	syscall(__NR_getppid);
}

/* "Internal Buffer Overflow": it resolves with FUP in traced code, else with TIP.PGE. */
TEST_F(pt_case, overflow)
{
	struct gated *gated = &self->gated;
	int i;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	gated->spec.start_paused = false;
	gated->spec.resume.size = 0;
	gated->spec.pause.size = 0;
	open_group(_metadata, gated);
	ASSERT_EQ(model_overflow(500), 0);
	enable_group(_metadata, gated);
	for (i = 0; i < 20; i++)
		jumps();
	for (i = 0; i < 300; i++)
		calls();
	disable_and_read(_metadata, gated);

	EXPECT_TRUE(pt_trace_complete(&self->trace));
	EXPECT_GE(self->trace.ovf, 20);
	EXPECT_GE(self->trace.ovf_fup, 1);
	EXPECT_GE(self->trace.ovf_pge, 1);
}

/* Gates act as always. */
TEST_F(pt_case, overflow_in_windows)
{
	struct gated *gated = &self->gated;

	if (!has_model())
		SKIP(return, "needs the model of the trace hardware");

	open_group(_metadata, gated);
	ASSERT_EQ(model_overflow(200), 0);
	enable_group(_metadata, gated);
	run_windows(_metadata, gated, 10 * ROUNDS, 100);
	disable_and_read(_metadata, gated);
	expect_exact(_metadata, gated);
	EXPECT_GE(self->trace.ovf, 10);
	EXPECT_LT(self->trace.tnt, 10 * ROUNDS * 100);
}

TEST_HARNESS_MAIN
