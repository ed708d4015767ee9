// SPDX-License-Identifier: GPL-2.0
/*
 * Files in the Trace Event format.
 *
 * Expected: what is written is there byte by byte, with exact times, in order even where
 * times are equal, and it is JSON whatever bytes a name has. A file that isn't complete
 * has another name, and one that fails leaves nothing. A writer that rounds, that replaces
 * a file or a pipe unasked, or that leaves half a file on a full disk, fails here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include "debug.h"
#include "json-text.h"
#include "tests.h"
#include "trace-events.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

#define BEGIN		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
#define END(origin)	"\n],\"otherData\":{\"origin_ns\":\"" origin "\"}}\n"

#define EVENT(phase, tid, ts, name, more)					\
	"\n{\"ph\":\"" phase "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts		\
	",\"name\":\"" name "\"" more "}"
#define NOTE		",\"args\":{\"note\":\"n\"}"
#define LIMIT_REACHED	"size limit of the file: the rest is missing"

#define MAX_TEXT	4096

static char dir[64];
static char path[80];

static struct trace_track track;

static void begin_track(void)
{
	track = (struct trace_track) { .pid = 1, .tid = 2 };
}

/* What the file has; an empty string if there is none */
static const char *text_of(const char *name)
{
	static char text[MAX_TEXT];
	FILE *in = fopen(name, "r");
	size_t size = 0;

	if (in) {
		size = fread(text, 1, sizeof(text) - 1, in);
		fclose(in);
	}
	text[size] = 0;
	return text;
}

static int write_text(const char *name, const char *text)
{
	FILE *out = fopen(name, "w");

	CHECK(out);
	fputs(text, out);
	CHECK(!fclose(out));
	return TEST_OK;
}

/* Is @json what @text becomes? The number of bytes is returned as well. */
static int check_text(const char *text, const char *json)
{
	char buf[128] = "";
	FILE *out = fmemopen(buf, sizeof(buf), "w");
	size_t size;

	CHECK(out);
	size = json_text__put(out, text);
	CHECK(!fclose(out));
	CHECK(size == strlen(json));
	CHECK(!strcmp(buf, json));
	return TEST_OK;
}

