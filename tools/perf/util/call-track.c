// SPDX-License-Identifier: GPL-2.0
/* The calls of a thread, from its branches; see call-track.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "event.h"
#include "call-track.h"

#define FIRST_SIZE	64

/* Between two parts of a trace, in nanoseconds: what is around the second begins there */
#define MIN_GAP		2

/**
 * enum frame_kind - How a call has begun
 * @FRAME_CALL:	   by a call, so it is known where it returns
 * @FRAME_JUMP:	   by a jump: it returns where the call below it does
 * @FRAME_UNKNOWN: unseen
 * @FRAME_INSIDE:  a call into the middle of the same function, which is not reported
 * @FRAME_OUTSIDE: no function: what isn't traced, until the trace begins again
 */
enum frame_kind {
	FRAME_CALL,
	FRAME_JUMP,
	FRAME_UNKNOWN,
	FRAME_INSIDE,
	FRAME_OUTSIDE,
};

/**
 * struct call_frame - A call that the thread is in
 * @ret:      where it returns, 0: not known
 * @reported: its end has to be reported
 */
struct call_frame {
	const struct call_function	*function;
	u64				ret;
	enum frame_kind			kind;
	bool				reported;
};

void call_track__init(struct call_track *track, const struct call_track_ops *ops)
{
	memset(track, 0, sizeof(*track));
	track->ops = ops;
}

void call_track__exit(struct call_track *track)
{
	zfree(&track->frames);
	track->nr = 0;
	track->size = 0;
}

/* ---- the calls */

static struct call_frame *top(const struct call_track *track)
{
	return track->nr ? &track->frames[track->nr - 1] : NULL;
}

static int pop(struct call_track *track)
{
	struct call_frame *frame = &track->frames[--track->nr];

	track->ended = track->time;
	return frame->reported ? track->ops->end(track, frame->function, track->time) : 0;
}

/* Until @nr are left */
static int pop_to(struct call_track *track, size_t nr)
{
	int err = 0;

	while (!err && track->nr > nr)
		err = pop(track);
	return err;
}

