// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of threads and CPUs.
 *
 * Expected: a window ends where events have paused the trace, and only there; what is lost
 * is a slice; each CPU shows who ran, within the times that are wanted, unless it was idle,
 * and says what it doesn't know. A dump is marked when its trigger says. A window that goes
 * on over a pause, or that another thread's pause has cut in two, or a run without its end,
 * or a mark outside of the recording, or the name of a function that has gone, fails here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include "debug.h"
#include "event.h"
#include "hist.h"
#include "hists_common.h"
#include "machine.h"
#include "picture.h"
#include "symbol.h"
#include "tests.h"
#include "thread.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

#define MAX_TEXT	8192

static struct picture_function functions[] = {
	{ .known = true, .name = (char *)"f", .dso = (char *)"d" },
	{ .known = true, .name = (char *)"g", .dso = (char *)"d" },
};

static char dir[64];
static char path[80];
static struct picture picture;

static int begin(void)
{
	picture__init(&picture);
	CHECK(!trace_events__open(&picture.events, path, 0, UINT64_MAX, true));
	picture.windows = true;
	return TEST_OK;
}

/* A line of the file in short: "B f 10". Names of rows are left out. */
static void shorten(const char *line, char *text, size_t size)
{
	char phase, name[64], rest[128] = "";
	unsigned int pid, tid;
	double ts, dur;

	if (sscanf(line, "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,\"ts\":%lf,\"name\":\"%63[^\"]\"%127[^\n]",
		   &phase, &pid, &tid, &ts, name, rest) < 5 || phase == 'M')
		return;
	size -= strlen(text);
	text += strlen(text);
	snprintf(text, size, "%c %s %.0f", phase, name, ts * 1000);
	size -= strlen(text);
	text += strlen(text);
	if (sscanf(rest, ",\"dur\":%lf", &dur) == 1)
		snprintf(text, size, "+%.0f", dur * 1000);
	size -= strlen(text);
	text += strlen(text);
	snprintf(text, size, "%s%s; ", strstr(rest, "not recorded") ? " ?" : "",
		 strstr(rest, "\"s\":\"g\"") ? " in all" : "");
}

/* Is it in the file, which then is gone? */
static int end(u64 time, const char *wanted)
{
	char line[512], text[MAX_TEXT] = "";
	FILE *in;

	CHECK(!picture__end(&picture, time));
	CHECK(!trace_events__finish(&picture.events));
	picture__exit(&picture);
	in = fopen(path, "r");
	CHECK(in);
	while (fgets(line, sizeof(line), in))
		shorten(line, text, sizeof(text));
	fclose(in);
	CHECK(!unlink(path));
	if (!strcmp(text, wanted))
		return TEST_OK;
	pr_debug("%s, not\n%s\n", text, wanted);
	return TEST_FAIL;
}

/* The trace begins at address @to of the first function; ends at @from; calls the second */
static int trace_begins(struct picture_thread *thread, int cpu, u64 time, u64 to)
{
	const struct call_branch branch = {
		.time = time,
		.to = to,
		.flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN,
		.to_function = &functions[0].call,
	};

	return picture_thread__branch(thread, cpu, &branch);
}

static int trace_ends(struct picture_thread *thread, int cpu, u64 time, u64 from)
{
	const struct call_branch branch = {
		.time = time,
		.from = from,
		.flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_TRACE_END,
		.from_function = &functions[0].call,
	};

	return picture_thread__branch(thread, cpu, &branch);
}

static int calls(struct picture_thread *thread, int cpu, u64 time)
{
	const struct call_branch branch = {
		.time = time,
		.from = 0x1010,
		.to = 0x2000,
		.to_start = true,
		.flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL,
		.insn_len = 5,
		.from_function = &functions[0].call,
		.to_function = &functions[1].call,
	};

	return picture_thread__branch(thread, cpu, &branch);
}

static struct picture_thread *new_thread(int tid)
{
	return picture__add_thread(&picture, tid, tid, "t");
}

