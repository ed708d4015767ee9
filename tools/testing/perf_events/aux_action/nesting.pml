/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contexts of one CPU, as processes: 0 is a task with interrupts off, 1 an
 * NMI, 2 an exception in either. A context that interrupts runs to its end
 * before the interrupted one takes its next step. Each of them runs operations
 * on one trace: gates, and sections of the driver.
 *
 * With WAKES, the task also moves: its event is taken off one CPU and another event
 * put on another one, where nothing is left of the contexts of the first. So the
 * processes are then the contexts of that CPU. And a process on its own is another
 * CPU, which makes up to WAKES requests, each at any time: gates on wakeups.
 *
 * A step is one access to memory that another context sees, together with what
 * follows from it in the context's own variables. So an interrupt can come between
 * any two accesses, and every such placement is explored.
 *
 * The run never ends: each time when no context is busy, the state is checked,
 * the counters go back to zero, and the interrupts are there again. So what is
 * explored is any number of operations in any order, each of them hit by up to
 * NMIS and EXCEPTIONS interrupts. No algorithm here looks at the value of a
 * counter, only at differences: zero stands for any value.
 *
 * Included by a model of an algorithm. That defines gate(), hold() and release(),
 * ALGORITHM_IDLE: what its own state must be when no context is busy,
 * ALGORITHM_DONE: ditto when no request was left by another CPU,
 * ALGORITHM_LEAVE: what must not be left when the task leaves a CPU,
 * ALGORITHM_REMOTE(): a request by another CPU, and
 * ALGORITHM_ZERO: how its counters go back to zero.
 */

#ifndef NMIS
#define NMIS		3
#endif
#ifndef EXCEPTIONS
#define EXCEPTIONS	2
#endif

#define TASK		0
#define NMI		1
#define EXCEPTION	2

/* The hardware, and what the driver knows of it. */
bool engine = 1;
bool stopped = 0;
bool here = 1;		/* the event is on the hardware */

/* The innermost context: only that one takes steps. */
byte top = TASK;

/* What the checks need to know, and the algorithm doesn't see. */
bool wanted = 0;	/* level of the request that was stored last, 1 is paused */
byte requested;
byte busy;		/* contexts inside an operation */
byte arrivals;		/* interrupts since then */
byte nmis = NMIS, exceptions = EXCEPTIONS;	/* that may still come */
#ifdef WAKES
byte wakes = WAKES;
#endif
bool left;		/* another CPU's request, which nobody has looked at since */
byte callbacks;		/* the driver's pause and resume under way */
byte sections;		/* the driver's held sections under way */

/* ->stop(PERF_EF_PAUSE) */
inline driver_pause()
{
	atomic { assert(!callbacks && !sections); callbacks++ }
	atomic { engine = 0; callbacks-- }
}

/*
 * ->start(PERF_EF_RESUME). An event that is stopped has its engine switched off
 * again, because a handler that stopped it may have come between the two steps:
 * the engine is then on already when the driver is called for the second time.
 */
inline driver_resume()
{
	atomic { assert(!callbacks && !sections); callbacks++ }
	seen = stopped;
#ifdef MUTANT_RESUME_ONLY_RETURNS
	atomic { engine = (seen -> engine : 1); callbacks-- }
#else
	atomic { engine = !seen; callbacks-- }
#endif
}

/* ->start(), ->stop(), and the interrupt handler in which tracing goes on or ends */
inline driver_start()
{
	hold();
	atomic { stopped = 0; sections++ }
	atomic { engine = !paused; sections-- }
	release()
}

inline driver_stop()
{
	hold();
	atomic { stopped = 1; sections++ }
	atomic { engine = 0; sections-- }
	release()
}

inline driver_handler()
{
	hold();
	atomic { engine = 0; sections++ }
	seen = stopped;
	atomic { engine = !(seen || paused); sections-- }
	release()
}

/* A handler that finds nothing to do: it leaves the engine as it is. */
inline driver_look()
{
	hold();
	sections++;
	sections--;
	release()
}

/* The event of the CPU that the task leaves, then that of the one where it goes on */
inline migrate()
{
	driver_stop();
	here = 0;
	atomic { assert(stopped && !engine && ALGORITHM_LEAVE); here = 1 }
	driver_start()
}

inline end_of_operation()
{
	if
	:: busy == 0 ->
		assert(!callbacks && !sections);
		assert(ALGORITHM_IDLE);
		if
		:: left
		:: else ->
			assert(engine == (!wanted && !stopped));
			assert(ALGORITHM_DONE);
			ALGORITHM_ZERO;
			requested = 0;
			arrivals = 0;
			nmis = NMIS;
			exceptions = EXCEPTIONS;
#ifdef WAKES
			wakes = WAKES
#endif
		fi
	:: else
	fi
}

/* The operations of a context; defines restrict them to single out a fault. */
inline operation()
{
	if
	:: gate(0)
	:: gate(1)
#ifndef ONLY_GATES
	:: _pid != EXCEPTION -> driver_handler()
	:: _pid != EXCEPTION -> driver_stop()
	:: _pid != EXCEPTION -> driver_look()
	:: _pid == TASK -> driver_start()
#ifdef WAKES
	:: _pid == TASK -> migrate()
#endif
#endif
	fi
}

inline task_operation()
{
#ifdef TASK_ONLY_STARTS
	driver_start()
#else
	operation()
#endif
}

inline nmi_operation()
{
#ifdef NMI_ONLY_GATES
	if
	:: gate(0)
	:: gate(1)
	fi
#else
	operation()
#endif
}

/*
 * The guard stops a context while one above it runs. When it is idle itself, its
 * first step is the interrupt, which the guard allows when it is above the top.
 */
active [3] proctype context() provided (top <= _pid)
{
	byte interrupted;	/* top when this context came */
	byte request_seen, executed_seen, depth_seen;
	byte passes, arrivals_seen;
	bool paused, seen, again;

	do
	:: atomic {
		if
		:: _pid == TASK
		:: _pid == NMI && nmis > 0 -> nmis--; arrivals++
		:: _pid == EXCEPTION && exceptions > 0 -> exceptions--; arrivals++
		fi;
		interrupted = top;
		top = _pid;
		left = left && busy;
		busy++
	   }

	   if
	   :: _pid == TASK -> task_operation()
	   :: else -> nmi_operation()
	   fi;

	   atomic {
		busy--;
		end_of_operation();
		top = interrupted;
		interrupted = 0;
		paused = 0;
		seen = 0
	   }
	od
}

#ifdef WAKES
inline wake(pause)
{
	atomic {
		wakes > 0 -> wakes--;
		ALGORITHM_REMOTE(pause);
		wanted = pause;
		requested++;
		arrivals++;
		left = 1
	}
}

active proctype waker()
{
end:	do
	:: wake(0)
	:: wake(1)
	od
}
#endif
