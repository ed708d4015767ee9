/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_OCCURRENCE_H
#define __PERF_TRIGGER_OCCURRENCE_H 1

#include <linux/types.h>
#include <stdbool.h>

/*
 * In place of an event's number: a thread has ended; the kernel has lost records; a process
 * has begun another program, by exec
 */
#define TRIGGER_THREAD_ENDED	(~0U)
#define TRIGGER_LOST		(~0U - 1)
#define TRIGGER_EXEC		(~0U - 2)

/**
 * struct trigger_occurrence - Something that was recorded, for triggers of perf record -M
 * @event:	its number, see trigger_engine__event(), or one of the above
 * @pid, @tid:	the thread; a negative @tid: it has no number
 * @cpu:	-1 if it isn't known
 * @time:	in nanoseconds
 * @weight:	so often has it occurred: a sample's period
 * @elsewhere:	on a CPU that the user hasn't asked for: calls that begin there, and single
 *		events, fire nothing
 */
struct trigger_occurrence {
	unsigned int	event;
	int		pid;
	int		tid;
	int		cpu;
	u64		time;
	u64		weight;
	bool		elsewhere;
};

#endif /* __PERF_TRIGGER_OCCURRENCE_H */
