// SPDX-License-Identifier: GPL-2.0
/* Which triggers of perf record -M fire; see trigger-engine.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "trigger-calls.h"
#include "trigger-engine.h"
#include "trigger-window.h"

/* @event, @exit: numbers of its events, NO_EVENT if there is none. @calls: of a pair. */
struct watched {
	struct dump_trigger	trigger;
	unsigned int		event;
	unsigned int		exit;
	struct trigger_calls	*calls;
	struct trigger_window	window;
	u64			nr_fired;
};

#define NO_EVENT	(~0U - 3)

/* @nr keeps the order of those with the same time */
struct pending {
	struct trigger_occurrence	what;
	u64				nr;
};

struct trigger_engine {
	trigger_fired_t		fired;
	void			*priv;
	struct watched		*watched;
	unsigned int		nr_watched;
	char			**events;
	unsigned int		nr_events;

	/*
	 * What isn't known to be complete; up to when it is when the next round ends; the
	 * newest time of all, that of the last round, and when that one ended; the end of the
	 * last round of reading, and of the last that counted
	 */
	struct pending		*pending;
	size_t			nr_pending;
	size_t			size;
	u64			nr;
	u64			complete;
	u64			newest;
	u64			noted;
	u64			noted_at;
	u64			round_end;
	u64			counted_end;

	struct trigger_stats	stats;
};

struct trigger_engine *trigger_engine__new(trigger_fired_t fired, void *priv)
{
	struct trigger_engine *engine = zalloc(sizeof(*engine));

	if (!engine)
		return NULL;
	engine->fired = fired;
	engine->priv = priv;
	return engine;
}

void trigger_engine__delete(struct trigger_engine *engine)
{
	unsigned int i;

	if (!engine)
		return;
	for (i = 0; i < engine->nr_watched; i++) {
		dump_trigger__exit(&engine->watched[i].trigger);
		trigger_calls__delete(engine->watched[i].calls);
		trigger_window__exit(&engine->watched[i].window);
	}
	for (i = 0; i < engine->nr_events; i++)
		free(engine->events[i]);
	free(engine->watched);
	free(engine->events);
	free(engine->pending);
	free(engine);
}

/* Find the number of an event, or give it one */
static int number_event(struct trigger_engine *engine, const char *name, unsigned int *nr)
{
	char **events;

	*nr = NO_EVENT;
	if (!name)
		return 0;
	for (*nr = 0; *nr < engine->nr_events; (*nr)++) {
		if (!strcmp(engine->events[*nr], name))
			return 0;
	}
	events = realloc(engine->events, (*nr + 1) * sizeof(*events));
	if (!events)
		return -ENOMEM;
	engine->events = events;
	events[*nr] = strdup(name);
	if (!events[*nr])
		return -ENOMEM;
	engine->nr_events++;
	return 0;
}

static int add(struct trigger_engine *engine, const struct dump_trigger *trigger)
{
	struct watched new = { .trigger = *trigger }, *watched;
	int err = number_event(engine, trigger->event, &new.event);

	if (!err)
		err = number_event(engine, trigger->exit, &new.exit);
	if (err)
		return err;
	watched = realloc(engine->watched, (engine->nr_watched + 1) * sizeof(*watched));
	if (!watched)
		return -ENOMEM;
	engine->watched = watched;
	if (trigger->exit) {
		new.calls = trigger_calls__new();
		if (!new.calls)
			return -ENOMEM;
	}
	watched[engine->nr_watched++] = new;
	return 0;
}

int trigger_engine__add(struct trigger_engine *engine, const char *str, char *error,
			size_t size)
{
	struct dump_trigger trigger;
	int err = dump_trigger__parse(&trigger, str, error, size);

	if (err)
		return err;
	if (trigger_engine__find(engine, trigger.name)) {
		snprintf(error, size, "there is another one called '%s'", trigger.name);
		err = -EINVAL;
	} else {
		err = add(engine, &trigger);
		if (err)
			snprintf(error, size, "%s", strerror(-err));
	}
	if (err)
		dump_trigger__exit(&trigger);
	return err;
}

const char *trigger_engine__event(const struct trigger_engine *engine, unsigned int nr)
{
	return nr < engine->nr_events ? engine->events[nr] : NULL;
}

const struct dump_trigger *trigger_engine__trigger(const struct trigger_engine *engine,
						   unsigned int nr)
{
	return nr < engine->nr_watched ? &engine->watched[nr].trigger : NULL;
}

