/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exact numbers of instructions, from the time-stamp counter.
 *
 * With QEMU's -icount shift=0, every instruction that the guest's only CPU executes
 * advances the guest's clocks by one nanosecond, and the time-stamp counter by one.
 * Nothing else counts: the same code gives the same number each time. The time of cache
 * misses or of a driver's wrmsr isn't included.
 */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <asm/tsc.h>

#define COUNTED_RUNS	1000
/* The first run is not counted: it may find old state. */
#define ALL_RUNS	(COUNTED_RUNS + 1)

/**
 * struct instructions - what one piece of code took in COUNTED_RUNS runs
 * @min: fewest instructions
 * @max: most instructions; equal to @min unless the run was disturbed
 */
struct instructions {
	u64	min;
	u64	max;
};

static noinline u64 count_once(void (*code)(void))
{
	u64 begin = rdtsc();

	code();

	return rdtsc() - begin;
}

/*
 * Interrupts are off, so that only @code is counted. @prepare is called before
 * each run, uncounted; it may be NULL. The result includes a constant overhead: subtract
 * that of code that does nothing.
 */
static struct instructions
count_instructions(void (*prepare)(void), void (*code)(void))
{
	struct instructions n = { .min = U64_MAX };
	unsigned long flags;
	u64 once;
	int i;

	local_irq_save(flags);
	for (i = 0; i < ALL_RUNS; i++) {
		if (prepare)
			prepare();
		once = count_once(code);
		if (!i)
			continue;
		n.min = min(n.min, once);
		n.max = max(n.max, once);
	}
	local_irq_restore(flags);

	return n;
}

static void show_instructions(struct seq_file *m, const char *name,
			      struct instructions n, struct instructions nothing)
{
	seq_printf(m, "%s\t%llu\t%llu\n", name,
		   n.min - nothing.max, n.max - nothing.min);
}

static noinline void run_loop(unsigned long rounds)
{
	/* Two instructions per round, whatever the compiler does to loops. */
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (rounds) : : "cc");
}

static void run_short_loop(void)
{
	run_loop(1000);
}

static void run_long_loop(void)
{
	run_loop(6000);
}

/* Must show 10000, or the counter does not count instructions. */
static void show_calibration(struct seq_file *m)
{
	show_instructions(m, "calibration", count_instructions(NULL, run_long_loop),
			  count_instructions(NULL, run_short_loop));
}

#endif /* INSTRUCTIONS_H */
