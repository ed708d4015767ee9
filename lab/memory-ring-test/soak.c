// SPDX-License-Identifier: GPL-2.0
/*
 * Makes and removes all kinds of objects that have side-band records but may have none
 * for their end, for perf record -M -C 0, in RATE rounds a second:
 *
 *   tasks	forked and exec'd on CPU 0, ended on CPU 1
 *   cgroups	in a directory of cgroups
 *   code	executable memory at ever new addresses, as JIT compilers make it
 *   programs	BPF programs
 *   binaries	run and removed, each with a name of its own
 *   namespaces	of host names, a new one for each task
 *   modules	of the kernel: loaded and unloaded, if one is given
 *
 * It skips kinds that it can't make here, and says so. Prints how many it made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND	1000000000ULL
#define PAGE	4096

/*
 * Tasks that may exist at a time. perf keeps the records of tasks that exist. Without the
 * limit, there would be more of them the longer a busy CPU 1 takes to end them.
 */
#define MAX_TASKS	32

static const char usage[] = "usage: soak RATE ROUNDS CGROUP-DIRECTORY [MODULE.ko]\n";
static const char *cgroups, *module;
static char work[] = "/tmp/soak.XXXXXX";
static volatile sig_atomic_t ended;
static unsigned int tasks;	/* not yet reaped */

static void on_signal(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Returns when the exec is done: true if there is a task. */
static bool start(const char *path)
{
	pid_t pid = vfork();

	if (!pid) {
		execl(path, path, "end", NULL);
		_exit(1);
	}
	if (pid < 0)
		return false;
	tasks++;
	return true;
}

/* Reaps what has ended, and waits while there are more than @max tasks. */
static void reap(unsigned int max)
{
	while (tasks && waitpid(-1, NULL, tasks > max ? 0 : WNOHANG) > 0)
		tasks--;
}

/* Each returns true on success. */

static bool make_task(unsigned int number)
{
	(void)number;
	return start("/proc/self/exe");
}

/* The program of the tasks */
static int end_elsewhere(void)
{
	unshare(CLONE_NEWUTS);
	move_to(1);
	return 0;
}

static bool make_cgroup(unsigned int number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/soak-%u-with-a-name-of-some-length", cgroups, number);
	return !mkdir(path, 0755) && !rmdir(path);
}

/* Never uses an address twice, as if the addresses were random */
static bool make_code(unsigned int number)
{
	void *at = (void *)(0x100000000000ULL + (uint64_t)number * 2 * PAGE);
	void *code = mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return code != MAP_FAILED && !munmap(code, PAGE);
}

static bool make_program(unsigned int number)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = number },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns	   = (uintptr_t)insns,
		.insn_cnt  = 2,
		.license   = (uintptr_t)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd >= 0 && !close(fd);
}

static bool make_binary(unsigned int number)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/binary-%u", work, number);
	/* a link: only the name has to be new */
	if (link("first", path) && errno != ENOENT)
		return false;
	return start(path) && !unlink(path);
}

static bool make_module(unsigned int number)
{
	char name[64];
	int fd;

	(void)number;
	if (!module)
		return false;
	snprintf(name, sizeof(name), "%s", strrchr(module, '/') + 1);
	name[strcspn(name, ".")] = '\0';
	fd = open(module, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		return false;
	close(fd);
	return !syscall(SYS_delete_module, name, O_NONBLOCK);
}

static struct kind {
	const char *name;
	bool (*make)(unsigned int number);
	unsigned int at_once;
	unsigned int made;
	bool left_out;
} kinds[] = {
	{ .name = "tasks",    .make = make_task,    .at_once = 1 },
	{ .name = "cgroups",  .make = make_cgroup,  .at_once = 4 },
	{ .name = "code",     .make = make_code,    .at_once = 200 },
	{ .name = "programs", .make = make_program, .at_once = 1 },
	{ .name = "binaries", .make = make_binary,  .at_once = 1 },
	{ .name = "modules",  .make = make_module,  .at_once = 1 },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static void make_some(struct kind *kind)
{
	unsigned int i;

	for (i = 0; i < kind->at_once && !kind->left_out; i++) {
		if (!kind->make(kind->made))
			kind->left_out = !kind->made;
		else
			kind->made++;
	}
}

static void make_some_of_each(void)
{
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		make_some(&kinds[i]);
	reap(MAX_TASKS);
}

/* Copies this program, to be linked under many names */
static int copy_self(void)
{
	char buf[65536];
	int from = open("/proc/self/exe", O_RDONLY), to;
	ssize_t n;

	if (from < 0 || !mkdtemp(work) || chdir(work))
		return -1;
	to = open("first", O_WRONLY | O_CREAT, 0755);
	while ((n = read(from, buf, sizeof(buf))) > 0) {
		if (write(to, buf, n) != n)
			return -1;
	}
	close(from);
	return close(to);
}

static void report(void)
{
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		printf("%s%u %s", i ? ", " : "", kinds[i].made, kinds[i].name);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	uint64_t time, step;
	int rounds;

	if (argc == 2 && !strcmp(argv[1], "end"))
		return end_elsewhere();
	if (argc < 4 || argc > 5 || atoi(argv[1]) <= 0 || (argc == 5 && *argv[4] != '/')) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	cgroups = argv[3];
	module = argv[4];
	if (copy_self()) {
		perror(work);
		return EXIT_FAILURE;
	}
	sigaction(SIGTERM, &action, NULL);
	move_to(0);
	step = SECOND / atoi(argv[1]);
	time = now();
	for (rounds = atoi(argv[2]); rounds && !ended; rounds--) {
		struct timespec until;

		make_some_of_each();
		time += step;
		/* Delays are not made up for. */
		if (time < now())
			time = now();
		until = (struct timespec){ .tv_sec = time / SECOND, .tv_nsec = time % SECOND };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	reap(0);
	unlink("first");
	rmdir(work);
	report();
	return EXIT_SUCCESS;
}
