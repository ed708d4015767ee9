// SPDX-License-Identifier: GPL-2.0
/*
 * NMI at every instruction: each operation is run once for each of its
 * instructions, and an NMI that does another operation comes behind that one.
 * For pairs, a second NMI-like context comes at every instruction of the first.
 */
#include <linux/kernel.h>

#include "aux_action_test.h"
#include "../single_step.h"
#include "../tap.h"
#include "trace.h"

/* What a plan needs: contexts, from the task inwards. */
struct plan {
	enum operation	ops[3];
	unsigned long	when[3];	/* instruction behind which ops[i] comes */
	int		levels;
	bool		came;		/* the innermost did */
};

struct verdict {
	unsigned long	runs;
	unsigned long	bad;
	const char	*why;
	enum operation	ops[3];
	unsigned long	when[3];
};

static struct plan plan;
static int level;

static void call(void *arg)
{
	trace_call(*(enum operation *)arg);
}

static void run_level(void *arg)
{
	int mine = level++;
	enum operation op = plan.ops[mine];
	struct in_flight self;

	(void)arg;
	trace_begin(&self, op);
	if (level < plan.levels) {
		single_step(call, &op, plan.when[level], run_level, NULL);
	} else {
		plan.came = true;
		call(&op);
	}
	trace_end(&self);
	level = mine;
}

static void run_plan(const struct algorithm *algorithm, bool paused,
		     struct verdict *verdict)
{
	bool stopped = plan.ops[0] == DRIVER_START;

	trace_reset(algorithm, paused, stopped);
	level = 0;
	plan.came = false;
	run_level(NULL);
	if (!plan.came)
		return;

	verdict->runs++;
	if (!trace.failures)
		return;
	if (!verdict->bad++) {
		verdict->why = trace.failure;
		for (int i = 0; i < plan.levels; i++) {
			verdict->ops[i] = plan.ops[i];
			verdict->when[i] = plan.when[i];
		}
	}
}

/* Every instruction of the outer operation, up to the one that isn't there. */
static void every_instruction(const struct algorithm *algorithm, enum operation outer,
			      enum operation inner, bool paused,
			      struct verdict *verdict)
{
	plan = (struct plan) { .ops = { outer, inner }, .levels = 2 };
	do {
		plan.when[1]++;
		run_plan(algorithm, paused, verdict);
	} while (plan.came);
}

static void every_pair(const struct algorithm *algorithm, enum operation outer,
		       enum operation inner, enum operation innermost, bool paused,
		       struct verdict *verdict)
{
	bool more;

	plan = (struct plan) { .ops = { outer, inner, innermost }, .levels = 3 };
	do {
		plan.when[1]++;
		plan.when[2] = 0;
		do {
			plan.when[2]++;
			run_plan(algorithm, paused, verdict);
		} while (plan.came);
		more = plan.when[2] > 1;
	} while (more);
}

#define WAKES	2

static const enum operation nmi_operations[] = {
	GATE_PAUSE, GATE_RESUME, DRIVER_HANDLER, DRIVER_HANDLER_FULL,
	DRIVER_HANDLER_IDLE, WAKE_PAUSE, WAKE_RESUME,
};

static void complain(const struct verdict *verdict, int levels)
{
	printf("# %s: %s", verdict->why, operation_names[verdict->ops[0]]);
	for (int i = 1; i < levels; i++)
		printf(", at instruction %lu %s", verdict->when[i],
		       operation_names[verdict->ops[i]]);
	printf("\n");
}

static void test_singles(enum operation outer, size_t nr)
{
	struct verdict verdict = { 0 };

	for (size_t i = 0; i < nr; i++) {
		every_instruction(&kernel_algorithm, outer, nmi_operations[i], false,
				  &verdict);
		every_instruction(&kernel_algorithm, outer, nmi_operations[i], true,
				  &verdict);
	}

	if (verdict.bad)
		complain(&verdict, 2);
	tap_result(!verdict.bad && verdict.runs > 8 * 10,
		   "NMI at every instruction of %s (%lu interleavings)",
		   operation_names[outer], verdict.runs);
}

