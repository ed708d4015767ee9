// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of Intel PT and Intel BTS. See intel_common.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "../kselftest.h"
#include "intel_common.h"

#define DEBUG_DIR	"/sys/kernel/debug"
#define MODEL_DIR	DEBUG_DIR "/trace_model"
#define RESTART		DEBUG_DIR "/test_perf_restart"
#define MSR_NMI		DEBUG_DIR "/test_perf_msr"

/* --- What there is to test --- */

static bool has_debugfs(const char *path)
{
	if (!access(path, F_OK))
		return true;

	return !mount("debugfs", DEBUG_DIR, "debugfs", 0, NULL) &&
	       !access(path, F_OK);
}

const char *lacks_pmu(const char *pmu)
{
	static char text[128];

	if (geteuid())
		return "needs root";
	if (pmu_type(pmu) >= 0)
		return NULL;

	snprintf(text, sizeof(text),
		 "no PMU %s: no such Intel CPU, and no kernel parameter trace_model",
		 pmu);

	return text;
}

const char *lacks_nmi(void)
{
	if ((pmu_type("test_nmi") < 0 && load_module("test_perf_nmi")) ||
	    pmu_type("test_nmi") < 0)
		return "module test_perf_nmi (CONFIG_TEST_PERF_NMI)";

	return has_debugfs(DEBUG_DIR "/test_perf_nmi/fire") ?
	       NULL : "debugfs (CONFIG_DEBUG_FS)";
}

const char *lacks_account(void)
{
	if (pmu_type("test_aux") < 0 && load_module("test_perf_aux"))
		return "module test_perf_aux (CONFIG_TEST_PERF_AUX)";

	return has_debugfs(DEBUG_DIR "/test_perf_aux/actions") ?
	       NULL : "debugfs (CONFIG_DEBUG_FS)";
}

const char *lacks_msr(void)
{
	__u64 value;

	if (access("/dev/cpu/0/msr", R_OK))
		load_module("msr");

	return msr_read(nth_cpu(0), MSR_DEBUGCTL, &value) ?
	       "/dev/cpu/N/msr (CONFIG_X86_MSR)" : NULL;
}

#define MAX_PERCENT	"/proc/sys/kernel/perf_cpu_time_max_percent"

/* The rate can be set only as long as 0 < percent < 100. */
int rate_unlimit(struct rate_limit *limit)
{
	if (read_file(MAX_PERCENT, limit->percent, sizeof(limit->percent)) ||
	    write_file(MAX_PERCENT, "50\n"))
		return -1;

	limit->rate = set_max_sample_rate(RATE_UNLIMITED);

	return limit->rate < 0 ? -1 : write_file(MAX_PERCENT, "0\n");
}

void rate_restore(const struct rate_limit *limit)
{
	write_file(MAX_PERCENT, "50\n");
	set_max_sample_rate(limit->rate);
	write_file(MAX_PERCENT, limit->percent);
}

/* --- The model --- */

bool has_model(void)
{
	return has_debugfs(MODEL_DIR "/stats");
}

long long model_stat(const char *name)
{
	return has_model() ? file_value(MODEL_DIR "/stats", name) : -1;
}

static long long count_breaches(void)
{
	return has_model() ? file_value(MODEL_DIR "/breaches", "total") : 0;
}

static long long breaches;

void model_watch(void)
{
	breaches = count_breaches();
}

long long model_breaches(void)
{
	return count_breaches() - breaches;
}

int model_vmx(unsigned int us)
{
	char text[32];

	snprintf(text, sizeof(text), "%u\n", us);

	return write_file(MODEL_DIR "/vmx", text);
}

int model_vmexit(void)
{
	return write_file(MODEL_DIR "/vmexit", "1\n");
}

int model_suspend(void)
{
	return write_file(MODEL_DIR "/suspend", "1\n");
}

int model_mask(bool mask)
{
	return write_file(MODEL_DIR "/mask", mask ? "1\n" : "0\n");
}

int model_ack(const char *when)
{
	return write_file(MODEL_DIR "/ack", when);
}

__u64 kernel_symbol(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256];
	unsigned long long addr;
	__u64 found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %255s", &addr, symbol) == 2 &&
		    !strcmp(symbol, name))
			found = addr;
	}
	if (file)
		fclose(file);

	return found;
}

const char *lacks_restart(void)
{
	return has_debugfs(RESTART) ?
	       NULL : "file test_perf_restart (CONFIG_TEST_PERF_RESTART)";
}

int restart_event(int fd)
{
	char text[32];

	snprintf(text, sizeof(text), "%d\n", fd);

	return write_file(RESTART, text);
}

/* --- MSRs --- */

/* The file stays open: this may run while it is traced. */
int msr_read(int cpu, unsigned int msr, __u64 *value)
{
	static int fd = -1, fd_cpu;
	char path[64];

	if (fd >= 0 && fd_cpu != cpu) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		fd_cpu = cpu;
	}

	return pread(fd, value, sizeof(*value), msr) == sizeof(*value) ? 0 : -1;
}

int pt_is_on(int cpu)
{
	__u64 ctl;

	return msr_read(cpu, MSR_RTIT_CTL, &ctl) ? -1 : (int)(ctl & 1);
}

/* TR and BTS: store branches, and store them in the DS area */
#define DEBUGCTL_ON	0xc0

int bts_is_on(int cpu)
{
	__u64 ctl;

	if (msr_read(cpu, MSR_DEBUGCTL, &ctl))
		return -1;

	return (ctl & DEBUGCTL_ON) == DEBUGCTL_ON;
}

int attr_msr(struct perf_event_attr *attr, bool write)
{
	return attr_tracepoint(attr, write ? "msr/write_msr" : "msr/read_msr");
}

static int filter_msrs(int fd, unsigned int first, unsigned int last)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "msr >= %u && msr <= %u", first, last);
	if (fd < 0 || !perf_set_filter(fd, filter))
		return fd;
	close(fd);

	return -1;
}

