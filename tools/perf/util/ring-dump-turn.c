// SPDX-License-Identifier: GPL-2.0
/* perf record -M: one dump after the other, each by a thread; see ring-dump.h */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "ring-dump.h"
#include "ring-dump-state.h"

/* If the last dump takes longer than this, tell the user how to give it up, in milliseconds */
#define WAIT_WARN_MS	1000

/* The file has the taken records. Keep in the store what later samples need of them. */
static int evict_dumped(struct ring_dump *dump)
{
	int err = memory_ring__evict_taken(dump->ring);

	if (!err && !dump->opts.file_each) {
		sideband_store__begin_write(dump->store);
		sideband_store__end_write(dump->store, true);
	}
	return err;
}

static void set_state(struct ring_dump *dump, enum dump_state state)
{
	__atomic_store_n(&dump->state, state, __ATOMIC_RELEASE);
	dump_requests__wake_up(&dump->requests);
}

static enum dump_state get_state(struct ring_dump *dump)
{
	return __atomic_load_n(&dump->state, __ATOMIC_ACQUIRE);
}

static void acknowledge(struct ring_dump *dump)
{
	struct dump_outcome outcome = { .failure = ring_dump__reason(dump) };

	if (!dump->err)
		outcome = (struct dump_outcome){
			.file = ring_dump__place(dump), .samples = dump->count.samples,
			.span = dump->last_time - dump->first_time,
			.bytes = dump->writer.from, .lost = dump->count.lost,
		};
	if (dump->watcher)
		dump->watcher(dump->watcher_priv, &outcome, &dump->requests);
	if (dump->err)
		dump_requests__fail(&dump->requests, &outcome);
	else
		dump_requests__answer(&dump->requests, &outcome);
}

