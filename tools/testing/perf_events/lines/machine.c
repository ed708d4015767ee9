// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs are coroutines: makecontext() starts them, and _setjmp() and _longjmp() switch
 * between them, without a system call.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <linux/types.h>

#include "machine.h"
#include "mesi.h"

#define STACK_SIZE	((16 << 10) + 5 * LINE_SIZE)	/* not all in the same places of a cache */
#define TRANSFER	100	/* cycles until a line has come from another cache */
#define HOLD		20	/* cycles for which it then stays, at least */

/**
 * struct cpu - a CPU
 * @time: cycles that it has run
 * @turn: who comes first among those of the same time
 * @started: it has been in @context
 * @start: how to begin
 */
struct cpu {
	u64	time;
	u64	turn;
	bool		started;
	jmp_buf		context;
	ucontext_t	start;
};

static unsigned int nr_cpus, waiting;
static struct cpu *cpus, *current, **heap;
static void (*run_cpu)(unsigned int cpu);
static jmp_buf all_done;
static u64 turns, random_state;
static unsigned long transfers;

static unsigned char *arena, *stacks;
static size_t arena_size, arena_used;
static u64 *line_free;	/* when each line can leave for the next cache */

static unsigned int next_random(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 33;
}

void *machine_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

static void *zeroed(size_t number, size_t size)
{
	void *p = calloc(number, size);

	if (!p)
		abort();
	return p;
}

void machine_create(unsigned int number, size_t size)
{
	nr_cpus = number;
	cpus = zeroed(number, sizeof(*cpus));
	heap = zeroed(number, sizeof(struct cpu *));
	stacks = machine_map(number * STACK_SIZE);
	arena_size = size;
	arena = machine_map(size);
	line_free = zeroed(size / LINE_SIZE, sizeof(*line_free));
	mesi_create(number + 1, size / LINE_SIZE);	/* and the reader's cache */
	current = NULL;
	waiting = 0;
	arena_used = 0;
	transfers = 0;
	turns = 0;
	random_state = 1;
}

void machine_destroy(void)
{
	munmap(stacks, nr_cpus * STACK_SIZE);
	munmap(arena, arena_size);
	mesi_destroy();
	free(line_free);
	free(heap);
	free(cpus);
}

void *machine_alloc(size_t align, size_t size)
{
	size_t at = (arena_used + align - 1) / align * align;

	arena_used = (at + size + LINE_SIZE - 1) & -(size_t)LINE_SIZE;
	if (arena_used > arena_size)
		abort();
	return arena + at;
}

/*
 * Who is next: a heap
 */

static bool before(const struct cpu *a, const struct cpu *b)
{
	return a->time != b->time ? a->time < b->time : a->turn < b->turn;
}

static void heap_push(struct cpu *cpu)
{
	unsigned int i = waiting++;

	cpu->turn = turns++;
	for (; i && before(cpu, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
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

static void run_next(void)
{
	if (!waiting)
		_longjmp(all_done, 1);
	current = heap_pop();
	if (current->started)
		_longjmp(current->context, 1);
	current->started = true;
	setcontext(&current->start);
}

static void let_earlier_ones_run(void)
{
	if (!waiting || current->time < heap[0]->time)
		return;
	heap_push(current);
	if (!_setjmp(current->context))
		run_next();
}

static void begin(void)
{
	run_cpu(machine_cpu());
	run_next();
}

static void start(struct cpu *cpu, unsigned int within)
{
	getcontext(&cpu->start);
	cpu->start.uc_stack.ss_sp = stacks + (cpu - cpus) * STACK_SIZE;
	cpu->start.uc_stack.ss_size = STACK_SIZE;
	makecontext(&cpu->start, begin, 0);
	cpu->time = next_random() % within;
	heap_push(cpu);
}

void machine_run(void (*run)(unsigned int cpu), unsigned int within)
{
	run_cpu = run;
	transfers = 0;
	memset(line_free, 0, arena_size / LINE_SIZE * sizeof(*line_free));
	for (unsigned int i = 0; i < nr_cpus; i++)
		start(&cpus[i], within);
	if (!_setjmp(all_done))
		run_next();
	current = NULL;
}

void machine_become(unsigned int cpu)
{
	current = &cpus[cpu];
}

unsigned int machine_cpu(void)
{
	return current ? current - cpus : 0;
}

unsigned long machine_transfers(void)
{
	return transfers;
}

/*
 * Accesses
 */

/*
 * A line goes to who asked first, and is in no cache meanwhile. Copies of what nobody
 * may write can go to many at once.
 */
static void transfer(size_t line, bool write, enum mesi_source source)
{
	if (current->time < line_free[line])
		current->time = line_free[line];
	if (source == MESI_OTHER)
		line_free[line] = current->time + TRANSFER + HOLD;
	let_earlier_ones_run();
	mesi_give(machine_cpu(), line, write);
	transfers++;
	current->time += TRANSFER;
	let_earlier_ones_run();
}

static void access_line(size_t line, bool write)
{
	enum mesi_source source = mesi_source(machine_cpu(), line, write);

	if (source == MESI_OWN)
		mesi_give(machine_cpu(), line, write);
	else
		transfer(line, write, source);
}

void machine_access(const void *address, size_t size, bool write, unsigned int cycles)
{
	size_t offset = (const unsigned char *)address - arena;

	if (!current || !size || offset >= arena_size)
		return;
	if (cycles)
		let_earlier_ones_run();
	for (size_t line = offset / LINE_SIZE; line <= (offset + size - 1) / LINE_SIZE; line++)
		access_line(line, write);
	/* What is between two accesses does not always take the same time. */
	if (cycles)
		current->time += cycles + next_random() % 2;
}

void machine_pause(unsigned int cycles)
{
	if (cycles)
		current->time += cycles / 2 + next_random() % cycles;
	let_earlier_ones_run();
}

void machine_reader_writes(const void *address)
{
	mesi_give(nr_cpus, ((const unsigned char *)address - arena) / LINE_SIZE, true);
}

void machine_reader_took(const void *address, size_t size)
{
	size_t first = ((const unsigned char *)address - arena) / LINE_SIZE;

	for (size_t line = first; line < first + size / LINE_SIZE; line++)
		mesi_drop(line);
}
