// SPDX-License-Identifier: GPL-2.0
/* The status of a perf record -M in Prometheus' text format; see dump-client.h */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "dump-client.h"

#define PREFIX	"perf_recorder_"

/* @name: in the status */
static const struct metric {
	const char	*name;
	const char	*metric;
	const char	*type;
	const char	*help;
} metrics[] = {
	{ "since", "start_time_seconds", "gauge", "When perf record began, in seconds since 1970" },
	{ "cpu_seconds", "cpu_seconds_total", "counter", "CPU time that perf record has used" },
	{ "max_rss_bytes", "max_resident_bytes", "gauge",
	  "The most memory that perf record has used" },
	{ "ring_seconds", "ring_span_seconds", "gauge",
	  "Time from the first sample in memory to the last" },
	{ "ring_bytes", "ring_bytes", "gauge", "Size of the events in memory" },
	{ "ring_size_bytes", "ring_size_bytes", "gauge",
	  "The most that the events in memory may have" },
	{ "samples", "samples_total", "counter", "Samples that were recorded" },
	{ "lost", "lost_total", "counter", "Samples and records that the kernel has lost" },
	{ "sideband_bytes", "sideband_bytes", "gauge",
	  "Size of the store of names, mappings and the like" },
	{ "sideband_records", "sideband_records", "gauge", "Records in that store" },
	{ "sideband_dropped", "sideband_dropped_total", "counter",
	  "Records dropped from that store because there were too many" },
	{ "dumps_failed", "dumps_failed_total", "counter", "Dumps that have failed" },
	{ "dumps_delayed", "dumps_delayed_total", "counter",
	  "Dumps that had to wait for --dump-interval" },
	{ "requests_refused", "requests_refused_total", "counter",
	  "Requests that came after --max-dumps" },
};

static void print_head(FILE *out, const char *metric, const char *type, const char *help)
{
	fprintf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", metric, help, metric,
		type);
}

static void print_values(FILE *out, const char *lines)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(metrics); i++) {
		const struct metric *m = &metrics[i];
		const char *rest = lines, *value;
		int len;

		value = dump_client__next(&rest, m->name, &len);
		if (!value)
			continue;
		print_head(out, m->metric, m->type, m->help);
		fprintf(out, PREFIX "%s %.*s\n", m->metric, len, value);
	}
}

/* In a label's value, a quote and a backslash are escaped; there is no newline in a line */
static void print_escaped(FILE *out, const char *str, int len)
{
	int i;

	for (i = 0; i < len; i++) {
		if (str[i] == '"' || str[i] == '\\')
			fputc('\\', out);
		fputc(str[i], out);
	}
}

static void print_dumps(FILE *out, const char *lines)
{
	const char *value;
	int len;

	print_head(out, "dumps_total", "counter",
		   "Dumps by what has asked for them; one with several reasons counts for each");
	while ((value = dump_client__next(&lines, "dumps_by", &len))) {
		int number = strcspn(value, " ");

		fprintf(out, PREFIX "dumps_total{reason=\"");
		print_escaped(out, value + number + 1, len - number - 1);
		fprintf(out, "\"} %.*s\n", number, value);
	}
}

static void print_last_dump(FILE *out, const char *lines)
{
	int len;
	const char *dump = dump_client__next(&lines, "dump", &len);

	if (!dump)
		return;
	print_head(out, "last_dump_time_seconds", "gauge",
		   "When the last dump was made, in seconds since 1970");
	fprintf(out, PREFIX "last_dump_time_seconds %.*s\n", (int)strcspn(dump, " "), dump);
}

void dump_client__print_metrics(FILE *out, const char *lines)
{
	print_head(out, "up", "gauge", "Does perf record answer on its socket?");
	fprintf(out, PREFIX "up %d\n", !!lines);
	if (!lines)
		return;
	print_values(out, lines);
	print_dumps(out, lines);
	print_last_dump(out, lines);
}
