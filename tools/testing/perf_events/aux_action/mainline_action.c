// SPDX-License-Identifier: GPL-2.0
/*
 * What mainline does since 6.13, restated, for comparison: the tests must find
 * the gates that it loses, and the benchmark compares the cost.
 *
 * The core takes a reference to the buffer, switches interrupts off, drops the
 * action when another one on the same buffer is under way, and calls the driver
 * when the event's paused mark changes. The driver's own sections read the mark
 * at their beginning, and forbid pause and resume to touch the hardware.
 *
 * What user space can't do is stood in for by as many instructions or fewer, so
 * that the comparison errs in mainline's favour: the RCU read lock costs nothing,
 * as in a kernel that is not preemptible, cli and sti are a nop.
 */
#include "mainline_action.h"
#include "trace.h"

static struct buffer the_buffer = { .refcount = REFCOUNT_INIT(1) };
static bool aux_paused;		/* in the event's hw_perf_event */
static int forbidden;		/* in the driver's per-CPU state: its sections */

#ifdef WATCH_STORES
static unsigned long arrivals;
#define count_arrival()	WRITE_ONCE(arrivals, arrivals + 1)
#else
#define count_arrival()	do { } while (0)
#endif

/* Stands in for local_irq_save(): pushf, pop, cli. */
static inline unsigned long irq_save(void)
{
	unsigned long flags = 0;

#ifdef __x86_64__
	flags = __builtin_ia32_readeflags_u64();
	__asm__ __volatile__("nop" : : : "memory");
#endif
	return flags;
}

/* Stands in for local_irq_restore(): test, jump, sti. */
static inline void irq_restore(unsigned long flags)
{
	if (flags & 0x200)
		__asm__ __volatile__("nop" : : : "memory");
}

static void mark_and_call_driver(struct perf_event *event, bool pause)
{
	if (pause == READ_ONCE(aux_paused))
		return;

	WRITE_ONCE(aux_paused, pause);
	if (pause)
		event->pmu->stop(event, PERF_EF_PAUSE);
	else
		event->pmu->start(event, PERF_EF_RESUME);
}

void mainline_gate(struct perf_event *gate)
{
	struct perf_event *event = gate->aux_event;
	struct buffer *buffer;
	unsigned long flags;

	if (!event)
		return;

	buffer = buffer_get(event);
	if (!buffer)
		return;

	flags = irq_save();
	if (!READ_ONCE(buffer->in_pause_resume)) {
		WRITE_ONCE(buffer->in_pause_resume, 1);
		count_arrival();
		barrier();
		mark_and_call_driver(event, gate->attr.aux_pause);
		barrier();
		WRITE_ONCE(buffer->in_pause_resume, 0);
	}
	irq_restore(flags);

	buffer_put(buffer);
}

bool mainline_hold(struct perf_event *event)
{
	(void)event;
	WRITE_ONCE(forbidden, forbidden + 1);
	return READ_ONCE(aux_paused);
}

void mainline_release(struct perf_event *event)
{
	(void)event;
	WRITE_ONCE(forbidden, forbidden - 1);
}

void mainline_reset(struct perf_event *event, bool paused)
{
	aux_paused = paused;
	forbidden = 0;
	the_buffer = (struct buffer) { .refcount = REFCOUNT_INIT(1) };
	event->rb = &the_buffer;
}

#ifdef WATCH_STORES
static void mainline_reset_watched(struct perf_event *event, bool paused)
{
	mainline_reset(event, paused);
	arrivals = 0;
	watched_variable = NULL;
}

static bool mainline_may_touch(const struct perf_event *event)
{
	return !READ_ONCE(forbidden) &&
	       READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE;
}

static unsigned long mainline_arrivals(const struct perf_event *event)
{
	(void)event;
	return READ_ONCE(arrivals);
}

static bool mainline_busy(const struct perf_event *event)
{
	(void)event;
	return READ_ONCE(the_buffer.in_pause_resume) || READ_ONCE(forbidden);
}

const struct algorithm mainline_algorithm = {
	.name		= "mainline's algorithm",
	.reset		= mainline_reset_watched,
	.gate		= mainline_gate,
	.hold		= mainline_hold,
	.release	= mainline_release,
	.may_touch	= mainline_may_touch,
	.arrivals	= mainline_arrivals,
	.busy		= mainline_busy,
};
#endif
