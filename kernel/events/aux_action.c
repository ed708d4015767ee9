// SPDX-License-Identifier: GPL-2.0
/*
 * Pause and resume of AUX area tracing by other events.
 *
 * A gate is an event with attr.aux_pause or attr.aux_resume in a group whose
 * leader is an AUX area event. When the gate overflows, the leader's driver is
 * asked to pause or to resume. An overflow can happen in any context, also in an
 * NMI in the middle of another gate's action, or of the driver's own start, stop
 * or interrupt handler. No action may be lost in any of these cases, and the NMI
 * can't wait for what it interrupted.
 *
 * How
 * ===
 *
 * A gate first stores a request: the level that it wants and a sequence number,
 * in perf_aux_level::request, with one instruction. Then either
 *
 *   - no context is busy with this trace (depth is 0): the gate executes the
 *     request itself, or
 *   - the context that it interrupted is busy. That context executes the request
 *     before it returns: it reads request once more after it has stopped being
 *     busy.
 *
 * A driver is busy between perf_aux_action_hold() and perf_aux_action_release().
 *
 * Why that loses nothing
 * ======================
 *
 * The contexts of one CPU nest: an interrupting context runs to its end before
 * the interrupted one goes on. So it is enough to look at each place where an
 * NMI can hit aux_action_apply_pending():
 *
 *   apply_pending			NMI (gate)
 *
 *   S1  depth = 1
 *   S2  level = request		before S2: depth may be 0 (acts itself, S2
 *					reads the outcome) or 1 (S2 reads it)
 *   S3  call the driver
 *   S4  done = level			S2 to S5: sees depth 1, only requests
 *   S5  depth = 0
 *   S6  request still the same?	after S5: sees depth 0, acts itself
 *
 * S5 must come before S6: S6 sees the request of an NMI before S5, and an NMI
 * after S5 acts itself. In the reverse order, an NMI between the two would see
 * depth 1 and rely on a check that was already made. Compiler barriers keep the
 * order; CPUs observe their own accesses in program order.
 *
 * The loop repeats only after a new request or a nested section, so an NMI adds
 * at most one pass. So does a gate that the driver itself hits in S3, such as a
 * tracepoint of MSR accesses. Two of these, one where it pauses and one where it
 * resumes, would request each other for ever. So the loop ends after
 * AUX_ACTION_PASSES, and what is requested then waits for the next gate or section.
 * NMIs don't make that many passes: most of the CPU's time would go to them.
 *
 * Result
 * ======
 *
 * When all contexts have returned, the trace is at the level of the last request,
 * in the order in which the requests were stored. A request that is not counted
 * in perf_aux_level::executed was superseded by a later one.
 *
 * Sections that nest
 * ==================
 *
 * A driver's interrupt handler may come as an NMI in the middle of ->start(),
 * ->stop(), or of a pause or resume that is being executed. The context that it
 * interrupted may then undo half of what the handler did to the hardware. In this
 * case perf_aux_action_release() discards the level that the driver was given,
 * and the interrupted context calls the driver once more at its end. The driver
 * has to make the hardware agree with the level and with its own state: asked to
 * resume what it has stopped meanwhile, it switches the hardware off.
 *
 * A level for several CPUs
 * ========================
 *
 * Events of one task on different CPUs may have one level (aux_level.c). A task
 * runs on one CPU at a time, so they take turns:
 *
 *   CPU A				CPU B
 *
 *   event is taken off: ->del()
 *     release: done = request
 *   finish_task():
 *     store-release on_cpu = 0
 *					try_to_wake_up():
 *					  load-acquire on_cpu == 0
 *					event is put on: ->add()
 *					  hold: reads request, done
 *
 * B sees what A did to the level: the scheduler doesn't let a task run on B before
 * it has left A, and orders its accesses. (When the scheduler moves a task that waits
 * to run, the locks of both run queues do the same.) For the level it is as if the
 * event had been off and on again on one CPU.
 *
 * There is one exception: perf_tp_event() delivers wakeups of a task to the events of
 * that task, which isn't current. Where perf_swevent_event() requires an active event,
 * such a gate counts, but doesn't overflow. On other kernels it overflows on the CPU of
 * the waker. The task's AUX area event isn't on the hardware there, so the gate stores
 * its request and returns. For the CPU on which the task runs, this is like a request by
 * an NMI that doesn't act itself: it may come between any two instructions. That CPU
 * executes it in the next gate or section, at the latest when the task is put on a CPU
 * again. If the task is woken before it has gone to sleep, it stays on its CPU, and the
 * next gate or section there executes the request.
 *
 * No gates in this code
 * =====================
 *
 * The code that executes an action must not hit a gate itself: a kprobe there
 * would request another action with every action. So kprobes are not allowed
 * here, nor in the drivers' part.
 */
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/smp.h>

