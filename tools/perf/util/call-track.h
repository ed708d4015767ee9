/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_CALL_TRACK_H
#define __PERF_CALL_TRACK_H 1

/*
 * The calls of a thread, from the branches of its trace: which begin, and which end.
 *
 * thread-stack.h reports a call when it has returned. Here it is reported when it begins, so
 * nothing has to be kept but the calls that the thread is in, and what is cut by the end
 * of the trace is cut where that ends.
 *
 * What a branch means:
 *
 * - A call lasts from the call instruction to the return to what follows it. A system call,
 *   an interrupt and an exception are calls, too.
 * - A jump to another function is a call within that call, and ends with it at the latest: a
 *   tail call, or the cold part of a function. A jump back ends it. So does one that goes
 *   to a function which has jumped here before: functions that jump to each other in turn
 *   don't pile up.
 * - A return, or a jump, into the middle of a function that the thread is in ends all calls
 *   above that: longjmp() and C++ exceptions. A return to the start of another function is a
 *   jump, as trampolines do it.
 * - A return to a function that was not seen to call: it was there before the trace began,
 *   so it is reported as one that encloses all since then.
 * - Where a trace ends and begins again at the same place, as that of user mode at each
 *   system call, calls go on. If it begins at the start of a function, that is a signal's
 *   handler. Anywhere else, it is as after a jump; or all calls end where the trace did.
 * - A return to a function that is none of these: the thread has changed its stack. All
 *   calls end.
 *
 * Functions return 0, or a negative error: of no memory, or of ops.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* More calls in one another than this are taken for a trace that makes no sense: all end. */
#define CALL_TRACK_MAX_DEPTH	262144

/**
 * struct call_function - A function; two are the same if their addresses are
 * @hidden: not reported: it belongs to how others are called, such as a retpoline
 * @kernel: it is the kernel's
 */
struct call_function {
	bool	hidden;
	bool	kernel;
};

/**
 * struct call_branch - A branch
 * @from:	   its address, 0: it is the first after a part that wasn't traced
 * @to:		   0: what follows isn't traced
 * @flags:	   PERF_IP_FLAG_*
 * @insn_len:	   of the instruction at @from
 * @to_start:	   @to is where its function starts
 * @from_function: of @from, or NULL if that is 0; likewise @to_function
 */
struct call_branch {
	u64				time;
	u64				from;
	u64				to;
	u32				flags;
	u32				insn_len;
	bool				to_start;
	const struct call_function	*from_function;
	const struct call_function	*to_function;
};

struct call_track;
struct call_frame;

/**
 * struct call_track_ops - What is reported
 * @begin:  a call begins. 1: not its end, please, and continue
 * @end:    the innermost call ends
 * @around: one has begun before all that began at @time or since; as begin
 * @window: all calls have ended, which were those of the trace from @time to @end
 */
struct call_track_ops {
	int (*begin)(struct call_track *track, const struct call_function *function, u64 time);
	int (*end)(struct call_track *track, const struct call_function *function, u64 time);
	int (*around)(struct call_track *track, const struct call_function *function, u64 time);
	int (*window)(struct call_track *track, u64 time, u64 end);
};

/**
 * struct call_track - The calls that a thread is in
 * @open:	something has been traced since the last cut
 * @time:	of the last branch
 * @window:	when the part of the trace has begun; earlier if calls enclose it
 * @bottom:	when the outermost call has begun; likewise
 * @floor:	when the last call before that has ended
 * @ended:	when a call has ended last
 */
struct call_track {
	const struct call_track_ops	*ops;
	bool				open;
	u64				time;
	u64				window;
	u64				bottom;
	u64				floor;
	u64				ended;
	struct call_frame		*frames;
	size_t				nr;
	size_t				size;
};

void call_track__init(struct call_track *track, const struct call_track_ops *ops);
/* Reports nothing: see call_track__cut() */
void call_track__exit(struct call_track *track);

/* The trace has ended at @to, and calls go on if it begins there again */
bool call_track__goes_on(const struct call_track *track, u64 to);

int call_track__branch(struct call_track *track, const struct call_branch *branch);

/**
 * call_track__cut - The trace ends here: what comes next has nothing to do with it
 *
 * All calls end with the last branch.
 */
int call_track__cut(struct call_track *track);

#endif /* __PERF_CALL_TRACK_H */
