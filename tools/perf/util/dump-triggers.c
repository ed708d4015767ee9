// SPDX-License-Identifier: GPL-2.0
/* Events that ask for a dump of perf record -M, or a snapshot of -S; see dump-triggers.h */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include "debug.h"
#include "dump-requests.h"
#include "dump-status.h"
#include "dump-triggers.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "evsel_config.h"
#include "ring-dump.h"
#include "target.h"
#include "time-utils.h"
#include "trigger-engine.h"
#include "trigger-line.h"
#include "trigger-snapshot.h"
#include "trigger-socket.h"

/*
 * How often the kernel's buffers are read, and the socket is served. An event is in the
 * engine after one period at most, and known to be complete after another one.
 */
#define PERIOD_NS	(100 * NSEC_PER_MSEC)
/*
 * If all CPUs write to one buffer, a CPU that is held up in a record, by NMIs or as a vCPU
 * without time, hides what others have written since. Assume that it does so for less than
 * this. It is less than a period, so every other round counts if only the timer makes perf
 * read the buffer.
 */
#define HIDDEN_NS	(90 * NSEC_PER_MSEC)

/* Programs that wait for a dump at a time, in all and of each user */
#define MAX_WAITERS		64
#define MAX_WAITERS_OF_USER	8

/* The largest record: its size is a u16 */
#define RECORD_MAX	65536

/*
 * A program that waits for its dump. @busy: it does. The main thread sets that, the thread
 * that answers clears it by a release, when it no longer uses what follows.
 */
struct waiter {
	bool	busy;
	uid_t	uid;
	int	fd;
	char	name[DUMP_TRIGGER_MAX_NAME + 1];
};

struct watched_evsel {
	struct evsel	*evsel;
	unsigned int	event;
};

/* The number of the initial PID namespace: PROC_PID_INIT_INO */
#define INIT_PID_NS	0xEFFFFFFC

/*
 * @dump: NULL: @snapshot is used instead. @cpus: those that the user has asked for, NULL: all.
 * @in_namespace: perf is in a PID namespace, and @nr_outside events were of threads outside.
 */
struct dump_triggers {
	struct trigger_engine	*engine;
	struct ring_dump	*dump;
	struct trigger_snapshot	*snapshot;
	struct evlist		*evlist;
	struct perf_cpu_map	*cpus;
	bool			in_namespace;
	u64			nr_outside;
	struct watched_evsel	*evsels;
	unsigned int		nr_evsels;
	int			timer;

	struct trigger_socket_opts socket_opts;
	struct trigger_socket	*socket;
	struct dump_status	*status;
	struct waiter		waiters[MAX_WAITERS];

	/* A record that goes on in the next piece: @used bytes of it are here */
	size_t			used;
	u64			record[RECORD_MAX / sizeof(u64)];
};

static size_t print_time(char *buf, size_t size, u64 ns)
{
	return scnprintf(buf, size, "%" PRIu64 ".%09" PRIu64, (u64)(ns / NSEC_PER_SEC),
			 (u64)(ns % NSEC_PER_SEC));
}

/* What makes it fire, in the units of its condition */
static size_t print_value(char *buf, size_t size, const struct trigger_firing *firing)
{
	if (firing->trigger->exit)
		return scnprintf(buf, size, "%.6f ms%s", firing->value / (double)NSEC_PER_MSEC,
				 firing->open ? " so far" : "");
	return scnprintf(buf, size, "%" PRIu64 " times", firing->value);
}

/* NAME: CONDITION: VALUE, thread PID/TID on CPU at TIME, since TIME */
static void print_why(char *buf, size_t size, const struct trigger_firing *firing)
{
	const struct trigger_occurrence *last = &firing->last;
	size_t len = scnprintf(buf, size, "trigger %s: %s: ", firing->trigger->name,
			       firing->trigger->condition);

	len += print_value(buf + len, size - len, firing);
	if (last->tid >= 0)
		len += scnprintf(buf + len, size - len, ", thread %d/%d", last->pid, last->tid);
	else
		len += scnprintf(buf + len, size - len, ", thread without a number");
	if (last->cpu >= 0)
		len += scnprintf(buf + len, size - len, " on CPU %d", last->cpu);
	len += scnprintf(buf + len, size - len, " at ");
	len += print_time(buf + len, size - len, last->time);
	if (firing->since != last->time) {
		len += scnprintf(buf + len, size - len, ", since ");
		print_time(buf + len, size - len, firing->since);
	}
}

