/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/events/aux_action.c, access by access. Expected: no error, exhaustively.
 *
 * Claims, for every placement of the interrupts: when no context is busy, the
 * engine is as the last stored request and the driver want it, all requests are
 * counted, and all that were executed are. Pause and resume run neither in each
 * other nor in a held section. An interrupt adds at most one pass. A request that
 * another CPU leaves to this one is executed by the next operation at the latest.
 *
 * depth is that of the event on the CPU where the task is. The other variables are
 * the level, which the events of all CPUs share.
 *
 * Each MUTANT_ define breaks one line. Expected: refuted.
 */

#define UNKNOWN		2
#define level(word)	((word) & 1)
#define number(word)	((word) >> 1)

byte request, done, executed;
byte driver_state;
byte depth;

byte stores_of_done;	/* to check executed */

#define ALGORITHM_IDLE						\
	(depth == 0 && driver_state == level(done) &&			\
	 engine == (!level(done) && !stopped) &&			\
	 level(request) == wanted && number(request) == requested &&	\
	 executed == stores_of_done && executed <= requested)

#define ALGORITHM_DONE	(request == done)

#define ALGORITHM_LEAVE		(depth == 0)

#define ALGORITHM_ZERO							\
	request = level(request);					\
	done = request;							\
	executed = 0;							\
	stores_of_done = 0

/* Another CPU has stored a request since it was seen, or an interrupt. */
inline aux_level_request(pause)
{
#ifdef MUTANT_TWO_ACCESSES
	request_seen = request;
	atomic {
		request = (request_seen | 1) + 1 + pause;
		wanted = pause;
		requested++;
		request_seen = 0
	}
#else
	do
	:: request_seen = request;
	   atomic {
		if
		:: request == request_seen ->
			request = (request_seen | 1) + 1 + pause;
			wanted = pause;
			requested++;
			request_seen = 0;
			break
		:: else
		fi
	   }
	od
#endif
}

inline aux_action_call_driver()
{
	if
	:: level(request_seen) -> driver_pause()
	:: else -> driver_resume()
	fi
}

inline aux_action_pass()
{
	request_seen = request;
	if
	:: driver_state != level(request_seen) ->
#ifdef MUTANT_STATE_AFTER_CALL
		aux_action_call_driver();
		driver_state = level(request_seen)
#else
		driver_state = level(request_seen);
		aux_action_call_driver()
#endif
	:: else
	fi;

	if
	:: request_seen != done ->
		executed_seen = executed;
		atomic { executed = executed_seen + 1; executed_seen = 0 }
		atomic { done = request_seen; stores_of_done++ }
	:: else
	fi
}

/*
 * An NMI after depth = 0 that acts itself makes the first check fail as one before
 * it does. Leaves the answer in again.
 */
inline look_again()
{
	if
	:: request != request_seen -> again = 1
	:: else -> again = (driver_state == UNKNOWN)
	fi;
	request_seen = 0
}

inline aux_action_apply_pending()
{
	atomic { passes = 0; arrivals_seen = arrivals }
	do
	:: atomic { depth = 1; passes++; assert(passes <= 1 + arrivals - arrivals_seen) }
	   aux_action_pass();
#ifdef MUTANT_CHECK_BEFORE_CLEAR
	   look_again();
	   depth = 0;
#else
	   depth = 0;
	   look_again();
#endif
	   if
	   :: again -> again = 0
	   :: else -> break
	   fi
	od;
	atomic { passes = 0; arrivals_seen = 0 }
}

inline gate(pause)
{
	aux_level_request(pause);
	if
	:: depth == 0 && here -> aux_action_apply_pending()
	:: else
	fi
}

/* By another CPU: one instruction, as seen from here. */
#define ALGORITHM_REMOTE(pause)	request = (request | 1) + 1 + pause

inline hold()
{
#ifndef MUTANT_SECTION_NOT_HELD
	depth_seen = depth;
	atomic { depth = depth_seen + 1; depth_seen = 0 }
#endif
	paused = level(request);
#ifdef MUTANT_HOLD_TELLS
	driver_state = paused
#else
	if
	:: driver_state != paused -> driver_state = UNKNOWN
	:: else
	fi
#endif
}

inline release()
{
#ifdef MUTANT_SECTION_NOT_HELD
	skip
#else
	if
	:: depth > 1 ->
#ifndef MUTANT_STATE_KEPT
		driver_state = UNKNOWN;
#endif
		depth_seen = depth;
		atomic { depth = depth_seen - 1; depth_seen = 0 }
	:: else ->
		depth = 0;
#ifndef MUTANT_RELEASE_ONLY_CLEARS
		request_seen = request;
		if
		:: done != request_seen -> again = 1
		:: else -> again = (driver_state != level(request_seen))
		fi;
		request_seen = 0;
		if
		:: again -> again = 0; aux_action_apply_pending()
		:: else
		fi
#endif
	fi
#endif
}

#include "nesting.pml"
