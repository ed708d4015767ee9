// SPDX-License-Identifier: GPL-2.0
/* The status of a perf record -M; see dump-status.h */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include "dump-requests.h"
#include "dump-status.h"
#include "ring-dump.h"

/* @last: the number of the last dump that it has asked for */
struct kind {
	char	*name;
	u64	nr;
	u64	last;
};

struct past_dump {
	time_t	time;
	u64	samples;
	u64	span;
	u64	bytes;
	u64	lost;
	char	*file;
};

/* @lock: for what follows it. The thread that makes a dump writes, the main thread reads. */
struct dump_status {
	struct ring_dump	*dump;
	time_t			since;

	pthread_mutex_t		lock;
	struct kind		kinds[DUMP_STATUS_KINDS];
	unsigned int		nr_kinds;
	u64			nr_other;
	u64			nr_dumps;
	u64			nr_failed;
	time_t			failed_at;
	char			*failure;
	struct past_dump	dumps[DUMP_STATUS_DUMPS];
};

/* What asks, without what differs from one request to another */
static size_t kind_len(const char *why)
{
	if (!strncmp(why, "trigger ", strlen("trigger ")))
		return strcspn(why, ":");
	return strcspn(why, " ");
}

static struct kind *get_kind(struct dump_status *status, const char *why)
{
	size_t len = kind_len(why);
	struct kind *kind;
	unsigned int i;

	for (i = 0; i < status->nr_kinds; i++) {
		kind = &status->kinds[i];
		if (strlen(kind->name) == len && !strncmp(kind->name, why, len))
			return kind;
	}
	if (i == DUMP_STATUS_KINDS)
		return NULL;
	kind = &status->kinds[i];
	kind->name = strndup(why, len);
	if (!kind->name)
		return NULL;
	status->nr_kinds++;
	return kind;
}

static int count_kind(void *arg, const char *why)
{
	struct dump_status *status = arg;
	struct kind *kind;

	/* "17 more of NAME": there was one of that name already */
	if (*why >= '0' && *why <= '9')
		return 0;
	kind = get_kind(status, why);
	if (!kind) {
		status->nr_other++;
	} else if (kind->last != status->nr_dumps) {
		kind->last = status->nr_dumps;
		kind->nr++;
	}
	return 0;
}

static void note_dump(struct dump_status *status, const struct dump_outcome *outcome,
		      const struct dump_requests *requests)
{
	struct past_dump *dump = &status->dumps[status->nr_dumps % DUMP_STATUS_DUMPS];

	status->nr_dumps++;
	free(dump->file);
	*dump = (struct past_dump){
		.time = time(NULL), .samples = outcome->samples, .span = outcome->span,
		.bytes = outcome->bytes, .lost = outcome->lost, .file = strdup(outcome->file),
	};
	if (dump_requests__nr(requests))
		dump_requests__reasons(requests, count_kind, status);
	else
		count_kind(status, "exit");
}

static void note_failure(struct dump_status *status, const char *failure)
{
	status->nr_failed++;
	status->failed_at = time(NULL);
	free(status->failure);
	status->failure = strdup(failure);
}

static void on_dump(void *priv, const struct dump_outcome *outcome,
		    const struct dump_requests *requests)
{
	struct dump_status *status = priv;

	pthread_mutex_lock(&status->lock);
	if (outcome->failure)
		note_failure(status, outcome->failure);
	else
		note_dump(status, outcome, requests);
	pthread_mutex_unlock(&status->lock);
}

struct dump_status *dump_status__new(struct ring_dump *dump)
{
	struct dump_status *status = zalloc(sizeof(*status));

	if (!status)
		return NULL;
	status->dump = dump;
	status->since = time(NULL);
	pthread_mutex_init(&status->lock, NULL);
	ring_dump__watch(dump, on_dump, status);
	return status;
}

void dump_status__delete(struct dump_status *status)
{
	unsigned int i;

	if (!status)
		return;
	for (i = 0; i < status->nr_kinds; i++)
		free(status->kinds[i].name);
	for (i = 0; i < DUMP_STATUS_DUMPS; i++)
		free(status->dumps[i].file);
	free(status->failure);
	pthread_mutex_destroy(&status->lock);
	free(status);
}

static void print_seconds(FILE *out, const char *name, u64 ns)
{
	fprintf(out, "%s %" PRIu64 ".%06" PRIu64 "\n", name, (u64)(ns / NSEC_PER_SEC),
		(u64)(ns % NSEC_PER_SEC / NSEC_PER_USEC));
}

static void print_number(FILE *out, const char *name, u64 value)
{
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static u64 ns_of(const struct timeval *tv)
{
	return tv->tv_sec * NSEC_PER_SEC + tv->tv_usec * NSEC_PER_USEC;
}

/* What perf itself has used, with its threads */
static void print_cost(FILE *out)
{
	struct rusage usage = {};

	getrusage(RUSAGE_SELF, &usage);
	print_seconds(out, "cpu_seconds", ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime));
	print_number(out, "max_rss_bytes", usage.ru_maxrss * 1024ULL);
}

static void print_ring(FILE *out, const struct ring_dump_stats *stats)
{
	print_number(out, "ring_size_bytes", stats->size);
	print_number(out, "ring_bytes", stats->used);
	print_number(out, "ring_samples", stats->samples);
	print_seconds(out, "ring_seconds", stats->span);
	print_number(out, "samples", stats->seen);
	print_number(out, "lost", stats->lost);
	print_number(out, "sideband_bytes", stats->sideband_bytes);
	print_number(out, "sideband_records", stats->sideband_records);
	print_number(out, "sideband_dropped", stats->sideband_dropped);
	print_number(out, "dumping", stats->dumping);
	print_number(out, "dumps_delayed", stats->nr_waited);
	print_number(out, "requests_refused", stats->nr_refused);
}

static void print_kinds(FILE *out, const struct dump_status *status)
{
	unsigned int i;

	for (i = 0; i < status->nr_kinds; i++)
		fprintf(out, "dumps_by %" PRIu64 " %s\n", status->kinds[i].nr,
			status->kinds[i].name);
	if (status->nr_other)
		fprintf(out, "dumps_by %" PRIu64 " other\n", status->nr_other);
}

/* Time, seconds, samples, lost, bytes, file: the newest first */
static void print_dumps(FILE *out, const struct dump_status *status)
{
	u64 i, nr = min_t(u64, status->nr_dumps, DUMP_STATUS_DUMPS);

	for (i = 1; i <= nr; i++) {
		const struct past_dump *dump =
			&status->dumps[(status->nr_dumps - i) % DUMP_STATUS_DUMPS];

		fprintf(out, "dump %lld %.3f %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
			(long long)dump->time, dump->span / (double)NSEC_PER_SEC, dump->samples,
			dump->lost, dump->bytes, dump->file ?: "?");
	}
}

static void print_all(FILE *out, struct dump_status *status, const struct ring_dump_stats *stats)
{
	print_number(out, "pid", getpid());
	print_number(out, "since", status->since);
	print_cost(out);
	print_ring(out, stats);
	pthread_mutex_lock(&status->lock);
	print_number(out, "dumps", status->nr_dumps);
	print_number(out, "dumps_failed", status->nr_failed);
	if (status->failure)
		fprintf(out, "failure %lld %s\n", (long long)status->failed_at, status->failure);
	print_kinds(out, status);
	print_dumps(out, status);
	pthread_mutex_unlock(&status->lock);
}

char *dump_status__text(struct dump_status *status)
{
	struct ring_dump_stats stats;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	ring_dump__stats(status->dump, &stats);
	print_all(out, status, &stats);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
