// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of a thread, from the branches of its trace.
 *
 * Expected: each call is reported when it begins and when it ends, nested, with the times of
 * its branches, whatever way it takes: recursion, tail calls, trampolines, longjmp(),
 * signals, interrupts, and traces that begin and end in the middle of it. One that takes a
 * return for that of another call, that loses a call where the trace is cut, or that piles
 * up what never returns, fails here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "call-track.h"
#include "debug.h"
#include "event.h"
#include "tests.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

#define MAX_LOG		1024
#define STEP_TIME	10	/* from one branch to the next */
#define CALL_LEN	5
#define SYSCALL_LEN	2

/* Functions have a letter. Upper case: the kernel's. "t" is a retpoline's. */
static struct call_function functions[128] = {
	['t'] = { .hidden = true },
	['A'] = { .kernel = true }, ['B'] = { .kernel = true }, ['C'] = { .kernel = true },
};

static char seen[MAX_LOG];
/* What begin returns */
static int answer;

static void __printf(1, 2) note(const char *fmt, ...)
{
	size_t len = strlen(seen);
	va_list args;

	va_start(args, fmt);
	vsnprintf(seen + len, sizeof(seen) - len, fmt, args);
	va_end(args);
}

static char name_of(const struct call_function *function)
{
	return function - functions;
}

static int on_begin(struct call_track *track __maybe_unused,
		    const struct call_function *function, u64 time)
{
	note(" +%c%" PRIu64, name_of(function), time);
	return answer;
}

static int on_end(struct call_track *track __maybe_unused, const struct call_function *function,
		  u64 time)
{
	note(" -%c%" PRIu64, name_of(function), time);
	return 0;
}

static int on_around(struct call_track *track __maybe_unused,
		     const struct call_function *function, u64 time)
{
	note(" ^%c%" PRIu64, name_of(function), time);
	return answer;
}

static int on_window(struct call_track *track __maybe_unused, u64 time, u64 end)
{
	note(" [%" PRIu64 "-%" PRIu64 "]", time, end);
	return 0;
}

static const struct call_track_ops ops = {
	.begin	= on_begin,
	.end	= on_end,
	.around	= on_around,
	.window	= on_window,
};

#define BRANCH(more)	(PERF_IP_FLAG_BRANCH | (more))

static const struct {
	const char	*name;
	u32		flags;
	u32		insn_len;
} kinds[] = {
	{ "call", BRANCH(PERF_IP_FLAG_CALL), CALL_LEN },
	{ "ret", BRANCH(PERF_IP_FLAG_RETURN), 1 },
	{ "jmp", BRANCH(0), 2 },
	{ "sys", BRANCH(PERF_IP_FLAG_CALL | PERF_IP_FLAG_SYSCALLRET), SYSCALL_LEN },
	{ "sysret", BRANCH(PERF_IP_FLAG_RETURN | PERF_IP_FLAG_SYSCALLRET), 3 },
	{ "int", BRANCH(PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_INTERRUPT), 0 },
	{ "iret", BRANCH(PERF_IP_FLAG_RETURN | PERF_IP_FLAG_INTERRUPT), 2 },
	{ "stop", BRANCH(PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_TRACE_END), 0 },
	{ "begin", BRANCH(PERF_IP_FLAG_TRACE_BEGIN), 0 },
};

/* "b20": 0x20 bytes behind the start of b. "-": nowhere */
static u64 address(const char *place, const struct call_function **function)
{
	u64 offset = strtoul(place + 1, NULL, 16);

	*function = NULL;
	if (*place == '-')
		return 0;
	*function = &functions[(int)*place];
	return ((*function)->kernel ? 1ULL << 63 : 0) + *place * 0x1000ULL + offset;
}