static int test_text(void)
{
	CHECK(!check_text("", "\"\""));
	CHECK(!check_text("a b/~\x7f", "\"a b/~\x7f\""));
	CHECK(!check_text("\"\\", "\"\\\"\\\\\""));
	CHECK(!check_text("x\n\x01\x1fy", "\"x\\u000a\\u0001\\u001fy\""));
	/* The first and the last character of each length */
	CHECK(!check_text("\xc2\x80\xdf\xbf", "\"\xc2\x80\xdf\xbf\""));
	CHECK(!check_text("\xe0\xa0\x80\xef\xbf\xbf", "\"\xe0\xa0\x80\xef\xbf\xbf\""));
	CHECK(!check_text("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
			  "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""));
	/* Those beside the surrogates */
	CHECK(!check_text("\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\""));
	return TEST_OK;
}

static int test_text_bad(void)
{
	/* No first byte, no next byte, the end */
	CHECK(!check_text("\x80z\xff", "\"\\ufffdz\\ufffd\""));
	CHECK(!check_text("\xc3z", "\"\\ufffdz\""));
	CHECK(!check_text("\xe2\x82", "\"\\ufffd\\ufffd\""));
	CHECK(!check_text("\xc3\"", "\"\\ufffd\\\"\""));
	/* Longer than need be */
	CHECK(!check_text("\xc1\xbf", "\"\\ufffd\\ufffd\""));
	CHECK(!check_text("\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""));
	CHECK(!check_text("\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""));
	/* The first and the last surrogate, and behind the last character */
	CHECK(!check_text("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""));
	CHECK(!check_text("\xed\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\""));
	CHECK(!check_text("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""));
	CHECK(!check_text("\xf8", "\"\\ufffd\""));
	return TEST_OK;
}

static int test_empty(void)
{
	struct trace_events events;

	CHECK(!trace_events__open(&events, path, 5, UINT64_MAX, false));
	CHECK(access(path, F_OK));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(path), BEGIN END("5")));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* One of each kind */
static const char kinds[] = BEGIN
	EVENT("M", "1", "0.000000", "process_name", ",\"args\":{\"name\":\"p\"}") ","
	EVENT("M", "2", "0.000000", "thread_name", ",\"args\":{\"name\":\"t\\u000a\"}") ","
	EVENT("B", "2", "0.001000", "f", ",\"cat\":\"libc.so.6\"") ","
	EVENT("E", "2", "1.999000", "f", "") ","
	EVENT("X", "2", "0.000000", "s", ",\"dur\":0.000000") ","
	EVENT("X", "2", "1.000000", "s", ",\"dur\":12.345000,\"cat\":\"n\"") ","
	EVENT("X", "2", "9223372036854.775000", "s", ",\"dur\":9223372036854.775000") ","
	EVENT("i", "2", "-0.001000", "m", ",\"s\":\"t\"") ","
	EVENT("i", "2", "0.010000", "m", ",\"s\":\"t\"" NOTE) ","
	EVENT("i", "2", "0.020000", "m", ",\"s\":\"g\"" NOTE) ","
	EVENT("C", "1", "0.100000", "c", ",\"args\":{\"value\":18446744073709551615}")
	END("1000");

static int test_kinds(void)
{
	struct trace_events events;

	begin_track();
	CHECK(!trace_events__open(&events, path, 1000, UINT64_MAX, false));
	CHECK(!trace_events__name_process(&events, 1, "p"));
	CHECK(!trace_events__name_thread(&events, &track, "t\n"));
	CHECK(!trace_events__begin(&events, &track, 1001, "f", "libc.so.6"));
	CHECK(!trace_events__end(&events, &track, 2999, "f"));
	CHECK(!trace_events__slice(&events, &track, 1000, 0, "s", NULL));
	CHECK(!trace_events__slice(&events, &track, 2000, 12345, "s", "n"));
	CHECK(!trace_events__slice(&events, &track, INT64_MAX, UINT64_MAX, "s", NULL));
	CHECK(!trace_events__mark(&events, &track, 999, "m", NULL));
	CHECK(!trace_events__mark(&events, &track, 1010, "m", "n"));
	CHECK(!trace_events__mark_all(&events, &track, 1020, "m", "n"));
	CHECK(!trace_events__count(&events, 1, 1100, "c", UINT64_MAX));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(path), kinds));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* The limit: a mark where it was reached, once, and the end of what had begun */
static const char limited[] = BEGIN
	EVENT("B", "2", "0.001000", "f", ",\"cat\":\"d\"") ","
	EVENT("i", "2", "0.002000", LIMIT_REACHED, ",\"s\":\"g\"") ","
	EVENT("E", "2", "0.004000", "f", "")
	END("0");

static int test_limit(void)
{
	struct trace_events events;

	begin_track();
	CHECK(!trace_events__open(&events, path, 0, sizeof(BEGIN), false));
	CHECK(!trace_events__begin(&events, &track, 1, "f", "d"));
	CHECK(trace_events__begin(&events, &track, 2, "g", "d") == 1);
	CHECK(trace_events__around(&events, &track, 2, "g", "d") == 1);
	CHECK(trace_events__slice(&events, &track, 3, 1, "s", NULL) == 1);
	CHECK(trace_events__mark(&events, &track, 3, "m", NULL) == 1);
	CHECK(trace_events__count(&events, 1, 3, "c", 1) == 1);
	CHECK(trace_events__name_process(&events, 1, "p") == 1);
	CHECK(trace_events__name_thread(&events, &track, "t") == 1);
	CHECK(!trace_events__end(&events, &track, 4, "f"));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(path), limited));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* Calls of the same time are in order for readers that sort; so are those before the origin */
static const char ordered[] = BEGIN
	EVENT("B", "2", "-0.001000", "a", ",\"cat\":\"d\"") ","
	EVENT("B", "2", "-0.000999", "b", ",\"cat\":\"d\"") ","
	EVENT("E", "2", "-0.000998", "b", "") ","
	EVENT("B", "2", "0.005000", "c", ",\"cat\":\"d\"") ","
	EVENT("E", "2", "0.005001", "c", "") ","
	EVENT("E", "2", "0.005002", "a", "")
	END("1000");

static int test_order(void)
{
	struct trace_events events;

	begin_track();
	CHECK(!trace_events__open(&events, path, 1000, UINT64_MAX, false));
	CHECK(!trace_events__begin(&events, &track, 999, "a", "d"));
	CHECK(!trace_events__begin(&events, &track, 999, "b", "d"));
	CHECK(!trace_events__end(&events, &track, 999, "b"));
	CHECK(!trace_events__begin(&events, &track, 1005, "c", "d"));
	CHECK(!trace_events__end(&events, &track, 1005, "c"));
	CHECK(!trace_events__end(&events, &track, 1005, "a"));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(path), ordered));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* A call that is found late has its own time, and the order of the others stays */
static const char late[] = BEGIN
	EVENT("B", "2", "0.005000", "a", ",\"cat\":\"d\"") ","
	EVENT("B", "2", "0.004000", "b", ",\"cat\":\"d\"") ","
	EVENT("E", "2", "0.005001", "a", "") ","
	EVENT("E", "2", "0.005002", "b", "")
	END("0");

static int test_around(void)
{
	struct trace_events events;

	begin_track();
	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, false));
	CHECK(!trace_events__begin(&events, &track, 5, "a", "d"));
	CHECK(!trace_events__around(&events, &track, 4, "b", "d"));
	CHECK(!trace_events__end(&events, &track, 5, "a"));
	CHECK(!trace_events__end(&events, &track, 5, "b"));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(path), late));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* Thousands of calls of the same time stay in order, and so does what comes next */
static int test_order_many(void)
{
	struct trace_track row = { .pid = 1, .tid = 3 };
	struct trace_events events;
	int i;

	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, false));
	for (i = 0; i < 2500; i++)
		CHECK(!trace_events__end(&events, &row, 7, "f"));
	CHECK(row.last == 9499);
	CHECK(!trace_events__begin(&events, &row, 8, "f", "d"));
	CHECK(row.last == 9500);
	CHECK(!trace_events__begin(&events, &row, 10, "f", "d"));
	CHECK(row.last == 10000);
	trace_events__abort(&events);
	return TEST_OK;
}

/* A file of the user's is replaced when he says so, and then as a whole */
static int test_existing(void)
{
	struct trace_events events;

	CHECK(!write_text(path, "old"));
	CHECK(trace_events__open(&events, path, 0, UINT64_MAX, false) == -EEXIST);
	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, true));
	trace_events__abort(&events);
	CHECK(!strcmp(text_of(path), "old"));
	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, true));
	CHECK(!strcmp(text_of(path), "old"));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(path), BEGIN END("0")));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* Another program creates the file meanwhile */
