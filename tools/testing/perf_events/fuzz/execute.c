// SPDX-License-Identifier: GPL-2.0
/*
 * Execute the calls of a program. Whether they succeed is only counted: failure is as good
 * as success. A task runs a range of calls; fork and thread give the next few of the range
 * to a new task, which runs at the same time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "attr.h"
#include "execute.h"
#include "pmus.h"

#define PAGE		4096ul
#define NMI_AT		"/sys/kernel/debug/test_perf_aux/nmi_at"
#define MAX_SIGNALS	500

/* State of this process. Threads race for it, as they do for the kernel's state. */
static struct world *world;
static struct {
	char *addr;
	size_t size;
	bool writable;
} maps[SLOTS];
static struct attr last_attr[SLOTS];
static pid_t last_child;
static unsigned int nr_signals;

static int fd_of(uint64_t slot)
{
	return FD_SLOTS + slot % SLOTS;
}

static void wait_for_children(void)
{
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

/*
 * An event that sends a signal at each system call also sends one when the handler
 * returns, without end.
 */
static void on_signal(int signal)
{
	if (signal == SIGSEGV || signal == SIGBUS || ++nr_signals > MAX_SIGNALS)
		_exit(0);
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGIO, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGRTMIN, &action, NULL);
}

static void run_calls(unsigned int from, unsigned int to);

/* --- Events --- */

static pid_t target_of(uint64_t pid)
{
	switch (pid) {
	case PID_ALL:
		return -1;
	case PID_CHILD:
		return last_child;
	case PID_PARENT:
		return world->main;
	default:
		return 0;
	}
}

/* The descriptor in a slot has the slot's number: exec needs no table of them. */
static bool move_to_slot(int fd, uint64_t slot)
{
	int flags;

	if (fd < 0)
		return false;
	flags = fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0;
	dup3(fd, fd_of(slot), flags);
	close(fd);

	return true;
}

static bool call_open(const uint64_t *arg)
{
	struct attr attr = {
		.type = pmus[arg[OPEN_PMU]].type,
		.size = sizeof(attr),
		.config = arg[OPEN_CONFIG],
		.config1 = arg[OPEN_CONFIG1],
		.config2 = arg[OPEN_CONFIG2],
		.sample_period = arg[OPEN_PERIOD],
		.sample_type = arg[OPEN_SAMPLE_TYPE],
		.read_format = arg[OPEN_READ_FORMAT],
		.flags = arg[OPEN_FLAGS],
		.wakeup = arg[OPEN_WAKEUP],
		.bp_type = arg[OPEN_BP_TYPE],
		.branch_sample_type = arg[OPEN_BRANCH],
		.sample_regs_user = arg[OPEN_REGS],
		.sample_regs_intr = arg[OPEN_REGS],
		.sample_stack_user = arg[OPEN_STACK],
		.clockid = arg[OPEN_CLOCKID],
		.aux_watermark = arg[OPEN_AUX_WATERMARK],
		.aux_sample_size = arg[OPEN_AUX_SAMPLE_SIZE],
		.aux_action = arg[OPEN_AUX_ACTION],
		.sig_data = arg[OPEN_SIG_DATA],
	};
	int group = fd_of(arg[OPEN_GROUP]);

	/* An event that could not be opened has no members */
	if (arg[OPEN_GROUP] == NO_SLOT || fcntl(group, F_GETFD) < 0)
		group = -1;

	last_attr[arg[OPEN_SLOT] % SLOTS] = attr;
	return move_to_slot(syscall(__NR_perf_event_open, &attr, target_of(arg[OPEN_PID]),
				    (int)arg[OPEN_CPU], group, arg[OPEN_HOW]), arg[OPEN_SLOT]);
}

static bool set_filter(int fd, uint64_t which)
{
	static const char * const filters[] = {
		"common_pid != 0", "id > 30", "nonsense", "",
		"filter 0x401000/4096@/proc/self/exe", "filter 0/64@/bin/true,stop 0/8@/bin/true",
		"filter 0xffffffff81000000/4096", "start 0xffffffff81000000",
	};

	return !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[which % 8]);
}

static bool query_bpf(int fd, unsigned int nr)
{
	struct {
		struct perf_event_query_bpf query;
		uint32_t ids[SLOTS + 1];
	} q = { .query.ids_len = nr };

	return !ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &q);
}

