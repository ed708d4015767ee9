// SPDX-License-Identifier: GPL-2.0
/*
 * Sends a command to perf record's control FIFO and waits for the answer. Prints the two
 * times, in seconds of CLOCK_MONOTONIC, and the rest of the last answer after "ack".
 *
 * usage: ask CONTROL ACK COMMAND PID [NUMBER]
 *
 * PID is perf's: once it has ended, no answer will come. The command is sent NUMBER times
 * at once, and one process waits for all answers: two readers of one FIFO would take each
 * other's bytes.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT	60	/* seconds */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static int open_fifo(const char *path)
{
	/* For reading and writing: the open doesn't wait for perf, and perf sees no EOF. */
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	return fd;
}

static char line[8192];

/* perf's answer is "ack\n", or "ack FILE LABEL\n", followed by a zero byte. */
static int wait_for_answer(int fd, pid_t perf, double until)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t size = 0;
	char c;

	for (;;) {
		if (poll(&poll_fd, 1, 100) < 0)
			return -1;
		if (!poll_fd.revents) {
			if (kill(perf, 0) || now() > until)
				return -1;
			continue;
		}
		if (read(fd, &c, 1) != 1)
			return -1;
		if (c == '\n') {
			line[size] = '\0';
			return !strcmp(line, "ack") || !strncmp(line, "ack ", 4) ? 0 : -1;
		}
		if (c && size < sizeof(line) - 1)
			line[size++] = c;
	}
}

int main(int argc, char **argv)
{
	int control, ack, number, i, failed = 0;
	double before;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: %s CONTROL ACK COMMAND PID [NUMBER]\n", argv[0]);
		return EXIT_FAILURE;
	}
	number = argc == 6 ? atoi(argv[5]) : 1;
	control = open_fifo(argv[1]);
	ack = open_fifo(argv[2]);

	before = now();
	for (i = 0; i < number && !failed; i++)
		failed = dprintf(control, "%s\n", argv[3]) < 0;
	for (i = 0; i < number && !failed; i++)
		failed = wait_for_answer(ack, atoi(argv[4]), before + LIMIT);
	if (failed) {
		fprintf(stderr, "no answer to %s in %.1f s, or not this: %s\n", argv[3],
			now() - before, line);
		return EXIT_FAILURE;
	}
	printf("%.9f %.9f%s\n", before, now(), line + strlen("ack"));
	return EXIT_SUCCESS;
}
