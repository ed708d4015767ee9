// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs are coroutines: makecontext() starts them, and _setjmp() and _longjmp() switch,
 * without a system call. The one with the earliest time runs.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "machine.h"

#define STACK_SIZE	(128 << 10)

struct cpu {
	unsigned int	id;
	unsigned int	level;
	uint64_t	time;
	uint64_t	drained;	/* when all its stores are done */
	uint64_t	order;		/* among those of the same time */
	uint64_t	random;
	void		(*run)(unsigned int cpu);
	bool		started;
	struct cpu	*next;		/* that waits for the same line */
	jmp_buf		context;
	ucontext_t	start;
	void		*stack;
};

/* A line on its way, and who waits for it. The first one knows when it will be there. */
struct transit {
	uint64_t	until;
	struct cpu	*first, *last;
};

static struct machine_options options;
static struct mesi *mesi;
static struct cpu *cpus, *current;
static struct cpu **heap;
static unsigned int waiting;
static uint64_t order;
static struct transit *transits;
static unsigned char *arena;
static size_t used;
static bool is_reader;
static struct machine_counts counts[2];
static jmp_buf scheduler;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static uint64_t next_random(struct cpu *cpu)
{
	cpu->random ^= cpu->random << 13;
	cpu->random ^= cpu->random >> 7;
	cpu->random ^= cpu->random << 17;
	return cpu->random;
}

void machine_create(const struct machine_options *from)
{
	options = *from;
	arena = map(options.arena);
	used = 0;
	mesi = mesi_new(options.cpus + 1, options.arena / LINE_SIZE);
	transits = calloc(options.arena / LINE_SIZE, sizeof(*transits));
	cpus = calloc(options.cpus + 1, sizeof(*cpus));
	heap = calloc(options.cpus + 1, sizeof(struct cpu *));
	if (!mesi || !transits || !cpus || !heap)
		abort();

	waiting = 0;
	order = 0;
	for (unsigned int i = 0; i <= options.cpus; i++) {
		cpus[i].id = i;
		cpus[i].random = (options.seed + 1) * 0x9e3779b97f4a7c15ull + (i + 1) * 0x243f6a8885a308d3ull;
		for (int j = 0; j < 8; j++)
			next_random(&cpus[i]);
	}
	machine_clear_counts();
}

void machine_destroy(void)
{
	for (unsigned int i = 0; i < options.cpus; i++) {
		if (cpus[i].stack)
			munmap(cpus[i].stack, STACK_SIZE);
	}
	munmap(arena, options.arena);
	arena = NULL;
	mesi_free(mesi);
	free(transits);
	free(cpus);
	free(heap);
}

void *machine_alloc(size_t align, size_t bytes)
{
	void *p;

	/* Nothing shares a line by accident. */
	if (align < LINE_SIZE)
		align = LINE_SIZE;
	used = (used + align - 1) & -align;
	p = arena + used;
	used += (bytes + LINE_SIZE - 1) & -(size_t)LINE_SIZE;
	if (used > options.arena) {
		fprintf(stderr, "the arena of %zu bytes is too small\n", options.arena);
		abort();
	}
	return p;
}

/*
 * Who is next
 */

