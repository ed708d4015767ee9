// SPDX-License-Identifier: GPL-2.0
/*
 * The load for checking the dumps of perf record -M: starts processes with different
 * lifetimes at a fixed rate, and keeps a table of the truth about them (truth.h).
 *
 * It exits after all processes that it started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#define WHO	load
#include "record.h"
#include "work.h"

#define SECOND	1000000000ULL

static const char usage[] =
	"usage: load [OPTION]... TRUTH\n"
	"\n"
	"  -r RATE      processes a second (default 100)\n"
	"  -d SECONDS   how long (default 5), or until SIGTERM\n"
	"  -c NUMBER    end when NUMBER processes have been started\n"
	"  -u US        work of a short-lived process, in microseconds (default 2000)\n"
	"  -s SECONDS   lifetime of one process in 16 (default 2)\n"
	"  -b PERCENT   of its time the load itself works (default 20)\n"
	"  -i NUMBER    additional idle processes (default 0)\n"
	"  -g FILE      begin when FILE exists\n"
	"  -n ENTRIES   room in the table (default 400000)\n"
	"  -o           only works, starts no processes\n";

static struct {
	unsigned int rate, seconds, number, us, stay, busy, idle, entries, only;
} option = { 100, 5, UINT_MAX, 2000, 2, 20, 0, 400000, 0 };

static char bin[PATH_MAX];
static const char *truth_path, *go_path;
static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
	(void)signal;
	ended = 1;
}

/* ---- the table */

static void add_object(const char *path)
{
	copy_string(truth->path[truth->objects++], TRUTH_PATH, path);
}

static int add_linked(struct dl_phdr_info *info, size_t size, void *data)
{
	struct truth_entry entry = { .before = *(uint64_t *)data, .base = info->dlpi_addr };
	char path[PATH_MAX + 16];

	(void)size;
	if (!*info->dlpi_name) {
		snprintf(path, sizeof(path), "%s/load", bin);
	} else if (strstr(info->dlpi_name, "vdso")) {
		snprintf(path, sizeof(path), "[vdso]");
		entry.base = getauxval(AT_SYSINFO_EHDR);
	} else if (!realpath(info->dlpi_name, path)) {
		die(info->dlpi_name);
	}
	entry.object = truth->objects;
	add_object(path);
	truth_write(TRUTH_IMAGE, entry);
	return 0;
}

static void make_truth(void)
{
	static const char * const names[] = {
		"alpha", "beta", "gamma", "libone.so", "libtwo.so"
	};
	int fd = open(truth_path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	uint64_t start = now();
	char path[PATH_MAX + 16];
	unsigned int i;

	if (fd < 0 || ftruncate(fd, sizeof(*truth) + option.entries * sizeof(truth->entry[0])))
		die(truth_path);
	close(fd);
	truth_open(truth_path);
	truth->magic = TRUTH_MAGIC;
	truth->capacity = option.entries;

	/* This process is in the table as if it had just been forked and exec'd. */
	truth_write(TRUTH_FORK, (struct truth_entry){ .before = start, .after = start });
	truth_write(TRUTH_EXEC, (struct truth_entry){ .before = start + 1 });
	dl_iterate_phdr(add_linked, &start);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", bin, names[i]);
		add_object(path);
	}
}

/* ---- processes */

static void start_program(const char *program, const char *role, unsigned int us)
{
	char path[PATH_MAX + 16], digits[12];
	char *argv[] = { path, (char *)truth_path, (char *)role, digits, "3", NULL };

	if (recorded_fork())
		return;
	snprintf(path, sizeof(path), "%s/%s", bin, program);
	snprintf(digits, sizeof(digits), "%u", us);
	recorded_exec(argv);
}

/* A child without an exec */
static void start_fork(void)
{
	if (recorded_fork())
		return;
	set_comm("load-child");
	load_work(option.us);
	_exit(EXIT_SUCCESS);
}

