// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_EVENT_IOC_KEEP_AUX with Intel PT and Intel BTS: a window that is discarded leaves no
 * byte, and none of the others lacks a branch. How long windows last is nothing that a test
 * decides on a busy machine. So the limit changes: none is as long as FOREVER, and each is
 * longer than 0.
 *
 * Expected: each test passes. If a driver put its output back to another place, or left
 * packets that refer to discarded ones, "third" would have wrong windows.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <x86intrin.h>

#include "aux_keep.h"
#include "intel_test.h"

#define ALWAYS		1
#define PAIRS		500
#define SAMPLE_SIZE	256

#define CONFIG_PTW	0x1000
#define FAIL_DIR	DEBUG_DIR "/fail_page_alloc/"
/* Regions of a ToPA table; one entry at least links to the next table. */
#define TABLE_REGIONS	511

PROGRAM_NEEDS(lacks_pmu("intel_pt") ?: lacks_keep("intel_pt"))

struct keeping {
	struct gated gated;
	struct pt_trace pt;
	struct bts_trace bts;
	struct perf_event_aux_windows windows;
	bool discarded;			/* the last window */
	unsigned long after_discarded;	/* windows */
};

FIXTURE(keep)
{
	struct keeping k;
	struct rate_limit limit;
};

FIXTURE_VARIANT(keep)
{
	const char *pmu, *kind;
};

FIXTURE_VARIANT_ADD(keep, pt_tracepoint)
{
	.pmu = "intel_pt",
	.kind = "tracepoint",
};

FIXTURE_VARIANT_ADD(keep, pt_nmi)
{
	.pmu = "intel_pt",
	.kind = "nmi",
};

FIXTURE_VARIANT_ADD(keep, bts_tracepoint)
{
	.pmu = "intel_bts",
	.kind = "tracepoint",
};

FIXTURE_VARIANT_ADD(keep, bts_nmi)
{
	.pmu = "intel_bts",
	.kind = "nmi",
};

static bool is_pt(const struct gated *gated)
{
	return !strcmp(gated->spec.pmu, "intel_pt");
}

FIXTURE_SETUP(keep)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;

	memset(self, 0, sizeof(*self));
	if (lacks_pmu(variant->pmu))
		SKIP(return, "no %s", variant->pmu);
	ASSERT_EQ(rate_unlimit(&self->limit), 0);
	if (strcmp(variant->pmu, "intel_pt"))
		gated_init_bts(gated, &k->bts);
	else
		gated_init_pt(gated, &k->pt);
	gated->spec.exclude_kernel = true;
}

FIXTURE_TEARDOWN(keep)
{
	struct gated *gated = &self->k.gated;

	if (has_model())
		EXPECT_EQ(model_reset(), 0);
	if (is_pt(gated))
		pt_close(_metadata, gated);
	else
		bts_close(_metadata, gated);
	set_rate_limit(&self->limit);
}

/*
 * Run a window, by @run with @size. If it was discarded, the log has no branch of it; if not,
 * it is read.
 */
static void window_by(struct __test_metadata *_metadata, struct keeping *k, __u64 longer,
		      int (*run)(struct gated *gated, __u64 size), __u64 size)
{
	struct perf_event_aux_windows before, after;
	struct gated *gated = &k->gated;
	int aux = gated->group.aux;

	ASSERT_EQ(keep_longer(aux, longer), 0);
	ASSERT_EQ(count_windows(aux, &before), 0);
	ASSERT_EQ(run(gated, size), 0);
	ASSERT_EQ(count_windows(aux, &after), 0);

	EXPECT_EQ(all_windows(&after), all_windows(&before) + 1);
	if (after.discarded != before.discarded) {
		EXPECT_EQ(longer, FOREVER);
		gated->log[gated->nr - 1].loops = 0;
		k->discarded = true;
	} else {
		k->after_discarded += k->discarded;
		k->discarded = false;
		read_trace(_metadata, gated);
	}
}

static void window(struct __test_metadata *_metadata, struct keeping *k, __u64 longer,
		   __u64 loops)
{
	window_by(_metadata, k, longer, gated_window, loops);
}

/* The trace has exactly the windows of the log; at least @least of them have branches. */
static void expect_log(struct __test_metadata *_metadata, struct keeping *k, int least)
{
	struct gated *gated = &k->gated;
	bool pt = is_pt(gated);
	int found = pt ? pt_trace_match(&k->pt, gated->log, gated->nr, true) :
			 bts_trace_match(&k->bts, gated->kind->code, gated->log, gated->nr,
					 false);

	EXPECT_GE(found, least)
		TH_LOG("%s", pt ? k->pt.error : k->bts.error);
	if (pt)
		expect_complete(_metadata, &k->pt);
	EXPECT_EQ(k->bts.truncated + k->pt.truncated, 0);
	expect_exact(_metadata, gated);
}