static bool before(const struct cpu *a, const struct cpu *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void heap_push(struct cpu *cpu)
{
	unsigned int i = waiting++;

	cpu->order = order++;
	while (i && before(cpu, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = cpu;
}

static struct cpu *heap_pop(void)
{
	struct cpu *first = heap[0], *last = heap[--waiting];
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < waiting) {
		if (child + 1 < waiting && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

static void begin(void)
{
	current->run(current->id);
	_longjmp(scheduler, 1);
}

static void go_to(struct cpu *cpu)
{
	current = cpu;
	if (cpu->started)
		_longjmp(cpu->context, 1);
	cpu->started = true;
	setcontext(&cpu->start);
}

/* The current CPU goes on when somebody has come back to it. */
static void switch_away(void)
{
	if (!_setjmp(current->context)) {
		if (waiting)
			go_to(heap_pop());
		_longjmp(scheduler, 1);
	}
}

static void let_earlier_ones_run(void)
{
	if (!waiting || current->time < heap[0]->time)
		return;
	heap_push(current);
	switch_away();
}

void machine_spawn(unsigned int id, void (*run)(unsigned int cpu), uint64_t start)
{
	struct cpu *cpu = &cpus[id];

	if (!cpu->stack)
		cpu->stack = map(STACK_SIZE);
	cpu->run = run;
	cpu->started = false;
	cpu->time = start;
	getcontext(&cpu->start);
	cpu->start.uc_stack.ss_sp = cpu->stack;
	cpu->start.uc_stack.ss_size = STACK_SIZE;
	cpu->start.uc_link = NULL;
	makecontext(&cpu->start, begin, 0);
	heap_push(cpu);
}

void machine_run(void)
{
	_setjmp(scheduler);
	if (waiting)
		go_to(heap_pop());
	current = NULL;
}

unsigned int machine_cpu(void)
{
	return current->id;
}

unsigned int machine_level(void)
{
	return current->level;
}

uint64_t machine_time(void)
{
	return current->time;
}

uint64_t machine_random(void)
{
	return next_random(current);
}

void machine_sleep(uint64_t cycles)
{
	current->time += cycles;
	let_earlier_ones_run();
}

void machine_as_reader(void (*read)(void *arg), void *arg)
{
	struct cpu *was = current;

	current = &cpus[options.cpus];
	is_reader = true;
	read(arg);
	is_reader = false;
	current = was;
}

/*
 * Accesses
 */

/* A line that is read only can be copied to many at the same time. */
static bool takes_its_turn(enum mesi_result result)
{
	return mesi_is_transfer(result) && result != MESI_READ;
}

static void wait_for_line(struct transit *transit)
{
	current->next = NULL;
	if (transit->first) {
		transit->last->next = current;
		transit->last = current;
	} else {
		transit->first = current;
		transit->last = current;
		current->time = transit->until;
		heap_push(current);
	}
	switch_away();
}

static void call_next(struct transit *transit)
{
	struct cpu *next = current->next;

	transit->first = next;
	current->next = NULL;
	if (!next)
		return;
	if (next->time < transit->until)
		next->time = transit->until;
	if (next->time < current->time)
		next->time = current->time;
	heap_push(next);
}

static void pass_time(struct transit *transit, enum mesi_result result,
		      enum mesi_access access)
{
	uint64_t there = current->time;

	if (access == MESI_RMW && there < current->drained)
		there = current->drained;
	if (mesi_is_transfer(result)) {
		there += options.transfer;
		if (takes_its_turn(result))
			transit->until = there + options.hold;
	}

	if (access == MESI_STORE) {
		if (current->drained < there)
			current->drained = there;
		current->time++;
	} else {
		current->time = there + (access == MESI_RMW ? options.locked : 1);
	}
	/* What is between two accesses does not always take the same time. */
	current->time += next_random(current) % 2;
}

static void count(enum mesi_result result, enum mesi_access access,
		  enum machine_what what)
{
	struct machine_counts *of = &counts[is_reader];

	of->results[what][result]++;
	of->accesses++;
	of->locked += access == MESI_RMW;
}

static void interrupt(enum machine_what before)
{
	if (!options.interrupt || current->level == MACHINE_LEVELS - 1 ||
	    next_random(current) % options.interrupt)
		return;

	current->level++;
	options.handler(current->id, before);
	current->level--;
}

static void access_line(size_t line, enum mesi_access access, enum machine_what what)
{
	struct transit *transit = &transits[line];
	enum mesi_result result;
	bool waited = false;

	let_earlier_ones_run();
	result = mesi_ask(mesi, current->id, line, access);
	if (mesi_is_transfer(result) && (transit->until > current->time ||
					 (transit->first && takes_its_turn(result)))) {
		wait_for_line(transit);
		waited = true;
	}

	result = mesi_do(mesi, current->id, line, access, &counts[0].removed);
	count(result, access, what);
	pass_time(transit, result, access);
	if (waited)
		call_next(transit);
}

void machine_access(const void *address, size_t size, enum mesi_access access,
		    enum machine_what what)
{
	size_t offset = (const unsigned char *)address - arena;

	if (!current || !arena || offset >= options.arena)
		return;

	if (!is_reader)
		interrupt(what);
	for (size_t line = offset / LINE_SIZE; line <= (offset + size - 1) / LINE_SIZE; line++) {
		if (is_reader)
			count(mesi_do(mesi, current->id, line, access, &counts[1].removed),
			      access, what);
		else
			access_line(line, access, what);
	}
}

void machine_failed(void)
{
	if (current)
		counts[is_reader].failed++;
}

const struct machine_counts *machine_counts(bool reader)
{
	return &counts[reader];
}

void machine_clear_counts(void)
{
	memset(counts, 0, sizeof(counts));
}

char machine_state(unsigned int cpu, const void *address)
{
	return mesi_state(mesi, cpu, ((const unsigned char *)address - arena) / LINE_SIZE);
}