static bool call_ioctl(const uint64_t *arg)
{
	static const uint64_t periods[] = { 1, 2, 1000, 0, 1ull << 63 };
	int fd = fd_of(arg[0]);
	uint64_t value = arg[2], id, period = periods[value % 5], longer, windows[4];
	struct attr attr;

	switch (arg[1]) {
	case REQ_ENABLE:
		return !ioctl(fd, PERF_EVENT_IOC_ENABLE, value & PERF_IOC_FLAG_GROUP);
	case REQ_DISABLE:
		return !ioctl(fd, PERF_EVENT_IOC_DISABLE, value & PERF_IOC_FLAG_GROUP);
	case REQ_REFRESH:
		return !ioctl(fd, PERF_EVENT_IOC_REFRESH, value);
	case REQ_RESET:
		return !ioctl(fd, PERF_EVENT_IOC_RESET, value & PERF_IOC_FLAG_GROUP);
	case REQ_PERIOD:
		return !ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	case REQ_SET_OUTPUT:
		return !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, value == NO_SLOT ? -1 : fd_of(value));
	case REQ_SET_FILTER:
		return set_filter(fd, value);
	case REQ_ID:
		return !ioctl(fd, PERF_EVENT_IOC_ID, &id);
	case REQ_SET_BPF:
		return !ioctl(fd, PERF_EVENT_IOC_SET_BPF, FD_BPF + value % 4);
	case REQ_PAUSE_OUTPUT:
		return !ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, value & 1);
	case REQ_QUERY_BPF:
		return query_bpf(fd, value);
	case REQ_MODIFY_ATTRIBUTES:
		attr = last_attr[arg[0] % SLOTS];
		attr.config1 = (uintptr_t)&watched[value & 1];
		attr.flags ^= value & ATTR_DISABLED;
		return !ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
	case REQ_PAUSE_AUX:
		return !ioctl(fd, IOC_PAUSE_AUX, value % 4);
	case REQ_KEEP_AUX:
		longer = value % 4 * 50000;
		return !ioctl(fd, IOC_KEEP_AUX, &longer);
	case REQ_AUX_WINDOWS:
		return !ioctl(fd, IOC_AUX_WINDOWS, windows);
	}

	return false;
}

static bool call_read(const uint64_t *arg)
{
	char buffer[4096];

	return read(fd_of(arg[0]), buffer, arg[1] % (sizeof(buffer) + 1)) >= 0;
}

static bool call_poll(const uint64_t *arg)
{
	struct pollfd poll_fd = { .fd = fd_of(arg[0]), .events = POLLIN };

	return poll(&poll_fd, 1, 1) > 0 && !(poll_fd.revents & POLLNVAL);
}