TEST_F(keep, third)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;
	int i;

	if (!open_kind(_metadata, gated, variant->kind))
		return;
	enable_group(_metadata, gated);
	for (i = 0; i < 3 * ROUNDS; i++)
		window(_metadata, k, i % 3 ? FOREVER : ALWAYS, 50 + 17 * i);
	disable_and_read(_metadata, gated);

	expect_log(_metadata, k, ROUNDS / 2);
	/* They begin with a PSB: what a packet refers to may be in the discarded one. */
	if (is_pt(gated))
		EXPECT_GE(k->pt.psb, k->after_discarded);

	ASSERT_EQ(count_windows(gated->group.aux, &k->windows), 0);
	EXPECT_GE(k->windows.discarded, ROUNDS);
	EXPECT_GE(k->windows.kept, ROUNDS / 2);
	TH_LOG("%llu kept, %llu partial, %llu discarded",
	       (unsigned long long)k->windows.kept,
	       (unsigned long long)k->windows.partial,
	       (unsigned long long)k->windows.discarded);
}

/*
 * A window in which the area's interrupt hands over data is kept, all of it. Each has more
 * than a page: Intel PT has six branches in a byte.
 */
TEST_F_TIMEOUT(keep, cut_by_interrupts, 120)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;
	int i;

	if (is_pt(gated) && lacks_regions())
		SKIP(return, "no %s", lacks_regions());
	gated->spec.aux_pages = 32;
	gated->spec.watermark = 4096;
	if (!open_kind(_metadata, gated, variant->kind))
		return;
	enable_group(_metadata, gated);
	for (i = 0; i < ROUNDS; i++)
		window(_metadata, k, FOREVER, is_pt(gated) ? 30000 + i : 1000 + i);
	disable_and_read(_metadata, gated);

	expect_log(_metadata, k, ROUNDS);
	ASSERT_EQ(count_windows(gated->group.aux, &k->windows), 0);
	EXPECT_EQ(k->windows.partial, ROUNDS);
}

/* Discarded windows fill nothing: these have more bytes than the area. */
TEST_F_TIMEOUT(keep, room_is_free_again, 120)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;
	int i;

	if (is_pt(gated) && lacks_regions())
		SKIP(return, "no %s", lacks_regions());
	gated->spec.aux_pages = 8;
	if (!open_kind(_metadata, gated, variant->kind))
		return;
	enable_group(_metadata, gated);
	for (i = 0; i < 5 * ROUNDS; i++)
		window(_metadata, k, FOREVER, is_pt(gated) ? 3000 : 200);
	window(_metadata, k, ALWAYS, 100);
	disable_and_read(_metadata, gated);

	expect_log(_metadata, k, 1);
	ASSERT_EQ(count_windows(gated->group.aux, &k->windows), 0);
	EXPECT_GE(k->windows.discarded, ROUNDS);
}

/* A sampler where the system call returns that has opened the window; and one by NMI, anywhere */
static void open_samplers(struct __test_metadata *_metadata, struct gated *gated, int *sampler)
{
	bool nmi = !strcmp(gated->kind->name, "nmi");
	struct perf_event_attr attr;

	sampler[0] = aux_group_add_soft_sampler(&gated->group, &gated->spec,
						nmi ? "syscalls/sys_exit_write" :
						      "syscalls/sys_exit_getppid", SAMPLE_SIZE);
	ASSERT_GE(sampler[0], 0);
	attr_nmi(&attr, 500000, TAG_NONE);
	sampler[1] = aux_group_add_sampler(&gated->group, &gated->spec, &attr, SAMPLE_SIZE);
	ASSERT_GE(sampler[1], 0);
}

static int samples_of(const struct gated *gated, int sampler)
{
	const struct perf_records *records = &gated->records;
	__u64 id = perf_id(sampler);
	int nr = 0;
	size_t i;

	for (i = 0; i < records->nr; i++)
		nr += records->rec[i].id == id && records->rec[i].sampled == SAMPLE_SIZE;

	return nr;
}

