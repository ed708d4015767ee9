/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_TRIGGERS_H
#define __PERF_DUMP_TRIGGERS_H 1

/*
 * Events that ask for a dump of perf record -M, or for a snapshot of perf record -S:
 * --trigger NAME:CONDITION
 *
 * Looks at the records that go into the memory ring (ring-dump.h), tells the engine
 * (trigger-engine.h) those of the triggers' events, and requests a dump for each trigger
 * that fires. A timer has the buffers read even if no event wakes up perf. Other programs
 * ask for a dump on a socket (trigger-socket.h), if there is one.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct dump_triggers;
struct evlist;
struct ring_dump;
struct ring_dump_opts;
struct target;

/**
 * dump_triggers__add - Add the argument of an option, before anything else
 * @triggers: the first one makes it
 *
 * Return 0, or -errno after a message.
 */
int dump_triggers__add(struct dump_triggers **triggers, const char *str);
/* Likewise that of --trigger-socket; NULL: no socket */
int dump_triggers__set_socket(struct dump_triggers **triggers, const char *str);
void dump_triggers__delete(struct dump_triggers *triggers);

/**
 * dump_triggers__prepare - Before the events are opened
 * @dump: NULL: there is no -M, and triggers ask for snapshots
 * @opts: how many, and how often
 *
 * Each event of a trigger has to be there. Of tracepoints every occurrence is recorded
 * then, of those of pairs on all CPUs. The socket listens. Return 0, or -errno after a
 * message.
 */
int dump_triggers__prepare(struct dump_triggers *triggers, struct evlist *evlist,
			   const struct target *target, struct ring_dump *dump,
			   const struct ring_dump_opts *opts);

/*
 * Have perf poll for the timer, after which the kernel's buffers are due to be read, and the
 * socket to be served. Return a negative value if that fails.
 */
int dump_triggers__poll(const struct dump_triggers *triggers);

/* Records go into the ring, as given to ring_dump__append(). Return 0 or -errno. */
int dump_triggers__process(struct dump_triggers *triggers, const void *buf, size_t size);
/*
 * Without a ring: is a snapshot due? If so, take it; lines are added to @why. @at_exit: there
 * won't be a later one.
 */
bool dump_triggers__wants_snapshot(struct dump_triggers *triggers, bool at_exit, char **why);
/* All of the kernel's buffers have been read once. Serves the socket, too. */
void dump_triggers__end_round(struct dump_triggers *triggers);
/* All has been read: request the dumps that are still due */
void dump_triggers__finish(struct dump_triggers *triggers);
/* The clock was set back */
void dump_triggers__forget(struct dump_triggers *triggers);

/* Print how often each has fired, and what could not be seen */
void dump_triggers__print_stats(const struct dump_triggers *triggers);

#endif /* __PERF_DUMP_TRIGGERS_H */