int count_msr_writes(const struct aux_spec *spec, unsigned int first,
		     unsigned int last)
{
	struct perf_event_attr attr;

	if (attr_msr(&attr, true))
		return -1;

	attr.disabled = 1;
	attr.sample_period = 0;

	return filter_msrs(perf_open(&attr, spec->pid, spec->cpu, -1), first, last);
}

int open_msr_gate(const struct aux_spec *spec, const struct aux_group *group,
		  const struct msr_point *point, bool resumes)
{
	struct perf_event_attr attr;

	if (attr_msr(&attr, point->write))
		return -1;

	attr.disabled = 1;

	return filter_msrs(aux_group_add_gate(group, spec, &attr, resumes),
			   point->msr, point->msr);
}

const char *lacks_nmi_at_msr(void)
{
	if (!has_debugfs(MSR_NMI))
		load_module("test_perf_msr");

	return has_debugfs(MSR_NMI) ?
	       NULL : "module test_perf_msr (CONFIG_TEST_PERF_MSR)";
}

int nmi_at_msr(const struct msr_point *point, unsigned int tag)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %x %u\n", point->write ? "write" : "read",
		 point->msr, tag);

	return write_file(MSR_NMI, text);
}

long nmi_at_msr_off(void)
{
	char text[32];

	if (write_file(MSR_NMI, "off\n") ||
	    read_file(MSR_NMI, text, sizeof(text)))
		return -1;

	return atol(text);
}

/* --- Windows --- */

/*
 * void run(const struct window *win)
 *
 * In assembly, so that there is no branch but these. The offsets are those of
 * struct window; %r12 is @win, %rbx counts.
 */
asm("	.macro	call_at off:req\n"
"	mov	\\off+0(%r12), %rax\n"
"	mov	\\off+8(%r12), %rdi\n"
"	mov	\\off+16(%r12), %rsi\n"
"	mov	\\off+24(%r12), %rdx\n"
"	syscall\n"
"	.endm\n"
"	.macro	store_at off:req\n"
"	mov	\\off(%r12), %rax\n"
"	incq	(%rax)\n"
"	.endm\n"
"	.macro	place_at off:req\n"
"	nop\n"
"	.endm\n"
/* The code, and its entry in the table */
"	.macro	window open:req, close:req\n"
"	.pushsection .text\n"
"	.p2align 6\n"
".Lrun\\@:\n"
"	push	%rbx\n"
"	push	%r12\n"
"	mov	%rdi, %r12\n"
"	mov	64(%r12), %rbx\n"
".Lopen\\@:\n"
"	\\open	0\n"
".Lloop\\@:\n"
"	dec	%rbx\n"
".Lbranch\\@:\n"
"	jnz	.Lloop\\@\n"
".Lclose\\@:\n"
"	\\close	32\n"
"	pop	%r12\n"
"	pop	%rbx\n"
"	ret\n"
".Lend\\@:\n"
"	.popsection\n"
"	.quad	.Lrun\\@, .Lopen\\@, .Lclose\\@, .Lbranch\\@, .Lend\\@\n"
"	.endm\n"
/* In the order of enum window_kind, two of each */
"	.pushsection .data.rel.ro, \"aw\"\n"
"	.p2align 3\n"
"	.globl	window_codes\n"
"window_codes:\n"
"	.rept	2\n"
"	window	call_at, call_at\n"
"	.endr\n"
"	.rept	2\n"
"	window	call_at, store_at\n"
"	.endr\n"
"	.rept	2\n"
"	window	store_at, call_at\n"
"	.endr\n"
"	.rept	2\n"
"	window	place_at, place_at\n"
"	.endr\n"
"	.popsection\n");

const struct window_code *window_code(enum window_kind kind, unsigned int copy)
{
	return &window_codes[kind][copy & 1];
}

/* --- Gates of every kind --- */

static __u64 watched;
static char *pages;	/* two of them, not there when a window begins */

static void window_calls(struct window *win, __u64 open, __u64 close)
{
	memset(win, 0, sizeof(*win));
	win->open[0] = open;
	win->close[0] = close;
}

static int setup_tracepoint(struct aux_spec *spec, struct window *win)
{
	window_calls(win, __NR_getppid, __NR_getpgid);

	return attr_tracepoint(&spec->resume, "syscalls/sys_enter_getppid") ||
	       attr_tracepoint(&spec->pause, "syscalls/sys_enter_getpgid");
}

static int setup_kprobe(struct aux_spec *spec, struct window *win)
{
	int type = pmu_type("kprobe");

	window_calls(win, __NR_getppid, __NR_getpgid);
	attr_probe(&spec->resume, type, "__x64_sys_getppid", 0);
	attr_probe(&spec->pause, type, "__x64_sys_getpgid", 0);

	return type < 0;
}