/* An AUX sample in a window changes nothing in whether that is kept, and what is in it. */
TEST_F(keep, samples)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;
	int sampler[2], i;

	if (!open_kind(_metadata, gated, variant->kind))
		return;
	if (!is_pt(gated)) {
		EXPECT_EQ(aux_group_add_soft_sampler(&gated->group, &gated->spec, AT_SAMPLE,
						     SAMPLE_SIZE), -1);
		EXPECT_EQ(errno, EINVAL);
		return;
	}
	open_samplers(_metadata, gated, sampler);
	enable_group(_metadata, gated);
	for (i = 0; i < 3 * ROUNDS; i++)
		window(_metadata, k, i % 3 ? FOREVER : ALWAYS, 50 + 17 * i);
	disable_and_read(_metadata, gated);

	expect_log(_metadata, k, ROUNDS / 2);
	ASSERT_EQ(count_windows(gated->group.aux, &k->windows), 0);
	EXPECT_GE(k->windows.discarded, ROUNDS);
	EXPECT_GE(k->windows.kept, ROUNDS / 2);
	EXPECT_GE(samples_of(gated, sampler[0]), 3 * ROUNDS);
	EXPECT_GE(samples_of(gated, sampler[1]), ROUNDS);
	close(sampler[0]);
	close(sampler[1]);
}

/*
 * The area gets full in a window: what is there is kept, however short the window. The event
 * is disabled, and misses the pause, so the window ends with the next pause after there is
 * room again. From then on, windows are kept and discarded as before.
 */
TEST_F_TIMEOUT(keep, full, 120)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;
	int i;

	/* Once the area is full, the loop runs at full speed, and must not overtake the PMI. */
	if (has_model())
		ASSERT_EQ(model_skid(0, 0), 0);
	gated->spec.aux_pages = 8;
	if (!open_kind(_metadata, gated, variant->kind))
		return;
	ASSERT_EQ(keep_longer(gated->group.aux, FOREVER), 0);
	enable_group(_metadata, gated);
	EXPECT_EQ(gated_window(gated, is_pt(gated) ? 400000 : 4000), -1);
	disable_and_read(_metadata, gated);
	EXPECT_GE(k->bts.truncated + k->pt.truncated, 1);

	enable_group(_metadata, gated);
	for (i = 0; i < 10 && !k->discarded; i++)
		window(_metadata, k, FOREVER, 100);
	ASSERT_TRUE(k->discarded);
	disable_and_read(_metadata, gated);
	ASSERT_EQ(count_windows(gated->group.aux, &k->windows), 0);
	EXPECT_GE(k->windows.partial, 1);

	/* From here on, all windows are complete. */
	enable_group(_metadata, gated);
	pt_trace_free(&k->pt);
	bts_trace_free(&k->bts);
	gated->nr = 0;
	for (i = 0; i < ROUNDS; i++)
		window(_metadata, k, i % 2 ? FOREVER : ALWAYS, 50 + 17 * i);
	disable_and_read(_metadata, gated);
	expect_log(_metadata, k, ROUNDS / 4);
}

/* New messages of the kernel, in /dev/kmsg, with @text */
static int nr_messages(int log, const char *text)
{
	char record[2048];
	ssize_t n;
	int nr = 0;

	while ((n = read(log, record, sizeof(record) - 1)) > 0) {
		record[n] = '\0';
		nr += !!strstr(record, text);
	}
	return nr;
}

/*
 * The trace of a discarded window ends with an error of the hardware. That isn't forgotten: the
 * next resume reports it, or a switch of the task before, and the trace goes on.
 */
TEST_F(keep, error_in_a_discarded_window)
{
	struct keeping *k = &self->k;
	struct gated *gated = &k->gated;
	int log, i;

	if (!is_pt(gated))
		SKIP(return, "Intel BTS has no such error");
	if (!has_model())
		SKIP(return, "no model of the hardware, to cause an error");
	if (!open_kind(_metadata, gated, variant->kind))
		return;
	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_GE(log, 0);
	ASSERT_EQ(lseek(log, 0, SEEK_END), 0);
	enable_group(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		if (i == ROUNDS / 2)
			ASSERT_EQ(model_output_error(), 0);
		window(_metadata, k, FOREVER, 50 + 17 * i);
		window(_metadata, k, ALWAYS, 50 + 17 * i);
	}
	disable_and_read(_metadata, gated);
	EXPECT_EQ(nr_messages(log, "ToPA ERROR"), 1);
	close(log);

	expect_log(_metadata, k, ROUNDS / 2);
	ASSERT_EQ(count_windows(gated->group.aux, &k->windows), 0);
	EXPECT_GE(k->windows.discarded, ROUNDS / 2);
}

