// SPDX-License-Identifier: GPL-2.0
/*
 * A miniature server: starts a helper process for each request, hundreds of them, which
 * parse and render and exit after a millisecond or two. One of them does something else,
 * once, and takes long. The server notices a slow request only when it is over, and by
 * then the process that made it slow is gone.
 *
 * usage: helpers SECONDS [COMMAND]	COMMAND is run after a slow request
 *
 * The helper is the same program: helpers --request NUMBER SLOW
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_PER_SECOND	100
#define SLOW_MS			300

static volatile unsigned long result;

static double clock_ms(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

#define STEP(name, ms)						\
__attribute__((noinline)) static void name(void)		\
{								\
	double end = clock_ms(CLOCK_PROCESS_CPUTIME_ID) + (ms);	\
								\
	do {							\
		for (int i = 0; i < 5000; i++)			\
			result += result * 31 + i;		\
	} while (clock_ms(CLOCK_PROCESS_CPUTIME_ID) < end);	\
}

STEP(parse_request, 0.5)
STEP(render_page, 1)
STEP(rebuild_index, 1.5 * SLOW_MS)

static int serve_request(int slow)
{
	prctl(PR_SET_NAME, "helper");
	parse_request();
	if (slow)
		rebuild_index();
	render_page();
	return EXIT_SUCCESS;
}

/* Returns the milliseconds that the request took. */
static double start_helper(const char *program, unsigned int number, int slow)
{
	double start = now_ms();
	char digits[12];
	pid_t pid = fork();

	if (!pid) {
		snprintf(digits, sizeof(digits), "%u", number);
		execl(program, program, "--request", digits, slow ? "1" : "0", NULL);
		_exit(EXIT_FAILURE);
	}
	waitpid(pid, NULL, 0);
	return now_ms() - start;
}

static void wait_until(double ms)
{
	double left = ms - now_ms();
	struct timespec pause = { .tv_nsec = left * 1e6 };

	if (left > 0)
		nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	unsigned int requests, i;
	double next = now_ms();

	if (argc == 4 && !strcmp(argv[1], "--request"))
		return serve_request(atoi(argv[3]));
	if (argc < 2) {
		fprintf(stderr, "usage: %s SECONDS [COMMAND]\n", argv[0]);
		return EXIT_FAILURE;
	}

	requests = atoi(argv[1]) * REQUESTS_PER_SECOND;
	for (i = 0; i < requests; i++) {
		double ms = start_helper("/proc/self/exe", i, i == requests / 2);

		if (ms > SLOW_MS) {
			printf("request %u took %.0f ms\n", i, ms);
			fflush(stdout);
			if (argc > 2 && system(argv[2]))
				return EXIT_FAILURE;
		}
		next += 1e3 / REQUESTS_PER_SECOND;
		wait_until(next);
	}
	printf("%u requests served, each by a process of its own\n", requests);
	return EXIT_SUCCESS;
}