static void request(struct dump_triggers *triggers, const char *name, const char *why)
{
	struct dump_request request = { .label = name, .why = why };

	if (triggers->dump)
		ring_dump__request_named(triggers->dump, &request);
	else
		trigger_snapshot__request(triggers->snapshot, &request);
}

static void on_fired(void *priv, const struct trigger_firing *firing)
{
	char why[1024];

	print_why(why, sizeof(why), firing);
	request(priv, firing->trigger->name, why);
}

/* The time by the events' clock, if it is known: -k */
static size_t print_now(char *buf, size_t size, struct evlist *evlist)
{
	const struct perf_event_attr *attr = &evlist__first(evlist)->core.attr;
	struct timespec now;
	size_t len;

	if (!attr->use_clockid || clock_gettime(attr->clockid, &now))
		return 0;
	len = scnprintf(buf, size, " at ");
	return len + print_time(buf + len, size - len, now.tv_sec * NSEC_PER_SEC + now.tv_nsec);
}

/* Called by the thread that makes the dump, too */
static void answer_waiter(void *arg, const struct dump_request *request __maybe_unused,
			  const struct dump_outcome *outcome)
{
	struct waiter *waiter = arg;
	char more[PATH_MAX + 256];

	if (outcome->failure) {
		trigger_socket__answer(waiter->fd, "nack", outcome->failure, NULL);
	} else {
		snprintf(more, sizeof(more),
			 "samples %" PRIu64 "\nseconds %.3f\nbytes %" PRIu64 "\nlost %" PRIu64
			 "\nfile %s\n", outcome->samples, outcome->span / (double)NSEC_PER_SEC,
			 outcome->bytes, outcome->lost, outcome->file);
		trigger_socket__answer(waiter->fd, "ack", waiter->name, more);
	}
	__atomic_store_n(&waiter->busy, false, __ATOMIC_RELEASE);
}

/* Find a place for a program of @uid. Return NULL, or why there is none. */
static const char *find_place(struct dump_triggers *triggers, uid_t uid, struct waiter **place)
{
	unsigned int i, of_user = 0;

	*place = NULL;
	for (i = 0; i < MAX_WAITERS; i++) {
		struct waiter *waiter = &triggers->waiters[i];

		if (!__atomic_load_n(&waiter->busy, __ATOMIC_ACQUIRE))
			*place = waiter;
		else if (waiter->uid == uid)
			of_user++;
	}
	if (of_user >= MAX_WAITERS_OF_USER)
		return "too many programs of this user wait for a dump";
	return *place ? NULL : "too many programs wait for a dump";
}

/* The connection is the waiter's then */
static void start_waiting(struct waiter *waiter, const char *name,
			  struct trigger_socket_request *request)
{
	waiter->busy = true;
	waiter->uid = request->peer->uid;
	waiter->fd = request->fd;
	strcpy(waiter->name, name);
	request->fd = -1;
}

/* The program's reason names the file and is in the header, behind who it was */
static void request_asked(struct dump_triggers *triggers, const struct trigger_line *line,
			  const char *why, struct waiter *waiter)
{
	struct dump_request request = {
		.label = *line->reason ? line->reason : line->name, .why = why,
		.span = line->span, .answer = waiter ? answer_waiter : NULL, .arg = waiter,
	};

	if (triggers->dump)
		ring_dump__request_named(triggers->dump, &request);
	else
		trigger_snapshot__request(triggers->snapshot, &request);
}

static const char *fire_asked(struct dump_triggers *triggers, const struct trigger_line *line,
			      struct trigger_socket_request *request, struct waiter *waiter)
{
	const struct dump_trigger *trigger = trigger_engine__find(triggers->engine, line->name);
	const struct ucred *peer = request->peer;
	const char *refusal;
	char why[512];
	size_t len;