/* A window as gated_window() runs it, for gates on tracepoints, with @n PTWRITE packets */
static int ptwrite_window(struct gated *gated, __u64 n)
{
	struct window_log *log = &gated->log[gated->nr++];

	log->loops = LOOPS_UNKNOWN;
	log->from = __rdtsc();
	syscall(__NR_getppid);
	/* ptwrite %rax, by its bytes: the assembler may not know it */
	asm volatile("1:\n\t"
		     ".rept 16\n\t"
		     ".byte 0xf3, 0x48, 0x0f, 0xae, 0xe0\n\t"
		     ".endr\n\t"
		     "sub $16, %[n]\n\t"
		     "ja 1b"
		     : [n] "+r" (n) : : "rax", "cc");
	syscall(__NR_getpgid, 0);
	log->to = __rdtsc();

	return 0;
}

/* Have allocations of more than one page fail, for this task. */
static int fail_large_allocations(bool fail)
{
	return write_file(FAIL_DIR "task-filter", "Y") || write_file(FAIL_DIR "min-order", "1") ||
	       write_file(FAIL_DIR "ignore-gfp-wait", "N") || write_file(FAIL_DIR "verbose", "0") ||
	       write_file(FAIL_DIR "times", "-1") ||
	       write_file(FAIL_DIR "probability", fail ? "100" : "0") ||
	       write_file("/proc/self/make-it-fail", fail ? "1" : "0") ? -1 : 0;
}

/*
 * An AUX area of single pages, as where memory is fragmented. The area that is mapped and
 * unmapped before leaves the slab allocator a place for the array of their addresses, which
 * is more than one page. Returns 0, or what is in errno.
 */
static int open_single_pages(struct __test_metadata *_metadata, struct gated *gated)
{
	int err;

	open_group(_metadata, gated);
	aux_group_close(&gated->group);
	ASSERT_EQ(fail_large_allocations(true), 0);
	err = gated_open(gated) ? errno : 0;
	ASSERT_EQ(fail_large_allocations(false), 0);

	return err;
}

/* Windows that begin in one ToPA table and end in the next are discarded like others. */
TEST(pt_discarded_windows_span_tables)
{
	const __u64 last = TABLE_REGIONS * 4096, first = last - 16 * 4096;
	struct perf_event_aux_windows windows;
	struct gated *gated;
	struct keeping k = {};
	int err, i;

	if (lacks_regions())
		SKIP(return, "no %s", lacks_regions());
	if (pmu_cap("intel_pt", "ptwrite") != 1)
		SKIP(return, "no PTWRITE packets");
	if (!has_debugfs(FAIL_DIR "probability"))
		SKIP(return, "no allocations that fail on request (CONFIG_FAIL_PAGE_ALLOC)");
	gated = &k.gated;
	gated_init_pt(gated, &k.pt);
	if (!setup_kind(_metadata, gated, "tracepoint"))
		return;
	gated->spec.exclude_kernel = true;
	gated->spec.config |= CONFIG_PTW;
	gated->spec.aux_pages = 1024;
	gated->spec.watermark = 3 << 20;
	err = open_single_pages(_metadata, gated);
	if (err == ENOMEM)
		SKIP(return, "the kernel allocates more than the area's pages anew");
	ASSERT_EQ(err, 0);

	while (gated->group.page->aux_head < first) {
		enable_group(_metadata, gated);
		window_by(_metadata, &k, ALWAYS, ptwrite_window, 512);
		disable_and_read(_metadata, gated);
	}
	enable_group(_metadata, gated);
	for (i = 0; i < 2 * ROUNDS; i++) {
		window_by(_metadata, &k, FOREVER, ptwrite_window, 1024);
		window_by(_metadata, &k, ALWAYS, ptwrite_window, 256);
		window(_metadata, &k, ALWAYS, 50 + 17 * i);
	}
	disable_and_read(_metadata, gated);

	EXPECT_GT(gated->group.page->aux_head, last);
	expect_log(_metadata, &k, 2 * ROUNDS);
	ASSERT_EQ(count_windows(gated->group.aux, &windows), 0);
	EXPECT_GE(windows.discarded, ROUNDS);
	pt_close(_metadata, gated);
}

/*
 * A processor without Intel PT in VMX operation: a window that VMX operation interrupts, or
 * that begins there, is kept and discarded like others, and counted once even if its gate comes
 * twice. The model waits there, by udelay().
 */
struct vmx_gates {
	bool resumes[2];	/* gates at __udelay(), and at __const_udelay(), which that calls */
	int windows;
};

static void windows_in_vmx(struct __test_metadata *_metadata, struct gated *gated,
			   const struct vmx_gates *gates, __u64 longer)
{
	int i;

	ASSERT_EQ(keep_longer(gated->group.aux, longer), 0);
	enable_group(_metadata, gated);
	for (i = 0; i < ROUNDS; i++) {
		if (!gates->resumes[0])
			fire_tag(TAG_RESUME);
		ASSERT_EQ(model_vmx(10), 0);
		if (gates->resumes[1])
			fire_tag(TAG_PAUSE);
	}
	disable_and_read(_metadata, gated);
}