/* "call b20 c": a branch. "cut": of the trace */
static int step(struct call_track *track, const char *text, u64 time)
{
	struct call_branch branch = { .time = time };
	char kind[8], from[8] = "-", to[8] = "-";
	size_t i;

	if (!strcmp(text, "cut"))
		return call_track__cut(track);
	if (sscanf(text, "%7s %7s %7s", kind, from, to) < 1)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kind, kinds[i].name)) {
			branch.flags = kinds[i].flags;
			branch.insn_len = kinds[i].insn_len;
		}
	}
	if (!branch.flags)
		return -EINVAL;
	branch.from = address(from, &branch.from_function);
	branch.to = address(to, &branch.to_function);
	branch.to_start = !to[1];
	return call_track__branch(track, &branch);
}

static int run_steps(struct call_track *track, const char *steps)
{
	char buf[MAX_LOG], *next, *rest = buf;
	u64 time = 0;
	int err = 0;

	snprintf(buf, sizeof(buf), "%s", steps);
	while (!err && (next = strsep(&rest, ","))) {
		next += strspn(next, " ");
		time += STEP_TIME;
		err = step(track, next, time);
	}
	return err;
}

/* "+a10": a begins at 10. "-a20": it ends. "^a9": it was there before. "[9-20]": the part. */
static const struct {
	const char	*steps;
	const char	*expected;
} cases[] = {
	/* A call, and one in it */
	{ "call a10 b, call b10 c, ret c8 b15, ret b20 a15, cut",
	  " +a10 +b10 +c20 -c30 -b40 -a40 [10-40]" },
	/* Recursion: each return ends one call */
	{ "call a10 b, call b10 b, call b10 b, ret b20 b15, ret b20 b15, ret b20 a15, cut",
	  " +a10 +b10 +b20 +b30 -b40 -b50 -b60 -a60 [10-60]" },
	/* Jumps within a function */
	{ "call a10 b, jmp b10 b8, jmp b10 b, ret b20 a15, cut",
	  " +a10 +b10 -b40 -a40 [10-40]" },
	/* A tail call ends with the call that it is in, which is to last as the caller sees it */
	{ "call a10 b, jmp b20 c, call c8 d, ret d8 cd, ret c20 a15, cut",
	  " +a10 +b10 +c20 +d30 -d40 -c50 -b50 -a50 [10-50]" },
	/* To a cold part and back */
	{ "call a10 b, jmp b20 c8, jmp c20 b30, ret b40 a15, cut",
	  " +a10 +b10 +c20 -c30 -b40 -a40 [10-40]" },
	/* Tail calls in turn don't pile up */
	{ "call a10 b, jmp b20 c, jmp c20 d, jmp d20 b, jmp b20 c, jmp c20 b, ret b30 a15, cut",
	  " +a10 +b10 +c20 +d30 -d40 -c40 +c50 -c60 -b70 -a70 [10-70]" },
	/* A tail call of the caller is a new call of it */
	{ "call a10 b, jmp b20 a, ret a30 a15, cut", " +a10 +b10 +a20 -a30 -b30 -a30 [10-30]" },
	/* A call for the own address, and one over data, which doesn't return */
	{ "call a10 b, call b10 b15, call b20 b30, ret b40 a15, cut",
	  " +a10 +b10 -b40 -a40 [10-40]" },
	/* A retpoline: call of the thunk, call in it, return to the function that is meant */
	{ "call a10 t, call t0 t10, ret t20 c, ret c20 a15, cut",
	  " +a10 +c30 -c40 -a40 [10-40]" },
	/* A tail call by a retpoline is a jump */
	{ "call a10 b, jmp b20 t, call t0 t10, ret t20 c, jmp c10 b, ret b30 a15, cut",
	  " +a10 +b10 +c40 -c50 -b60 -a60 [10-60]" },
	/* A return thunk */
	{ "call a10 b, jmp b20 t, ret t0 a15, cut", " +a10 +b10 -b30 -a30 [10-30]" },
	/* A trampoline: the address is pushed, and taken by a return */
	{ "call a10 b, ret b20 c, ret c20 a15, cut", " +a10 +b10 +c20 -c30 -b30 -a30 [10-30]" },
	/* The same within a function */
	{ "call a10 b, ret b20 b30, ret b40 a15, cut", " +a10 +b10 -b30 -a30 [10-30]" },
	/* longjmp() over two calls, by a jump; an exception, by a return */
	{ "call a10 b, call b10 c, call c10 d, jmp d20 b30, ret b40 a15, cut",
	  " +a10 +b10 +c20 +d30 -d40 -c40 -b50 -a50 [10-50]" },
	{ "call a10 b, call b10 c, call c10 d, ret d20 b30, ret b40 a15, cut",
	  " +a10 +b10 +c20 +d30 -d40 -c40 -b50 -a50 [10-50]" },
	/* An exception, caught by the function's caller, which is the same function */
	{ "call a10 b, call b10 b, ret b20 b30, ret b40 a15, cut",
	  " +a10 +b10 +b20 -b30 -b40 -a40 [10-40]" },
	/* A return address that was dropped: that of the caller's caller follows */
	{ "call a10 b, call b10 c, ret c20 a15, cut", " +a10 +b10 +c20 -c30 -b30 -a30 [10-30]" },
	/* Callers that were not seen to call, which the trace shows when they are returned to */
	{ "begin - a10, call a10 b, ret b20 a15, ret a20 c15, call c20 d, ret d8 c25, ret c30 e10, cut",
	  " +a10 +b20 -b30 -a40 ^c9 +d50 -d60 -c70 ^e8 -e70 [8-70]" },
	/* After a jump of the first function, too */
	{ "begin - a10, jmp a20 b, ret b20 c15, cut", " +a10 +b20 -b30 -a30 ^c9 -c30 [9-30]" },
	/* Another stack: what was there has ended. What is below ends at the same time, at last. */
	{ "call a10 b, call b10 c, ret c20 d10, ret d20 e10, cut",
	  " +a10 +b10 +c20 -c30 -b30 -a30 +d30 -d40 ^e30 -e40 [10-40]" },
	/* The end of the trace cuts all calls at the last branch */
	{ "call a10 b, call b10 c, cut, call d10 e, cut",
	  " +a10 +b10 +c20 -c20 -b20 -a20 [10-20] +d40 +e40 -e40 -d40 [40-40]" },
	/* Nothing to cut */
	{ "cut, call a10 b, cut, cut", " +a20 +b20 -b20 -a20 [20-20]" },
	/* User mode alone: the calls go on after a system call and an interrupt */
	{ "call a10 b, sys b10 -, begin - b12, stop b20 -, begin - b20, ret b30 a15, cut",
	  " +a10 +b10 -b60 -a60 [10-60]" },
	/* A system call that is restarted */
	{ "call a10 b, sys b10 -, begin - b10, sys b10 -, begin - b12, ret b20 a15, cut",
	  " +a10 +b10 -b60 -a60 [10-60]" },
	/* A signal in user mode alone: its handler, what that calls, and what ends it */
	{ "call a10 b, stop b20 -, begin - c, call c10 d, ret d8 c15, ret c20 e, sys e8 -, begin - b20, ret b30 a15, cut",
	  " +a10 +b10 +c30 +d40 -d50 -c60 +e60 -e80 -b90 -a90 [10-90]" },
	/* The handler is the function that was interrupted */
	{ "call a10 b, stop b20 -, begin - b, sys b8 -, begin - b20, ret b30 a15, cut",
	  " +a10 +b10 +b30 -b50 -b60 -a60 [10-60]" },
	/* It begins elsewhere: in another function, in one that has called */
	{ "call a10 b, stop b20 -, begin - c20, cut", " +a10 +b10 -b20 -a20 +c30 -c30 [10-30]" },
	{ "call a10 b, call b10 c, stop c20 -, begin - a30, cut",
	  " +a10 +b10 +c20 -c40 -b40 -a40 [10-40]" },
	/* It ends with a return, and begins with another call */
	{ "call a10 b, call b10 c, ret c20 -, begin - d, cut",
	  " +a10 +b10 +c20 -c30 -b30 -a30 +d40 -d40 [10-40]" },
	/* A call of what isn't traced, because of a filter */
	{ "call a10 b, call b10 -, begin - b15, ret b20 a15, cut",
	  " +a10 +b10 -b40 -a40 [10-40]" },
	/* The kernel alone: system calls one after the other */
	{ "begin - A, call A10 B, ret B20 A15, sysret A30 -, begin - A, sysret A30 -, cut",
	  " +A10 +B20 -B30 -A40 +A50 -A60 [10-60]" },
	/* Both modes: a system call, an interrupt of the kernel, an exception */
	{ "call a10 b, sys b10 A, int A8 B, iret B20 A8, sysret A30 b12, int b14 C, iret C20 b14, ret b20 a15, cut",
	  " +a10 +b10 +A20 +B30 -B40 -A50 +C60 -C70 -b80 -a80 [10-80]" },
	/* A signal in both modes; the handler's system calls */
	{ "call a10 b, int b14 A, iret A20 c, sys c10 B, sysret B20 c12, ret c20 e, sys e8 B, sysret B20 b14, ret b20 a15, cut",
	  " +a10 +b10 +A20 -A30 +c30 +B40 -B50 +e60 +B70 -B80 -e80 -c80 -b90 -a90 [10-90]" },
	/* Of the kernel, not all is traced */
	{ "call a10 b, sys b10 A, sysret A20 -, begin - b12, ret b20 a15, cut",
	  " +a10 +b10 +A20 -A30 -b50 -a50 [10-50]" },
	/* The handler is the function that was interrupted */
	{ "call a10 b, int b14 A, iret A20 b, ret b20 e, sys e8 B, sysret B20 b14, ret b20 a15, cut",
	  " +a10 +b10 +A20 -A30 +b30 +e40 +B50 -B60 -e60 -b60 -b70 -a70 [10-70]" },
	/* The kernel returns to the middle of another function, and that to the first one */
	{ "call a10 b, int b14 A, iret A20 d30, ret d40 b20, ret b30 a15, cut",
	  " +a10 +b10 +A20 -A30 +d30 -d40 -b50 -a50 [10-50]" },
	/* The kernel returns to the middle of the caller */
	{ "call a10 b, int b14 A, iret A20 a30, cut",
	  " +a10 +b10 +A20 -A30 -b30 -a30 [10-30]" },
	/* The first thing of the trace is in the kernel: the program was there before */
	{ "begin - A10, sysret A20 b12, ret b20 a15, cut",
	  " +A10 -A20 ^b9 -b30 ^a8 -a30 [8-30]" },
	/* The kernel was left unseen */
	{ "call a10 b, sys b10 A, call A10 B, call b20 c, cut",
	  " +a10 +b10 +A20 +B30 -B40 -A40 +c40 -c40 -b40 -a40 [10-40]" },
};

