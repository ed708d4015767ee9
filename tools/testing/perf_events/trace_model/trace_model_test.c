// SPDX-License-Identifier: GPL-2.0
/*
 * The trace model's operations in user space: core.c and output.c of
 * arch/x86/events/intel/trace_model, unchanged. Contexts interrupt each other behind
 * every instruction and at random ones, and all of them operate.
 *
 * Expected: every operation is done once, and its trace data is in memory, whole and
 * in order, when it returns; whichever operations it interrupted. Usage:
 * trace_model_test [N], to have interrupts behind each Nth instruction only. With MUTANT, the
 * new value is published without looking whether it is based on the current one,
 * and the same tests must find that.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef MUTANT
#define mutant	true
#define this_cpu_cmpxchg(x, old, new)	({ this_cpu_write(x, new); old; })
#else
#define mutant	false
#endif

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/types.h>

#define cmpxchg_local(ptr, old, new)	compare_exchange(ptr, old, new)
#include "../../../../arch/x86/events/intel/trace_model/core.c"

#include "../single_step.h"
#include "../tap.h"

int tap_count, tap_failed;

unsigned char memory[MEMORY_PAGES * PAGE_SIZE] __aligned(4096);

/* One table, at page 0, and the regions behind it; it ends with a link to itself. */
#define REGIONS		(MEMORY_PAGES - 1)
#define RING		(REGIONS * PAGE_SIZE)
#define TOPA_END	BIT(0)
#define TOPA_INT	BIT(2)

/*
 * What operation number n does follows from n: it writes lengths[n % 4] bytes of
 * byte_at(their position in the stream), and advances a word that software owns by
 * RECORD.
 */
static const u8 lengths[] = { 1, 8, 3, 12 };
static const u8 lengths_before[] = { 0, 1, 9, 12 };
#define LENGTHS		4
#define LENGTHS_SUM	24
#define RECORD		24

static u64 word;
static u64 start;		/* position of operation 0 */

static unsigned long failures;
static const char *failure;

static void fail(const char *what)
{
	if (!failures++)
		failure = what;
}

void warn(const char *what)
{
	fail(what);
}

static void expect(bool condition, const char *what)
{
	if (!condition)
		fail(what);
}

static u64 position(u64 n)
{
	return start + n / LENGTHS * LENGTHS_SUM + lengths_before[n % LENGTHS];
}

static u8 byte_at(u64 position)
{
	return position * 0x9e3779b97f4a7c15ULL >> 56;
}

/*
 * What core.c and output.c use
 */

struct tm_config tm_config = { .cyc = true };

static bool pmi_allowed = true;
static unsigned long pmis;
static u64 shown;		/* to tm_timer_update() last */

void tm_report_violations(const struct tm_cpu *cpu)
{
	expect(!cpu->violations, "violation");
}

bool tm_pmi_allowed(void)
{
	return pmi_allowed;
}

void tm_pmi_send(void)
{
	pmis++;
}

/* The number of operations serves as deadline. */
u64 tm_counters_deadline(const struct tm_cpu *cpu)
{
	return cpu->cr3_match;
}

bool tm_counters_step(const struct tm_cpu *cpu)
{
	return false;
}

void tm_timer_update(u64 deadline)
{
	WRITE_ONCE(shown, deadline);
}

/*
 * Operations
 */

static u64 generate(struct tm_cpu *cpu, void *arg)
{
	u64 n = cpu->cr3_match++, from = position(n), old = READ_ONCE(word);
	u8 bytes[16];

	for (unsigned int i = 0; i < lengths[n % LENGTHS]; i++)
		bytes[i] = byte_at(from + i);

	tm_out(cpu, bytes, lengths[n % LENGTHS]);
	tm_store_exchange(cpu, &word, old, old + RECORD);
	if (arg)
		tm_pmi_request(cpu, TM_PMI_BTS);
	return n;
}

struct seen {
	u64	n;
	u64	output_mask;
};

static u64 look(struct tm_cpu *cpu, void *arg)
{
	*(struct seen *)arg = (struct seen) { cpu->cr3_match, cpu->output_mask };
	return cpu->cr3_match;
}

