// SPDX-License-Identifier: GPL-2.0
/*
 * perf_fuzz: random calls of the perf_event interface, guided by coverage. It needs root,
 * and a machine that may crash.
 *
 * Each lane runs programs (see program.h) one after the other, each in a process of its
 * own, every other lane as nobody. A program that reaches new code is kept, and mutated
 * later. Before a program runs, it is written to the lane's log, which survives a crash.
 * No lane begins another program once the kernel reports a problem, so each log ends with
 * the program that ran at that moment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "execute.h"
#include "generate.h"
#include "kernel_log.h"
#include "pmus.h"

#define NOBODY		65534
#define MAX_LANES	16
#define MAX_KEPT	1024
#define LOG_PROGRAMS	32
#define LOG_SIZE	(32ul << 10)
#define SECONDS_TO_END	10	/* limit for a program */
#define SECONDS_TO_DIE	120	/* limit after SIGKILL */
#define SECONDS_REPORT	15
#define TRIED_ENOUGH	100	/* one that can succeed has done so */

static const char usage[] =
	"usage: perf_fuzz [OPTION]...\n"
	"       perf_fuzz [OPTION]... --replay LOG...\n"
	"\n"
	"  --calls N     stop after N calls (default 100000)\n"
	"  --seed N      (default 1)\n"
	"  --lanes N     programs at the same time (default 2): as root, nobody, root, ...\n"
	"  --dir DIR     log-LANE there has the last programs of a lane; corpus-LANE those\n"
	"                that reached something new, which the next run begins with\n"
	"  --paranoid N  kernel.perf_event_paranoid (default 2)\n"
	"  --avoid PMU   in programs that are made up\n"
	"  --replay      run the programs of each LOG, one lane for each, instead\n"
	"  --repeat N    so many times (default 100)\n"
	"\n"
	"Exit status: 0; 1 if something is wrong with the arguments or the machine, such as\n"
	"that hardly any event can be opened, or that an ioctl never succeeds; 2 if the\n"
	"kernel reports a problem; 3 if a program can't be killed.\n";

struct options {
	unsigned long calls, seed, repeat;
	unsigned int lanes;
	const char *dir;
};

static struct options options = { .calls = 100000, .seed = 1, .repeat = 100, .lanes = 2 };

/* Shared by all lanes. */
static struct shared {
	unsigned long calls, programs, edges, kept;
	unsigned long made[NR_OPS], succeeded[NR_OPS];
	unsigned long tried[NR_VARIANTS], worked[NR_VARIANTS];
	unsigned char map[COVERAGE_EDGES];
} *shared;

/*
 * struct lane - a sequence of programs
 * @kernel_log: the kernel's messages since this lane began
 * @log_lengths: of the programs in the log
 * @kept: @nr_kept programs that reached new code
 */
struct lane {
	unsigned int number;
	struct random random;
	struct world *world;
	int kernel_log;
	int log;
	size_t log_lengths[LOG_PROGRAMS];
	FILE *corpus;
	unsigned int nr_kept;
	struct program *kept;
};

