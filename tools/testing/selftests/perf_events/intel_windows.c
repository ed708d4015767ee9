// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of user code, and gates of every kind around them. See intel_windows.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "../kselftest.h"
#include "intel_env.h"
#include "intel_windows.h"

/* --- The code --- */

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

void branches(unsigned long n)
{
	struct window win = { .loops = n };

	window_code(WINDOW_PLACES, 0)->run(&win);
}

/* --- Gates of every kind --- */

static __u64 watched;
static char *pages;	/* two pages, not present when a window begins */

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
 * One breakpoint at a time: QEMU 7.2 reports a hit together with the previous one.
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

	/* A separate loopback device, if possible: without other packets */
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
 * The interrupt is the CPU's irq_work IPI to itself: it wakes the reader of a buffer, here
 * at each sample of an event on the system call.
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
		nmi_fd = open(TEST_NMI_DIR "/fire",
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
