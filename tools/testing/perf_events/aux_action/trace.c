// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "trace.h"

struct trace trace;

__thread int this_cpu;

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
	[MIGRATE]		= "move to another CPU",
	[WAKE_PAUSE]		= "pause at wakeup",
	[WAKE_RESUME]		= "resume at wakeup",
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

static struct cpu *cpu_of(struct perf_event *event)
{
	return (struct cpu *)((char *)event - offsetof(struct cpu, event));
}

static struct cpu *other_cpu(void)
{
	return &trace.cpus[here() == trace.cpus];
}

static void enter_callback(struct cpu *cpu)
{
	if (cpu != here())
		fail("pause or resume on a CPU on which the task doesn't run");
	if (READ_ONCE(cpu->callbacks))
		fail("pause or resume within pause or resume");
	if (READ_ONCE(cpu->sections))
		fail("pause or resume within a held section");
	add(&cpu->callbacks, 1);
}

static void leave_callback(struct cpu *cpu)
{
	barrier();
	add(&cpu->callbacks, -1);
}

static void pause_engine(struct perf_event *event)
{
	struct cpu *cpu = cpu_of(event);

	if (!trace.algorithm->may_touch(event))
		return;

	enter_callback(cpu);
	WRITE_ONCE(cpu->engine, false);
	leave_callback(cpu);
}

/*
 * The engine of a stopped event is switched off, not left alone. A handler that
 * stops the event may come between the read and the write: then the engine is on
 * when it should not be, and this is called again.
 */
static void resume_engine(struct perf_event *event)
{
	struct cpu *cpu = cpu_of(event);

	if (!trace.algorithm->may_touch(event))
		return;

	enter_callback(cpu);
	WRITE_ONCE(cpu->engine, !READ_ONCE(cpu->stopped));
	leave_callback(cpu);
}

static bool enter_section(struct perf_event *event)
{
	bool paused = trace.algorithm->hold(event);

	add(&cpu_of(event)->sections, 1);
	return paused;
}

static void leave_section(struct perf_event *event)
{
	barrier();
	add(&cpu_of(event)->sections, -1);
	trace.algorithm->release(event);
}

static void trace_start(struct perf_event *event, int flags)
{
	struct cpu *cpu = cpu_of(event);
	bool paused;

	if (flags & PERF_EF_RESUME) {
		resume_engine(event);
		return;
	}

	paused = enter_section(event);
	WRITE_ONCE(cpu->stopped, false);
	WRITE_ONCE(cpu->engine, !paused);
	leave_section(event);
}

static void trace_stop(struct perf_event *event, int flags)
{
	struct cpu *cpu = cpu_of(event);

	if (flags & PERF_EF_PAUSE) {
		pause_engine(event);
		return;
	}

	enter_section(event);
	WRITE_ONCE(cpu->stopped, true);
	WRITE_ONCE(cpu->engine, false);
	leave_section(event);
}

static void trace_handler(struct perf_event *event, bool full)
{
	struct cpu *cpu = cpu_of(event);
	bool paused = enter_section(event);

	WRITE_ONCE(cpu->engine, false);
	if (full)
		WRITE_ONCE(cpu->stopped, true);
	WRITE_ONCE(cpu->engine, !paused && !READ_ONCE(cpu->stopped));
	leave_section(event);
}

/* An event is active before ->start() and inactive after ->stop(). */
static void put_on(struct perf_event *event)
{
	WRITE_ONCE(event->state, PERF_EVENT_STATE_ACTIVE);
	trace_start(event, 0);
}

static void take_off(struct perf_event *event)
{
	trace_stop(event, 0);
	WRITE_ONCE(event->state, PERF_EVENT_STATE_INACTIVE);
}

static void migrate(void)
{
	take_off(&here()->event);
	barrier();
	WRITE_ONCE(trace.on, other_cpu());
	WRITE_ONCE(this_cpu, here()->event.oncpu);
	barrier();
	put_on(&here()->event);
}

