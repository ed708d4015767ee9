// SPDX-License-Identifier: GPL-2.0
/*
 * Notes of what threads did in windows and outside of them. See aux_beacons.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "aux_beacons.h"

struct beacons *beacons_map(int fd)
{
	void *map = mmap(NULL, sizeof(struct beacons), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

void beacons_note(struct beacons *beacons, bool inside)
{
	unsigned int nr = __atomic_fetch_add(&beacons->nr, 1, __ATOMIC_RELAXED);

	if (nr < MAX_BEACONS) {
		beacons->at[nr].tid = gettid();
		beacons->at[nr].cpu = sched_getcpu();
		beacons->at[nr].inside = inside;
		beacons->at[nr].time = clock_ns();
	}
}

void beacons_work(struct beacons *beacons, bool inside)
{
	int i;

	for (i = 0; i < 5; i++) {
		beacons_note(beacons, inside);
		spin_ns(5000);
	}
	beacons_note(beacons, inside);
}

static void wandering_window(struct beacons *beacons, const int *cpu, unsigned int round)
{
	unsigned int i;

	pin_to_cpu(cpu[round % BEACON_CPUS]);
	beacons_work(beacons, false);
	soft_resume();
	for (i = 1; i <= 3; i++) {
		beacons_work(beacons, true);
		pin_to_cpu(cpu[(round + i) % BEACON_CPUS]);
		beacons_work(beacons, true);
	}
	soft_pause();
	beacons_work(beacons, false);
}

void beacons_wander(struct beacons *beacons, const int *cpu, unsigned int windows)
{
	unsigned int i;

	for (i = 0; i < windows; i++)
		wandering_window(beacons, cpu, i);
}

void beacons_moving_window(const struct beacon_run *run)
{
	soft_resume();
	beacons_work(run->beacons, true);
	pin_to_cpu(run->cpu[1]);
	pin_to_cpu(run->cpu[0]);
	beacons_work(run->beacons, true);
}

/* --- Exec in a window --- */

#define AFTER_EXEC	"AUX_BEACONS_AFTER_EXEC"

/* What the program does that exec starts */
static void __attribute__((constructor)) after_exec(void)
{
	const char *args = getenv(AFTER_EXEC);
	struct beacons *beacons;
	int fd, inside, cpu[BEACON_CPUS];

	if (!args)
		return;
	if (sscanf(args, "%d %d %d %d", &fd, &inside, &cpu[0], &cpu[1]) != 4)
		_exit(1);
	beacons = beacons_map(fd);
	if (!beacons)
		_exit(1);
	beacons_work(beacons, inside);
	pin_to_cpu(cpu[1]);
	beacons_work(beacons, inside);
	soft_pause();
	pin_to_cpu(cpu[0]);
	beacons_work(beacons, false);
	beacons_wander(beacons, cpu, BEACON_EXEC_WINDOWS);
	_exit(0);
}

void beacons_exec(const struct beacon_run *run, bool inside)
{
	char args[64];

	snprintf(args, sizeof(args), "%d %d %d %d", run->beacons_fd, inside, run->cpu[0],
		 run->cpu[1]);
	setenv(AFTER_EXEC, args, 1);
	execl("/proc/self/exe", program_invocation_short_name, NULL);
	_exit(1);
}

/* --- What was traced --- */

/* Whichever thread has opened the window: another one that is traced in it is wrong, too. */
static bool is_traced(const struct beacon *beacon, const struct aux_trace *trace)
{
	size_t n;

	for (n = 0; n < trace->nr; n++) {
		const struct aux_window *win = &trace->win[n];

		if (win->cpu == beacon->cpu && beacon->time >= win->start &&
		    beacon->time < win->stop)
			return true;
	}

	return false;
}

unsigned int beacons_wrong(const struct beacon_run *run, const struct beacon **first)
{
	const struct beacons *beacons = run->beacons;
	unsigned int n, i, wrong = 0;
	bool traced;

	for (n = 0; n < beacons->nr; n++) {
		traced = false;
		for (i = 0; i < BEACON_CPUS && !traced; i++)
			traced = is_traced(&beacons->at[n], &run->trace[i]);
		if (traced != beacons->at[n].inside && !wrong++)
			*first = &beacons->at[n];
	}

	return wrong;
}

/* Few packets, so that the area lasts: windows are exact without them. */
#define PERIOD		1000000

const char *beacon_run_begin(struct beacon_run *run)
{
	struct aux_spec *spec = &run->spec;
	int i;

	memset(run, 0, sizeof(*run));
	run->beacons_fd = -1;
	for (i = 0; i < BEACON_CPUS; i++) {
		aux_group_init(&run->group[i]);
		run->cpu[i] = nth_cpu(i);
	}
	if (run->cpu[BEACON_CPUS - 1] < 0)
		return "one CPU only";

	if (attr_tracepoint(&spec->resume, AT_RESUME) ||
	    attr_tracepoint(&spec->pause, AT_PAUSE))
		return "no syscall tracepoints (CONFIG_FTRACE_SYSCALLS)";

	spec->start_paused = true;
	spec->period = PERIOD;
	spec->aux_pages = 512;

	return NULL;
}
