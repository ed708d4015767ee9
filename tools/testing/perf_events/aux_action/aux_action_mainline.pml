/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mainline's algorithm (since 6.13), restated. Expected: refuted, twice.
 *
 *  -DONLY_GATES: an action that comes while another is under way is dropped.
 *  -DTASK_ONLY_STARTS -DNMI_ONLY_GATES: ->start() reads the paused mark as clear,
 *   a pause sets the mark and leaves the hardware alone because it may not be
 *   touched yet, then ->start() switches the engine on.
 *
 * That spin finds both shows that the model can fail, on what it is made for.
 */

bool in_pause_resume;	/* per buffer */
bool aux_paused;	/* per event */
bool allowed = 1;	/* per driver: pause and resume may touch the hardware */

#define ALGORITHM_IDLE	(!in_pause_resume && allowed)
#define ALGORITHM_DONE	true
#define ALGORITHM_LEAVE		true
#define ALGORITHM_REMOTE(pause)	skip
#define ALGORITHM_ZERO		skip

inline mark_and_call_driver(pause)
{
	seen = aux_paused;
	if
	:: seen != pause ->
		aux_paused = pause;
		if
		:: allowed && pause -> driver_pause()
		:: allowed && !pause -> driver_resume()
		:: else
		fi
	:: else
	fi
}

inline gate(pause)
{
	atomic { seen = in_pause_resume; wanted = pause; requested++ }
	if
	:: seen
	:: else ->
		in_pause_resume = 1;
		mark_and_call_driver(pause);
		in_pause_resume = 0
	fi
}

inline hold()
{
	allowed = 0;
	paused = aux_paused
}

inline release()
{
	allowed = 1
}

#include "nesting.pml"
