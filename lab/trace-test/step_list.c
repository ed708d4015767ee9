// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the addresses of the instructions that a program executes, by single-stepping
 * it with ptrace. Processes that it forks follow, in the order of their creation, each
 * after a line "process N".
 *
 * As in a decoded trace, an instruction is in the list once if it was executed to its
 * end. So
 *  - a faulting instruction is not, until it is executed again without a fault,
 *  - a system call is, even if it doesn't return,
 *  - a string instruction with a repeat prefix is there once, however often it repeats,
 *  - a signal adds nothing: the handler's first instruction is next.
 *
 * Exit status: the program's, or 125 if it can't be followed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES	16

struct process {
	pid_t pid;
	bool started;			/* has had its first stop */
	bool running;
	int status;
	unsigned long next;		/* the next instruction, 0: not known yet */
	unsigned long last_repeated;	/* the last instruction, if it was a repeated one */
	unsigned long *list;
	size_t nr;
};

static struct process processes[MAX_PROCESSES];
static unsigned int nr_processes;

#define die(fmt, ...) do {						\
	fprintf(stderr, "step_list: " fmt "\n", ##__VA_ARGS__);		\
	exit(125);							\
} while (0)

static struct process *find_process(pid_t pid)
{
	struct process *process;

	for (unsigned int i = 0; i < nr_processes; i++)
		if (processes[i].pid == pid)
			return &processes[i];

	if (nr_processes == MAX_PROCESSES)
		die("more than %d processes", MAX_PROCESSES);
	process = &processes[nr_processes++];
	process->pid = pid;
	process->running = true;
	return process;
}

static void append(struct process *process, unsigned long address)
{
	/* Doubles at each power of two. */
	if (!(process->nr & (process->nr - 1))) {
		size_t nr = process->nr ? 2 * process->nr : 1;

		process->list = realloc(process->list, nr * sizeof(*process->list));
		if (!process->list)
			die("out of memory");
	}
	process->list[process->nr++] = address;
}

static unsigned long instruction_pointer(struct process *process)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, process->pid, NULL, &regs))
		die("PTRACE_GETREGS: %s", strerror(errno));
	return regs.rip;
}

/* ins, outs, movs, cmps, stos, lods and scas with a repeat prefix */
static bool is_repeated(struct process *process, unsigned long address)
{
	unsigned char bytes[4] = { 0 };
	struct iovec to = { bytes, sizeof(bytes) };
	struct iovec from = { (void *)address, sizeof(bytes) };
	bool repeat = false;

	if (process_vm_readv(process->pid, &to, 1, &from, 1, 0) < 0)
		return false;

	for (unsigned int i = 0; i < sizeof(bytes); i++) {
		unsigned char byte = bytes[i];

		if (byte == 0xf2 || byte == 0xf3)
			repeat = true;
		else if (byte != 0x66 && (byte & 0xf0) != 0x40)
			return repeat && ((byte >= 0x6c && byte <= 0x6f) ||
					  (byte >= 0xa4 && byte <= 0xa7) ||
					  (byte >= 0xaa && byte <= 0xaf));
	}
	return false;
}

static void executed(struct process *process)
{
	unsigned long address = process->next;

	if (!address)
		return;

	/* The processor stops after each repetition. */
	if (address != process->last_repeated)
		append(process, address);
	process->last_repeated = is_repeated(process, address) ? address : 0;
}

/* A stop at the begin of a signal handler isn't a step. */
static bool is_step(pid_t pid)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info))
		die("PTRACE_GETSIGINFO: %s", strerror(errno));
	return info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT;
}

static void follow_child(struct process *parent)
{
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid))
		die("PTRACE_GETEVENTMSG: %s", strerror(errno));
	find_process(pid);
}

/* Returns the signal to deliver. */
static int stopped(struct process *process, int status)
{
	int event = status >> 16;
	int sig = WSTOPSIG(status);

	/* The kernel stops a new process before its first instruction. */
	if (!process->started) {
		process->started = true;
		process->next = instruction_pointer(process);
		return 0;
	}

	if (event == PTRACE_EVENT_FORK)
		follow_child(process);
	if (event == PTRACE_EVENT_EXEC) {
		/* The system call's end is a separate stop, in the new program. */
		executed(process);
		process->next = 0;
	}
	if (event)
		return 0;

	if (sig == SIGTRAP) {
		if (is_step(process->pid))
			executed(process);
		process->next = instruction_pointer(process);
		return 0;
	}

	return sig;
}

static void ended(struct process *process, int status)
{
	/* Ended by its exit call, or by a signal instead of the next instruction. */
	if (WIFEXITED(status))
		executed(process);
	process->running = false;
	process->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void follow(void)
{
	struct process *process;
	int status, sig;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		process = find_process(pid);
		if (!WIFSTOPPED(status)) {
			ended(process, status);
			continue;
		}
		sig = stopped(process, status);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, sig) && errno != ESRCH)
			die("PTRACE_SINGLESTEP: %s", strerror(errno));
	}
}

static void start(char **argv)
{
	const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	struct process *process;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		perror(argv[0]);
		_exit(125);
	}

	/* PTRACE_O_TRACEEXEC isn't set yet, so exec ends with a SIGTRAP. */
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("can't start %s", argv[0]);
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, options))
		die("PTRACE_SETOPTIONS: %s", strerror(errno));

	process = find_process(pid);
	process->started = true;
	process->next = instruction_pointer(process);
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, 0))
		die("PTRACE_SINGLESTEP: %s", strerror(errno));
}

static void print_lists(void)
{
	for (unsigned int i = 0; i < nr_processes; i++) {
		struct process *process = &processes[i];

		if (process->running)
			die("process %u did not end", i + 1);
		printf("process %u\n", i + 1);
		for (size_t j = 0; j < process->nr; j++)
			printf("%lx\n", process->list[j]);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: step_list PROGRAM [ARGUMENT]...\n");
		return 125;
	}

	start(argv + 1);
	follow();
	print_lists();
	return processes[0].status;
}
