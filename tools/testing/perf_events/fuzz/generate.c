// SPDX-License-Identifier: GPL-2.0
/*
 * Random programs. Most calls with random arguments fail at the first check. So the
 * attributes of an event are valid ones, of which one or two are then changed. Scenes are
 * typical uses of the features under test: gates with their AUX area event, a buffer with
 * many writers, AUX samples.
 */
#include <string.h>
#include <linux/hw_breakpoint.h>

#include "attr.h"
#include "generate.h"
#include "pmus.h"

/* Without those that need other fields of the attributes. */
#define PLAIN_SAMPLES	(0x1ffffull & ~(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | \
					PERF_SAMPLE_STACK_USER))

static struct call *add_call(struct program *program, enum op op)
{
	static struct call no_room;
	struct call *call = &no_room;

	if (program->nr < MAX_CALLS)
		call = &program->call[program->nr++];
	*call = (struct call){ .op = op };

	return call;
}

static void random_arg(struct random *random, const struct arg_spec *spec, uint64_t *value)
{
	switch (spec->kind) {
	case KIND_BELOW:
		*value = random_below(random, spec->values[0]);
		break;
	case KIND_CHOICE:
		*value = spec->values[random_below(random, spec->nr_values)];
		break;
	case KIND_MASK:
		if (one_in(random, 8))
			*value = random_bits(random, spec->values[0], 4);
		else
			*value ^= random_bits(random, spec->values[0], 16);
		break;
	case KIND_PMU:
	case KIND_NUMBER:
		break;
	}
}

static void random_config(struct random *random, struct call *open)
{
	uint64_t config[3];

	pmus_config(random, open->arg[OPEN_PMU], config);
	memcpy(&open->arg[OPEN_CONFIG], config, sizeof(config));
	if (pmus[open->arg[OPEN_PMU]].type == PERF_TYPE_BREAKPOINT)
		open->arg[OPEN_BP_TYPE] = open->arg[OPEN_CONFIG1] == (uintptr_t)watched_function ?
					  HW_BREAKPOINT_X : 2 + random_below(random, 2);
}

static const struct call *find_open(const struct program *program, uint64_t slot)
{
	unsigned int i;

	for (i = program->nr; i-- > 0;) {
		const struct call *call = &program->call[i];

		if (call->op == OP_OPEN && call->arg[OPEN_SLOT] == slot)
			return call;
	}

	return NULL;
}

static uint64_t some_pmu(struct random *random, bool aux, unsigned int uid)
{
	unsigned int pmu, tries;

	for (tries = 0; tries < 20; tries++) {
		pmu = random_below(random, nr_pmus);
		if (pmus[pmu].has_aux == aux && !pmus[pmu].avoid && !(uid && pmus[pmu].for_root))
			break;
	}

	return pmu;
}

/* Open an event in slot @slot; most of these calls succeed. */
static struct call *add_open(struct random *random, struct program *program, bool aux,
			     uint64_t slot, uint64_t group)
{
	const struct call *leader = find_open(program, group);
	struct call *open = add_call(program, OP_OPEN);
	uint64_t *arg = open->arg;

	arg[OPEN_SLOT] = slot;
	arg[OPEN_PMU] = some_pmu(random, aux, program->uid);
	random_config(random, open);
	if (!pmus[arg[OPEN_PMU]].counts_only)
		random_arg(random, &op_specs[OP_OPEN].args[OPEN_PERIOD], &arg[OPEN_PERIOD]);
	if (!one_in(random, 4))
		arg[OPEN_SAMPLE_TYPE] = random_bits(random, PLAIN_SAMPLES, 3);
	if (one_in(random, 3))
		arg[OPEN_READ_FORMAT] = random_bits(random, 0x1f, 2);
	if (!pmus[arg[OPEN_PMU]].counts_only && (program->uid || one_in(random, 3)))
		arg[OPEN_FLAGS] = ATTR_EXCLUDE_KERNEL;
	if (one_in(random, 2))
		arg[OPEN_FLAGS] |= random_bits(random, ATTR_SIDE_BAND, 3);
	arg[OPEN_WAKEUP] = random_below(random, 3);
	arg[OPEN_CPU] = -1;
	arg[OPEN_GROUP] = group;
	if (leader) {
		arg[OPEN_PID] = leader->arg[OPEN_PID];
		arg[OPEN_CPU] = leader->arg[OPEN_CPU];
		arg[OPEN_FLAGS] |= leader->arg[OPEN_FLAGS] & ATTR_INHERIT;
	} else {
		arg[OPEN_FLAGS] |= random_bits(random, ATTR_INHERIT | ATTR_DISABLED, 3);
		if (one_in(random, 3))
			arg[OPEN_CPU] = random_below(random, 2);
		if (arg[OPEN_CPU] != (uint64_t)-1 && one_in(random, 2))
			arg[OPEN_PID] = PID_ALL;
	}
	/* The kernel refuses PERF_FORMAT_GROUP with inherit */
	if (arg[OPEN_FLAGS] & ATTR_INHERIT) {
		arg[OPEN_READ_FORMAT] &= ~PERF_FORMAT_GROUP;
		arg[OPEN_SAMPLE_TYPE] &= ~PERF_SAMPLE_READ;
	}

	return open;
}

