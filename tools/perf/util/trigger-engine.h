/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_ENGINE_H
#define __PERF_TRIGGER_ENGINE_H 1

/*
 * Which triggers of perf record -M does what was recorded fire?
 *
 * The engine is told what occurred as perf reads it, in rounds: each of the kernel's
 * buffers once. A thread that moves has the entry of a call in one buffer and the exit
 * in another, which may be read first. So the engine sorts, and waits. What is not newer
 * than the newest of all earlier rounds is complete when a round ends: it was in a
 * buffer before that newest one was read, and all buffers have been read since.
 *
 * A call that doesn't return fires its trigger as soon as it is known to be open for too
 * long. The time of the newest event and what has passed on another clock since then tell
 * how late it is, even if nothing occurs.
 *
 * Where something may be missing, because the kernel has lost records, all calls are
 * forgotten that had begun by then: an exit must not meet the entry of another call.
 *
 * It has no types of the tool. Not for several threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include "trigger-occurrence.h"
#include "trigger-parse.h"

struct trigger_engine;

/**
 * struct trigger_firing - A trigger fires
 * @last:	what fires it. If @open, the entry of the call, at the time at which it is
 *		known to be too long.
 * @since:	when the call began, or the first of several occurrences was
 * @value:	how long the call took, or how often the event has occurred
 * @open:	the call hasn't returned yet
 */
struct trigger_firing {
	const struct dump_trigger	*trigger;
	struct trigger_occurrence	last;
	u64				since;
	u64				value;
	bool				open;
};

/**
 * struct trigger_stats - Of all triggers
 * @losses:	how often the kernel has lost records
 * @forgotten:	calls whose duration isn't known because of that, or for lack of room
 */
struct trigger_stats {
	u64	losses;
	u64	forgotten;
};

typedef void (*trigger_fired_t)(void *priv, const struct trigger_firing *firing);

struct trigger_engine *trigger_engine__new(trigger_fired_t fired, void *priv);
void trigger_engine__delete(struct trigger_engine *engine);

/**
 * trigger_engine__add - Add a trigger, before anything occurs
 * @error: what is wrong with it, if it fails
 *
 * Return 0, or -EINVAL or -ENOMEM.
 */
int trigger_engine__add(struct trigger_engine *engine, const char *str, char *error,
			size_t size);

/* The name of the event with number @nr, or NULL if there are no more */
const char *trigger_engine__event(const struct trigger_engine *engine, unsigned int nr);
/* The @nr-th trigger, or NULL if there are no more */
const struct dump_trigger *trigger_engine__trigger(const struct trigger_engine *engine,
						   unsigned int nr);
/* The one of that name, or NULL */
const struct dump_trigger *trigger_engine__find(const struct trigger_engine *engine,
						const char *name);

/* In the order of reading. Return 0 or -ENOMEM: it is missing then, as if lost. */
int trigger_engine__occurred(struct trigger_engine *engine,
			     const struct trigger_occurrence *occurrence);
/*
 * All buffers have been read once more: fire what fires. @now: in nanoseconds, by a clock
 * that nobody sets, of less than one per mille more or less than that of the events.
 * @hidden: for how many nanoseconds a reader may not see what was written; 0 if it always does
 */
void trigger_engine__end_round(struct trigger_engine *engine, u64 now, u64 hidden);
/* There is nothing more to come */
void trigger_engine__finish(struct trigger_engine *engine);
/* The clock was set back: forget what is under way */
void trigger_engine__forget(struct trigger_engine *engine);

/* The trigger, one of an engine's without an event, fires: somebody has asked for it */
void trigger_engine__asked(const struct dump_trigger *trigger);
/* How often has the trigger, one of an engine's, fired? */
u64 trigger_engine__nr_fired(const struct dump_trigger *trigger);
struct trigger_stats trigger_engine__stats(const struct trigger_engine *engine);

#endif /* __PERF_TRIGGER_ENGINE_H */