/* The end of the trace may come before or after the pause, whose time is only about the same */
static int test_windows(void)
{
	struct picture_thread *thread;

	CHECK(!begin());
	thread = new_thread(1);
	CHECK(thread);
	CHECK(!trace_begins(thread, 0, 10, 0x1010));
	CHECK(!calls(thread, 0, 20));
	CHECK(!picture_thread__pause(thread, 0, 25));
	CHECK(!trace_ends(thread, 0, 30, 0x1030));
	CHECK(!trace_begins(thread, 0, 50, 0x1030));
	CHECK(!trace_ends(thread, 0, 60, 0x1040));
	CHECK(!picture_thread__pause(thread, 0, 65));
	CHECK(!trace_begins(thread, 0, 70, 0x1040));
	return end(100, "B f 10; B g 20; E g 30; E f 30; B [window] 9; E [window] 30; "
		   "B f 50; E f 60; B [window] 49; E [window] 60; "
		   "B f 70; E f 70; B [window] 69; E [window] 70; ");
}

/* Without a pause in between it is the same window */
static int test_window_goes_on(void)
{
	struct picture_thread *thread;

	CHECK(!begin());
	thread = new_thread(1);
	CHECK(thread);
	CHECK(!trace_begins(thread, 0, 10, 0x1010));
	CHECK(!trace_ends(thread, 0, 30, 0x1030));
	CHECK(!trace_begins(thread, 1, 50, 0x1030));
	CHECK(!trace_ends(thread, 1, 60, 0x1040));
	return end(100, "B f 10; E f 60; B [window] 9; E [window] 60; ");
}

/*
 * Another thread pauses the trace of the CPU. This one doesn't go on where it was: it has run
 * without a trace. If it does, its window has gone with it.
 */
static int test_windows_of_others(void)
{
	struct picture_thread *thread, *other;

	CHECK(!begin());
	thread = new_thread(1);
	other = new_thread(2);
	CHECK(thread && other);
	CHECK(!trace_begins(thread, 0, 10, 0x1010));
	CHECK(!trace_ends(thread, 0, 20, 0x1020));
	CHECK(!picture_thread__pause(other, 0, 25));
	CHECK(!trace_begins(thread, 0, 30, 0x1020));
	CHECK(!trace_ends(thread, 0, 40, 0x1030));
	CHECK(!picture_thread__pause(other, 0, 45));
	CHECK(!trace_begins(thread, 0, 50, 0x1010));
	CHECK(!trace_ends(thread, 0, 60, 0x1020));
	/* The same on the CPU that it moves to */
	CHECK(!picture_thread__pause(other, 1, 65));
	CHECK(!trace_begins(thread, 1, 70, 0x1010));
	return end(100, "B f 10; E f 40; B [window] 9; E [window] 40; "
		   "B f 50; E f 60; B [window] 49; E [window] 60; "
		   "B f 70; E f 70; B [window] 69; E [window] 70; ");
}

/* From an error to the next branch */
static int test_lost(void)
{
	struct picture_thread *thread;

	CHECK(!begin());
	picture.windows = false;
	thread = new_thread(1);
	CHECK(thread);
	CHECK(!trace_begins(thread, 0, 10, 0x1010));
	CHECK(!picture_thread__lose(thread, 20, "why"));
	CHECK(!picture_thread__lose(thread, 25, "why"));
	CHECK(!trace_begins(thread, 0, 40, 0x1010));
	CHECK(!picture_thread__mark(thread, 45, "mark", NULL));
	CHECK(!picture_thread__lose(thread, 50, "why"));
	CHECK(!picture_thread__delete(thread, 60));
	thread = new_thread(2);
	CHECK(thread);
	CHECK(!picture_thread__lose(thread, 70, "why"));
	return end(100, "B f 10; E f 10; X [trace lost] 20+20; B f 40; i mark 45; E f 40; "
		   "X [trace lost] 50+10; X [trace lost] 70+30; ");
}

static int test_runs(void)
{
	CHECK(!begin());
	/* From the begin of the recording, at 5, on */
	picture.events.origin = 5;
	CHECK(!picture__switch_out(&picture, 0, 10, 1, "a", NULL));
	CHECK(!picture__switch_in(&picture, 0, 12, 2, "b"));
	CHECK(!picture__switch_out(&picture, 0, 20, 2, "b", NULL));
	/* Two of which something was lost: the end of c, the begin of d */
	CHECK(!picture__switch_in(&picture, 0, 30, 3, "c"));
	CHECK(!picture__switch_in(&picture, 0, 40, 2, "b"));
	CHECK(!picture__switch_out(&picture, 0, 45, 2, "b", NULL));
	CHECK(!picture__switch_out(&picture, 0, 60, 4, "d", NULL));
	/* A name may have changed meanwhile */
	CHECK(!picture__switch_in(&picture, 0, 70, 4, "d"));
	CHECK(!picture__switch_out(&picture, 0, 80, 4, "e", NULL));
	/* The end of a is lost, and the begin of d */
	CHECK(!picture__switch_in(&picture, 0, 90, 1, "a"));
	CHECK(!picture__switch_out(&picture, 0, 95, 4, "d", NULL));
	CHECK(!picture__switch_in(&picture, 0, 96, 1, "a"));
	return end(105, "X a 0+5 ?; X b 7+8; X c 25+10 ?; X b 35+5; X d 40+15 ?; X d 65+10; "
		   "X a 85+5 ?; X a 91+9; ");
}