static struct tm_cpu *current_value(void)
{
	return tm_slot(tm_state.current_seq);
}

static u64 ring_position(u64 output_mask)
{
	return ((u32)output_mask >> 7) * PAGE_SIZE + (output_mask >> 32);
}

/* All that the last operations up to number n - 1 wrote. */
static void check_memory(u64 n)
{
	u64 from = n > 8 ? position(n - 8) : start, to = position(n);

	for (u64 at = from; at < to; at++) {
		if (memory[PAGE_SIZE + at % RING] != byte_at(at)) {
			fail("trace data is not what was generated");
			return;
		}
	}
	expect(READ_ONCE(word) == n * RECORD, "word lost an exchange");
}

static void run_generate(void *arg)
{
	u64 n = tm_run(generate, arg);

	/* Interrupts may have added to it, and finished. */
	expect(READ_ONCE(word) >= (n + 1) * RECORD, "operation returned before its stores");
}

static void run_look(void *arg)
{
	struct seen seen;
	u64 n = tm_run(look, &seen);

	(void)arg;
	expect(seen.n == n && ring_position(seen.output_mask) == position(n) % RING,
	       "half of a value seen");
}

static void run_try(void *arg)
{
	bool outermost = !READ_ONCE(tm_state.depth);

	expect(tm_try(generate, arg) == outermost, "generated data inside an operation");
}

static void reset(u64 first)
{
	u64 *table = (u64 *)memory;
	struct tm_cpu *cpu;

	memset(memory, 0xee, sizeof(memory));
	for (u64 i = 0; i < REGIONS; i++)
		table[i] = (i + 1) * PAGE_SIZE | TOPA_INT;
	table[REGIONS] = TOPA_END;

	tm_reset(0);
	cpu = current_value();
	cpu->ctl = RTIT_CTL_TRACEEN | RTIT_CTL_TOPA | RTIT_CTL_USR;
	cpu->status = RTIT_STATUS_TRIGGEREN;
	cpu->output_mask = first % PAGE_SIZE << 32 | first / PAGE_SIZE << 7 | TM_OUTPUT_LOW;
	start = first;
	word = 0;
	pmis = 0;
}

/* Nothing is going on. */
static void check_idle(u64 operations)
{
	const struct tm_cpu *cpu = current_value();

	expect(cpu->cr3_match == operations, "operation lost or done twice");
	expect(ring_position(cpu->output_mask) == position(operations) % RING,
	       "position in the output");
	expect(!tm_state.depth && tm_state.drained_seq == tm_state.current_seq, "not drained");
	expect(!cpu->pmi && !cpu->held, "interrupt not delivered");
	expect(shown == operations && tm_wants == TM_PT_USER, "shown is not the latest");
	check_memory(operations);
}

/*
 * Tests
 */

static void test_calls(void)
{
	reset(0);
	for (u64 n = 0; n < 10000; n++) {
		run_generate(n % 3 ? NULL : &word);
		run_look(NULL);
		check_idle(n + 1);
	}
	expect(pmis > 10000 / 3, "interrupts");
	tap_result(!failures, "one after the other%s%s", failure ? ": " : "", failure ?: "");
}

static void test_stop(void)
{
	u64 *table = (u64 *)memory;
	const struct tm_cpu *cpu;

	reset(PAGE_SIZE - 10);
	table[0] |= BIT(4);
	run_generate(NULL);
	run_generate(NULL);
	run_generate(NULL);
	cpu = current_value();
	expect(cpu->status & RTIT_STATUS_STOPPED && !(cpu->status & RTIT_STATUS_TRIGGEREN) &&
	       cpu->output_mask >> 32 == PAGE_SIZE && memory[2 * PAGE_SIZE] == 0xee &&
	       cpu->global_status == GLOBAL_STATUS_TRACE_TOPAPMI, "STOP");
	expect(pmis == 1, "interrupt of the region");
	expect(memory[2 * PAGE_SIZE - 2] == byte_at(2 * PAGE_SIZE - 2 - PAGE_SIZE) &&
	       !memory[2 * PAGE_SIZE - 1], "part of a packet in front of STOP");

	reset(0);
	expect(tm_wants == 0, "reset");
	pmi_allowed = false;
	run_generate(&word);
	expect(!pmis && !current_value()->pmi, "interrupt of BTS not lost while masked");
	check_idle(1);

	reset(PAGE_SIZE - 10);
	run_generate(NULL);
	run_generate(NULL);
	run_generate(NULL);
	expect(!pmis && current_value()->held, "interrupt delivered while masked");
	pmi_allowed = true;
	run_look(NULL);
	expect(pmis == 1 && current_value()->sent, "interrupt lost while masked");
	check_idle(3);
	tap_result(!failures, "STOP, interrupt masked%s%s", failure ? ": " : "",
		   failure ?: "");
}