static int grow(struct call_track *track)
{
	size_t size = track->size ? track->size * 2 : FIRST_SIZE;
	struct call_frame *frames = realloc(track->frames, size * sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	track->frames = frames;
	track->size = size;
	return 0;
}

static int make_room(struct call_track *track)
{
	int err = track->nr == CALL_TRACK_MAX_DEPTH ? pop_to(track, 0) : 0;

	if (!err && track->nr == track->size)
		err = grow(track);
	return err;
}

static bool is_reported(enum frame_kind kind, const struct call_function *function)
{
	return kind != FRAME_INSIDE && kind != FRAME_OUTSIDE && !function->hidden;
}

static void add(struct call_track *track, enum frame_kind kind,
		const struct call_function *function, u64 ret, bool reported)
{
	track->frames[track->nr++] = (struct call_frame) {
		.function	= function,
		.ret		= ret,
		.kind		= kind,
		.reported	= reported,
	};
}

static int push(struct call_track *track, enum frame_kind kind,
		const struct call_function *function, u64 ret)
{
	bool reported = is_reported(kind, function);
	int err = make_room(track);

	if (err)
		return err;
	if (!track->nr) {
		track->bottom = track->time;
		track->floor = track->ended;
	}
	if (reported)
		err = track->ops->begin(track, function, track->time);
	if (err >= 0)
		add(track, kind, function, ret, reported && !err);
	return min(err, 0);
}

/*
 * Below what has just ended, @function was there before. It begins a nanosecond earlier,
 * as not all readers of times know which of two calls of the same time is the outer one.
 */
static int push_around(struct call_track *track, const struct call_function *function)
{
	bool reported = !function->hidden;
	int err = make_room(track);

	if (err)
		return err;
	if (track->bottom > track->floor + MIN_GAP)
		track->bottom--;
	track->window = min(track->window, track->bottom);
	if (reported)
		err = track->ops->around(track, function, track->bottom);
	if (err >= 0)
		add(track, FRAME_UNKNOWN, function, 0, reported && !err);
	return min(err, 0);
}

/* The first call after others that have nothing to do with it */
static int push_first(struct call_track *track, const struct call_function *function)
{
	return push(track, FRAME_UNKNOWN, function, 0);
}

/* ---- searches, from the innermost call on; the number of calls up to and with it, 0: none */

static size_t find_ret(const struct call_track *track, u64 ret)
{
	size_t nr = track->nr;

	while (nr && track->frames[nr - 1].ret != ret)
		nr--;
	return nr;
}

static size_t find_function(const struct call_track *track, const struct call_function *function,
			    size_t nr)
{
	while (nr && track->frames[nr - 1].function != function)
		nr--;
	return nr;
}

/* The call that has jumped to the innermost one, directly or not */
static size_t find_caller(const struct call_track *track)
{
	size_t nr = track->nr;

	while (nr > 1 && track->frames[nr - 1].kind == FRAME_JUMP)
		nr--;
	return nr;
}

/* The function has jumped to the innermost one, directly or not */
static size_t find_jumped(const struct call_track *track, const struct call_function *function)
{
	size_t nr = find_function(track, function, track->nr);

	return nr >= find_caller(track) ? nr : 0;
}

/* ---- kernel and user mode */

static bool is_kernel(const struct call_frame *frame)
{
	return frame->function && frame->function->kernel;
}

/* So many calls are left when the kernel returns to user mode */
static size_t find_user(const struct call_track *track)
{
	size_t nr = track->nr;

	while (nr && is_kernel(&track->frames[nr - 1]))
		nr--;
	return nr;
}

/*
 * From the kernel to user mode, but not to where that called it or was interrupted: to a
 * signal's handler, or to what was there before the trace began. The handler returns to
 * where the kernel should have.
 */
static int return_elsewhere(struct call_track *track, const struct call_branch *branch)
{
	size_t nr = find_user(track);
	u64 ret = nr < track->nr ? track->frames[nr].ret : 0;
	int err = pop_to(track, nr);

	if (err)
		return err;
	if (branch->to_start)
		return push(track, FRAME_CALL, branch->to_function, ret);
	if (!nr)
		return push_around(track, branch->to_function);
	nr = find_function(track, branch->to_function, nr);
	return nr ? pop_to(track, nr) : push_first(track, branch->to_function);
}

/* ---- branches */

static int jump(struct call_track *track, const struct call_branch *branch)
{
	const struct call_function *function = branch->to_function;
	size_t nr;

	if (branch->from_function == function)
		return 0;
	nr = find_jumped(track, function);
	if (!nr && !branch->to_start)
		nr = find_function(track, function, track->nr);
	return nr ? pop_to(track, nr) : push(track, FRAME_JUMP, function, 0);
}

static int call(struct call_track *track, const struct call_branch *branch)
{
	bool inside = branch->from_function == branch->to_function && !branch->to_start;
	u64 ret = branch->from + branch->insn_len;

	/* It only asks for its address */
	if (ret == branch->to)
		return 0;
	return push(track, inside ? FRAME_INSIDE : FRAME_CALL, branch->to_function, ret);
}

/* From a function that was not seen to be called */
static int return_below(struct call_track *track, const struct call_branch *branch)
{
	int err = pop_to(track, find_caller(track) - 1);

	if (err)
		return err;
	if (!track->nr)
		return push_around(track, branch->to_function);
	if (top(track)->function == branch->to_function)
		return 0;
	return push_first(track, branch->to_function);
}

/* What a return needn't be: a jump, with the address that it takes from the stack */
static int return_as_jump(struct call_track *track, const struct call_branch *branch)
{
	int err = top(track)->kind == FRAME_INSIDE ? pop(track) : 0;

	return err ?: jump(track, branch);
}

/* To a function that the thread is in, but not to where that has called */
static int unwind(struct call_track *track, const struct call_branch *branch)
{
	size_t nr = find_function(track, branch->to_function, track->nr - 1);
	int err;

	if (nr)
		return pop_to(track, nr);
	/* A jump within it, by an address on the stack */
	if (top(track)->function == branch->to_function)
		return 0;
	err = pop_to(track, 0);
	return err ?: push_first(track, branch->to_function);
}

static int return_unknown(struct call_track *track, const struct call_branch *branch)
{
	size_t caller = find_caller(track);
	bool unknown = track->frames[caller - 1].kind == FRAME_UNKNOWN;

	if (branch->from_function->kernel && !branch->to_function->kernel)
		return return_elsewhere(track, branch);
	/* A handler, which has something below it, returns to the start of a function */
	if (unknown && (!branch->to_start || caller > 1))
		return return_below(track, branch);
	if (branch->to_start)
		return return_as_jump(track, branch);
	return unwind(track, branch);
}

static int returns(struct call_track *track, const struct call_branch *branch)
{
	size_t nr = find_ret(track, branch->to);

	return nr ? pop_to(track, nr - 1) : return_unknown(track, branch);
}

/* ---- where the trace ends and begins */

static int leave(struct call_track *track, const struct call_branch *branch)
{
	u32 to_user = PERF_IP_FLAG_SYSCALLRET | PERF_IP_FLAG_INTERRUPT;
	u64 ret = branch->from;

	if (branch->flags & PERF_IP_FLAG_CALL)
		return push(track, FRAME_OUTSIDE, NULL, ret + branch->insn_len);
	if (!(branch->flags & PERF_IP_FLAG_RETURN))
		return push(track, FRAME_OUTSIDE, NULL, ret);
	return pop_to(track, branch->flags & to_user ? find_user(track) : find_caller(track) - 1);
}

/* Calls end where the trace has ended, unless the function that goes on is one of them */
static int begin_elsewhere(struct call_track *track, const struct call_branch *branch, u64 time)
{
	size_t nr = find_function(track, branch->to_function, track->nr);
	int err = nr ? 0 : pop_to(track, 0);

	track->time = time;
	return err ?: pop_to(track, nr);
}

/* What ends when the trace begins again */
static int begin(struct call_track *track, const struct call_branch *branch, u64 time)
{
	size_t nr = find_ret(track, branch->to);
	bool outside = track->nr && top(track)->kind == FRAME_OUTSIDE;

	if (!nr && !(outside && branch->to_start))
		return begin_elsewhere(track, branch, time);
	track->time = time;
	return nr ? pop_to(track, nr - 1) : 0;
}

/* Above what isn't traced, it is a signal's handler */
static int begin_part(struct call_track *track, const struct call_branch *branch, u64 time)
{
	int err = begin(track, branch, time);

	if (err)
		return err;
	if (!track->open) {
		track->open = true;
		track->window = time;
	}
	if (!track->nr || top(track)->kind == FRAME_OUTSIDE)
		err = push_first(track, branch->to_function);
	return err;
}

bool call_track__goes_on(const struct call_track *track, u64 to)
{
	const struct call_frame *frame = top(track);

	return frame && frame->kind == FRAME_OUTSIDE && frame->ret == to;
}

/* A branch from a place that is traced: what is not there has ended unseen */
static int catch_up(struct call_track *track, const struct call_branch *branch)
{
	int err = 0;

	if (!track->open) {
		track->open = true;
		track->window = track->time;
	}
	if (track->nr && top(track)->kind == FRAME_OUTSIDE)
		err = pop(track);
	if (!err && !branch->from_function->kernel)
		err = pop_to(track, find_user(track));
	if (!err && !track->nr)
		err = push_first(track, branch->from_function);
	return err;
}

static int inner_branch(struct call_track *track, const struct call_branch *branch)
{
	int err = catch_up(track, branch);

	if (err)
		return err;
	if (!branch->to)
		return leave(track, branch);
	if (branch->flags & PERF_IP_FLAG_CALL)
		return call(track, branch);
	if (branch->flags & PERF_IP_FLAG_RETURN)
		return returns(track, branch);
	return jump(track, branch);
}

int call_track__branch(struct call_track *track, const struct call_branch *branch)
{
	u64 time = max(branch->time, track->time);

	if (!track->open && track->ended)
		time = max(time, track->ended + MIN_GAP);
	if (!branch->from)
		return branch->to ? begin_part(track, branch, time) : 0;
	track->time = time;
	return inner_branch(track, branch);
}

int call_track__cut(struct call_track *track)
{
	int err = pop_to(track, 0);

	if (!err && track->open && track->ops->window)
		err = track->ops->window(track, track->window, track->time);
	track->open = false;
	return err;
}