static int test_created_meanwhile(void)
{
	struct trace_events events;

	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, false));
	CHECK(!write_text(path, "other"));
	CHECK(trace_events__finish(&events) == -EEXIST);
	CHECK(!strcmp(text_of(path), "other"));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* What is replaced is the file that a link leads to, not the link */
static int test_link(void)
{
	struct trace_events events;
	char file[96];

	snprintf(file, sizeof(file), "%s/file", dir);
	CHECK(!write_text(file, "old"));
	CHECK(!symlink(file, path));
	CHECK(trace_events__open(&events, path, 0, UINT64_MAX, false) == -EEXIST);
	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, true));
	CHECK(!trace_events__finish(&events));
	CHECK(!strcmp(text_of(file), BEGIN END("0")));
	CHECK(!unlink(file));
	CHECK(access(path, F_OK));
	CHECK(!unlink(path));
	return TEST_OK;
}

/* A pipe has nothing to lose: it is written to, and stays */
static int test_pipe(bool replace)
{
	struct trace_events events;
	char text[128] = "";
	struct stat st;
	int pipe;

	CHECK(!mkfifo(path, 0600));
	pipe = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(pipe >= 0);
	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, replace));
	CHECK(!trace_events__finish(&events));
	CHECK(read(pipe, text, sizeof(text) - 1) > 0);
	CHECK(!strcmp(text, BEGIN END("0")));
	CHECK(!close(pipe));
	CHECK(!stat(path, &st) && S_ISFIFO(st.st_mode));
	CHECK(!unlink(path));
	return TEST_OK;
}