static void start_process(unsigned int number)
{
	const char *program = number & 1 ? "alpha" : "beta";

	switch (number / 2 % 8) {
	case 0:
		return start_program(program, "fork", option.us);
	case 1:
		return start_program(program, "comm", option.us);
	case 2:
		return start_program(program, "thread", option.us);
	case 3:
		return start_program(program, "exec", option.us);
	case 4:
		return number & 1 ? start_program("gamma", "library", option.us)
				  : start_program("gamma", "work", option.us);
	case 5:
		return number & 1 ? start_fork()
				  : start_program(program, "stay", option.stay * 1000000);
	default:
		return start_program(program, "work", option.us);
	}
}

/* Start the idle processes. They end when the returned pipe is closed. */
static int start_idle(void)
{
	int ends[2];
	unsigned int i;
	char c;

	if (pipe2(ends, O_CLOEXEC))
		die("pipe2");
	for (i = 0; i < option.idle; i++) {
		if (recorded_fork())
			continue;
		close(ends[1]);
		_exit(read(ends[0], &c, 1) != 0);
	}
	close(ends[0]);
	return ends[1];
}

/* An id is free for reuse only after its process's end is in the table. */
static bool reap(int options)
{
	siginfo_t child = { .si_pid = 0 };

	if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT | options))
		return errno == EINTR;
	if (!child.si_pid)
		return false;
	truth_write(TRUTH_GONE, (struct truth_entry){ .before = now(), .tid = child.si_pid });
	return waitpid(child.si_pid, NULL, 0) == child.si_pid;
}

static void wait_until(uint64_t time)
{
	struct timespec until = { .tv_sec = time / SECOND, .tv_nsec = time % SECOND };

	while (!ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void wait_for_go(void)
{
	while (!ended && go_path && access(go_path, F_OK))
		wait_until(now() + SECOND / 50);
}

/* Returns the number of processes started. It may be fewer than asked for. */
static unsigned int run(void)
{
	uint64_t start = now(), end = start + option.seconds * SECOND;
	uint64_t step = SECOND / option.rate, time = start;
	unsigned int number = 0;

	while (!ended && now() < end && number < option.number) {
		if (!option.only)
			start_process(number);
		number++;
		while (reap(WNOHANG))
			;
		load_work(step / 1000 * option.busy / 100);
		time += step;
		/* Delays are not made up for. */
		if (time < now())
			time = now();
		wait_until(time);
	}
	return number;
}

static void parse(int argc, char **argv)
{
	char *slash;
	int c;

	while ((c = getopt(argc, argv, "r:d:c:u:s:b:i:g:n:o")) != -1) {
		switch (c) {
		case 'r': option.rate = atoi(optarg); break;
		case 'd': option.seconds = atoi(optarg); break;
		case 'c': option.number = atoi(optarg); break;
		case 'u': option.us = atoi(optarg); break;
		case 's': option.stay = atoi(optarg); break;
		case 'b': option.busy = atoi(optarg); break;
		case 'i': option.idle = atoi(optarg); break;
		case 'g': go_path = optarg; break;
		case 'n': option.entries = atoi(optarg); break;
		case 'o': option.only = 1; break;
		default:
			optind = argc;
		}
	}
	if (optind != argc - 1 || !option.rate || !option.entries) {
		fputs(usage, stderr);
		exit(EXIT_FAILURE);
	}
	truth_path = argv[optind];
	if (!realpath("/proc/self/exe", bin))
		die("/proc/self/exe");
	slash = strrchr(bin, '/');
	*slash = '\0';
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	uint64_t start;
	unsigned int number;
	int idle;

	parse(argc, argv);
	make_truth();
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	/* Orphans become children of the load, so it can wait for all. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	idle = start_idle();

	wait_for_go();
	start = now();
	number = run();
	printf("%u processes started in %.1f s\n", option.only ? 0 : number, (now() - start) / 1e9);
	fflush(stdout);
	close(idle);
	while (reap(0))
		;
	return EXIT_SUCCESS;
}
