// SPDX-License-Identifier: GPL-2.0
/*
 * perf dump: ask a running perf record -M for a dump
 * perf status: what is it doing?
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <sys/stat.h>
#include <subcmd/parse-options.h>
#include "builtin.h"
#include "util/debug.h"
#include "util/dump-client.h"
#include "util/trigger-line.h"

/* ---- perf dump */

/* The line to write, or NULL after a message */
static const char *make_line(const char *trigger, int argc, const char **argv)
{
	static char line[512];
	struct trigger_line parsed;
	const char *why;
	size_t len;
	int i;

	len = scnprintf(line, sizeof(line), TRIGGER_LINE_WAIT "%s", trigger);
	for (i = 0; i < argc; i++)
		len += scnprintf(line + len, sizeof(line) - len, " %s", argv[i]);
	/* Only what fits is looked at: that is more than a reason may have */
	why = trigger_line__parse(&parsed, line);
	if (!why)
		return line;
	pr_err("Bad request: %s\n", why);
	return NULL;
}

static void print_dump(const char *lines, bool only_path)
{
	const char *rest = lines;
	int len = 0;
	const char *file = dump_client__next(&rest, "file", &len);

	if (!only_path)
		fprintf(stderr, "[ perf dump: %.0f samples of %.3f s, %.3f MB, %.0f lost by the kernel ]\n",
			dump_client__number(lines, "samples"),
			dump_client__number(lines, "seconds"),
			dump_client__number(lines, "bytes") / 1024 / 1024,
			dump_client__number(lines, "lost"));
	printf("%.*s\n", len, file ?: "");
}

int cmd_dump(int argc, const char **argv)
{
	const char *path = DUMP_CLIENT_SOCKET, *trigger = "dump", *line;
	unsigned int timeout = 60;
	bool only_path = false;
	const struct option options[] = {
		OPT_STRING(0, "socket", &path, "path", "of --trigger-socket"),
		OPT_STRING(0, "trigger", &trigger, "name",
			   "the trigger to be fired, 'dump' if not given"),
		OPT_UINTEGER(0, "timeout", &timeout, "how many seconds to wait for the dump"),
		OPT_BOOLEAN('q', "quiet", &only_path, "print only the path of the file"),
		OPT_END(),
	};
	static const char *const usage[] = {
		"perf dump [<options>] [TIME] [REASON]",
		NULL
	};
	char *lines;
	int ret;

	argc = parse_options(argc, argv, options, usage, PARSE_OPT_STOP_AT_NON_OPTION);
	line = make_line(trigger, argc, argv);
	if (!line)
		return DUMP_CLIENT_REFUSED;
	ret = dump_client__ask(path, line, timeout, &lines);
	if (!ret)
		print_dump(lines, only_path);
	free(lines);
	return ret;
}

/* ---- perf status */