static void add_mmap(struct random *random, struct program *program, uint64_t slot,
		     uint64_t map)
{
	struct call *call = add_call(program, OP_MMAP);

	call->arg[0] = slot;
	call->arg[1] = map;
	call->arg[2] = 1 << random_below(random, 5);
	call->arg[3] = one_in(random, 6) ? 1 : 3;
}

static void add_mmap_aux(struct random *random, struct program *program, uint64_t slot,
			 uint64_t map, uint64_t control)
{
	struct call *call = add_call(program, OP_MMAP_AUX);

	call->arg[0] = slot;
	call->arg[1] = map;
	call->arg[2] = control;
	call->arg[3] = 1 << random_below(random, 7);
	call->arg[4] = one_in(random, 3) ? 1 : 3;
}

/* The same AUX area event on the other CPU: both have one level, or one set of threads. */
static void add_other_cpu(struct program *program, struct call *open, uint64_t slot)
{
	struct call *other = add_call(program, OP_OPEN);
	uint64_t how = HOW_AUX_LEVEL;

	if (open->arg[OPEN_CPU] == (uint64_t)-1)
		open->arg[OPEN_CPU] = 0;
	if (open->arg[OPEN_PID] == PID_ALL) {
		how = HOW_AUX_THREADS;
		open->arg[OPEN_AUX_ACTION] = AUX_START_PAUSED;
		open->arg[OPEN_HOW] = how;
	}
	memcpy(other->arg, open->arg, sizeof(other->arg));
	other->arg[OPEN_SLOT] = slot;
	other->arg[OPEN_CPU] = !open->arg[OPEN_CPU];
	other->arg[OPEN_GROUP] = open->arg[OPEN_SLOT];
	other->arg[OPEN_HOW] = how;
}

/* An AUX area event and gates, or events that sample its AUX area. */
static void scene_gates(struct random *random, struct program *program)
{
	uint64_t leader = random_below(random, SLOTS);
	unsigned int gates = 1 + random_below(random, 3), i;
	bool sampled = one_in(random, 4);
	struct call *open;

	open = add_open(random, program, true, leader, NO_SLOT);
	if (!one_in(random, 3))
		open->arg[OPEN_AUX_ACTION] = AUX_START_PAUSED;
	if (one_in(random, 3))
		open->arg[OPEN_FLAGS] |= ATTR_DISABLED;
	if (one_in(random, 3))
		add_other_cpu(program, open, (leader + SLOTS / 2) % SLOTS);
	if (one_in(random, 4))
		add_mmap(random, program, leader, leader);
	for (i = 1; i <= gates; i++) {
		open = add_open(random, program, false, (leader + i) % SLOTS, leader);
		if (!open->arg[OPEN_PERIOD])
			open->arg[OPEN_PERIOD] = 1;
		if (sampled)
			open->arg[OPEN_AUX_SAMPLE_SIZE] = 8 << random_below(random, 8);
		else
			open->arg[OPEN_AUX_ACTION] = i & 1 ? AUX_RESUME : AUX_PAUSE;
		if (sampled)
			open->arg[OPEN_SAMPLE_TYPE] |= PERF_SAMPLE_AUX;
	}
	add_mmap(random, program, leader, leader);
	add_mmap_aux(random, program, leader, (leader + 1) % SLOTS, leader);
	for (i = 1; i <= gates; i++) {
		open = add_call(program, OP_IOCTL);
		open->arg[0] = (leader + i) % SLOTS;
		open->arg[1] = REQ_SET_OUTPUT;
		open->arg[2] = leader;
	}
	open = add_call(program, OP_IOCTL);
	open->arg[0] = leader;
	open->arg[1] = REQ_ENABLE;
	open->arg[2] = random_below(random, 2);
	if (one_in(random, 3)) {
		open = add_call(program, OP_IOCTL);
		open->arg[0] = leader;
		open->arg[1] = REQ_KEEP_AUX;
		open->arg[2] = random_below(random, 4);
	}
	if (one_in(random, 3)) {
		open = add_call(program, OP_IOCTL);
		open->arg[0] = leader;
		open->arg[1] = REQ_PAUSE_AUX;
		open->arg[2] = 1;
	}
}