/* Return the memory for build-ids and copies to the system until the next dump */
static void trim_heap(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void *dump_thread(void *arg)
{
	struct ring_dump *dump = arg;

	dump->err = ring_dump__write(dump);
	ring_dump__print_result(dump);
	acknowledge(dump);
	if (dump->err) {
		set_state(dump, DUMP_FAILED);
		return NULL;
	}
	dump->err = evict_dumped(dump);
	trim_heap();
	set_state(dump, DUMP_DONE);
	return NULL;
}

static int start_thread(struct ring_dump *dump)
{
	sigset_t full, mask;
	pthread_attr_t attrs;
	int err;

	/* The main thread handles signals. A closed pipe is an ordinary error, without SIGPIPE. */
	sigfillset(&full);
	pthread_sigmask(SIG_SETMASK, &full, &mask);
	pthread_attr_init(&attrs);
	/* With --realtime, only the main thread has real-time priority */
	pthread_attr_setinheritsched(&attrs, PTHREAD_EXPLICIT_SCHED);
	err = pthread_create(&dump->thread, &attrs, dump_thread, dump);
	pthread_attr_destroy(&attrs);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return -err;
}

/* A dump has ended, and so has its thread: get ready for the next one */
static int end_dump(struct ring_dump *dump, bool ok)
{
	int err;

	/* Deferred records may be newer than the step */
	dump->step = dump->noticed;
	zfree(&dump->late.data);
	/* Even if the dump failed: the next one takes a newer trace */
	ring_dump__free_aux(&dump->taken_aux);
	if (ok) {
		dump->nr++;
		dump->dumped.samples += dump->count.samples;
		dump->nr_skipped += dump->skipped;
		dump->dumped.lost += dump->count.lost;
		err = dump->err ?: memory_ring__release(dump->ring);
	} else {
		err = memory_ring__give_back(dump->ring);
		dump_requests__keep(&dump->requests, !ring_dump__is_lasting(dump));
	}
	dump->state = DUMP_IDLE;
	if (err)
		pr_err("Failed to evict records of the memory ring: %s\n", strerror(-err));
	return err ?: dump->app.broken ? dump->err : 0;
}

static int reap(struct ring_dump *dump)
{
	enum dump_state state = get_state(dump);

	if (state == DUMP_IDLE || state == DUMP_RUNNING)
		return 0;
	pthread_join(dump->thread, NULL);
	return end_dump(dump, state == DUMP_DONE);
}

bool ring_dump__at_exit(const struct ring_dump *dump)
{
	return dump_requests__any(&dump->requests) || dump_requests__kept(&dump->requests) ||
	       dump->opts.on_exit;
}

static bool is_enough(const struct ring_dump *dump)
{
	return dump->opts.max_dumps && dump->nr >= dump->opts.max_dumps;
}

static const char too_many[] = "there were as many dumps as --max-dumps allows";

static void refuse(struct ring_dump *dump)
{
	dump_requests__take(&dump->requests);
	dump->nr_refused += dump_requests__nr(&dump->requests);
	dump_requests__answer(&dump->requests, &(struct dump_outcome){ .failure = too_many });
}

/* The dump that is being made is the last one, unless it fails */
const char *ring_dump__refuses(struct ring_dump *dump)
{
	enum dump_state state = get_state(dump);
	unsigned int nr = dump->nr + (state == DUMP_RUNNING || state == DUMP_DONE);

	if (!dump->opts.max_dumps || nr < dump->opts.max_dumps)
		return NULL;
	dump->nr_refused++;
	return too_many;
}

/* Is it too early for the dump that is requested? */
static bool has_to_wait(struct ring_dump *dump)
{
	bool wait = dump->requests.too_early && !dump->ending;

	dump->nr_waited += wait && !dump->waiting;
	dump->waiting = wait;
	return wait;
}

int ring_dump__due(struct ring_dump *dump)
{
	int err;

	dump_requests__woken_up(&dump->requests);
	err = reap(dump);
	if (err)
		return err;
	if (dump->state != DUMP_IDLE || !dump_requests__any(&dump->requests))
		return 0;
	if (is_enough(dump)) {
		refuse(dump);
		return 0;
	}
	if (has_to_wait(dump))
		return 0;
	/* Apply the step of the clock before the next dump */
	if (dump->noticed.by && !dump->ending) {
		dump_requests__wake_up(&dump->requests);
		return 0;
	}
	dump_requests__take(&dump->requests);
	return 1;
}

void ring_dump__take(struct ring_dump *dump)
{
	memset(&dump->count, 0, sizeof(dump->count));
	memset(&dump->late, 0, sizeof(dump->late));
	ring_dump__note_store(dump);
	memory_ring__take(dump->ring);
	list_splice_tail_init(&dump->aux, &dump->taken_aux);
	/* What was read meanwhile can have made another request, and is in this dump */
	dump_requests__take_more(&dump->requests);
	dump->state = DUMP_RUNNING;
	dump_requests__begin(&dump->requests);
}

static int add_late(void *arg, const union perf_event *event)
{
	struct records *late = arg;
	void *data = realloc(late->data, late->size + event->header.size);

	if (!data)
		return -ENOMEM;
	memcpy(data + late->size, event, event->header.size);
	late->data = data;
	late->size += event->header.size;
	return 0;
}

/*
 * A sample's side-band is in one of the kernel's buffers before the sample is in
 * another. But if the first buffer was read before the side-band was there, and the
 * second after the sample was, the dump's last round has only the sample. The next
 * round has the side-band. It stays in the ring as well, because later samples need
 * it. A file may have it twice: sorted by time, the second one directly follows the
 * first, and changes nothing.
 */
static int collect_late(struct ring_dump *dump)
{
	struct memory_ring_visitor visitor = { .wanted = add_late, .arg = &dump->late };

	return memory_ring__walk_new(dump->ring, &visitor);
}

int ring_dump__begin(struct ring_dump *dump)
{
	int err = collect_late(dump);

	if (!err)
		err = start_thread(dump);
	if (!err)
		return 0;

	dump->err = err;
	ring_dump__print_result(dump);
	acknowledge(dump);
	return end_dump(dump, false);
}

void ring_dump__give_up(struct ring_dump *dump)
{
	__atomic_store_n(&dump->given_up, true, __ATOMIC_RELEASE);
	dump_requests__wake_up(&dump->requests);
}

static bool is_given_up(struct ring_dump *dump)
{
	return __atomic_load_n(&dump->given_up, __ATOMIC_ACQUIRE);
}

/* The write may never end: nobody reads the pipe, or a file server is down */
static int wait_for_dump(struct ring_dump *dump)
{
	struct pollfd pfd = { .fd = dump->requests.wakeup[0], .events = POLLIN };
	int timeout = WAIT_WARN_MS;

	while (dump->state != DUMP_IDLE) {
		int err;

		if (!poll(&pfd, 1, timeout)) {
			timeout = -1;
			pr_warning("Waiting for the dump to %s: another signal makes perf give up\n",
				   ring_dump__output_name(dump));
		}
		dump_requests__woken_up(&dump->requests);
		err = reap(dump);
		if (err)
			return err;
		if (dump->state != DUMP_IDLE && is_given_up(dump)) {
			pr_err("Gave up waiting for the dump to %s\n",
			       ring_dump__output_name(dump));
			record_files__give_up(&dump->files);
			return -ECANCELED;
		}
	}
	return 0;
}

/* Make the last dump, if one is due. If it fails, there is no other try. */
static int last_dump(struct ring_dump *dump, bool failed)
{
	int due = ring_dump__due(dump);
	int err;

	if (due < 0)
		return due;
	if (!due && (failed || is_enough(dump) ||
		     (!dump->opts.on_exit && list_empty(&dump->aux))))
		return 0;

	dump->last = true;
	ring_dump__take(dump);
	err = ring_dump__begin(dump);
	if (!err)
		err = wait_for_dump(dump);
	return err ?: dump->err;
}

int ring_dump__finish(struct ring_dump *dump, bool failed)
{
	int err;

	if (!dump->started) {
		dump_requests__refuse(&dump->requests);
		return 0;
	}
	__atomic_store_n(&dump->ending, true, __ATOMIC_RELEASE);
	err = wait_for_dump(dump);
	if (err == -ECANCELED)
		return err;
	dump_requests__retry_now(&dump->requests);
	if (!err && !dump->app.broken)
		err = last_dump(dump, failed);
	if (err == -ECANCELED)
		return err;
	dump_requests__refuse(&dump->requests);
	dump->unused = memory_ring__dropped(dump->ring)->samples;
	if (!err)
		err = memory_ring__drop(dump->ring);
	dump->unused = memory_ring__dropped(dump->ring)->samples - dump->unused;
	return err;
}