static int setup_uprobe(struct aux_spec *spec, struct window *win)
{
	const struct window_code *code = window_code(WINDOW_PLACES, 0);
	int type = pmu_type("uprobe");
	static char exe[256];

	if (type < 0 || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return -1;

	memset(win, 0, sizeof(*win));
	attr_probe(&spec->resume, type, exe, file_offset(code->open));
	attr_probe(&spec->pause, type, exe, file_offset(code->close));

	return 0;
}

/*
 * One breakpoint at a time: QEMU 7.2 reports the one that was hit before together
 * with the one that is hit.
 */
static int setup_break_resume(struct aux_spec *spec, struct window *win)
{
	if (setup_uprobe(spec, win))
		return -1;

	attr_breakpoint(&spec->resume, window_code(WINDOW_PLACES, 0)->open,
			false);

	return 0;
}

static int setup_break_pause(struct aux_spec *spec, struct window *win)
{
	if (setup_uprobe(spec, win))
		return -1;

	attr_breakpoint(&spec->pause, window_code(WINDOW_PLACES, 0)->close,
			false);

	return 0;
}

static int setup_watch_resume(struct aux_spec *spec, struct window *win)
{
	window_calls(win, (uintptr_t)&watched, __NR_getpgid);
	attr_breakpoint(&spec->resume, &watched, true);

	return attr_tracepoint(&spec->pause, "syscalls/sys_enter_getpgid");
}

/*
 * The model steps through what it traces. Where a step ends with a hit, QEMU
 * raises the second exception in the handler of the first.
 */
static int setup_watch_pause(struct aux_spec *spec, struct window *win)
{
	if (has_model())
		return -1;

	window_calls(win, __NR_getppid, (uintptr_t)&watched);
	attr_breakpoint(&spec->pause, &watched, true);

	return attr_tracepoint(&spec->resume, "syscalls/sys_enter_getppid");
}

/* Page faults in user mode resume, page faults in the kernel pause. */
static int setup_software(struct aux_spec *spec, struct window *win)
{
	pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return -1;

	/* The kernel writes two descriptors to the second page. */
	window_calls(win, (uintptr_t)pages, __NR_pipe2);
	win->close[1] = (uintptr_t)pages + 4096;
	attr_page_fault(&spec->resume, true);
	attr_page_fault(&spec->pause, false);

	return 0;
}

static void prepare_software(void)
{
	int *fds = (int *)(pages + 4096);

	if (fds[0] || fds[1]) {
		close(fds[0]);
		close(fds[1]);
	}
	madvise(pages, 8192, MADV_DONTNEED);
}

static int socket_to_self(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	socklen_t len = sizeof(addr);
	int fd;

	/* An own loopback device, if possible: nobody else's packets */
	unshare(CLONE_NEWNET);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ioctl(fd, SIOCSIFFLAGS, &up);
	if (bind(fd, (struct sockaddr *)&addr, len) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) ||
	    connect(fd, (struct sockaddr *)&addr, len))
		return -1;

	return fd;
}

/* One packet: sent and, by a softirq within the system call, received */
static int window_packet(__u64 *call, struct perf_event_attr *attr)
{
	call[0] = __NR_write;
	call[1] = socket_to_self();
	call[2] = (uintptr_t)&watched;
	call[3] = 1;

	return (int)call[1] < 0 || attr_tracepoint(attr, "net/netif_receive_skb");
}

static int setup_softirq_resume(struct aux_spec *spec, struct window *win)
{
	window_calls(win, 0, __NR_getpgid);
	spec->resume_filter = "name == \"lo\"";

	return window_packet(win->open, &spec->resume) ||
	       attr_tracepoint(&spec->pause, "syscalls/sys_enter_getpgid");
}

static int setup_softirq_pause(struct aux_spec *spec, struct window *win)
{
	window_calls(win, __NR_getppid, 0);
	spec->pause_filter = "name == \"lo\"";

	return window_packet(win->close, &spec->pause) ||
	       attr_tracepoint(&spec->resume, "syscalls/sys_enter_getppid");
}

/*
 * The interrupt is the one by which the CPU has itself wake the reader of a buffer,
 * here with each sample of an event that the system call is.
 */
static int window_irq(__u64 *call, struct perf_event_attr *attr)
{
	struct perf_event_attr waker;
	struct aux_group group;

	aux_group_init(&group);
	if (attr_tracepoint(&waker, "syscalls/sys_enter_getsid"))
		return -1;
	waker.wakeup_events = 1;
	group.aux = perf_open(&waker, 0, -1, -1);
	if (group.aux < 0 ||
	    mmap(NULL, 65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, group.aux,
		 0) == MAP_FAILED)
		return -1;
	call[0] = __NR_getsid;

	return attr_tracepoint(attr, "irq_vectors/irq_work_entry");
}

static int setup_irq_resume(struct aux_spec *spec, struct window *win)
{
	window_calls(win, 0, __NR_getpgid);

	return window_irq(win->open, &spec->resume) ||
	       attr_tracepoint(&spec->pause, "syscalls/sys_enter_getpgid");
}

static int setup_irq_pause(struct aux_spec *spec, struct window *win)
{
	window_calls(win, __NR_getppid, 0);

	return window_irq(win->close, &spec->pause) ||
	       attr_tracepoint(&spec->resume, "syscalls/sys_enter_getppid");
}

static int nmi_fd = -1;

int setup_nmi_gates(struct aux_spec *spec)
{
	if (lacks_nmi())
		return -1;
	if (nmi_fd < 0)
		nmi_fd = open(DEBUG_DIR "/test_perf_nmi/fire",
			      O_WRONLY | O_CLOEXEC);

	attr_nmi(&spec->resume, 0, TAG_RESUME);
	attr_nmi(&spec->pause, 0, TAG_PAUSE);

	return nmi_fd < 0 ? -1 : 0;
}

/* "1 TAG": one NMI */
static void window_fire(__u64 *call, unsigned int tag)
{
	static const char text[][8] = {
		[TAG_RESUME] = "1 1\n",
		[TAG_PAUSE] = "1 2\n",
		[TAG_SAMPLE] = "1 3\n",
	};

	call[0] = __NR_write;
	call[1] = nmi_fd;
	call[2] = (uintptr_t)text[tag];
	call[3] = strlen(text[tag]);
}

void fire_tag(unsigned int tag)
{
	__u64 call[4];

	window_fire(call, tag);
	syscall(call[0], call[1], call[2], call[3]);
}

void fire(bool resumes)
{
	fire_tag(resumes ? TAG_RESUME : TAG_PAUSE);
}

int open_nmi_load(int cpu, unsigned int tag)
{
	struct perf_event_attr attr;

	attr_nmi(&attr, 0, tag);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;

	return perf_open(&attr, -1, cpu, -1);
}

void sleep_a_little(void)
{
	poll(NULL, 0, 2);
}

static int setup_nmi(struct aux_spec *spec, struct window *win)
{
	if (setup_nmi_gates(spec))
		return -1;

	memset(win, 0, sizeof(*win));
	window_fire(win->open, TAG_RESUME);
	window_fire(win->close, TAG_PAUSE);

	return 0;
}