const struct dump_trigger *trigger_engine__find(const struct trigger_engine *engine,
						const char *name)
{
	unsigned int i;

	for (i = 0; i < engine->nr_watched; i++) {
		if (!strcmp(engine->watched[i].trigger.name, name))
			return &engine->watched[i].trigger;
	}
	return NULL;
}

static struct watched *watched_of(const struct dump_trigger *trigger)
{
	return container_of(trigger, struct watched, trigger);
}

void trigger_engine__asked(const struct dump_trigger *trigger)
{
	watched_of(trigger)->nr_fired++;
}

u64 trigger_engine__nr_fired(const struct dump_trigger *trigger)
{
	return watched_of(trigger)->nr_fired;
}

struct trigger_stats trigger_engine__stats(const struct trigger_engine *engine)
{
	struct trigger_stats stats = engine->stats;
	unsigned int i;

	for (i = 0; i < engine->nr_watched; i++) {
		if (engine->watched[i].calls)
			stats.forgotten += trigger_calls__nr_forgotten(engine->watched[i].calls);
	}
	return stats;
}

static void fire(struct trigger_engine *engine, struct watched *watched,
		 const struct trigger_firing *firing)
{
	watched->nr_fired++;
	engine->fired(engine->priv, firing);
}

static void forget_calls(struct trigger_engine *engine)
{
	unsigned int i;

	for (i = 0; i < engine->nr_watched; i++) {
		struct trigger_calls *calls = engine->watched[i].calls;

		if (!calls)
			continue;
		engine->stats.forgotten += trigger_calls__nr(calls);
		trigger_calls__clear(calls);
	}
}

static void leave(struct trigger_engine *engine, struct watched *watched,
		  const struct trigger_occurrence *what)
{
	struct trigger_occurrence entry;

	/* An exit before the entry: the clock was set back, and nobody has noticed yet */
	if (!trigger_calls__leave(watched->calls, what, &entry) || entry.elsewhere ||
	    what->time < entry.time || what->time - entry.time <= watched->trigger.longer)
		return;
	fire(engine, watched, &(struct trigger_firing){
		.trigger = &watched->trigger, .last = *what, .since = entry.time,
		.value = what->time - entry.time,
	});
}

static void fire_overdue_of(struct trigger_engine *engine, struct watched *watched, u64 time)
{
	const struct trigger_occurrence *entry;
	u64 longer = watched->trigger.longer;

	if (!watched->calls || time <= longer)
		return;
	while ((entry = trigger_calls__overdue(watched->calls, time - longer))) {
		struct trigger_firing firing = {
			.trigger = &watched->trigger, .last = *entry, .since = entry->time,
			.value = time - entry->time, .open = true,
		};

		if (entry->elsewhere)
			continue;
		firing.last.time = time;
		fire(engine, watched, &firing);
	}
}

/* All that occurred up to @time has been processed: what is open was open then */
static void fire_overdue(struct trigger_engine *engine, u64 time)
{
	unsigned int i;

	for (i = 0; i < engine->nr_watched; i++)
		fire_overdue_of(engine, &engine->watched[i], time);
}

/* Its calls last until now, and not longer */
static void end_thread(struct trigger_engine *engine, const struct trigger_occurrence *what)
{
	unsigned int i;

	fire_overdue(engine, what->time);
	for (i = 0; i < engine->nr_watched; i++) {
		if (engine->watched[i].calls)
			trigger_calls__end_thread(engine->watched[i].calls, what);
	}
}

/* Its thread has another number from now on */
static void exec(struct trigger_engine *engine, const struct trigger_occurrence *what)
{
	unsigned int i;

	fire_overdue(engine, what->time);
	for (i = 0; i < engine->nr_watched; i++) {
		if (engine->watched[i].calls)
			trigger_calls__exec(engine->watched[i].calls, what);
	}
}

/* Those that have fired it once don't count for the next time */
static void count(struct trigger_engine *engine, struct watched *watched,
		  const struct trigger_occurrence *what)
{
	struct trigger_window *window = &watched->window;

	if (what->elsewhere)
		return;
	if (trigger_window__add(window, what->time, what->weight, watched->trigger.within))
		return;
	if (window->sum < watched->trigger.count)
		return;
	fire(engine, watched, &(struct trigger_firing){
		.trigger = &watched->trigger, .last = *what,
		.since = trigger_window__since(window), .value = window->sum,
	});
	trigger_window__clear(window);
}