static void fail(const char *what)
{
	fprintf(stderr, "perf_fuzz: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- Running one program --- */

/* Where the previous text was longer, empty lines replace it. */
static void write_log(struct lane *lane)
{
	struct program *program = &lane->world->program;
	unsigned int place = program->number % LOG_PROGRAMS;
	static char text[LOG_SIZE];
	size_t length, size;

	if (lane->log < 0)
		return;
	length = program_print(program, text, LOG_SIZE);
	size = length;
	if (size < lane->log_lengths[place]) {
		size = lane->log_lengths[place];
		memset(text + length, '\n', size - length);
	}
	lane->log_lengths[place] = length;
	if (pwrite(lane->log, text, size, place * LOG_SIZE) != (ssize_t)size)
		fail("log");
}

/* Wait until child @pid, or all (-1), ended. Return false if that takes too long. */
static bool wait_for(pid_t pid, time_t seconds)
{
	struct timespec wait = { .tv_nsec = 100000000 };
	time_t end = time(NULL) + seconds;
	sigset_t child;
	pid_t ended;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		ended = waitpid(pid, NULL, WNOHANG | __WALL);
		if (ended < 0 || ended == pid)
			return true;
		if (!ended && time(NULL) > end)
			return false;
		if (!ended)
			sigtimedwait(&child, NULL, &wait);
	}
}

/* Print the kernel stacks of the tasks of process group @group. */
static void show_stuck(pid_t group)
{
	char command[64];

	printf("perf_fuzz: this can't be killed:\n");
	fflush(stdout);
	snprintf(command, sizeof(command), "cat /proc/%d/task/*/stack /proc/%d/status", group,
		 group);
	(void)!system(command);
	(void)!system("echo w >/proc/sysrq-trigger; echo l >/proc/sysrq-trigger");
}

static void add(unsigned long *sum, unsigned long n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static void add_counts(const struct world *world)
{
	unsigned int op, i;

	for (op = 0; op < NR_OPS; op++) {
		add(&shared->calls, world->calls[op]);
		add(&shared->made[op], world->calls[op]);
		add(&shared->succeeded[op], world->succeeded[op]);
	}
	for (i = 0; i < NR_VARIANTS; i++) {
		add(&shared->tried[i], world->tried[i]);
		add(&shared->worked[i], world->worked[i]);
	}
	add(&shared->programs, 1);
}

/* The last program of the log then ran at that moment, or had just begun. */
static void end_at_a_report(const struct lane *lane)
{
	if (!kernel_log_reports(lane->kernel_log))
		return;
	printf("perf_fuzz: lane %u ends with program %lu: the kernel has reported a problem\n",
	       lane->number, lane->world->program.number);
	fflush(stdout);
	_exit(2);
}

/* Return the number of new edges. */
static unsigned int run_program(struct lane *lane)
{
	struct world *world = lane->world;
	unsigned int edges = 0;
	pid_t pid;

	write_log(lane);
	if (world->covered)
		coverage_reset(&world->coverage);
	world->tasks = 0;
	memset(world->calls, 0, sizeof(world->calls));
	memset(world->succeeded, 0, sizeof(world->succeeded));
	memset(world->tried, 0, sizeof(world->tried));
	memset(world->worked, 0, sizeof(world->worked));
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		sigset_t none;

		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execute(world);
	}
	setpgid(pid, pid);
	wait_for(pid, SECONDS_TO_END);
	kill(-pid, SIGKILL);
	if (!wait_for(-1, SECONDS_TO_DIE)) {
		show_stuck(pid);
		_exit(3);
	}
	if (world->covered)
		edges = coverage_collect(&world->coverage, shared->map);
	add(&shared->edges, edges);
	add_counts(world);
	end_at_a_report(lane);

	return edges;
}

/* --- A lane --- */

static void keep(struct lane *lane)
{
	unsigned int place = lane->nr_kept;

	if (place == MAX_KEPT)
		place = random_below(&lane->random, MAX_KEPT);
	else
		lane->nr_kept++;
	lane->kept[place] = lane->world->program;
	add(&shared->kept, 1);
}

static void save(struct lane *lane)
{
	static char text[LOG_SIZE];

	if (!lane->corpus || !program_print(&lane->world->program, text, sizeof(text)))
		return;
	fputs(text, lane->corpus);
	fflush(lane->corpus);
}

/* Programs that earlier runs kept. */
static void run_corpus(struct lane *lane)
{
	while (lane->corpus && program_read(lane->corpus, &lane->world->program) == 1) {
		if (run_program(lane))
			keep(lane);
	}
}

static void next_program(struct lane *lane, unsigned long number)
{
	struct program *program = &lane->world->program;
	struct random *random = &lane->random;

	program->uid = lane->number % 2 ? NOBODY : 0;
	if (lane->nr_kept && !one_in(random, 3)) {
		*program = lane->kept[random_below(random, lane->nr_kept)];
		program_mutate(random, program, &lane->kept[random_below(random, lane->nr_kept)]);
	} else {
		program_generate(random, program);
	}
	program->number = number;
}

static void fuzz(struct lane *lane)
{
	unsigned long number;

	run_corpus(lane);
	for (number = 0; __atomic_load_n(&shared->calls, __ATOMIC_RELAXED) < options.calls;
	     number++) {
		next_program(lane, number);
		if (run_program(lane)) {
			keep(lane);
			save(lane);
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void replay(struct lane *lane, const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned int nr = 0, i;
	unsigned long repeat;

	if (!file)
		fail(path);
	while (nr < MAX_KEPT && program_read(file, &lane->kept[nr]) == 1)
		nr++;
	if (!nr || !feof(file)) {
		errno = EINVAL;
		fail(path);
	}
	fclose(file);
	qsort(lane->kept, nr, sizeof(lane->kept[0]), by_number);
	for (repeat = 0; repeat < options.repeat; repeat++) {
		for (i = 0; i < nr; i++) {
			lane->world->program = lane->kept[i];
			run_program(lane);
		}
	}
}

static FILE *open_corpus(unsigned int number)
{
	char path[4096];
	FILE *corpus;

	snprintf(path, sizeof(path), "%s/corpus-%u", options.dir, number);
	corpus = fopen(path, "a+e");
	if (!corpus)
		fail(path);
	rewind(corpus);

	return corpus;
}

/* The log is always text: unused places are empty lines. */
static int open_log(unsigned int number)
{
	static char empty[LOG_PROGRAMS * LOG_SIZE];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/log-%u", options.dir, number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	memset(empty, '\n', sizeof(empty));
	if (fd < 0 || pwrite(fd, empty, sizeof(empty), 0) != sizeof(empty))
		fail(path);

	return fd;
}

static struct world *open_world(void)
{
	int fd = memfd_create("world", 0);
	struct world *world;

	if (fd < 0 || ftruncate(fd, sizeof(*world)) || dup2(fd, FD_WORLD) != FD_WORLD)
		fail("memfd");
	close(fd);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED, FD_WORLD, 0);
	if (world == MAP_FAILED)
		fail("mmap");

	return world;
}

static void run_lane(unsigned int number, const char *log)
{
	struct lane lane = { .number = number, .log = -1 };
	sigset_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	lane.kernel_log = kernel_log_open();
	if (lane.kernel_log < 0)
		fail("/dev/kmsg");
	lane.random.state = options.seed * MAX_LANES + number;
	lane.world = open_world();
	lane.world->covered = coverage_open(&lane.world->coverage, FD_KCOV);
	lane.kept = calloc(MAX_KEPT, sizeof(lane.kept[0]));
	if (!lane.kept)
		fail("calloc");
	if (options.dir)
		lane.log = open_log(number);
	if (log) {
		replay(&lane, log);
		_exit(0);
	}
	if (options.dir)
		lane.corpus = open_corpus(number);
	fuzz(&lane);
	_exit(0);
}

/* --- All lanes --- */

static void set_sysctl(const char *name, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fail(path);
	close(fd);
}

static void report(time_t start)
{
	unsigned long seconds = time(NULL) - start;

	printf("%lu s: %lu calls in %lu programs (%lu/s), %lu edges, %lu programs kept\n", seconds,
	       shared->calls, shared->programs, shared->calls / (seconds ?: 1), shared->edges,
	       shared->kept);
	fflush(stdout);
}

/* Only the attributes of a breakpoint can be modified. */
static bool can_succeed(unsigned int variant)
{
	return variant != REQ_MODIFY_ATTRIBUTES || !pmus[pmus_find("breakpoint")].avoid;
}

/* Return false if there is a variant of calls that can succeed, and never does. */
static bool report_variants(void)
{
	bool all = true;
	unsigned int i;

	printf("of these:");
	for (i = 0; i < NR_VARIANTS; i++) {
		printf(" %s %lu/%lu", variant_names[i], shared->worked[i], shared->tried[i]);
		all = all && (shared->worked[i] || shared->tried[i] < TRIED_ENOUGH ||
			      !can_succeed(i));
	}
	printf("\n");

	return all;
}

/*
 * Return false if hardly any event could be opened, or all calls of a variant failed: the run
 * has not tested that then.
 */
static bool report_success(void)
{
	unsigned int op;

	printf("succeeded:");
	for (op = 0; op < NR_OPS; op++) {
		if (shared->made[op])
			printf(" %s %lu%%", op_specs[op].name,
			       shared->succeeded[op] * 100 / shared->made[op]);
	}
	printf("\n");

	return report_variants() &&
	       shared->succeeded[OP_OPEN] * 10 >= shared->made[OP_OPEN];
}

/* The worst exit status of the lanes. */
static int wait_for_lanes(void)
{
	time_t start = time(NULL), said = start;
	int status, worst = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (pid) {
			status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
			worst = status > worst ? status : worst;
			continue;
		}
		usleep(100000);
		if (time(NULL) - said >= SECONDS_REPORT) {
			said = time(NULL);
			report(start);
		}
	}
	report(start);
	if (!report_success() && !worst)
		worst = 1;

	return worst;
}

static const struct option long_options[] = {
	{ "calls", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 's' },
	{ "lanes", required_argument, NULL, 'l' },
	{ "dir", required_argument, NULL, 'd' },
	{ "paranoid", required_argument, NULL, 'p' },
	{ "avoid", required_argument, NULL, 'a' },
	{ "replay", no_argument, NULL, 'r' },
	{ "repeat", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{}
};

int main(int argc, char **argv)
{
	const char *paranoid = "2";
	bool replaying = false;
	unsigned int i;
	int c;

	if (!pmus_init()) {
		fprintf(stderr, "perf_fuzz: no PMUs\n");
		return 1;
	}
	if (argc == 4 && !strcmp(argv[1], "--continue"))
		execute_continue(atoi(argv[2]), atoi(argv[3]));

	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (c) {
		case 'n':
			options.calls = strtoul(optarg, NULL, 0);
			break;
		case 's':
			options.seed = strtoul(optarg, NULL, 0);
			break;
		case 'l':
			options.lanes = strtoul(optarg, NULL, 0);
			break;
		case 'd':
			options.dir = optarg;
			break;
		case 'p':
			paranoid = optarg;
			break;
		case 'a':
			if (pmus_find(optarg) >= 0)
				pmus[pmus_find(optarg)].avoid = true;
			break;
		case 'r':
			replaying = true;
			break;
		case 't':
			options.repeat = strtoul(optarg, NULL, 0);
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c != 'h';
		}
	}
	if (replaying)
		options.lanes = argc - optind;
	if (!options.lanes || options.lanes > MAX_LANES || (!replaying && optind < argc)) {
		fputs(usage, stderr);
		return 1;
	}

	set_sysctl("perf_event_paranoid", paranoid);
	/* Otherwise the kernel lowers the sampling rate, because an emulated CPU is slow */
	set_sysctl("perf_event_max_sample_rate", "20000");
	set_sysctl("perf_cpu_time_max_percent", "0");
	pmus_hold();
	execute_load_bpf();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	for (i = 0; i < options.lanes; i++) {
		if (!fork())
			run_lane(i, replaying ? argv[optind + i] : NULL);
	}

	return wait_for_lanes();
}