static int test_case(const char *steps, const char *expected)
{
	struct call_track track;

	call_track__init(&track, &ops);
	seen[0] = 0;
	CHECK(!run_steps(&track, steps));
	CHECK(!track.nr);
	call_track__exit(&track);
	if (!strcmp(seen, expected))
		return TEST_OK;
	pr_debug("%s:\n%s, not\n%s\n", steps, seen, expected);
	return TEST_FAIL;
}

static int test_cases(void)
{
	int failed = 0;
	size_t i;

	answer = 0;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		failed += test_case(cases[i].steps, cases[i].expected) != TEST_OK;
	CHECK(!failed);
	return TEST_OK;
}

/* Who returns 1 from a begin gets no end of it, and all the rest */
static int test_no_end(void)
{
	answer = 1;
	CHECK(!test_case("begin - a10, call a10 b, ret b20 a15, ret a20 c10, cut",
			 " +a10 +b20 ^c9 [9-40]"));
	answer = 0;
	return TEST_OK;
}

/* An error is returned, and the track can still be ended */
static int test_error(void)
{
	struct call_track track;

	call_track__init(&track, &ops);
	CHECK(!run_steps(&track, "call a10 b"));
	answer = -EIO;
	CHECK(run_steps(&track, "call b10 c") == -EIO);
	answer = 0;
	seen[0] = 0;
	CHECK(!call_track__cut(&track));
	CHECK(!strcmp(seen, " -b10 -a10 [10-10]"));
	call_track__exit(&track);
	return TEST_OK;
}