	if (!trigger || trigger->event)
		return "there is no such trigger for the socket";
	refusal = triggers->dump ? ring_dump__refuses(triggers->dump) :
		  trigger_snapshot__refuses(triggers->snapshot);
	if (refusal)
		return refusal;
	trigger_engine__asked(trigger);
	len = scnprintf(why, sizeof(why), "trigger %s: %s: process %d of user %u", line->name,
			trigger->condition, peer->pid, peer->uid);
	len += print_now(why + len, sizeof(why) - len, triggers->evlist);
	if (*line->reason)
		scnprintf(why + len, sizeof(why) - len, ": %s", line->reason);
	if (waiter)
		start_waiting(waiter, line->name, request);
	request_asked(triggers, line, why, waiter);
	return NULL;
}

/* The connection stays open until the dump is complete */
static const char *wait_asked(struct dump_triggers *triggers, const struct trigger_line *line,
			      struct trigger_socket_request *request)
{
	struct waiter *waiter;
	const char *why;

	if (!triggers->dump)
		return "a snapshot of -S can't be waited for";
	why = find_place(triggers, request->peer->uid, &waiter);
	return why ?: fire_asked(triggers, line, request, waiter);
}

static const char *status_asked(struct dump_triggers *triggers,
				struct trigger_socket_request *request)
{
	if (!triggers->status)
		return "there is no memory ring: -M was not given";
	request->more = dump_status__text(triggers->status);
	return request->more ? NULL : "not enough memory";
}

static const char *on_asked(void *priv, struct trigger_socket_request *request)
{
	struct dump_triggers *triggers = priv;
	struct trigger_line line;
	const char *why = trigger_line__parse(&line, request->line);

	if (why)
		return why;
	switch (line.verb) {
	case TRIGGER_STATUS:
		return status_asked(triggers, request);
	case TRIGGER_WAIT:
		return wait_asked(triggers, &line, request);
	case TRIGGER_FIRE:
	default:
		return fire_asked(triggers, &line, request, NULL);
	}
}

static struct dump_triggers *new_triggers(void)
{
	struct dump_triggers *triggers = zalloc(sizeof(*triggers));

	if (!triggers)
		return NULL;
	triggers->timer = -1;
	triggers->engine = trigger_engine__new(on_fired, triggers);
	if (!triggers->engine)
		zfree(&triggers);
	return triggers;
}

static int get_triggers(struct dump_triggers **triggers)
{
	if (!*triggers)
		*triggers = new_triggers();
	if (*triggers)
		return 0;
	pr_err("Not enough memory for triggers\n");
	return -ENOMEM;
}

int dump_triggers__add(struct dump_triggers **triggers, const char *str)
{
	char error[256];
	int err = get_triggers(triggers);

	if (err)
		return err;
	err = trigger_engine__add((*triggers)->engine, str, error, sizeof(error));
	if (err)
		pr_err("--trigger '%s': %s\n", str, error);
	return err;
}

int dump_triggers__set_socket(struct dump_triggers **triggers, const char *str)
{
	int err = str || *triggers ? get_triggers(triggers) : 0;

	if (err || !*triggers)
		return err;
	trigger_socket_opts__exit(&(*triggers)->socket_opts);
	return str ? trigger_socket_opts__parse(&(*triggers)->socket_opts, str) : 0;
}

void dump_triggers__delete(struct dump_triggers *triggers)
{
	if (!triggers)
		return;
	if (triggers->timer >= 0)
		close(triggers->timer);
	trigger_socket__delete(triggers->socket);
	trigger_socket_opts__exit(&triggers->socket_opts);
	dump_status__delete(triggers->status);
	trigger_engine__delete(triggers->engine);
	if (triggers->snapshot)
		trigger_snapshot__exit(triggers->snapshot);
	free(triggers->snapshot);
	perf_cpu_map__put(triggers->cpus);
	free(triggers->evsels);
	free(triggers);
}

static bool has_own_period(struct evsel *evsel)
{
	return evsel__get_config_term(evsel, PERIOD) || evsel__get_config_term(evsel, FREQ);
}

/* A sampling rate for other events, as -F, must not leave out occurrences of this one */
static int record_each(struct evsel *evsel)
{
	struct evsel_config_term *term;

	if (evsel->core.attr.type != PERF_TYPE_TRACEPOINT || has_own_period(evsel))
		return 0;
	term = zalloc(sizeof(*term));
	if (!term)
		return -ENOMEM;
	term->type = EVSEL__CONFIG_TERM_PERIOD;
	term->val.period = 1;
	list_add_tail(&term->list, &evsel->config_terms);
	return 0;
}