/*
 * The kernel has no number any more for a thread that ends, and perf none for those outside
 * of its PID namespace, but a negative one: no calls
 */
static void occurred(struct trigger_engine *engine, struct watched *watched,
		     const struct trigger_occurrence *what)
{
	if (what->event == watched->event && watched->exit == NO_EVENT)
		count(engine, watched, what);
	else if (what->tid < 0)
		return;
	else if (what->event == watched->event)
		engine->stats.forgotten += !!trigger_calls__enter(watched->calls, what);
	else if (what->event == watched->exit)
		leave(engine, watched, what);
}

static void process(struct trigger_engine *engine, const struct trigger_occurrence *what)
{
	unsigned int i;

	switch (what->event) {
	case TRIGGER_THREAD_ENDED:
		end_thread(engine, what);
		break;
	case TRIGGER_EXEC:
		exec(engine, what);
		break;
	case TRIGGER_LOST:
		engine->stats.losses++;
		forget_calls(engine);
		break;
	default:
		for (i = 0; i < engine->nr_watched; i++)
			occurred(engine, &engine->watched[i], what);
	}
}

static int grow(struct trigger_engine *engine)
{
	size_t size = max(2 * engine->size, (size_t)1024);
	struct pending *pending = realloc(engine->pending, size * sizeof(*pending));

	if (!pending)
		return -ENOMEM;
	engine->pending = pending;
	engine->size = size;
	return 0;
}

/* Nobody knows what is missing: nothing that is under way has a known end or beginning */
void trigger_engine__forget(struct trigger_engine *engine)
{
	unsigned int i;

	forget_calls(engine);
	for (i = 0; i < engine->nr_watched; i++)
		trigger_window__clear(&engine->watched[i].window);
	engine->nr_pending = 0;
	engine->complete = 0;
	engine->newest = 0;
}

int trigger_engine__occurred(struct trigger_engine *engine,
			     const struct trigger_occurrence *occurrence)
{
	if (engine->nr_pending == engine->size && grow(engine)) {
		trigger_engine__forget(engine);
		return -ENOMEM;
	}
	engine->pending[engine->nr_pending++] = (struct pending){
		.what = *occurrence, .nr = engine->nr++,
	};
	engine->newest = max(engine->newest, occurrence->time);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct pending *l = a, *r = b;

	if (l->what.time != r->what.time)
		return l->what.time < r->what.time ? -1 : 1;
	return l->nr < r->nr ? -1 : 1;
}

static void process_until(struct trigger_engine *engine, u64 time)
{
	size_t i;

	qsort(engine->pending, engine->nr_pending, sizeof(*engine->pending), compare);
	for (i = 0; i < engine->nr_pending && engine->pending[i].what.time <= time; i++)
		process(engine, &engine->pending[i].what);
	engine->nr_pending -= i;
	memmove(engine->pending, engine->pending + i,
		engine->nr_pending * sizeof(*engine->pending));
}

/*
 * A lower bound of the time by the events' clock, @now. An event that was read isn't newer
 * than that. If no newer one is read, the time that passes is known by the other clock.
 */
static u64 time_by(struct trigger_engine *engine, u64 now)
{
	u64 passed;

	if (engine->newest != engine->noted) {
		engine->noted = engine->newest;
		engine->noted_at = now;
	}
	passed = now - engine->noted_at;
	return engine->noted ? engine->noted + passed - passed / 1000 : 0;
}

/*
 * Only a round that begins @hidden or more after the last one that counted has found all that
 * was written before that one ended. When this round began isn't known, but it was after the
 * end of the round before.
 */
static bool round_counts(struct trigger_engine *engine, u64 now, u64 hidden)
{
	u64 begin = engine->round_end;

	engine->round_end = now;
	if (begin - engine->counted_end < hidden)
		return false;

	engine->counted_end = now;
	return true;
}

void trigger_engine__end_round(struct trigger_engine *engine, u64 now, u64 hidden)
{
	if (!round_counts(engine, now, hidden))
		return;
	if (engine->nr_pending)
		process_until(engine, engine->complete);
	fire_overdue(engine, engine->complete);
	engine->complete = max(engine->complete, time_by(engine, now));
}

void trigger_engine__finish(struct trigger_engine *engine)
{
	if (engine->nr_pending)
		process_until(engine, UINT64_MAX);
	fire_overdue(engine, engine->newest);
}