struct operation {
	const char *name;
	void (*function)(void *arg);
	void *arg;
	unsigned int generates;		/* unless it is a try in an operation */
};

static void run_many(void *arg)
{
	for (int i = 0; i < 3; i++)
		run_generate(arg);
}

static const struct operation operations[] = {
	{ "generate", run_generate, NULL, 1 },
	{ "generate with interrupt", run_generate, &word, 1 },
	{ "try", run_try, NULL, 1 },
	{ "look", run_look, NULL, 0 },
	{ "generate three times", run_many, NULL, 3 },
};

/* The last one takes long to single-step, and has nothing new. */
#define OUTER_OPERATIONS	4

struct plan {
	const struct operation	*ops[3];
	unsigned long		when[3];
	int			level, levels;
	unsigned int		expected;
	bool			came;
};

static struct plan plan;
static unsigned long stride = 1;	/* behind each so manieth instruction */

static void run_level(void *arg)
{
	const struct operation *op = plan.ops[plan.level++];
	bool skipped = op->function == run_try && READ_ONCE(tm_state.depth);

	(void)arg;
	plan.expected += skipped ? 0 : op->generates;
	if (plan.level < plan.levels) {
		single_step(op->function, op->arg, plan.when[plan.level], run_level, NULL);
	} else {
		plan.came = true;
		op->function(op->arg);
	}
	/* As far as the innermost sees, all is done. */
	if (!skipped)
		check_memory(READ_ONCE(word) / RECORD);
}

static bool run_plan(void)
{
	plan.level = 0;
	plan.expected = 0;
	plan.came = false;
	/* A region ends in each of the first operations' data. */
	reset(RING - 10);
	run_level(NULL);
	check_idle(plan.expected);
	return plan.came;
}

static void test_every_instruction(const struct operation *outer)
{
	unsigned long runs = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		plan = (struct plan) { .ops = { outer, &operations[i] }, .levels = 2 };
		plan.when[1] = i % stride;
		do {
			plan.when[1] += stride;
			runs++;
		} while (run_plan() && !failures);
	}
	if (failures)
		printf("# behind instruction %lu: %s\n", plan.when[1], plan.ops[1]->name);
	tap_result(!failures && runs > 500 / stride,
		   "interrupt behind every instruction of %s (%lu runs)%s%s", outer->name,
		   runs, failure ? ": " : "", failure ?: "");
}