static int watch(struct dump_triggers *triggers, struct evsel *evsel, unsigned int event)
{
	unsigned int nr = triggers->nr_evsels;
	struct watched_evsel *evsels = realloc(triggers->evsels, (nr + 1) * sizeof(*evsels));

	if (!evsels)
		return -ENOMEM;
	triggers->evsels = evsels;
	evsels[nr] = (struct watched_evsel){ .evsel = evsel, .event = event };
	triggers->nr_evsels++;
	evsel__set_sample_bit(evsel, CPU);
	return record_each(evsel);
}

static int watch_all(struct dump_triggers *triggers, const char *name, unsigned int event)
{
	unsigned int before = triggers->nr_evsels;
	struct evsel *evsel;
	int err = 0;

	evlist__for_each_entry(triggers->evlist, evsel) {
		if (!err && !strcmp(evsel__name(evsel), name))
			err = watch(triggers, evsel, event);
	}
	if (err) {
		pr_err("Not enough memory for triggers\n");
		return err;
	}
	if (triggers->nr_evsels > before)
		return 0;
	pr_err("A trigger needs event '%s', which isn't recorded: add -e %s\n", name, name);
	return -EINVAL;
}

static int start_timer(struct dump_triggers *triggers)
{
	struct itimerspec each = {
		.it_value.tv_nsec = PERIOD_NS, .it_interval.tv_nsec = PERIOD_NS,
	};

	triggers->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (triggers->timer >= 0 && !timerfd_settime(triggers->timer, 0, &each, NULL))
		return 0;
	pr_err("Failed to make a timer for triggers: %m\n");
	return -errno;
}

/* Is there a trigger for the socket, and a socket for the trigger? */
static int open_socket(struct dump_triggers *triggers)
{
	const struct trigger_socket_opts *opts = &triggers->socket_opts;
	const struct dump_trigger *trigger;
	unsigned int i;

	for (i = 0; (trigger = trigger_engine__trigger(triggers->engine, i)); i++) {
		if (!trigger->event)
			break;
	}
	if (!trigger && !opts->path)
		return 0;
	if (!trigger) {
		pr_err("--trigger-socket needs a trigger that it may fire: add --trigger NAME:socket\n");
		return -EINVAL;
	}
	if (!opts->path) {
		pr_err("Trigger %s needs the socket on which it is asked for: add --trigger-socket PATH\n",
		       trigger->name);
		return -EINVAL;
	}
	if (triggers->dump) {
		triggers->status = dump_status__new(triggers->dump);
		if (!triggers->status) {
			pr_err("Not enough memory for triggers\n");
			return -ENOMEM;
		}
	}
	triggers->socket = trigger_socket__new(opts, on_asked, triggers);
	return triggers->socket ? 0 : -EINVAL;
}

/* Where the user's CPUs are not all, a thread can leave them in a call */
static int record_everywhere(struct evsel *evsel)
{
	if (evsel__leader(evsel) != evsel || evsel->core.nr_members > 1) {
		pr_err("Trigger event %s is in a group, so it can't be recorded on all CPUs, as a pair needs with -C\n",
		       evsel__name(evsel));
		return -EINVAL;
	}
	evsel->core.system_wide = true;
	return 0;
}

static bool is_of_pair(const struct dump_triggers *triggers, const char *event)
{
	const struct dump_trigger *trigger;
	unsigned int i;

	for (i = 0; (trigger = trigger_engine__trigger(triggers->engine, i)); i++) {
		if (trigger->exit && (!strcmp(trigger->event, event) ||
				      !strcmp(trigger->exit, event)))
			return true;
	}
	return false;
}

static int record_pairs_everywhere(struct dump_triggers *triggers, const char *cpu_list)
{
	unsigned int i;
	int err = 0;

	if (!cpu_list)
		return 0;
	triggers->cpus = perf_cpu_map__new(cpu_list);
	if (!triggers->cpus) {
		pr_err("Invalid list of CPUs '%s'\n", cpu_list);
		return -EINVAL;
	}
	for (i = 0; !err && i < triggers->nr_evsels; i++) {
		struct watched_evsel *watched = &triggers->evsels[i];

		if (is_of_pair(triggers, trigger_engine__event(triggers->engine, watched->event)))
			err = record_everywhere(watched->evsel);
	}
	return err;
}