const struct gate_kind *gate_kind(const char *name)
{
	static const struct gate_kind kinds[] = {
		{ "tracepoint", WINDOW_CALLS, setup_tracepoint, NULL,
		  "syscall tracepoints (CONFIG_FTRACE_SYSCALLS)" },
		{ "kprobe", WINDOW_CALLS, setup_kprobe, NULL,
		  "PMU kprobe (CONFIG_KPROBE_EVENTS)" },
		{ "uprobe", WINDOW_PLACES, setup_uprobe, NULL,
		  "PMU uprobe (CONFIG_UPROBE_EVENTS)" },
		{ "break_resume", WINDOW_PLACES, setup_break_resume, NULL,
		  "hardware breakpoints and PMU uprobe" },
		{ "break_pause", WINDOW_PLACES, setup_break_pause, NULL,
		  "hardware breakpoints and PMU uprobe" },
		{ "watch_resume", WINDOW_STORE_CALL, setup_watch_resume, NULL,
		  "hardware breakpoints" },
		{ "watch_pause", WINDOW_CALL_STORE, setup_watch_pause, NULL,
		  "hardware breakpoints in code that QEMU steps through" },
		{ "software", WINDOW_STORE_CALL, setup_software,
		  prepare_software, "page faults" },
		{ "softirq_resume", WINDOW_CALLS, setup_softirq_resume, NULL,
		  "loopback device" },
		{ "softirq_pause", WINDOW_CALLS, setup_softirq_pause, NULL,
		  "loopback device" },
		{ "irq_resume", WINDOW_CALLS, setup_irq_resume, NULL,
		  "tracepoint irq_work_entry", true },
		{ "irq_pause", WINDOW_CALLS, setup_irq_pause, NULL,
		  "tracepoint irq_work_entry", true },
		{ "nmi", WINDOW_CALLS, setup_nmi, NULL,
		  "module test_perf_nmi (CONFIG_TEST_PERF_NMI)" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	}

	return NULL;
}

void gated_init(struct gated *gated, const char *pmu, struct window_log *log)
{
	memset(gated, 0, sizeof(*gated));
	aux_group_init(&gated->group);
	gated->spec.pmu = pmu;
	gated->spec.cpu = -1;
	gated->spec.start_paused = true;
	gated->cpu = nth_cpu(0);
	gated->is_on = strcmp(pmu, "intel_bts") ? pt_is_on : bts_is_on;
	gated->log = log;
}

int gated_open(struct gated *gated)
{
	return pin_to_cpu(gated->cpu) ? -1 : aux_group_open(&gated->group, &gated->spec);
}

int gated_open_kind(struct gated *gated, const char *kind)
{
	gated->kind = gate_kind(kind);
	if (gated->kind->setup(&gated->spec, &gated->win)) {
		errno = ENODEV;
		return -1;
	}
	if (gated_open(gated))
		return -1;

	gated_window(gated, 2);
	gated_window(gated, 2);
	gated->nr = 0;

	return 0;
}

void attr_cycles(struct perf_event_attr *attr, __u64 period)
{
	attr_init(attr, PERF_TYPE_HARDWARE);
	attr->disabled = 0;
	attr->config = PERF_COUNT_HW_CPU_CYCLES;
	attr->sample_period = period;
}

int gated_open_cycles(struct gated *gated, __u64 period, bool resumes)
{
	struct perf_event_attr attr;
	int fd;

	attr_cycles(&attr, period);
	fd = aux_group_add_gate(&gated->group, &gated->spec, &attr, resumes);
	if (fd < 0 || !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, gated->group.aux))
		return fd;
	close(fd);

	return -1;
}

void gated_close(struct gated *gated)
{
	aux_group_close(&gated->group);
	perf_records_free(&gated->records);
}

/* Probes are on the first copy of the code only. */
static const struct window_code *gated_code(const struct gated *gated)
{
	bool second = gated->nr & 1 && gated->kind->code != WINDOW_PLACES;

	return window_code(gated->kind->code, second);
}

static int close_again(const struct gated *gated, __u64 pauses)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (perf_count(gated->group.pause) != pauses)
			return 0;
		gated_code(gated)->run(&gated->win);
	}
	errno = ETIMEDOUT;

	return -1;
}

int gated_window(struct gated *gated, __u64 loops)
{
	__u64 resumes = perf_count(gated->group.resume);
	__u64 pauses = perf_count(gated->group.pause);
	struct window_log *log = &gated->log[gated->nr];
	int ret = 0;

	if (gated->kind->prepare)
		gated->kind->prepare();

	gated->win.loops = loops;
	log->loops = loops;
	log->from = __rdtsc();
	gated_code(gated)->run(&gated->win);
	if (gated->kind->late)
		log->loops = LOOPS_UNKNOWN;
	if (perf_count(gated->group.resume) == resumes) {
		log->loops = 0;
	} else if (perf_count(gated->group.pause) == pauses) {
		log->loops = LOOPS_UNKNOWN;
		ret = close_again(gated, pauses);
	}
	log->to = __rdtsc();
	gated->nr++;

	return ret;
}

const char *gated_inexact(const struct gated *gated)
{
	static char text[160];
	struct aux_actions act;
	__u64 gates;

	if (lacks_account())
		return NULL;
	if (aux_actions_read(&gated->group, &act))
		return "no account of the event";

	gates = perf_count(gated->group.resume) +
		perf_count(gated->group.pause) + gated->others;
	if (act.requested == gates && !act.pending &&
	    act.requested == act.carried + act.superseded)
		return NULL;

	snprintf(text, sizeof(text),
		 "%llu gates: %llu requests, %llu carried out, %llu superseded",
		 gates, act.requested, act.carried, act.superseded);

	return text;
}

const char *gated_check_level(struct gated *gated, bool running)
{
	static const char * const when[] = {
		"at first", "after the opposite", "after both",
	};
	static char text[128];
	int on[ARRAY_SIZE(when)];
	unsigned int i;

	on[0] = gated->is_on(gated->cpu);
	fire(!running);
	on[1] = gated->is_on(gated->cpu);
	fire(running);
	on[2] = gated->is_on(gated->cpu);
	fire(false);

	for (i = 0; i < ARRAY_SIZE(when); i++) {
		if (on[i] == (i == 1 ? !running : running))
			continue;
		snprintf(text, sizeof(text), "%s, and the hardware is %s %s",
			 running ? "running" : "paused", on[i] ? "on" : "off",
			 when[i]);
		return text;
	}

	return gated_inexact(gated);
}