#define AUX_ACTION_PASSES	100

static inline bool aux_paused(unsigned long request)
{
	return request & PERF_AUX_PAUSED;
}

static void aux_action_call_driver(struct perf_event *event, bool paused)
{
	if (paused)
		event->pmu->stop(event, PERF_EF_PAUSE);
	else
		event->pmu->start(event, PERF_EF_RESUME);
}

NOKPROBE_SYMBOL(aux_action_call_driver);

/* S2 to S4 of the comment at the top of the file. */
static void aux_action_pass(struct perf_event *event, struct perf_aux_level *level,
			    unsigned long request)
{
	bool paused = aux_paused(request);

	/*
	 * A section that nests in ->stop() or ->start() overwrites driver_state: the
	 * effect of the call is then void. So store it before the call.
	 */
	if (READ_ONCE(level->driver_state) != paused) {
		WRITE_ONCE(level->driver_state, paused);
		barrier();
		aux_action_call_driver(event, paused);
	}

	if (level->done != request) {
		level->executed++;
		WRITE_ONCE(level->done, request);
	}
}

NOKPROBE_SYMBOL(aux_action_pass);

/*
 * S1 to S6 of the comment at the top of the file.
 *
 * An NMI after S5 that acts itself makes the check fail, as one before S5 does.
 * That costs an empty pass, but loses no request.
 */
static void aux_action_apply_pending(struct perf_event *event)
{
	struct perf_aux_action *act = &event->aux_action;
	struct perf_aux_level *level = act->level;
	unsigned int passes = 0;
	unsigned long request;

	do {
		WRITE_ONCE(act->depth, 1);
		barrier();
		request = READ_ONCE(level->request);
		aux_action_pass(event, level, request);
		barrier();
		WRITE_ONCE(act->depth, 0);
		barrier();
	} while (++passes < AUX_ACTION_PASSES &&
		 (READ_ONCE(level->request) != request ||
		  READ_ONCE(level->driver_state) == PERF_AUX_DRIVER_UNKNOWN));
}

NOKPROBE_SYMBOL(aux_action_apply_pending);

/*
 * Is the event on the hardware of this CPU? If not, the level takes effect at the
 * next ->start(), which gets it from perf_aux_action_hold().
 *
 * It isn't when this CPU wakes up the gate's task. It can also be inactive while its
 * gates still overflow: when a group is torn down, the leader is taken off the
 * hardware first.
 */
static bool aux_action_is_here(struct perf_event *event)
{
	return READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE &&
	       READ_ONCE(event->oncpu) == smp_processor_id();
}

NOKPROBE_SYMBOL(aux_action_is_here);

/*
 * Sequence number and level are stored in one word with one instruction. With two
 * stores, an NMI or a waker between them would take the same sequence number.
 */
static void aux_level_request(struct perf_aux_level *level, bool paused)
{
	unsigned long old;

	do {
		old = READ_ONCE(level->request);
	} while (cmpxchg(&level->request, old, perf_aux_next_request(old, paused)) != old);
}

NOKPROBE_SYMBOL(aux_level_request);

/**
 * perf_aux_level_change_from - request another level, unless somebody else was faster
 * @level: level of an AUX area event
 * @request: its last request, as far as the caller knows
 * @paused: the level that is wanted
 *
 * Then perf_aux_action_follow() has to be called on the CPU where the event is active.
 *
 * Context: any.
 * Return: true if this call has changed the level. False if @request had that level already,
 * or if it is not the last one: a gate in an NMI may have come since.
 */
bool perf_aux_level_change_from(struct perf_aux_level *level, unsigned long request, bool paused)
{
	unsigned long next = perf_aux_next_request(request, paused);

	return aux_paused(request) != paused &&
	       cmpxchg(&level->request, request, next) == request;
}

NOKPROBE_SYMBOL(perf_aux_level_change_from);