/* Then all threads outside of it have the number 0, as idle threads have */
static bool is_in_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != INIT_PID_NS;
}

static int prepare_snapshots(struct dump_triggers *triggers, const struct ring_dump_opts *opts)
{
	triggers->snapshot = malloc(sizeof(*triggers->snapshot));
	if (!triggers->snapshot) {
		pr_err("Not enough memory for triggers\n");
		return -ENOMEM;
	}
	return trigger_snapshot__init(triggers->snapshot, opts->interval, opts->max_dumps);
}

int dump_triggers__prepare(struct dump_triggers *triggers, struct evlist *evlist,
			   const struct target *target, struct ring_dump *dump,
			   const struct ring_dump_opts *opts)
{
	const char *name;
	unsigned int i;
	int err = dump ? 0 : prepare_snapshots(triggers, opts);

	triggers->evlist = evlist;
	triggers->dump = dump;
	triggers->in_namespace = is_in_namespace();
	for (i = 0; !err && (name = trigger_engine__event(triggers->engine, i)); i++)
		err = watch_all(triggers, name, i);
	err = err ?: record_pairs_everywhere(triggers, target->cpu_list);
	err = err ?: open_socket(triggers);
	return err ?: start_timer(triggers);
}

int dump_triggers__poll(const struct dump_triggers *triggers)
{
	return evlist__add_wakeup_eventfd(triggers->evlist, triggers->timer);
}

/* A negative number is none: which thread it is isn't known */
static int thread_of(struct dump_triggers *triggers, const struct perf_sample *sample)
{
	if (sample->tid || !triggers->in_namespace)
		return sample->tid;
	triggers->nr_outside++;
	return -1;
}

static bool is_elsewhere(const struct dump_triggers *triggers, unsigned int cpu)
{
	return triggers->cpus &&
	       !perf_cpu_map__has(triggers->cpus, (struct perf_cpu){ .cpu = cpu });
}

static int process_sample(struct dump_triggers *triggers, union perf_event *event)
{
	struct evsel *evsel = evlist__event2evsel(triggers->evlist, event);
	struct perf_sample sample;
	unsigned int i;

	for (i = 0; i < triggers->nr_evsels; i++) {
		if (triggers->evsels[i].evsel == evsel)
			break;
	}
	if (i == triggers->nr_evsels || evsel__parse_sample(evsel, event, &sample))
		return 0;
	return trigger_engine__occurred(triggers->engine, &(struct trigger_occurrence){
		.event = triggers->evsels[i].event, .pid = sample.pid,
		.tid = thread_of(triggers, &sample), .cpu = sample.cpu, .time = sample.time,
		.weight = sample.period, .elsewhere = is_elsewhere(triggers, sample.cpu),
	});
}

static int process_comm(struct dump_triggers *triggers, union perf_event *event)
{
	u64 time;

	if (!(event->header.misc & PERF_RECORD_MISC_COMM_EXEC) ||
	    evlist__parse_sample_timestamp(triggers->evlist, event, &time))
		return 0;
	return trigger_engine__occurred(triggers->engine, &(struct trigger_occurrence){
		.event = TRIGGER_EXEC, .pid = event->comm.pid, .tid = event->comm.tid,
		.cpu = -1, .time = time,
	});
}

static int process_exit(struct dump_triggers *triggers, const union perf_event *event)
{
	return trigger_engine__occurred(triggers->engine, &(struct trigger_occurrence){
		.event = TRIGGER_THREAD_ENDED, .pid = event->fork.pid, .tid = event->fork.tid,
		.cpu = -1, .time = event->fork.time,
	});
}

static int process_lost(struct dump_triggers *triggers, union perf_event *event)
{
	u64 time;

	if (evlist__parse_sample_timestamp(triggers->evlist, event, &time))
		return 0;
	return trigger_engine__occurred(triggers->engine, &(struct trigger_occurrence){
		.event = TRIGGER_LOST, .cpu = -1, .time = time,
	});
}