void trace_call(enum operation op)
{
	struct perf_event *event = &here()->event;

	switch (op) {
	case GATE_PAUSE:
		trace.algorithm->gate(&here()->pause);
		break;
	case GATE_RESUME:
		trace.algorithm->gate(&here()->resume);
		break;
	case DRIVER_START:
		put_on(event);
		break;
	case DRIVER_STOP:
		take_off(event);
		break;
	case MIGRATE:
		migrate();
		break;
	case WAKE_PAUSE:
		trace.algorithm->gate(&trace.cpus[WAKER].pause);
		break;
	case WAKE_RESUME:
		trace.algorithm->gate(&trace.cpus[WAKER].resume);
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

static bool is_wake(enum operation op)
{
	return op == WAKE_PAUSE || op == WAKE_RESUME;
}

/* The bookkeeping */

static bool is_gate(enum operation op)
{
	return op == GATE_PAUSE || op == GATE_RESUME || is_wake(op);
}

static void came_last(const struct in_flight *flight)
{
	trace.wanted = flight->op == GATE_PAUSE || flight->op == WAKE_PAUSE;
}

/*
 * Called with nothing able to interrupt. A request that was interrupted may or
 * may not have its place in the order yet: it has one if it came to that point
 * since its context last went on.
 */
void trace_begin(struct in_flight *self, enum operation op)
{
	struct in_flight *outer = trace.innermost, *each;
	bool busy = trace.algorithm->busy(&here()->event);
	unsigned long arrivals = trace.algorithm->arrivals(&here()->event);

	if (outer && outer->pending && outer->arrivals != arrivals) {
		came_last(outer);
		outer->pending = false;
	}
	for (each = outer; each; each = each->outer)
		each->interrupts++;

	*self = (struct in_flight) {
		.outer = outer,
		.outer_cpu = this_cpu,
		.op = op,
		.pending = is_gate(op),
		.arrivals = arrivals,
		.stores = watched_stores,
	};

	trace.requested += is_gate(op);
	if (is_wake(op))
		trace.wakes += busy;
	else if (is_gate(op))
		trace.deferred += busy;
	else
		trace.nested_sections += busy;
	trace.moves += op == MIGRATE;
	/* What begins now looks at all that was left to the task's CPU. */
	if (!outer)
		trace.left_over = false;
	if (++trace.depth > trace.max_depth)
		trace.max_depth = trace.depth;
	trace.innermost = self;
	this_cpu = is_wake(op) ? WAKER : here()->event.oncpu;
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
	const struct cpu *cpu = here();
	const char *complaint = NULL;

	trace.checks++;
	if (!trace.left_over && cpu->engine != (!trace.wanted && !cpu->stopped))
		fail(cpu->engine ? "the engine runs and should not"
				 : "the engine does not run and should");
	if (other_cpu()->engine)
		fail("the engine runs on the CPU that the task has left");
	if (trace.algorithm->audit)
		complaint = trace.algorithm->audit(&cpu->event);
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
		outer->arrivals = trace.algorithm->arrivals(&here()->event);
	if (is_wake(self->op))
		trace.left_over = true;
	trace.depth--;
	trace.innermost = outer;
	this_cpu = self->outer_cpu;
	if (!outer)
		check_idle();
}

static void cpu_reset(struct cpu *cpu, bool on, bool paused)
{
	cpu->event.pmu = &trace.pmu;
	cpu->event.oncpu = cpu - trace.cpus;
	cpu->event.state = on ? PERF_EVENT_STATE_ACTIVE : PERF_EVENT_STATE_INACTIVE;
	cpu->pause.attr.aux_pause = 1;
	cpu->pause.aux_event = &cpu->event;
	cpu->resume.attr.aux_resume = 1;
	cpu->resume.aux_event = &cpu->event;
	cpu->stopped = !on;
	cpu->engine = on && !paused;
	trace.algorithm->reset(&cpu->event, paused);
}

void trace_reset(const struct algorithm *algorithm, bool paused, bool stopped)
{
	for (int i = 0; i < CPUS; i++)
		perf_aux_action_free(&trace.cpus[i].event);

	memset(&trace, 0, sizeof(trace));
	trace.algorithm = algorithm;
	trace.pmu = (struct pmu) {
		.capabilities = PERF_PMU_CAP_AUX_PAUSE,
		.has_aux = true,
		.start = trace_start,
		.stop = trace_stop,
	};
	trace.wanted = paused;
	trace.on = trace.cpus;
	for (int i = 0; i < CPUS; i++)
		cpu_reset(&trace.cpus[i], !i && !stopped, paused);
}
