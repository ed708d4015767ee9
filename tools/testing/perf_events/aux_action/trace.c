// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "trace.h"

struct trace trace;

const void *watched_variable;
unsigned long watched_stores;

const char *const operation_names[OPERATIONS] = {
	[GATE_PAUSE]		= "pause",
	[GATE_RESUME]		= "resume",
	[DRIVER_START]		= "start",
	[DRIVER_STOP]		= "stop",
	[DRIVER_HANDLER]	= "handler",
	[DRIVER_HANDLER_FULL]	= "handler that stops",
	[DRIVER_HANDLER_IDLE]	= "handler without work",
};

static void fail(const char *why)
{
	if (!trace.failures++)
		trace.failure = why;
}

/*
 * The hardware and the driver. Every access to what another context may see at the
 * same place is marked, as in the kernel.
 */

static void add(int *counter, int change)
{
	WRITE_ONCE(*counter, READ_ONCE(*counter) + change);
	barrier();
}

static void enter_callback(void)
{
	if (READ_ONCE(trace.callbacks))
		fail("pause or resume within pause or resume");
	if (READ_ONCE(trace.sections))
		fail("pause or resume within a held section");
	add(&trace.callbacks, 1);
}

static void leave_callback(void)
{
	barrier();
	add(&trace.callbacks, -1);
}

static void pause_engine(struct perf_event *event)
{
	if (!trace.algorithm->may_touch(event))
		return;

	enter_callback();
	WRITE_ONCE(trace.engine, false);
	leave_callback();
}

/*
 * The engine of a stopped event is switched off, not left alone. A handler that
 * stops the event may come between the read and the write: then the engine is on
 * when it should not be, and this is called again.
 */
static void resume_engine(struct perf_event *event)
{
	if (!trace.algorithm->may_touch(event))
		return;

	enter_callback();
	WRITE_ONCE(trace.engine, !READ_ONCE(trace.stopped));
	leave_callback();
}

static bool enter_section(struct perf_event *event)
{
	bool paused = trace.algorithm->hold(event);

	add(&trace.sections, 1);
	return paused;
}

static void leave_section(struct perf_event *event)
{
	barrier();
	add(&trace.sections, -1);
	trace.algorithm->release(event);
}

static void trace_start(struct perf_event *event, int flags)
{
	bool paused;

	if (flags & PERF_EF_RESUME) {
		resume_engine(event);
		return;
	}

	paused = enter_section(event);
	WRITE_ONCE(trace.stopped, false);
	WRITE_ONCE(trace.engine, !paused);
	leave_section(event);
}

static void trace_stop(struct perf_event *event, int flags)
{
	if (flags & PERF_EF_PAUSE) {
		pause_engine(event);
		return;
	}

	enter_section(event);
	WRITE_ONCE(trace.stopped, true);
	WRITE_ONCE(trace.engine, false);
	leave_section(event);
}

static void trace_handler(struct perf_event *event, bool full)
{
	bool paused = enter_section(event);

	WRITE_ONCE(trace.engine, false);
	if (full)
		WRITE_ONCE(trace.stopped, true);
	WRITE_ONCE(trace.engine, !paused && !READ_ONCE(trace.stopped));
	leave_section(event);
}

/* An event is active before ->start() and inactive after ->stop(). */
void trace_call(enum operation op)
{
	struct perf_event *event = &trace.event;

	switch (op) {
	case GATE_PAUSE:
		trace.algorithm->gate(&trace.pause);
		break;
	case GATE_RESUME:
		trace.algorithm->gate(&trace.resume);
		break;
	case DRIVER_START:
		WRITE_ONCE(event->state, PERF_EVENT_STATE_ACTIVE);
		trace_start(event, 0);
		break;
	case DRIVER_STOP:
		trace_stop(event, 0);
		WRITE_ONCE(event->state, PERF_EVENT_STATE_INACTIVE);
		break;
	case DRIVER_HANDLER:
	case DRIVER_HANDLER_FULL:
		trace_handler(event, op == DRIVER_HANDLER_FULL);
		break;
	case DRIVER_HANDLER_IDLE:
		enter_section(event);
		leave_section(event);
		break;
	case OPERATIONS:
		break;
	}
}

/* The bookkeeping */

static bool is_gate(enum operation op)
{
	return op == GATE_PAUSE || op == GATE_RESUME;
}

static void came_last(const struct in_flight *flight)
{
	trace.wanted = flight->op == GATE_PAUSE;
}

/*
 * Called with nothing able to interrupt. A request that was interrupted may or
 * may not have its place in the order yet: it has one if it came to that point
 * since its context last went on.
 */
void trace_begin(struct in_flight *self, enum operation op)
{
	struct in_flight *outer = trace.innermost, *each;
	bool busy = trace.algorithm->busy(&trace.event);
	unsigned long arrivals = trace.algorithm->arrivals(&trace.event);

	if (outer && outer->pending && outer->arrivals != arrivals) {
		came_last(outer);
		outer->pending = false;
	}
	for (each = outer; each; each = each->outer)
		each->interrupts++;

	*self = (struct in_flight) {
		.outer = outer,
		.op = op,
		.pending = is_gate(op),
		.arrivals = arrivals,
		.stores = watched_stores,
	};

	if (is_gate(op)) {
		trace.requested++;
		trace.deferred += busy;
	} else {
		trace.nested_sections += busy;
	}
	if (++trace.depth > trace.max_depth)
		trace.max_depth = trace.depth;
	trace.innermost = self;
}

/* Each interrupt adds at most one pass to those of the context that it hit. */
static void count_passes(struct in_flight *self)
{
	unsigned long stores = watched_stores - self->stores;
	unsigned long own = stores - self->nested_stores;

	if (self->outer)
		self->outer->nested_stores += stores;
	if (own > 1)
		trace.more_passes++;
	if (trace.algorithm->audit && own > 1 + self->interrupts)
		fail("more passes than interrupts account for");
}

static void check_idle(void)
{
	const char *complaint = NULL;

	trace.checks++;
	if (trace.engine != (!trace.wanted && !trace.stopped))
		fail(trace.engine ? "the engine runs and should not"
				  : "the engine does not run and should");
	if (trace.algorithm->audit)
		complaint = trace.algorithm->audit(&trace.event);
	if (complaint)
		fail(complaint);
}

/* Called with nothing able to interrupt. */
void trace_end(struct in_flight *self)
{
	struct in_flight *outer = self->outer;

	if (self->pending)
		came_last(self);
	count_passes(self);
	if (outer && outer->pending)
		outer->arrivals = trace.algorithm->arrivals(&trace.event);
	trace.depth--;
	trace.innermost = outer;
	if (!outer)
		check_idle();
}

void trace_reset(const struct algorithm *algorithm, bool paused, bool stopped)
{
	memset(&trace, 0, sizeof(trace));
	trace.algorithm = algorithm;
	trace.pmu = (struct pmu) {
		.capabilities = PERF_PMU_CAP_AUX_PAUSE,
		.has_aux = true,
		.start = trace_start,
		.stop = trace_stop,
	};
	trace.event.pmu = &trace.pmu;
	trace.event.state = stopped ? PERF_EVENT_STATE_INACTIVE
				    : PERF_EVENT_STATE_ACTIVE;
	trace.pause.attr.aux_pause = 1;
	trace.pause.aux_event = &trace.event;
	trace.resume.attr.aux_resume = 1;
	trace.resume.aux_event = &trace.event;
	trace.wanted = paused;
	trace.stopped = stopped;
	trace.engine = !paused && !stopped;
	algorithm->reset(&trace.event, paused);
}