static void open_with_gates(struct __test_metadata *_metadata, struct gated *gated,
			    const struct vmx_gates *gates, int *gate)
{
	static const char * const at[] = { "__udelay", "__const_udelay" };
	struct perf_event_attr attr;
	int i;

	open_group(_metadata, gated);
	for (i = 0; i < 2; i++) {
		attr_probe(&attr, pmu_type("kprobe"), at[i], 0);
		gate[i] = aux_group_add_gate(&gated->group, &gated->spec, &attr,
					     gates->resumes[i]);
		ASSERT_GE(gate[i], 0);
	}
}

static void keep_in_vmx(struct __test_metadata *_metadata, const struct vmx_gates *gates)
{
	int all = ROUNDS * gates->windows, gate[2];
	struct keeping k = {};
	struct gated *gated = &k.gated;

	gated_init_pt(gated, &k.pt);
	if (!setup_kind(_metadata, gated, "nmi"))
		return;
	/* A CPU event, as a switch of tasks would cut the window */
	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = true;
	open_with_gates(_metadata, gated, gates, gate);

	windows_in_vmx(_metadata, gated, gates, FOREVER);
	ASSERT_EQ(count_windows(gated->group.aux, &k.windows), 0);
	EXPECT_EQ(k.windows.discarded, all);
	EXPECT_EQ(all_windows(&k.windows), all);
	EXPECT_EQ(gated->group.page->aux_head, 0);

	windows_in_vmx(_metadata, gated, gates, ALWAYS);
	ASSERT_EQ(count_windows(gated->group.aux, &k.windows), 0);
	EXPECT_EQ(k.windows.kept, all);
	EXPECT_EQ(all_windows(&k.windows), 2 * all);
	EXPECT_GE(perf_records_flagged(&gated->records, 0, PERF_AUX_FLAG_PARTIAL), ROUNDS);

	close(gate[1]);
	close(gate[0]);
	pt_close(_metadata, gated);
}

TEST(pt_windows_in_vmx)
{
	static const struct vmx_gates gates[] = {
		{ { false, false }, 1 },
		{ { true, true }, 1 },
		{ { true, false }, 1 },
		{ { false, true }, 2 },
	};
	struct rate_limit limit;
	size_t i;

	if (!has_model())
		SKIP(return, "VMX operation without KVM needs the model");
	if (pmu_type("kprobe") < 0)
		SKIP(return, "no PMU kprobe (CONFIG_KPROBE_EVENTS)");
	ASSERT_EQ(rate_unlimit(&limit), 0);
	for (i = 0; i < ARRAY_SIZE(gates); i++)
		keep_in_vmx(_metadata, &gates[i]);
	set_rate_limit(&limit);
}

/*
 * Each window is two writes of CTL. A discarded one is three more, for where the output is
 * and for PSB+. BTS's output isn't in MSRs.
 */
TEST(pt_discarded_window_costs_three_msr_writes)
{
	struct perf_event_aux_windows windows;
	struct pt_trace trace = {};
	struct rate_limit limit;
	struct gated gated;
	int counter, i;

	gated_init_pt(&gated, &trace);
	if (!setup_kind(_metadata, &gated, "nmi"))
		return;
	/* A CPU event, as a context switch stops and starts a task's event. */
	gated.spec.pid = -1;
	gated.spec.cpu = gated.cpu;
	open_group(_metadata, &gated);
	counter = count_msr_writes(&gated.spec, MSR_RTIT_OUTPUT_BASE, MSR_RTIT_LAST);
	if (counter < 0)
		SKIP(return, "no tracepoint msr:write_msr");

	ASSERT_EQ(rate_unlimit(&limit), 0);
	/* From here to its restoring nothing ends the test. */
	EXPECT_EQ(keep_longer(gated.group.aux, FOREVER), 0);
	EXPECT_EQ(aux_group_enable(&gated.group), 0);
	EXPECT_EQ(perf_enable(counter), 0);
	for (i = 0; i < PAIRS; i++) {
		fire_tag(TAG_RESUME);
		fire_tag(TAG_PAUSE);
	}
	EXPECT_EQ(count_windows(gated.group.aux, &windows), 0);
	EXPECT_EQ(windows.discarded, PAIRS);
	EXPECT_EQ(perf_count(counter), 5 * PAIRS);
	close(counter);
	pt_close(_metadata, &gated);
	set_rate_limit(&limit);
}

TEST_HARNESS_MAIN