/* A buffer that events of all CPUs and tasks write to. */
static void scene_shared(struct random *random, struct program *program)
{
	uint64_t target = random_below(random, SLOTS);
	unsigned int events = 1 + random_below(random, 3), i;
	struct call *call;

	call = add_open(random, program, false, target, NO_SLOT);
	call->arg[OPEN_FLAGS] |= ATTR_OUTPUT_SHARED;
	if (!one_in(random, 4)) {
		call->arg[OPEN_FLAGS] |= ATTR_INHERIT;
		call->arg[OPEN_CPU] = -1;
		call->arg[OPEN_PID] = PID_SELF;
	}
	add_mmap(random, program, target, target);
	for (i = 1; i <= events; i++) {
		uint64_t slot = (target + i) % SLOTS;

		call = add_open(random, program, false, slot, NO_SLOT);
		call->arg[OPEN_CPU] = one_in(random, 2) ? (uint64_t)-1 : i % 2;
		call->arg[OPEN_PID] = PID_SELF;
		if (one_in(random, 2))
			call->arg[OPEN_FLAGS] |= ATTR_OUTPUT_SHARED;
		call = add_call(program, OP_IOCTL);
		call->arg[0] = slot;
		call->arg[1] = REQ_SET_OUTPUT;
		call->arg[2] = target;
	}
	call = add_call(program, one_in(random, 2) ? OP_FORK : OP_THREAD);
	call->arg[0] = 1 + random_below(random, 6);
}

/* A breakpoint, or another event, that sends signals. */
static void scene_signals(struct random *random, struct program *program)
{
	uint64_t slot = random_below(random, SLOTS);
	int breakpoint = pmus_find("breakpoint");
	struct call *call;

	call = add_open(random, program, false, slot, NO_SLOT);
	if (!pmus[breakpoint].avoid && one_in(random, 2)) {
		call->arg[OPEN_PMU] = breakpoint;
		random_config(random, call);
		call->arg[OPEN_PERIOD] = 1;
	}
	call->arg[OPEN_CPU] = -1;
	call->arg[OPEN_PID] = PID_SELF;
	if (one_in(random, 2))
		call->arg[OPEN_FLAGS] |= ATTR_SIGTRAP | ATTR_REMOVE_ON_EXEC |
					    ATTR_EXCLUDE_KERNEL;
	if (one_in(random, 2)) {
		add_mmap(random, program, slot, slot);
		call = add_call(program, OP_SIGNAL);
		call->arg[0] = slot;
		call->arg[1] = random_below(random, 2);
	}
	call = add_call(program, OP_WORK);
	call->arg[0] = WORK_WRITES;
	call->arg[1] = 8;
}

static void change_arg(struct random *random, struct call *call)
{
	const struct op_spec *spec = &op_specs[call->op];
	unsigned int i;

	if (!spec->nr_args)
		return;
	i = random_below(random, spec->nr_args);
	if (call->op == OP_OPEN && (i == OPEN_PMU || i == OPEN_CONFIG)) {
		call->arg[OPEN_PMU] = some_pmu(random, one_in(random, 3), 0);
		random_config(random, call);
	} else {
		random_arg(random, &spec->args[i], &call->arg[i]);
	}
}

/* Argument @at of some call @op or @or_op of the program; a random slot if there is none. */
static uint64_t used(struct random *random, const struct program *program, enum op op,
		     enum op or_op, unsigned int at)
{
	unsigned int tries;
	const struct call *call;

	for (tries = 0; program->nr && tries < 10; tries++) {
		call = &program->call[random_below(random, program->nr)];
		if (call->op == op || call->op == or_op)
			return call->arg[at];
	}