/**
 * perf_aux_level_change - request another level, unless it is requested already
 * @level: level of an AUX area event
 * @paused: the level that is wanted
 *
 * As perf_aux_level_change_from(), from whatever the last request is.
 *
 * Context: any.
 * Return: true if this call has changed the level.
 */
bool perf_aux_level_change(struct perf_aux_level *level, bool paused)
{
	unsigned long request;

	do {
		request = READ_ONCE(level->request);
		if (aux_paused(request) == paused)
			return false;
	} while (!perf_aux_level_change_from(level, request, paused));

	return true;
}

NOKPROBE_SYMBOL(perf_aux_level_change);

/**
 * perf_aux_action_follow - bring a trace in line with a request that was just stored
 * @event: AUX area event
 *
 * If this context has interrupted one that is busy with @event, that one executes the
 * request, and this function does nothing.
 *
 * Context: any, NMI included. Interrupts are disabled.
 */
void perf_aux_action_follow(struct perf_event *event)
{
	barrier();
	if (!READ_ONCE(event->aux_action.depth) && aux_action_is_here(event))
		aux_action_apply_pending(event);
}

NOKPROBE_SYMBOL(perf_aux_action_follow);

static struct perf_aux_level *aux_level_alloc(bool paused)
{
	struct perf_aux_level *level = kzalloc(sizeof(*level), GFP_KERNEL);

	if (!level)
		return NULL;

	refcount_set(&level->users, 1);
	level->request = paused ? PERF_AUX_PAUSED : 0;
	level->done = level->request;
	level->driver_state = paused;

	return level;
}

/**
 * perf_aux_action_init - check an event's aux action and set its initial level
 * @event: new event, with attr and pmu set
 *
 * An inherited event comes here too: a child starts from attr.aux_start_paused,
 * whatever the level of its parent.
 *
 * Context: may sleep. What is allocated is freed by perf_aux_action_free().
 * Return: 0, -EINVAL (pause and resume at once), -EOPNOTSUPP (pause or resume
 * together with aux_output; start paused on a PMU that can't pause), -ENOMEM.
 */
int perf_aux_action_init(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	struct perf_aux_action *act = &event->aux_action;

	if (attr->aux_output && perf_event_is_aux_gate(event))
		return -EOPNOTSUPP;

	if (attr->aux_pause && attr->aux_resume)
		return -EINVAL;

	if (attr->aux_start_paused &&
	    !(event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE))
		return -EOPNOTSUPP;

	if (!has_aux(event))
		return 0;

	act->level = aux_level_alloc(attr->aux_start_paused);

	return act->level ? 0 : -ENOMEM;
}

/**
 * perf_aux_action_free - give up an event's level
 * @event: event that is being freed, whether or not it was initialised
 *
 * Context: any but NMI. Called a grace period after the event has left its context:
 * until then, a gate on another CPU may use the level, see perf_aux_gate().
 */
void perf_aux_action_free(struct perf_event *event)
{
	struct perf_aux_level *level = event->aux_action.level;

	if (level && refcount_dec_and_test(&level->users))
		kfree(level);
}

/**
 * perf_aux_level_adopt - give a new event the level of another one
 * @event: AUX area event that is in no context yet, so that nobody uses its level
 * @level: level of another event, which keeps it
 *
 * Context: any but NMI.
 */
void perf_aux_level_adopt(struct perf_event *event, struct perf_aux_level *level)
{
	refcount_inc(&level->users);
	perf_aux_action_free(event);
	event->aux_action.level = level;
}

/**
 * perf_aux_action_match - can gates pause this event?
 * @aux: leader of a gate's group
 *
 * Return: true if @aux is an AUX area event of a PMU that can pause.
 */
bool perf_aux_action_match(struct perf_event *aux)
{
	return has_aux(aux) && (aux->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE);
}

/**
 * perf_group_has_aux_action - does the level of this group's trace change?
 * @leader: leader of the group
 *
 * The level belongs to the task in which the gate overflowed. So a context with
 * such a group is not swapped with that of another task as other contexts are,
 * see inherit_task_group().
 *
 * Context: the task of the event's context, so that no gate overflows there
 * meanwhile. Holds the mutex of that context.
 * Return: true if the trace began paused, if a gate has acted on it (even if it
 * was closed since), if there is a gate that may act, or if the gate may be in
 * another context: that of an event that shares the level.
 */
