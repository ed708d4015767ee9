// SPDX-License-Identifier: GPL-2.0
/*
 * Runs ring_reader on a process that makes records. See ring_run.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "perf_common.h"
#include "ring_run.h"

#define MAX_OPTIONS	12

int ring_wait_stopped(const struct ring_run *run)
{
	int status;

	if (waitpid(run->producer, &status, WUNTRACED) < 0)
		return -1;
	errno = ECHILD;

	return WIFSTOPPED(status) ? 0 : -1;
}

int ring_fork_producer(struct ring_run *run, void (*produce)(void *arg), void *arg)
{
	memset(run, 0, sizeof(*run));
	run->producer = fork();
	if (run->producer < 0)
		return -1;
	if (run->producer)
		return ring_wait_stopped(run);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nth_cpu(1) >= 0)
		pin_to_cpu(nth_cpu(1));
	raise(SIGSTOP);
	produce(arg);
	_exit(0);
}

/* ring_reader is beside this program. */
static void exec_reader(const struct ring_run *run, const char *const *options)
{
	char path[PATH_MAX] = "", pid[16], *argv[MAX_OPTIONS + 3] = { "ring_reader" };
	int nr = 1;

	while (*options && nr <= MAX_OPTIONS)
		argv[nr++] = (char *)*options++;
	snprintf(pid, sizeof(pid), "%d", run->producer);
	argv[nr] = pid;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 && !chdir(dirname(path)))
		execv("ring_reader", argv);
	perror("ring_reader");
	_exit(127);
}

int ring_start_reader(struct ring_run *run, const char *const *options)
{
	struct ring_line line;
	int ends[2];

	if (pipe(ends))
		return -1;
	run->reader = fork();
	if (run->reader < 0)
		return -1;
	if (!run->reader) {
		if (nth_cpu(1) >= 0)
			pin_to_cpu(nth_cpu(0));
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		exec_reader(run, options);
	}
	close(ends[1]);
	run->lines = fdopen(ends[0], "r");
	errno = EPROTO;

	return ring_next_line(run, &line) || strcmp(line.text, "begin\n") ? -1 : 0;
}

bool ring_next_line(struct ring_run *run, struct ring_line *line)
{
	int length = 0;

	line->rest = "";
	if (!fgets(line->text, sizeof(line->text), run->lines))
		return false;
	if (sscanf(line->text, "%llu %31s %n", &line->time, line->what, &length) != 2)
		return false;
	line->rest = line->text + length;

	return true;
}

int ring_end(struct ring_run *run)
{
	int status = -1;

	if (run->lines)
		fclose(run->lines);
	if (run->producer > 0) {
		kill(run->producer, SIGKILL);
		waitpid(run->producer, NULL, 0);
	}
	if (run->reader > 0) {
		kill(run->reader, SIGCONT);
		waitpid(run->reader, &status, 0);
	}

	return status;
}