static int test_none(void)
{
	struct trace_events events;

	trace_events__none(&events);
	CHECK(trace_events__begin(&events, &track, 1, "f", "d") == 1);
	CHECK(trace_events__slice(&events, &track, 1, 2, "s", NULL) == 1);
	CHECK(trace_events__name_thread(&events, &track, "t") == 1);
	CHECK(!events.size && !events.full);
	return TEST_OK;
}

static int test_no_dir(void)
{
	struct trace_events events;
	char missing[128];

	snprintf(missing, sizeof(missing), "%s/none/t.json", dir);
	CHECK(trace_events__open(&events, missing, 0, UINT64_MAX, true) == -ENOENT);
	CHECK(trace_events__open(&events, dir, 0, UINT64_MAX, true) == -EISDIR);
	return TEST_OK;
}

/* Write until it fails: so many events are more than what stdio and the disk take */
static int write_too_much(struct trace_events *events)
{
	int i, err = 0;

	for (i = 0; !err && i < 10000; i++)
		err = trace_events__mark(events, &track, i, "m", NULL);
	return err;
}

/* A file may not grow beyond some bytes, as on a full disk: the error stays, no file does */
static int test_full_disk(void)
{
	struct rlimit old, low;
	struct trace_events events;
	int err, later, finish;
	sighandler_t handler;

	CHECK(!getrlimit(RLIMIT_FSIZE, &old));
	CHECK(!trace_events__open(&events, path, 0, UINT64_MAX, false));
	handler = signal(SIGXFSZ, SIG_IGN);
	low = old;
	low.rlim_cur = 5000;
	CHECK(!setrlimit(RLIMIT_FSIZE, &low));
	err = write_too_much(&events);
	later = trace_events__end(&events, &track, 0, "m");
	finish = trace_events__finish(&events);
	CHECK(!setrlimit(RLIMIT_FSIZE, &old));
	signal(SIGXFSZ, handler);
	CHECK(err == -EFBIG);
	CHECK(later == -EFBIG);
	CHECK(finish == -EFBIG);
	CHECK(access(path, F_OK));
	return TEST_OK;
}

static int run(void)
{
	CHECK(!test_text());
	CHECK(!test_text_bad());
	CHECK(!test_empty());
	CHECK(!test_kinds());
	CHECK(!test_limit());
	CHECK(!test_order());
	CHECK(!test_around());
	CHECK(!test_order_many());
	CHECK(!test_existing());
	CHECK(!test_created_meanwhile());
	CHECK(!test_link());
	CHECK(!test_pipe(false));
	CHECK(!test_pipe(true));
	CHECK(!test_none());
	CHECK(!test_no_dir());
	CHECK(!test_full_disk());
	return TEST_OK;
}

static int test__trace_events(struct test_suite *test __maybe_unused,
			      int subtest __maybe_unused)
{
	int ret;

	snprintf(dir, sizeof(dir), "/tmp/perf-trace-events-XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.json", dir);
	ret = run();
	/* Only if no test has left a file, whatever its name */
	CHECK(!rmdir(dir));
	return ret;
}

DEFINE_SUITE("Files in the Trace Event format", trace_events);