/* What doesn't return doesn't pile up */
static int test_piles(void)
{
	struct call_track track;

	call_track__init(&track, &ops);
	CHECK(!run_steps(&track, "call a10 a15, call a10 a15, jmp a20 b, jmp b20 a, jmp a20 b"));
	CHECK(track.nr == 2);
	CHECK(!call_track__cut(&track));
	call_track__exit(&track);
	return TEST_OK;
}

/* A time that is earlier than the last one becomes that */
static int test_time(void)
{
	struct call_track track;

	call_track__init(&track, &ops);
	seen[0] = 0;
	CHECK(!step(&track, "call a10 b", 50));
	CHECK(!step(&track, "ret b20 a15", 40));
	CHECK(!step(&track, "cut", 0));
	CHECK(!strcmp(seen, " +a50 +b50 -b50 -a50 [50-50]"));
	call_track__exit(&track);
	return TEST_OK;
}

/* Parts of a trace at the same time are reported one after the other */
static int test_parts(void)
{
	struct call_track track;

	call_track__init(&track, &ops);
	seen[0] = 0;
	CHECK(!step(&track, "call a10 b", 50));
	CHECK(!step(&track, "cut", 0));
	CHECK(!step(&track, "begin - b10", 50));
	CHECK(!step(&track, "ret b20 a15", 50));
	CHECK(!step(&track, "cut", 0));
	CHECK(!strcmp(seen, " +a50 +b50 -b50 -a50 [50-50] +b52 -b52 ^a52 -a52 [52-52]"));
	call_track__exit(&track);
	return TEST_OK;
}