	return random_below(random, SLOTS);
}

static enum op random_op(struct random *random)
{
	unsigned int total = 0, op, weight;

	for (op = 0; op < NR_OPS; op++)
		total += op_specs[op].weight;
	weight = random_below(random, total);
	for (op = 0; weight >= op_specs[op].weight; op++)
		weight -= op_specs[op].weight;

	return op;
}

/* Of a tracepoint: a task may filter what it may open. */
static void add_filter(struct random *random, struct program *program, uint64_t slot)
{
	struct call *call = add_call(program, OP_IOCTL);

	call->arg[0] = slot;
	call->arg[1] = REQ_SET_FILTER;
	call->arg[2] = random_below(random, 4);
}

static void add_random(struct random *random, struct program *program)
{
	enum op op = random_op(random);
	const struct op_spec *spec = &op_specs[op];
	uint64_t group = NO_SLOT, slot;
	struct call *call;
	unsigned int i;

	slot = used(random, program, OP_OPEN, OP_OPEN, OPEN_SLOT);
	if (op == OP_OPEN) {
		if (one_in(random, 2))
			group = slot;
		call = add_open(random, program, one_in(random, 3),
				random_below(random, SLOTS), group);
		while (one_in(random, 2))
			change_arg(random, call);
		if (pmus[call->arg[OPEN_PMU]].type == PERF_TYPE_TRACEPOINT && one_in(random, 2))
			add_filter(random, program, call->arg[OPEN_SLOT]);
		return;
	}

	call = add_call(program, op);
	for (i = 0; i < spec->nr_args; i++)
		random_arg(random, &spec->args[i], &call->arg[i]);
	if (spec->nr_args && !strcmp(spec->args[0].name, "slot"))
		call->arg[0] = slot;
	else if (spec->nr_args && !strcmp(spec->args[0].name, "map"))
		call->arg[0] = used(random, program, OP_MMAP, OP_MMAP_AUX, 1);
	if (op == OP_IOCTL && call->arg[1] == REQ_SET_OUTPUT && !one_in(random, 4))
		call->arg[2] = used(random, program, OP_OPEN, OP_MMAP, 0);
	if (op == OP_MMAP && one_in(random, 2))
		call->arg[1] = slot;
	if (op == OP_MMAP_AUX && !one_in(random, 4))
		call->arg[2] = slot;
}

void program_generate(struct random *random, struct program *program)
{
	unsigned int calls = 4 + random_below(random, 24);

	program->nr = 0;
	switch (random_below(random, 6)) {
	case 0:
	case 1:
		scene_gates(random, program);
		break;
	case 2:
		scene_shared(random, program);
		break;
	case 3:
		scene_signals(random, program);
		break;
	}
	if (one_in(random, 8))
		scene_gates(random, program);
	while (calls--)
		add_random(random, program);
}

static void insert_call(struct program *program, unsigned int at, const struct call *call)
{
	if (program->nr == MAX_CALLS)
		return;
	memmove(&program->call[at + 1], &program->call[at],
		(program->nr - at) * sizeof(*call));
	program->call[at] = *call;
	program->nr++;
}

static void remove_call(struct program *program, unsigned int at)
{
	program->nr--;
	memmove(&program->call[at], &program->call[at + 1],
		(program->nr - at) * sizeof(program->call[0]));
}

static void mutate_once(struct random *random, struct program *program,
			const struct program *other)
{
	unsigned int at = random_below(random, program->nr), from, i;
	struct call call;

	switch (random_below(random, 8)) {
	case 0:
		if (program->nr > 1)
			remove_call(program, at);
		break;
	case 1:
		call = program->call[at];
		insert_call(program, random_below(random, program->nr + 1), &call);
		break;
	case 2:
		from = random_below(random, other->nr);
		for (i = from; i < other->nr && i < from + 8; i++)
			insert_call(program, at + i - from, &other->call[i]);
		break;
	case 3:
	case 4:
		if (program->nr < MAX_CALLS) {
			add_random(random, program);
			call = program->call[--program->nr];
			insert_call(program, random_below(random, program->nr + 1), &call);
		}
		break;
	default:
		change_arg(random, &program->call[at]);
		break;
	}
}

void program_mutate(struct random *random, struct program *program,
		    const struct program *other)
{
	do
		mutate_once(random, program, other);
	while (!one_in(random, 3));
}