/* What there is no memory for is missing as if it were lost */
static void process_record(struct dump_triggers *triggers, union perf_event *event)
{
	int err = 0;

	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
		err = process_sample(triggers, event);
		break;
	case PERF_RECORD_COMM:
		err = process_comm(triggers, event);
		break;
	case PERF_RECORD_EXIT:
		err = process_exit(triggers, event);
		break;
	case PERF_RECORD_LOST:
		err = process_lost(triggers, event);
		break;
	default:
		break;
	}
	if (err)
		pr_debug("Triggers forget what is under way: %s\n", strerror(-err));
}

/* Return how much of @buf belongs to a record that began in the piece before */
static size_t complete_record(struct dump_triggers *triggers, const void *buf, size_t size)
{
	union perf_event *event = (void *)triggers->record;
	size_t n;

	if (!triggers->used)
		return 0;
	n = min(size, event->header.size - triggers->used);
	memcpy((void *)triggers->record + triggers->used, buf, n);
	triggers->used += n;
	if (triggers->used == event->header.size) {
		process_record(triggers, event);
		triggers->used = 0;
	}
	return n;
}

int dump_triggers__process(struct dump_triggers *triggers, const void *buf, size_t size)
{
	size_t pos = complete_record(triggers, buf, size);

	while (pos < size) {
		union perf_event *event = (void *)buf + pos;

		if (event->header.size < sizeof(event->header)) {
			pr_err("Failed to read events for triggers: malformed record\n");
			return -EINVAL;
		}
		if (event->header.size > size - pos) {
			triggers->used = size - pos;
			memcpy(triggers->record, event, triggers->used);
			break;
		}
		process_record(triggers, event);
		pos += event->header.size;
	}
	return 0;
}

void dump_triggers__end_round(struct dump_triggers *triggers)
{
	u64 hidden = triggers->evlist->core.nr_mmaps == 1 ? HIDDEN_NS : 0;
	u64 expirations, now = rdclock();

	trigger_engine__end_round(triggers->engine, now, hidden);
	if (triggers->socket)
		trigger_socket__serve(triggers->socket, now);
	/* It has woken up perf, and there is nothing else to be done for it */
	if (read(triggers->timer, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		pr_debug("Failed to read the timer of triggers: %m\n");
}

bool dump_triggers__wants_snapshot(struct dump_triggers *triggers, bool at_exit, char **why)
{
	return triggers->snapshot && trigger_snapshot__due(triggers->snapshot, at_exit, why);
}

void dump_triggers__finish(struct dump_triggers *triggers)
{
	trigger_engine__finish(triggers->engine);
}

void dump_triggers__forget(struct dump_triggers *triggers)
{
	trigger_engine__forget(triggers->engine);
}

static void print_socket_stats(const struct trigger_socket *socket)
{
	struct trigger_socket_stats stats = trigger_socket__stats(socket);

	fprintf(stderr, "[ perf record: Trigger socket: %" PRIu64 " requests granted, %" PRIu64
			" refused, %" PRIu64 " too many of one user ]\n",
		stats.acked, stats.nacked, stats.too_many);
}

void dump_triggers__print_stats(const struct dump_triggers *triggers)
{
	struct trigger_stats stats = trigger_engine__stats(triggers->engine);
	const struct dump_trigger *trigger;
	unsigned int i;

	if (quiet)
		return;
	for (i = 0; (trigger = trigger_engine__trigger(triggers->engine, i)); i++)
		fprintf(stderr, "[ perf record: Trigger %s fired %" PRIu64 " times ]\n",
			trigger->name, trigger_engine__nr_fired(trigger));
	if (stats.losses || stats.forgotten)
		fprintf(stderr, "[ perf record: Triggers have missed the ends of %" PRIu64
				" calls, with %" PRIu64 " losses by the kernel ]\n",
			stats.forgotten, stats.losses);
	if (triggers->nr_outside)
		fprintf(stderr, "[ perf record: Triggers have ignored %" PRIu64
				" events of threads outside of perf's PID namespace in pairs ]\n",
			triggers->nr_outside);
	if (triggers->snapshot)
		trigger_snapshot__print_stats(triggers->snapshot);
	if (triggers->socket)
		print_socket_stats(triggers->socket);
}