static int begins, ends;

static int count_begin(struct call_track *track __maybe_unused,
		       const struct call_function *function __maybe_unused,
		       u64 time __maybe_unused)
{
	begins++;
	return 0;
}

static int count_end(struct call_track *track __maybe_unused,
		     const struct call_function *function __maybe_unused,
		     u64 time __maybe_unused)
{
	ends++;
	return 0;
}

/* Calls that never return don't take all memory; none is left without its end */
static int test_depth(void)
{
	static const struct call_track_ops counting = {
		.begin	= count_begin,
		.end	= count_end,
		.around	= count_begin,
	};
	struct call_track track;
	int i;

	call_track__init(&track, &counting);
	for (i = 0; i < CALL_TRACK_MAX_DEPTH + 100; i++)
		CHECK(!step(&track, "call a10 b", i));
	CHECK(track.nr <= CALL_TRACK_MAX_DEPTH);
	CHECK(ends == CALL_TRACK_MAX_DEPTH);
	CHECK(!call_track__cut(&track));
	CHECK(begins == ends && begins == CALL_TRACK_MAX_DEPTH + 101);
	call_track__exit(&track);
	return TEST_OK;
}

static int test__call_track(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	CHECK(!test_cases());
	CHECK(!test_no_end());
	CHECK(!test_error());
	CHECK(!test_piles());
	CHECK(!test_time());
	CHECK(!test_parts());
	CHECK(!test_depth());
	return TEST_OK;
}

DEFINE_SUITE("Calls of a thread, from its branches", call_track);
