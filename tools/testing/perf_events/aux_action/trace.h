/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace engines and their driver in user space: a CPU has an engine, an AUX area
 * event, and two gates, one that pauses and one that resumes. One task runs on the
 * CPUs in turn, and the events share its level. With the bookkeeping that tells what
 * the engine must do, independent of the code under test.
 */
#ifndef PERF_EVENTS_TRACE_H
#define PERF_EVENTS_TRACE_H

#include <linux/perf_event.h>

/* The code under test, and what mainline does in its place. */
struct algorithm {
	const char	*name;
	bool		moves;		/* the level is that of the task */
	void		(*reset)(struct perf_event *event, bool paused);
	void		(*gate)(struct perf_event *gate);
	bool		(*hold)(struct perf_event *event);
	void		(*release)(struct perf_event *event);
	/* May pause and resume touch the engine? Mainline's driver asks this. */
	bool		(*may_touch)(const struct perf_event *event);
	/* Grows when a request has taken its place in the order of requests. */
	unsigned long	(*arrivals)(const struct perf_event *event);
	/* Another context is busy: a gate that comes now is not acting itself. */
	bool		(*busy)(const struct perf_event *event);
	/* Is its own accounting right, with nobody busy? NULL if it has none. */
	const char	*(*audit)(const struct perf_event *event);
};

extern const struct algorithm kernel_algorithm;
extern const struct algorithm mainline_algorithm;

enum operation {
	GATE_PAUSE,
	GATE_RESUME,
	DRIVER_START,
	DRIVER_STOP,
	DRIVER_HANDLER,		/* tracing goes on after it */
	DRIVER_HANDLER_FULL,	/* no space: the event is stopped */
	DRIVER_HANDLER_IDLE,	/* finds nothing to do */
	MIGRATE,		/* the task continues on the other CPU */
	WAKE_PAUSE,		/* gates on a wakeup of the task, by a CPU of its own */
	WAKE_RESUME,
	OPERATIONS
};

extern const char *const operation_names[OPERATIONS];

/* One operation of one context, from trace_begin() to trace_end(). */
struct in_flight {
	struct in_flight	*outer;		/* of the interrupted context */
	int			outer_cpu;
	enum operation		op;
	bool			pending;	/* a request, not in the order yet */
	unsigned long		arrivals;	/* when this context last went on */
	unsigned long		stores;		/* of ->done, at the beginning */
	unsigned long		nested_stores;
	unsigned long		interrupts;
};

/* The task runs on one of the first two, and is woken by the last. */
enum { WAKER = 2, CPUS };

struct cpu {
	struct perf_event	event;
	struct perf_event	pause, resume;

	/* hardware and driver */
	bool			engine;
	bool			stopped;

	/* bookkeeping */
	int			callbacks;	/* pause and resume under way */
	int			sections;	/* held sections under way */
};

struct trace {
	const struct algorithm	*algorithm;
	struct pmu		pmu;
	struct cpu		cpus[CPUS];
	struct cpu		*on;		/* the one on which the task runs */

	/* bookkeeping */
	struct in_flight	*innermost;
	bool			wanted;		/* level of the last request */
	bool			left_over;	/* it is a waker's, and nobody looked since */
	unsigned long		requested;
	unsigned long		checks;
	unsigned long		failures;
	const char		*failure;	/* the first */

	/* what has been reached */
	unsigned long		deferred;	/* requests left to the interrupted */
	unsigned long		nested_sections;
	unsigned long		more_passes;	/* requests with a second pass */
	unsigned long		wakes;		/* by another CPU, while one is busy */
	unsigned long		moves;
	int			depth;
	int			max_depth;
};

extern struct trace trace;

static inline struct cpu *here(void)
{
	return READ_ONCE(trace.on);
}

void trace_reset(const struct algorithm *algorithm, bool paused, bool stopped);
void trace_begin(struct in_flight *self, enum operation op);
void trace_call(enum operation op);
void trace_end(struct in_flight *self);

#endif