bool perf_group_has_aux_action(struct perf_event *leader)
{
	struct perf_aux_level *level = leader->aux_action.level;
	struct perf_event *sibling;

	if (level && (READ_ONCE(level->request) || refcount_read(&level->users) > 1))
		return true;

	for_each_sibling_event(sibling, leader) {
		if (perf_event_is_aux_gate(sibling))
			return true;
	}

	return false;
}

/**
 * perf_aux_gate - execute the action of a gate
 * @gate: event with attr.aux_pause or attr.aux_resume that overflows
 *
 * On return the trace is at the level that the last request asked for, or the
 * context that this one interrupted will bring it there. If @gate was delivered to
 * a task that isn't current, the task's CPU will: see "A level for several CPUs" at
 * the top of the file.
 *
 * The link to the AUX area event goes away while @gate still overflows when the
 * group is torn down (perf_put_aux_event()). Then there is nothing to do. The event
 * itself, and its level, remain until a grace period has passed.
 *
 * Context: any, NMI included. Interrupts are disabled.
 */
void perf_aux_gate(struct perf_event *gate)
{
	struct perf_event *event = READ_ONCE(gate->aux_event);

	lockdep_assert_irqs_disabled();

	if (!event)
		return;

	aux_level_request(event->aux_action.level, gate->attr.aux_pause);
	perf_aux_action_follow(event);
}

NOKPROBE_SYMBOL(perf_aux_gate);

/**
 * perf_aux_action_hold - keep gates off the hardware for a while
 * @event: AUX area event
 *
 * For the driver's own sections that touch the trace hardware: ->start() and
 * ->stop() other than for pause and resume, the interrupt handler, and
 * ->snapshot_aux(). From here to perf_aux_action_release() the driver is not
 * called to pause or resume @event; the requests of gates are kept.
 *
 * Sections nest: a handler may come in the middle of ->start(), or of a pause
 * that is being executed.
 *
 * Context: any, NMI included. Interrupts are disabled.
 * Return: true if the section must leave the trace paused, false if running.
 */
bool perf_aux_action_hold(struct perf_event *event)
{
	struct perf_aux_action *act = &event->aux_action;
	struct perf_aux_level *level = act->level;
	bool paused;

	lockdep_assert_irqs_disabled();

	WRITE_ONCE(act->depth, READ_ONCE(act->depth) + 1);
	barrier();
	paused = aux_paused(READ_ONCE(level->request));

	/*
	 * There is a request that this CPU has not executed: its gate was interrupted
	 * before that, came after depth was raised, or overflowed on another CPU.
	 * The section may execute it, or may find nothing to do and leave the trace
	 * alone. So the state of the trace is unknown.
	 */
	if (READ_ONCE(level->driver_state) != paused)
		WRITE_ONCE(level->driver_state, PERF_AUX_DRIVER_UNKNOWN);

	return paused;
}
EXPORT_SYMBOL_GPL(perf_aux_action_hold);

NOKPROBE_SYMBOL(perf_aux_action_hold);

/**
 * perf_aux_action_release - end a section that perf_aux_action_hold() began
 * @event: the same event
 *
 * Requests made during the section are executed before this returns, or by the
 * context that the section interrupted if that context is busy with @event.
 *
 * Context: any, NMI included. Interrupts are disabled.
 */
void perf_aux_action_release(struct perf_event *event)
{
	struct perf_aux_action *act = &event->aux_action;
	struct perf_aux_level *level = act->level;
	unsigned long request;

	lockdep_assert_irqs_disabled();

	if (READ_ONCE(act->depth) > 1) {
		/*
		 * See "Sections that nest" at the top of the file. Don't call a PMU
		 * that can't pause; its driver may share code with one that can.
		 */
		if (event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE)
			WRITE_ONCE(level->driver_state, PERF_AUX_DRIVER_UNKNOWN);
		barrier();
		WRITE_ONCE(act->depth, READ_ONCE(act->depth) - 1);
		return;
	}

	barrier();
	WRITE_ONCE(act->depth, 0);
	barrier();
	/* S6, and driver_state: does the section leave the trace as requested? */
	request = READ_ONCE(level->request);
	if (READ_ONCE(level->done) != request ||
	    READ_ONCE(level->driver_state) != aux_paused(request))
		aux_action_apply_pending(event);
}
EXPORT_SYMBOL_GPL(perf_aux_action_release);

NOKPROBE_SYMBOL(perf_aux_action_release);
