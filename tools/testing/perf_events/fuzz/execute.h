/* SPDX-License-Identifier: GPL-2.0 */
/* Runs programs: what each call does. */
#ifndef FUZZ_EXECUTE_H
#define FUZZ_EXECUTE_H

#include <stdint.h>
#include <stdnoreturn.h>

#include "coverage.h"
#include "program.h"

/*
 * struct world - what the tasks of a program share, behind the descriptor FD_WORLD, so
 * that it survives exec
 * @program: what they run
 * @coverage: of them, NULL areas if there is none
 * @covered: use coverage
 * @main: the first task
 * @tasks: that were started
 * @calls: that were made
 * @succeeded: of these
 * @tried: ditto for the variants of calls, and the last one is for all others
 * @worked: of these
 */
struct world {
	struct program program;
	struct coverage coverage;
	bool covered;
	int main;
	uint32_t tasks;
	uint64_t calls[NR_OPS];
	uint64_t succeeded[NR_OPS];
	uint64_t tried[NR_VARIANTS + 1];
	uint64_t worked[NR_VARIANTS + 1];
};

/* Descriptors with fixed numbers; those of programs are FD_SLOTS + slot. */
enum { FD_WORLD = 64, FD_BPF, FD_KCOV = FD_BPF + 4, FD_SLOTS = 80 };

/* Loads BPF programs as FD_BPF and behind it. Needs root. */
void execute_load_bpf(void);

/* In a process of its own: runs the whole of world->program, as its user. */
noreturn void execute(struct world *world);

/* main() of what a program executes: goes on with calls @from to @to - 1. */
noreturn void execute_continue(unsigned int from, unsigned int to);

#endif