/* An idle CPU has no slice. What isn't known to run isn't taken for idle. */
static int test_idle(void)
{
	CHECK(!begin());
	CHECK(!picture__switch_out(&picture, 0, 10, 0, "swapper", NULL));
	CHECK(!picture__switch_in(&picture, 0, 12, 1, "a"));
	CHECK(!picture__switch_out(&picture, 0, 20, 1, "a", NULL));
	CHECK(!picture__switch_in(&picture, 0, 22, 0, "swapper"));
	CHECK(!picture__switch_out(&picture, 0, 30, 0, "swapper", NULL));
	/* The end of being idle is lost, and the begin of b */
	CHECK(!picture__switch_in(&picture, 0, 40, 0, "swapper"));
	CHECK(!picture__switch_out(&picture, 0, 50, 2, "b", NULL));
	CHECK(!picture__switch_out(&picture, 0, 60, 2, "b", NULL));
	CHECK(!picture__switch_in(&picture, 0, 70, 0, "swapper"));
	return end(100, "X a 12+8; X b 50+10 ?; ");
}

/* Only these times; an end of 0 is none */
static int test_ranges(void)
{
	static const struct perf_time_interval ranges[] = { { 10, 20 }, { 40, 50 }, { 70, 0 } };

	CHECK(!begin());
	picture.ranges = ranges;
	picture.nr_ranges = ARRAY_SIZE(ranges);
	CHECK(!picture__switch_in(&picture, 3, 5, 1, "a"));
	CHECK(!picture__switch_out(&picture, 3, 30, 1, "a", NULL));
	CHECK(!picture__switch_in(&picture, 3, 32, 1, "a"));
	CHECK(!picture__switch_out(&picture, 3, 35, 1, "a", NULL));
	CHECK(!picture__switch_in(&picture, 3, 45, 1, "a"));
	return end(100, "X a 10+10; X a 45+5; X a 70+30; ");
}

/* The idle threads of CPUs are different ones, and what belongs to no CPU has a row */
static int test_rows(void)
{
	CHECK(!begin());
	CHECK(picture__idle(&picture, 0) && picture__idle(&picture, 1));
	CHECK(picture__idle(&picture, 0) == picture__idle(&picture, 0));
	CHECK(picture__idle(&picture, 0) != picture__idle(&picture, 1));
	CHECK(picture__cpu(&picture, -1) != picture__cpu(&picture, 0));
	CHECK(!picture__paused(&picture, 7));
	CHECK(!picture__mark_cpu(&picture, -1, 3, "lost", NULL));
	return end(10, "i lost 3; ");
}

static int dump(const char *why)
{
	return picture__mark_dump(&picture, why, 2000000000);
}

/* The recording is from 1000000005 to 2000000000 */
static int test_dumps(void)
{
	CHECK(!begin());
	picture.events.origin = 1000000005;
	CHECK(!dump("trigger a-b: e,longer=1s: 2 ms, thread 1/2 on CPU 0 at 1.000000007, since 1"));
	CHECK(!dump("trigger c: at 1.000000009 :e: 1 times, thread 1/2 at 1.000000015 (try 2)"));
	/* The first and the last time, and those around them */
	CHECK(!dump("trigger d: e: 1 times, thread 1/2 at 1.000000005"));
	CHECK(!dump("trigger e: e: 1 times, thread 1/2 at 2.000000000"));
	CHECK(!dump("trigger f: e: 1 times, thread 1/2 at 1.000000004"));
	CHECK(!dump("trigger g: e: 1 times, thread 1/2 at 2.000000001"));
	/* No such name, no such time */
	CHECK(!dump("signal SIGUSR2"));
	CHECK(!dump("trigger h: socket: process 1 of user 2"));
	CHECK(!dump("trigger happy at 1.5"));
	CHECK(!dump("3 more of a"));
	return end(2000000000, "i a-b 2 in all; i c 10 in all; i d 0 in all; i e 999999995 in all; "
		   "i f 999999995 in all; i g 999999995 in all; i dump 999999995 in all; "
		   "i h 999999995 in all; i dump 999999995 in all; i dump 999999995 in all; ");
}