static unsigned long draw(unsigned long *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#define PAIRS	5000

static void test_pairs(void)
{
	unsigned long seed = 88172645463325252UL, came = 0, pairs = PAIRS / stride, length;

	reset(0);
	length = single_step_count(run_generate, NULL);
	for (unsigned long i = 0; i < pairs && !failures; i++) {
		plan = (struct plan) { .levels = 3 };
		for (int level = 0; level < 3; level++) {
			plan.ops[level] = &operations[draw(&seed) % ARRAY_SIZE(operations)];
			plan.when[level] = 1 + draw(&seed) % length;
		}
		came += run_plan();
	}
	tap_result(!failures && came > pairs / 3,
		   "interrupts of interrupts at %lu random pairs of instructions (%lu came)%s%s",
		   pairs, came, failure ? ": " : "", failure ?: "");
}

/*
 * Storm: three timers' signals, which nest like contexts of a CPU.
 */

#define LEVELS		3
#define SECONDS		60
#define ENOUGH_RETRIES	300UL
#define ENOUGH_DRAINED	30UL

static const int signals[LEVELS] = { SIGUSR1, SIGUSR2, SIGURG };
static const int periods[LEVELS] = { 53, 71, 97 };	/* microseconds */
static unsigned long done[LEVELS + 1];

static void on_signal(int signal)
{
	int level = signal == SIGUSR1 ? 1 : signal == SIGUSR2 ? 2 : 3;

	run_generate(done[level] % 4 ? NULL : &word);
	run_look(NULL);
	done[level]++;
}

static void set_handlers(void (*handler)(int signal))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	for (int i = 0; i < LEVELS; i++) {
		sigaddset(&action.sa_mask, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Signals take more time here than there. All handlers: at most a third of it. */
static long period_factor(void)
{
	const int count = 1000;
	double begin = now(), each;

	for (int i = 0; i < count; i++)
		raise(signals[0]);
	each = (now() - begin) / count;
	return 1 + (long)(each * 1e6 * 3 * (1. / 53 + 1. / 71 + 1. / 97));
}

static void start_timer(timer_t *timer, int level, long factor)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signals[level],
	};
	struct timespec period = { .tv_nsec = periods[level] * 1000 * factor };
	struct itimerspec time = { period, period };

	if (timer_create(CLOCK_MONOTONIC, &event, timer) ||
	    timer_settime(*timer, 0, &time, NULL)) {
		perror("timer");
		exit(1);
	}
}

static bool enough(void)
{
	return tm_stats[TM_STAT_RETRIES] >= ENOUGH_RETRIES &&
	       tm_stats[TM_STAT_DRAINED] >= ENOUGH_DRAINED &&
	       tm_stats[TM_STAT_MAX_NESTING] >= LEVELS;
}

static void test_storm(void)
{
	double end = now() + SECONDS;
	timer_t timers[LEVELS];
	long factor;

	reset(0);
	memset(tm_stats, 0, sizeof(tm_stats));
	set_handlers(on_signal);
	factor = period_factor();
	for (int i = 0; i < LEVELS; i++)
		start_timer(&timers[i], i, factor);
	do {
		for (int i = 0; i < 100; i++, done[0]++)
			run_generate(NULL);
	} while (!enough() && !failures && now() < end);
	for (int i = 0; i < LEVELS; i++)
		timer_delete(timers[i]);
	set_handlers(SIG_IGN);

	check_idle(done[0] + done[1] + done[2] + done[3]);
	printf("# %lu operations, %lu begun again, %lu finished by an interrupt, %lu deep\n",
	       tm_stats[TM_STAT_OPERATIONS], tm_stats[TM_STAT_RETRIES],
	       tm_stats[TM_STAT_DRAINED], tm_stats[TM_STAT_MAX_NESTING]);
	tap_result(!failures, "storm%s%s", failure ? ": " : "", failure ?: "");
	tap_result(enough(), "storm: enough of it nested");
}

static int run_tests(void)
{
	const char *unsupported = single_step_unsupported();

	test_calls();
	test_stop();
	if (unsupported) {
		tap_skip(unsupported, "interrupt at every instruction");
	} else {
		single_step_init();
		for (unsigned int i = 0; i < OUTER_OPERATIONS; i++)
			test_every_instruction(&operations[i]);
		test_pairs();
	}
	test_storm();
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

static int find_mutant(void)
{
	single_step_init();
	for (plan.when[1] = 0; plan.when[1] < 1000 && !failures; plan.when[1] += stride) {
		plan.ops[0] = &operations[0];
		plan.ops[1] = &operations[0];
		plan.levels = 2;
		run_plan();
	}
	tap_result(failures, "mutant found behind instruction %lu%s%s", plan.when[1],
		   failure ? ": " : "", failure ?: "");
	printf("1..1\n");
	return !failures;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		stride = atoi(argv[1]);
	printf("TAP version 13\n");

	return mutant ? find_mutant() : run_tests();
}