static void print_time(const char *seconds)
{
	time_t time = strtoll(seconds, NULL, 10);
	char text[32];
	struct tm tm;

	localtime_r(&time, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fputs(text, stdout);
}

static double megabytes(const char *lines, const char *name)
{
	return dump_client__number(lines, name) / 1024 / 1024;
}

static void print_process(const char *lines)
{
	const char *rest = lines;
	int len;
	const char *since = dump_client__next(&rest, "since", &len) ?: "0";
	double cpu = dump_client__number(lines, "cpu_seconds");
	double up = difftime(time(NULL), strtoll(since, NULL, 10));

	printf("running:   process %.0f since ", dump_client__number(lines, "pid"));
	print_time(since);
	printf(", %.3f s of CPU time", cpu);
	if (up > 0)
		printf(" (%.2f %% of a CPU)", 100 * cpu / up);
	printf(", %.1f MB of memory at most\n", megabytes(lines, "max_rss_bytes"));
}

static void print_ring(const char *lines)
{
	printf("ring:      %.3f s, %.0f samples, %.1f of %.1f MB\n",
	       dump_client__number(lines, "ring_seconds"),
	       dump_client__number(lines, "ring_samples"), megabytes(lines, "ring_bytes"),
	       megabytes(lines, "ring_size_bytes"));
	printf("recorded:  %.0f samples, %.0f lost by the kernel\n",
	       dump_client__number(lines, "samples"), dump_client__number(lines, "lost"));
	printf("side-band: %.1f MB, %.0f records, %.0f dropped\n",
	       megabytes(lines, "sideband_bytes"), dump_client__number(lines, "sideband_records"),
	       dump_client__number(lines, "sideband_dropped"));
}

/* "NUMBER KIND" of each */
static void print_kinds(const char *lines)
{
	const char *value, *sep = " (";
	int len;

	while ((value = dump_client__next(&lines, "dumps_by", &len))) {
		int number = strcspn(value, " ");

		printf("%s%.*s: %.*s", sep, len - number - 1, value + number + 1, number, value);
		sep = ", ";
	}
	printf("%s", *sep == ',' ? ")" : "");
}

static void print_failure(const char *lines)
{
	const char *rest = lines;
	int len;
	const char *failure = dump_client__next(&rest, "failure", &len);
	int time_len;

	printf(", %.0f failed", dump_client__number(lines, "dumps_failed"));
	if (!failure)
		return;
	time_len = strcspn(failure, " ");
	printf(", at ");
	print_time(failure);
	printf(": %.*s", len - time_len - 1, failure + time_len + 1);
}

/* "TIME SECONDS SAMPLES LOST BYTES FILE" */
static void print_dumps(const char *lines)
{
	double seconds, samples, lost, bytes;
	const char *dump;
	int len, file;

	while ((dump = dump_client__next(&lines, "dump", &len))) {
		if (sscanf(dump, "%*s %lf %lf %lf %lf %n", &seconds, &samples, &lost, &bytes,
			   &file) != 4)
			continue;
		printf("  ");
		print_time(dump);
		printf("  %.3f s, %.0f samples, %.0f lost, %.1f MB  %.*s\n", seconds, samples,
		       lost, bytes / 1024 / 1024, len - file, dump + file);
	}
}

static void print_status(const char *lines)
{
	print_process(lines);
	print_ring(lines);
	printf("dumps:     %.0f", dump_client__number(lines, "dumps"));
	print_kinds(lines);
	print_failure(lines);
	printf("%s\n", dump_client__number(lines, "dumping") ? ", one is being made" : "");
	print_dumps(lines);
}

/* Readers see the old file or the new one, and never a part */
static int write_metrics(const char *path, const char *lines)
{
	char *temp;
	FILE *out;
	int fd;

	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkstemp(temp);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out) {
		dump_client__print_metrics(out, lines);
		if (!fflush(out) && !ferror(out) && !fchmod(fd, 0644) && !fclose(out) &&
		    !rename(temp, path)) {
			free(temp);
			return 0;
		}
	}
	pr_err("Failed to write %s: %m\n", path);
	if (fd >= 0)
		unlink(temp);
	free(temp);
	return -EIO;
}

int cmd_status(int argc, const char **argv)
{
	const char *path = DUMP_CLIENT_SOCKET, *output = NULL;
	unsigned int timeout = 5;
	bool metrics = false;
	const struct option options[] = {
		OPT_STRING(0, "socket", &path, "path", "of --trigger-socket"),
		OPT_BOOLEAN(0, "prometheus", &metrics, "print metrics in Prometheus' text format"),
		OPT_STRING('o', "output", &output, "file", "write the metrics to this file"),
		OPT_UINTEGER(0, "timeout", &timeout, "how many seconds to wait for an answer"),
		OPT_END(),
	};
	static const char *const usage[] = {
		"perf status [<options>]",
		NULL
	};
	char *lines;
	int ret;

	argc = parse_options(argc, argv, options, usage, 0);
	if (argc)
		usage_with_options(usage, options);
	ret = dump_client__ask(path, TRIGGER_LINE_STATUS, timeout, &lines);
	if (output) {
		if (write_metrics(output, lines))
			ret = DUMP_CLIENT_REFUSED;
	} else if (metrics) {
		dump_client__print_metrics(stdout, lines);
	} else if (lines) {
		print_status(lines);
	}
	free(lines);
	return ret;
}