/* As all else, only in the ranges, of which the last one is before the end */
static int test_dumps_in_ranges(void)
{
	static const struct perf_time_interval ranges[] = { { 10, 20 }, { 40, 50 } };

	CHECK(!begin());
	picture.ranges = ranges;
	picture.nr_ranges = ARRAY_SIZE(ranges);
	CHECK(!dump("trigger a: e: 1 times, thread 1/2 at 0.000000040"));
	CHECK(!dump("trigger a: e: 1 times, thread 1/2 at 0.000000030"));
	CHECK(!dump("signal SIGUSR2"));
	return end(100, "i a 40 in all; ");
}

/* From the first function to the second one, in the middle of it; or to what isn't traced */
static int returns(struct picture_thread *thread, u64 time, u64 to)
{
	const struct call_branch branch = {
		.time = time,
		.from = 0x1050,
		.to = to,
		.flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN,
		.from_function = &functions[0].call,
		.to_function = to ? &functions[1].call : NULL,
	};

	return picture_thread__branch(thread, 0, &branch);
}

/* Folded stacks: what the thread was in before is not below what is returned to later */
static int test_fold(void)
{
	char text[256] = "";
	struct picture_thread *thread;
	FILE *out = fmemopen(text, sizeof(text), "w");

	CHECK(out);
	picture__init(&picture);
	trace_events__none(&picture.events);
	picture.fold = true;
	thread = new_thread(1);
	CHECK(thread);
	CHECK(!trace_begins(thread, 0, 10, 0x1010));
	CHECK(!returns(thread, 20, 0));
	CHECK(!trace_begins(thread, 0, 50, 0x1010));
	CHECK(!returns(thread, 55, 0x2010));
	CHECK(!picture__mark_cpu(&picture, 0, 60, "m", NULL));
	CHECK(!picture__end(&picture, 100));
	CHECK(!folded__print(&picture.folded, out));
	CHECK(!fclose(out));
	picture__exit(&picture);
	pr_debug("%s", text);
	CHECK(!strcmp(text, "t;g;f 5\nt;f 10\n"));
	return TEST_OK;
}

/* What perf's main() is called, after code has changed */
static const struct picture_function *find_main(struct machine *machine, struct thread *thread)
{
	struct picture_place place = { .function = NULL };

	picture.functions.maps++;
	if (picture_functions__find(&picture.functions, machine, thread, FAKE_IP_PERF_MAIN, &place))
		return NULL;
	return place.function;
}

/* The memory of a symbol that is freed may be that of the next one */
static int test_functions(void)
{
	const struct picture_function *first, *second;
	struct machines machines;
	struct machine *machine;
	struct thread *thread;
	struct symbol *sym;

	machines__init(&machines);
	machine = setup_fake_machine(&machines);
	CHECK(machine);
	thread = machine__find_thread(machine, FAKE_PID_PERF1, FAKE_PID_PERF1);
	CHECK(thread);
	picture__init(&picture);
	first = find_main(machine, thread);
	CHECK(first && first->known && !strcmp(first->name, "main"));
	CHECK(find_main(machine, thread) == first);
	sym = (struct symbol *)first->key;
	strcpy(sym->name, "next");
	second = find_main(machine, thread);
	CHECK(second && second != first && !strcmp(second->name, "next"));
	CHECK(!strcmp(first->name, "main"));
	strcpy(sym->name, "main");
	CHECK(find_main(machine, thread) == first);
	picture__exit(&picture);
	thread__put(thread);
	machines__exit(&machines);
	return TEST_OK;
}

static int run(void)
{
	CHECK(!test_windows());
	CHECK(!test_window_goes_on());
	CHECK(!test_windows_of_others());
	CHECK(!test_lost());
	CHECK(!test_runs());
	CHECK(!test_idle());
	CHECK(!test_ranges());
	CHECK(!test_rows());
	CHECK(!test_dumps());
	CHECK(!test_dumps_in_ranges());
	CHECK(!test_fold());
	CHECK(!test_functions());
	return TEST_OK;
}

static int test__picture(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	int ret;

	snprintf(dir, sizeof(dir), "/tmp/perf-picture-XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.json", dir);
	ret = run();
	unlink(path);
	CHECK(!rmdir(dir));
	return ret;
}

DEFINE_SUITE("Rows of threads and CPUs of a picture", picture);