static bool call_signal(const uint64_t *arg)
{
	int fd = fd_of(arg[0]);

	fcntl(fd, F_SETSIG, arg[1] ? SIGRTMIN : 0);
	fcntl(fd, F_SETOWN, getpid());

	return !fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

/* --- Mappings --- */

static bool map_at(uint64_t map, int fd, uint64_t offset, size_t size, int prot)
{
	void *addr = mmap(NULL, size, prot, MAP_SHARED, fd, offset);

	if (addr == MAP_FAILED)
		return false;
	maps[map].addr = addr;
	maps[map].size = size;
	maps[map].writable = prot & PROT_WRITE;

	return true;
}

/* The control page of the mapping, or NULL. */
static struct perf_event_mmap_page *control_page(uint64_t map)
{
	return maps[map % SLOTS].writable ? (void *)maps[map % SLOTS].addr : NULL;
}

static bool call_mmap(const uint64_t *arg)
{
	return map_at(arg[1] % SLOTS, fd_of(arg[0]), 0, (1 + arg[2]) * PAGE, arg[3] & 3);
}

/* After the largest possible data area. */
static bool call_mmap_aux(const uint64_t *arg)
{
	struct perf_event_mmap_page *page = control_page(arg[2]);
	uint64_t offset = 64 * PAGE, size = arg[3] * PAGE;

	if (page) {
		page->aux_offset = offset;
		page->aux_size = size;
	}

	return map_at(arg[1] % SLOTS, fd_of(arg[0]), offset, size, arg[4] & 3);
}

static bool call_munmap(const uint64_t *arg)
{
	char *addr = maps[arg[0] % SLOTS].addr;
	size_t size = maps[arg[0] % SLOTS].size;

	if (!addr)
		return false;
	maps[arg[0] % SLOTS].addr = NULL;
	maps[arg[0] % SLOTS].writable = false;
	switch (arg[1]) {
	case 0:
		return !munmap(addr, size);
	case 1:
		return !munmap(addr, PAGE);
	case 2:
		return !munmap(addr + size / 2 / PAGE * PAGE, PAGE);
	case 3:
		mprotect(addr, PAGE, PROT_READ);
		return mremap(addr, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			      addr + (1ul << 30)) != MAP_FAILED;
	}

	return false;
}

static bool call_consume(const uint64_t *arg)
{
	struct perf_event_mmap_page *page = control_page(arg[0]);

	if (!page)
		return false;
	switch (arg[1]) {
	case TAIL_HEAD:
		__atomic_store_n(&page->data_tail,
				 __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		break;
	case TAIL_NONSENSE:
		page->data_tail = page->data_head + arg[2];
		break;
	case AUX_TAIL_HEAD:
		__atomic_store_n(&page->aux_tail,
				 __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		break;
	case AUX_TAIL_NONSENSE:
		page->aux_tail = page->aux_head + arg[2];
		break;
	}

	return true;
}

/* --- Tasks --- */

static void cover_task(void)
{
	uint32_t task = __atomic_fetch_add(&world->tasks, 1, __ATOMIC_RELAXED);

	if (world->covered)
		coverage_enable(&world->coverage, task);
}

/* A child doesn't inherit mappings of perf buffers. */
static bool start_process(unsigned int from, unsigned int to)
{
	pid_t pid = fork();

	if (pid > 0)
		last_child = pid;
	if (pid)
		return pid > 0;
	memset(maps, 0, sizeof(maps));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cover_task();
	run_calls(from, to);
	wait_for_children();
	_exit(0);
}

struct range {
	unsigned int from, to;
};

static void *thread_main(void *argument)
{
	struct range range;

	memcpy(&range, &argument, sizeof(range));
	cover_task();
	run_calls(range.from, range.to);

	return NULL;
}

static bool start_thread(unsigned int from, unsigned int to)
{
	struct range range = { from, to };
	pthread_t thread;
	void *argument;

	memcpy(&argument, &range, sizeof(argument));
	if (pthread_create(&thread, NULL, thread_main, argument))
		return false;
	pthread_detach(thread);

	return true;
}

static bool call_exec(unsigned int from, unsigned int to)
{
	char from_text[16], to_text[16];

	snprintf(from_text, sizeof(from_text), "%u", from);
	snprintf(to_text, sizeof(to_text), "%u", to);
	execl("/proc/self/exe", "perf_fuzz", "--continue", from_text, to_text, NULL);

	return false;
}

static bool call_move(const uint64_t *arg)
{
	unsigned int i;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (i = 0; i < 2; i++) {
		if (arg[0] >> i & 1)
			CPU_SET(i, &set);
	}

	return !sched_setaffinity(0, sizeof(set), &set);
}

/* --- Work --- */

static void fault_pages(unsigned int pages)
{
	volatile char *addr = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	if (addr == MAP_FAILED)
		return;
	for (i = 0; i < pages; i++)
		addr[i * PAGE] = 1;
	munmap((void *)addr, pages * PAGE);
}

static void map_code(void)
{
	void *addr = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (addr != MAP_FAILED)
		munmap(addr, PAGE);
}

static void work_once(uint64_t what)
{
	struct timespec time = { .tv_nsec = 20000 };
	volatile unsigned int i;

	switch (what) {
	case WORK_SYSCALLS:
		syscall(__NR_getppid);
		break;
	case WORK_WRITES:
		watched[0]++;
		watched[1] += watched[0];
		break;
	case WORK_FUNCTION:
		watched_function();
		break;
	case WORK_SPIN:
		for (i = 0; i < 10000; i++)
			;
		break;
	case WORK_FAULTS:
		fault_pages(4);
		break;
	case WORK_YIELD:
		sched_yield();
		break;
	case WORK_SLEEP:
		nanosleep(&time, NULL);
		break;
	case WORK_COMM:
		prctl(PR_SET_NAME, "fuzz");
		break;
	case WORK_MAP:
		map_code();
		break;
	case WORK_SIGNAL:
		kill(getpid(), SIGUSR1);
		break;
	}
}

static bool call_work(const uint64_t *arg)
{
	uint64_t i;

	for (i = 0; i < arg[1] && i < 100; i++)
		work_once(arg[0]);

	return true;
}

/* Needs root. */
static bool call_nmi_at(const uint64_t *arg)
{
	static const char * const formats[] = { "", "all:0:%u", "all:1:%u" };
	int fd = open(NMI_AT, O_WRONLY | O_CLOEXEC);
	char text[32];
	bool ok;

	if (fd < 0)
		return false;
	snprintf(text, sizeof(text), formats[arg[0] % 3], (unsigned int)arg[1]);
	ok = write(fd, text, strlen(text) + 1) > 0;
	close(fd);

	return ok;
}

/* --- Programs --- */

/* The calls from @from on: a new task runs those before @end, or this one those before @to. */
static bool run_call(const struct call *call, unsigned int from, unsigned int end,
		     unsigned int to)
{
	const uint64_t *arg = call->arg;

	switch (call->op) {
	case OP_OPEN:
		return call_open(arg);
	case OP_IOCTL:
		return call_ioctl(arg);
	case OP_MMAP:
		return call_mmap(arg);
	case OP_MMAP_AUX:
		return call_mmap_aux(arg);
	case OP_MUNMAP:
		return call_munmap(arg);
	case OP_CONSUME:
		return call_consume(arg);
	case OP_READ:
		return call_read(arg);
	case OP_POLL:
		return call_poll(arg);
	case OP_CLOSE:
		return !close(fd_of(arg[0]));
	case OP_DUP:
		return dup2(fd_of(arg[0]), fd_of(arg[1])) >= 0;
	case OP_SIGNAL:
		return call_signal(arg);
	case OP_FORK:
		return start_process(from, end);
	case OP_THREAD:
		return start_thread(from, end);
	case OP_EXEC:
		return call_exec(from, to);
	case OP_WAIT:
		return waitpid(last_child, NULL, 0) > 0;
	case OP_WORK:
		return call_work(arg);
	case OP_MOVE:
		return call_move(arg);
	case OP_PRCTL:
		return !prctl(arg[0] ? PR_TASK_PERF_EVENTS_ENABLE :
				       PR_TASK_PERF_EVENTS_DISABLE);
	case OP_NMI_AT:
		return call_nmi_at(arg);
	case NR_OPS:
		break;
	}

	return false;
}

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void run_calls(unsigned int from, unsigned int to)
{
	unsigned int i = from, next;

	while (i < to) {
		const struct call *call = &world->program.call[i];

		next = i + 1;
		if (call->op == OP_FORK || call->op == OP_THREAD)
			next += call->arg[0];
		if (next > to)
			next = to;
		count(&world->calls[call->op]);
		count(&world->tried[variant_of(call)]);
		if (run_call(call, i + 1, next, to)) {
			count(&world->succeeded[call->op]);
			count(&world->worked[variant_of(call)]);
		}
		i = next;
	}
}

static void become(unsigned int uid)
{
	if (!uid)
		return;
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

void execute(struct world *shared)
{
	world = shared;
	world->main = getpid();
	catch_signals();
	become(world->program.uid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cover_task();
	run_calls(0, world->program.nr);
	wait_for_children();
	_exit(0);
}

void execute_continue(unsigned int from, unsigned int to)
{
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED, FD_WORLD, 0);
	if (world == MAP_FAILED)
		_exit(1);
	count(&world->succeeded[OP_EXEC]);
	catch_signals();
	run_calls(from, to);
	wait_for_children();
	_exit(0);
}

/* A BPF program that returns @result: whether the event's record is written. */
static int load_bpf(unsigned int type, int result)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = result },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (uintptr_t)code,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};

	return syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

void execute_load_bpf(void)
{
	static const unsigned int types[] = { BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_TRACEPOINT };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		int fd = load_bpf(types[i / 2], i % 2);

		if (fd >= 0)
			dup2(fd, FD_BPF + i);
		close(fd);
	}
}