static void test_pair(enum operation outer, enum operation inner,
		      enum operation innermost, bool paused)
{
	struct verdict verdict = { 0 };

	every_pair(&kernel_algorithm, outer, inner, innermost, paused, &verdict);
	if (verdict.bad)
		complain(&verdict, 3);
	tap_result(!verdict.bad && verdict.runs > 100,
		   "%s at every instruction of %s at every instruction of %s (%lu interleavings)",
		   operation_names[innermost], operation_names[inner],
		   operation_names[outer], verdict.runs);
}

static void test_mainline(enum operation outer, bool paused, enum operation inner,
			  const char *how)
{
	struct verdict verdict = { 0 };

	every_instruction(&mainline_algorithm, outer, inner, paused, &verdict);
	tap_result(verdict.bad,
		   "mainline's algorithm loses gates %s (%lu of %lu interleavings)", how,
		   verdict.bad, verdict.runs);
}

struct change {
	struct perf_aux_level	*level;
	bool			paused, changed;
};

static void change(void *arg)
{
	struct change *change = arg;

	change->changed = perf_aux_level_change(change->level, change->paused);
}

/*
 * An NMI at each instruction of a change to paused asks for a change of its own. Whoever is
 * told that it has changed the level has done so: as many requests are counted.
 */
static void test_change(bool paused, const char *what)
{
	const unsigned long one = 1UL << PERF_AUX_REQUEST_SHIFT;
	unsigned long when, bad = 0;
	bool came = true;

	for (when = 1; came; when++) {
		struct perf_aux_level level = { 0 };
		struct change outer = { .level = &level, .paused = true };
		struct change inner = { .level = &level, .paused = paused };
		unsigned long expected;

		came = single_step(change, &outer, when, change, &inner);
		if (paused)
			bad += came && outer.changed == inner.changed;
		else
			bad += !outer.changed;
		expected = (outer.changed + inner.changed) * one;
		if (outer.changed + inner.changed == 1)
			expected |= PERF_AUX_PAUSED;
		bad += level.request != expected;
	}
	tap_result(!bad && when > 10, "%s at every instruction of a change to paused (%lu)", what,
		   when);
}

void step_tests(bool pairs)
{
	const char *unsupported = single_step_unsupported();
	/* Moves and wakeups take long: once, with the pairs. */
	size_t nr = ARRAY_SIZE(nmi_operations) - (pairs ? 0 : WAKES);

	if (unsupported) {
		tap_skip(unsupported, "NMI at every instruction");
		return;
	}

	for (enum operation outer = 0; outer < (pairs ? OPERATIONS : MIGRATE); outer++)
		test_singles(outer, nr);

	test_change(true, "the same change");
	test_change(false, "a change back");
	test_mainline(GATE_PAUSE, false, GATE_RESUME, "in a pause");
	test_mainline(GATE_RESUME, true, GATE_PAUSE, "in a resume");
	test_mainline(DRIVER_START, false, GATE_PAUSE, "in the driver's start");
	test_mainline(DRIVER_HANDLER, false, GATE_PAUSE, "in the driver's handler");

	if (!pairs)
		return;

	/* The model in spin has all of them; these are some in machine code. */
	test_pair(GATE_PAUSE, GATE_RESUME, GATE_PAUSE, false);
	test_pair(GATE_PAUSE, DRIVER_HANDLER, GATE_RESUME, false);
	test_pair(DRIVER_START, GATE_RESUME, GATE_PAUSE, true);
	test_pair(DRIVER_HANDLER, DRIVER_HANDLER, GATE_PAUSE, false);
	test_pair(GATE_PAUSE, WAKE_RESUME, GATE_PAUSE, false);
}