static long by_tracepoint(struct gated *gated, const struct msr_point *point,
			  bool resumes, void (*section)(struct gated *gated))
{
	int gate = open_msr_gate(&gated->spec, &gated->group, point, resumes);
	long hits;

	if (gate < 0 || ioctl(gate, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	section(gated);
	if (ioctl(gate, PERF_EVENT_IOC_DISABLE, 0))
		return -1;

	hits = perf_count(gate);
	gated->others += hits;
	close(gate);

	return hits;
}

/* By the gate's own count: it may not be there yet, or not any more. */
static long by_nmi(struct gated *gated, const struct msr_point *point,
		   bool resumes, void (*section)(struct gated *gated))
{
	int gate = resumes ? gated->group.resume : gated->group.pause;
	long before = perf_count(gate);

	if (nmi_at_msr(point, resumes ? TAG_RESUME : TAG_PAUSE))
		return -1;
	section(gated);
	if (nmi_at_msr_off() < 0)
		return -1;

	return perf_count(gate) - before;
}

long gated_at_point(struct gated *gated, const struct msr_point *point,
		    enum gate_way way, bool resumes, bool running,
		    void (*section)(struct gated *gated), const char **error)
{
	static char text[256];
	const char *wrong;
	long hits;

	fire(running);
	hits = way == BY_NMI ? by_nmi(gated, point, resumes, section) :
			       by_tracepoint(gated, point, resumes, section);
	wrong = hits < 0 ? "no gate" :
		gated_check_level(gated, hits ? resumes : running);
	if (!wrong)
		return hits;

	snprintf(text, sizeof(text), "%s, %s, %ld hits: %s", point->name,
		 way == BY_NMI ? "NMI" : "tracepoint", hits, wrong);
	*error = text;

	return -1;
}

/* --- The interrupt --- */

#define LONGEST_WAIT	20000000000ULL

int gated_wait_handed_over(struct gated *gated, void (*work)(struct gated *gated))
{
	__u64 head = gated->group.page->aux_head;
	__u64 end = clock_ns() + LONGEST_WAIT;

	do {
		if (clock_ns() > end)
			return -1;
		work(gated);
	} while (__atomic_load_n(&gated->group.page->aux_head,
				 __ATOMIC_ACQUIRE) == head);

	return 0;
}

int gated_wait_truncated(struct gated *gated, void (*work)(struct gated *gated))
{
	__u64 end = clock_ns() + LONGEST_WAIT;
	size_t i;

	do {
		work(gated);
		i = gated->records.nr;
		if (perf_records_read(&gated->records, &gated->group))
			return -1;
		for (; i < gated->records.nr; i++) {
			if (gated->records.rec[i].type == PERF_RECORD_AUX &&
			    gated->records.rec[i].flags & PERF_AUX_FLAG_TRUNCATED)
				return 0;
		}
	} while (clock_ns() < end);

	return -1;
}

/*
 * AUX records from @from on, with these flags, that were written while the trace was
 * paused. By the samples: the level is running between one of the resume gate and one
 * of any other.
 */
static size_t late_records(const struct gated *gated, size_t from, __u64 flags)
{
	const struct perf_record *rec;
	bool paused = true;
	size_t found = 0;

	for (; from < gated->records.nr; from++) {
		rec = &gated->records.rec[from];
		if (rec->type == PERF_RECORD_SAMPLE)
			paused = rec->id != gated->group.resume_id;
		else if (rec->type == PERF_RECORD_AUX && paused &&
			 (rec->flags & flags) == flags)
			found++;
	}

	return found;
}

bool gated_is_paused(const struct gated *gated)
{
	const struct perf_record *resume, *pause;

	resume = perf_records_newest(&gated->records, gated->group.resume_id);
	pause = perf_records_newest(&gated->records, gated->group.pause_id);

	return !resume || (pause && pause > resume);
}

int gated_open_late(struct gated *gated)
{
	int load = open_nmi_load(gated->cpu, TAG_PAUSE);

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = false;
	if (load < 0 || gated_open(gated) ||
	    ioctl(load, PERF_EVENT_IOC_SET_OUTPUT, gated->group.aux) ||
	    aux_group_enable(&gated->group))
		return -1;

	return load;
}

const char *gated_late_interrupts(struct gated *gated, const struct late_trace *to,
				  void (*window)(struct gated *gated))
{
	__u64 end = clock_ns() + LONGEST_WAIT;
	size_t late = 0, from = 0;

	while (late < 5) {
		if (clock_ns() > end)
			return late ? "too few interrupts while paused" :
				      "no interrupt while paused";
		window(gated);
		if (gated->is_on(gated->cpu))
			return "on behind a pause";
		if (to->read(gated, to->trace))
			return "the trace can't be read";
		late += late_records(gated, from, 0);
		from = gated->records.nr;
	}

	return NULL;
}

static void open_and_close(struct gated *gated)
{
	fire(true);
	fire(false);
}

static const char *enable_again(struct gated *gated)
{
	if (aux_group_enable(&gated->group))
		return "the event can't be enabled again";
	if (gated->is_on(gated->cpu) != !gated_is_paused(gated))
		return "enabled again at another level";
	fire(false);

	return gated->is_on(gated->cpu) ? "on behind a pause" : NULL;
}

const char *gated_late_full(struct gated *gated, const struct late_trace *to)
{
	__u64 end = clock_ns() + LONGEST_WAIT;
	const char *wrong = NULL;
	size_t late = 0, from = 0;

	while (late < 3 && !wrong) {
		if (clock_ns() > end || gated_wait_truncated(gated, open_and_close))
			return "not full while paused, or too rarely";
		late += late_records(gated, from, PERF_AUX_FLAG_TRUNCATED);
		open_and_close(gated);
		if (gated->is_on(gated->cpu))
			return "on while disabled";
		if (to->read(gated, to->trace))
			return "the trace can't be read";
		from = gated->records.nr;
		wrong = enable_again(gated);
	}

	return wrong;
}

/* --- The data of the AUX area --- */

/* Append @size bytes of the area from offset @from on. */
static int append_area(void **bytes, size_t *nr, const struct aux_group *group,
		       __u64 from, size_t size)
{
	unsigned char *to = realloc(*bytes, *nr + size + 1);
	size_t i;

	if (!to)
		return -1;

	*bytes = to;
	for (i = 0; i < size; i++)
		to[*nr + i] = group->area[(from + i) % group->area_size];
	*nr += size;

	return 0;
}

static void area_consumed(struct aux_group *group, const struct perf_record *rec)
{
	__atomic_store_n(&group->page->aux_tail, rec->offset + rec->size,
			 __ATOMIC_RELEASE);
}

/* --- The stream of Intel PT --- */

#define trace_error(trace, fmt, ...)					\
	(snprintf((trace)->error, sizeof((trace)->error), fmt, ##__VA_ARGS__), -1)

static const unsigned char psb[16] = {
	2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
};

/* Packets that the walk has to tell apart; the others are skipped. */
enum pt_packet {
	PT_BAD,			/* no packet begins like this */
	PT_SHORT,		/* the packet goes on behind the end */
	PT_OTHER,
	PT_PSB,
	PT_PSBEND,
	PT_TSC,
	PT_TNT,
	PT_TIP,
	PT_PGE,
	PT_PGD,
	PT_FUP,
	PT_OVF,
};

/* Second bytes of packets that begin with 0x02, and their lengths */
static const struct {
	unsigned char	byte, len;
	enum pt_packet	what;
} pt_ext[] = {
	{ 0x23, 2, PT_PSBEND },
	{ 0x03, 4, PT_OTHER },		/* CBR */
	{ 0x43, 8, PT_OTHER },		/* PIP */
	{ 0x83, 2, PT_OTHER },		/* TraceStop */
	{ 0xa3, 8, PT_TNT },
	{ 0xc8, 7, PT_OTHER },		/* VMCS */
	{ 0x73, 7, PT_OTHER },		/* TMA */
	{ 0xf3, 2, PT_OVF },
	{ 0x62, 2, PT_OTHER },		/* EXSTOP, without and with IP */
	{ 0xe2, 2, PT_OTHER },
	{ 0xc2, 10, PT_OTHER },		/* MWAIT */
	{ 0x22, 4, PT_OTHER },		/* PWRE */
	{ 0xa2, 7, PT_OTHER },		/* PWRX */
	{ 0x13, 4, PT_OTHER },		/* CFE */
	{ 0x53, 11, PT_OTHER },		/* EVD */
};

static enum pt_packet pt_ext_packet(const unsigned char *p, size_t *len)
{
	size_t i;

	if ((p[1] & 0x1f) == 0x12) {	/* PTW of 4 or 8 bytes */
		*len = p[1] & 0x20 ? 10 : 6;
		return p[1] & 0x40 ? PT_BAD : PT_OTHER;
	}

	for (i = 0; i < ARRAY_SIZE(pt_ext); i++) {
		if (pt_ext[i].byte != p[1])
			continue;
		*len = pt_ext[i].len;
		return pt_ext[i].what;
	}

	return PT_BAD;
}

/* TIP, TIP.PGE, TIP.PGD, FUP: the IP's length is in the upper three bits. */
static enum pt_packet pt_ip_packet(unsigned char byte, size_t *len)
{
	static const signed char ip_len[] = { 0, 2, 4, 6, 6, -1, 8, -1 };

	if (ip_len[byte >> 5] < 0)
		return PT_BAD;
	*len = 1 + ip_len[byte >> 5];

	switch (byte & 0x1f) {
	case 0x0d:
		return PT_TIP;
	case 0x11:
		return PT_PGE;
	case 0x01:
		return PT_PGD;
	case 0x1d:
		return PT_FUP;
	default:
		return PT_BAD;
	}
}

/* CYC: bit 2 of the first byte and bit 0 of each that follows: one more. */
static enum pt_packet pt_cyc_packet(const unsigned char *p, size_t left,
				    size_t *len)
{
	bool more = p[0] & 4;

	for (*len = 1; more && *len < left; ++*len)
		more = p[*len] & 1;

	return more ? PT_SHORT : PT_OTHER;
}

static enum pt_packet pt_any_packet(const unsigned char *p, size_t left,
				    size_t *len)
{
	*len = 1;
	if (p[0] == 0x00)		/* PAD */
		return PT_OTHER;
	if (p[0] == 0x02)
		return left < 2 ? PT_SHORT : pt_ext_packet(p, len);
	if (!(p[0] & 1))
		return PT_TNT;
	if ((p[0] & 3) == 3)
		return pt_cyc_packet(p, left, len);

	switch (p[0]) {
	case 0x19:
		*len = 8;
		return PT_TSC;
	case 0x59:			/* MTC */
	case 0x99:			/* MODE */
		*len = 2;
		return PT_OTHER;
	default:
		return pt_ip_packet(p[0], len);
	}
}

static enum pt_packet pt_next(const unsigned char *p, size_t left, size_t *len)
{
	enum pt_packet what;

	if (left >= sizeof(psb) && !memcmp(p, psb, sizeof(psb))) {
		*len = sizeof(psb);
		return PT_PSB;
	}

	what = pt_any_packet(p, left, len);
	if (what == PT_BAD && left < sizeof(psb) && !memcmp(p, psb, left))
		return PT_SHORT;

	return what != PT_BAD && *len > left ? PT_SHORT : what;
}

static unsigned int pt_tnt_bits(const unsigned char *p)
{
	__u64 payload = 0;

	/* The topmost set bit is a stop bit. In one byte, bit 0 isn't payload. */
	if (p[0] != 0x02)
		return 63 - __builtin_clzll(p[0]) - 1;

	memcpy(&payload, p + 2, 6);

	return payload ? 63 - __builtin_clzll(payload) : 0;
}

static struct pt_segment *pt_new_segment(struct pt_trace *trace, __u64 tsc)
{
	if (!(trace->nr & (trace->nr - 1))) {
		size_t room = trace->nr ? trace->nr * 2 : 1;
		void *seg = realloc(trace->seg, room * sizeof(*trace->seg));

		if (!seg)
			return NULL;
		trace->seg = seg;
	}
	memset(&trace->seg[trace->nr], 0, sizeof(*trace->seg));
	trace->seg[trace->nr].tsc = tsc;

	return &trace->seg[trace->nr++];
}

static int walk_error(struct pt_trace *trace, const char *text)
{
	return trace_error(trace, "byte %zu: %s", trace->done, text);
}

/* The TSC counts in 7 bytes here. */
static int pt_take_tsc(struct pt_trace *trace, const unsigned char *p)
{
	__u64 tsc = 0;

	memcpy(&tsc, p + 1, 7);
	if (!pt_new_segment(trace, tsc))
		return walk_error(trace, "out of memory");

	return 0;
}

/* Where packets are counted: of the newest TSC, or ahead of the first */
static struct pt_segment *pt_segment(struct pt_trace *trace)
{
	return trace->nr ? &trace->seg[trace->nr - 1] : &trace->ahead;
}

/* There is a FUP in PSB+ if tracing is on. */
static int pt_take_psbend(struct pt_trace *trace)
{
	enum pt_level level = trace->psb_fup ? PT_ON : PT_OFF;

	if (!trace->in_psb)
		return walk_error(trace, "PSBEND without PSB");
	if (trace->level != PT_UNKNOWN && trace->level != level)
		return walk_error(trace, "PSB+ belies that tracing is on, or off");

	trace->in_psb = false;
	trace->level = level;

	return 0;
}

/* What a packet leaves out of its IP is as in the last one. */
static void pt_take_address(struct pt_trace *trace, const unsigned char *p)
{
	static const unsigned char bits[] = { 0, 16, 32, 48, 48, 0, 64, 0 };
	unsigned int kind = p[0] >> 5;
	__u64 ip = 0, keep;

	if (!bits[kind])
		return;

	memcpy(&ip, p + 1, bits[kind] / 8);
	keep = bits[kind] == 64 ? 0 : ~0ULL << bits[kind];
	if (kind == 3)		/* sign extended */
		trace->ip = ip | (ip >> 47 ? keep : 0);
	else
		trace->ip = ip | (trace->ip & keep);
	trace->ips++;
	trace->kernel_ips += trace->ip >> 63;
}

static int pt_take_ip(struct pt_trace *trace, enum pt_packet what,
		      const unsigned char *p)
{
	pt_take_address(trace, p);
	if (what == PT_FUP && trace->in_psb) {
		trace->psb_fup = true;
		return 0;
	}
	if (what == PT_PGE && trace->level == PT_ON)
		return walk_error(trace, "TIP.PGE where tracing is on");
	if (what != PT_PGE && trace->level == PT_OFF)
		return walk_error(trace, "a branch where tracing is off");

	trace->level = what == PT_PGD ? PT_OFF : PT_ON;
	pt_segment(trace)->pge += what == PT_PGE;

	return 0;
}

static int pt_take_tnt(struct pt_trace *trace, const unsigned char *p)
{
	if (trace->level == PT_OFF || trace->in_psb)
		return walk_error(trace, "TNT where tracing is off");

	pt_segment(trace)->tnt += pt_tnt_bits(p);
	trace->tnt += pt_tnt_bits(p);

	return 0;
}

static int pt_take_packet(struct pt_trace *trace, enum pt_packet what,
			  const unsigned char *p)
{
	switch (what) {
	case PT_PSB:
		trace->in_psb = true;
		trace->psb_fup = false;
		trace->psb++;
		trace->ip = 0;
		return 0;
	case PT_PSBEND:
		return pt_take_psbend(trace);
	case PT_OVF:
		trace->in_psb = false;
		trace->level = PT_UNKNOWN;
		trace->ovf++;
		return 0;
	case PT_TSC:
		return pt_take_tsc(trace, p);
	case PT_TNT:
		return pt_take_tnt(trace, p);
	case PT_TIP:
	case PT_PGE:
	case PT_PGD:
	case PT_FUP:
		return pt_take_ip(trace, what, p);
	case PT_OTHER:
		return 0;
	default:
		return walk_error(trace, "no packet begins like this");
	}
}

static bool pt_sync(struct pt_trace *trace)
{
	const unsigned char *begin = trace->bytes + trace->done, *p;

	p = memmem(begin, trace->nr_bytes - trace->done, psb, sizeof(psb));
	if (!p)
		return false;

	trace->done += p - begin;
	trace->synced = true;
	trace->in_psb = false;
	trace->level = PT_UNKNOWN;

	return true;
}

/* Check up to the end, or to a packet that goes on behind it. */
static int pt_check(struct pt_trace *trace)
{
	enum pt_packet what;
	size_t len;

	if (!trace->synced && !pt_sync(trace))
		return 0;

	for (; trace->done < trace->nr_bytes; trace->done += len) {
		const unsigned char *p = trace->bytes + trace->done;

		what = pt_next(p, trace->nr_bytes - trace->done, &len);
		if (what == PT_SHORT)
			break;
		if (pt_take_packet(trace, what, p))
			return -1;
	}

	return 0;
}

static int pt_take_record(struct pt_trace *trace, const struct aux_group *group,
			  const struct perf_record *rec)
{
	if (append_area((void **)&trace->bytes, &trace->nr_bytes, group,
			rec->offset, rec->size))
		return trace_error(trace, "out of memory");

	trace->records++;
	if (pt_check(trace))
		return -1;
	if (rec->flags & PERF_AUX_FLAG_TRUNCATED) {
		trace->truncated++;
		trace->synced = false;
		trace->level = PT_UNKNOWN;
		trace->done = trace->nr_bytes;
	}

	return 0;
}

int pt_trace_read(struct pt_trace *trace, const struct perf_records *records,
		  size_t *pos, struct aux_group *group)
{
	for (; *pos < records->nr; ++*pos) {
		if (records->rec[*pos].type != PERF_RECORD_AUX)
			continue;
		if (pt_take_record(trace, group, &records->rec[*pos]))
			return -1;
		area_consumed(group, &records->rec[*pos]);
	}

	return 0;
}

bool pt_trace_complete(const struct pt_trace *trace)
{
	return !trace->synced || (trace->done == trace->nr_bytes &&
				  trace->level != PT_ON && !trace->in_psb);
}

int pt_trace_read_overwrite(struct pt_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);

	/* What was never written is zero: PAD packets, before the first PSB. */
	if (append_area((void **)&trace->bytes, &trace->nr_bytes, group, head,
			group->area_size))
		return trace_error(trace, "out of memory");

	return pt_check(trace);
}

void pt_trace_free(struct pt_trace *trace)
{
	free(trace->bytes);
	free(trace->seg);
	memset(trace, 0, sizeof(*trace));
}

static int pt_match_window(struct pt_trace *trace, size_t *seg,
			   const struct window_log *log, bool exact)
{
	struct pt_segment sum = { };
	size_t first = *seg;

	for (; *seg < trace->nr && trace->seg[*seg].tsc <= log->to; ++*seg) {
		if (trace->seg[*seg].tsc < log->from)
			return trace_error(trace,
					   "TSC %#llx: %lld before the window",
					   trace->seg[*seg].tsc,
					   log->from - trace->seg[*seg].tsc);
		sum.tnt += trace->seg[*seg].tnt;
		sum.pge += trace->seg[*seg].pge;
	}

	if (exact && log->loops != LOOPS_UNKNOWN && sum.tnt != log->loops)
		return trace_error(trace, "%llu branches in a window, not %llu",
				   sum.tnt, log->loops);

	return *seg > first && sum.pge;
}

int pt_trace_match(struct pt_trace *trace, const struct window_log *log,
		   size_t nr, bool exact)
{
	size_t i, seg = 0;
	int found = 0, ret;

	for (i = 0; i < nr; i++) {
		ret = pt_match_window(trace, &seg, &log[i], exact);
		if (ret < 0)
			return ret;
		found += ret;
	}
	if (seg != trace->nr)
		return trace_error(trace, "TSC %#llx: behind the last window",
				   trace->seg[seg].tsc);

	return found;
}

/* --- The records of Intel BTS --- */

static int bts_append(struct bts_trace *trace, const struct aux_group *group,
		      __u64 from, size_t size)
{
	size_t bytes = trace->nr * sizeof(*trace->rec), i, first = trace->nr;

	if (size % sizeof(*trace->rec))
		return trace_error(trace, "%zu bytes: part of a record", size);
	if (append_area((void **)&trace->rec, &bytes, group, from, size))
		return trace_error(trace, "out of memory");

	trace->nr = bytes / sizeof(*trace->rec);
	for (i = first; i < trace->nr; i++) {
		if (!trace->rec[i].from || !trace->rec[i].to)
			return trace_error(trace, "record %zu is empty", i);
	}

	return 0;
}

int bts_trace_read(struct bts_trace *trace, const struct perf_records *records,
		   size_t *pos, struct aux_group *group)
{
	for (; *pos < records->nr; ++*pos) {
		const struct perf_record *rec = &records->rec[*pos];

		if (rec->type != PERF_RECORD_AUX)
			continue;
		if (bts_append(trace, group, rec->offset, rec->size))
			return -1;
		area_consumed(group, rec);

		trace->records++;
		trace->truncated += !!(rec->flags & PERF_AUX_FLAG_TRUNCATED);
	}

	return 0;
}

/* Records fill the area from its begin, up to what isn't enough for one more. */
int bts_trace_read_overwrite(struct bts_trace *trace, struct aux_group *group)
{
	size_t room = group->area_size / sizeof(struct bts_record) *
		      sizeof(struct bts_record);
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);
	const struct bts_record *oldest = (const void *)(group->area + head);

	if (head > room)
		return trace_error(trace, "aux_head %llu is behind the last record",
				   head);
	/* Has wrapped: the oldest records are behind the newest. */
	if (head + sizeof(*oldest) <= room && oldest->from &&
	    bts_append(trace, group, head, room - head))
		return -1;

	return bts_append(trace, group, 0, head);
}

void bts_trace_free(struct bts_trace *trace)
{
	free(trace->rec);
	memset(trace, 0, sizeof(*trace));
}

/* Of a loop in a window, taken: 1 and 2 for the two copies of the code, or 0 */
static int bts_copy(const struct bts_record *rec, enum window_kind kind)
{
	int copy;

	for (copy = 0; copy < 2; copy++) {
		if (rec->from == (uintptr_t)window_code(kind, copy)->branch)
			return copy + 1;
	}

	return 0;
}

size_t bts_branches(const struct bts_trace *trace, enum window_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < trace->nr; i++)
		n += !!bts_copy(&trace->rec[i], kind);

	return n;
}

/* The run of one copy's records that ends with record @*end, exclusively */
static __u64 bts_run(const struct bts_trace *trace, enum window_kind kind,
		     size_t *end, int copy)
{
	__u64 run = 0;
	int found;

	for (; *end; --*end) {
		found = bts_copy(&trace->rec[*end - 1], kind);
		if (found && found != copy)
			break;
		run += !!found;
	}

	return run;
}

/*
 * From the newest back to the oldest. Two windows that follow each other ran
 * different copies of the code.
 */
int bts_trace_match(struct bts_trace *trace, const struct gated *gated,
		    bool newest)
{
	size_t end = trace->nr, i;
	__u64 run, taken;
	int found = 0;

	for (i = gated->nr; i; i--, found++) {
		run = bts_run(trace, gated->kind->code, &end, 2 - (i & 1));
		/* None where it wasn't opened */
		taken = gated->log[i - 1].loops ? gated->log[i - 1].loops - 1 : 0;
		if (run == taken)
			continue;
		/* The oldest one may be overwritten in part. */
		if (newest && !end)
			return found;
		return trace_error(trace, "window %zu: %llu records, not %llu",
				   i - 1, run, taken);
	}
	if (end)
		return trace_error(trace, "%zu records before the first window",
				   end);

	return found;
}
