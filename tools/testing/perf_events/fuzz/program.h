/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program: the sequence of calls that a run makes. It is random or read from a
 * file, and the same program makes the same calls each time.
 *
 * As text it is a line with its number and user, a line per call with the arguments
 * that aren't zero, and a line with "end":
 *
 *	program 7 uid 0
 *	open slot=1 pmu=test_aux flags=0x1 group=16 aux_action=0x1
 *	mmap slot=1 map=1 pages=0x2 prot=0x3
 *	end
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SLOTS		16	/* of descriptors, and of mappings */
#define NO_SLOT		SLOTS
#define MAX_CALLS	64
#define MAX_ARGS	24

enum op {
	OP_OPEN, OP_IOCTL, OP_MMAP, OP_MMAP_AUX, OP_MUNMAP, OP_CONSUME, OP_READ, OP_POLL,
	OP_CLOSE, OP_DUP, OP_SIGNAL, OP_FORK, OP_THREAD, OP_EXEC, OP_WAIT, OP_WORK,
	OP_MOVE, OP_PRCTL, OP_NMI_AT, NR_OPS
};

/* Arguments of OP_OPEN. */
enum {
	OPEN_SLOT, OPEN_PMU, OPEN_CONFIG, OPEN_CONFIG1, OPEN_CONFIG2, OPEN_PERIOD,
	OPEN_SAMPLE_TYPE, OPEN_READ_FORMAT, OPEN_FLAGS, OPEN_WAKEUP, OPEN_BP_TYPE,
	OPEN_BRANCH, OPEN_REGS, OPEN_STACK, OPEN_CLOCKID, OPEN_AUX_WATERMARK,
	OPEN_AUX_SAMPLE_SIZE, OPEN_AUX_ACTION, OPEN_SIG_DATA, OPEN_PID, OPEN_CPU,
	OPEN_GROUP, OPEN_HOW, OPEN_NR_ARGS
};

/* Who an event is for: OPEN_PID. */
enum { PID_SELF, PID_ALL, PID_CHILD, PID_PARENT, NR_PIDS };

/* Requests of OP_IOCTL. */
enum {
	REQ_ENABLE, REQ_DISABLE, REQ_REFRESH, REQ_RESET, REQ_PERIOD, REQ_SET_OUTPUT,
	REQ_SET_FILTER, REQ_ID, REQ_SET_BPF, REQ_PAUSE_OUTPUT, REQ_QUERY_BPF,
	REQ_MODIFY_ATTRIBUTES, REQ_PAUSE_AUX, REQ_KEEP_AUX, REQ_AUX_WINDOWS, NR_REQS
};

/* Calls that are counted apart: requests of OP_IOCTL, and OP_OPEN with such a flag */
enum { OPEN_WITH_LEVEL = NR_REQS, OPEN_WITH_THREADS, NR_VARIANTS };

/* What a program is busy with, for events to count: OP_WORK. */
enum {
	WORK_SYSCALLS, WORK_WRITES, WORK_FUNCTION, WORK_SPIN, WORK_FAULTS, WORK_YIELD,
	WORK_SLEEP, WORK_COMM, WORK_MAP, WORK_SIGNAL, NR_WORKS
};

/* How the reader's position is moved: OP_CONSUME. */
enum { TAIL_HEAD, TAIL_NONSENSE, AUX_TAIL_HEAD, AUX_TAIL_NONSENSE, NR_CONSUMES };

enum kind {
	KIND_NUMBER,		/* the values are chosen where the call is made up */
	KIND_PMU,		/* ditto; its name in the text */
	KIND_BELOW,		/* less than values[0] */
	KIND_CHOICE,		/* one of the values */
	KIND_MASK,		/* any bits of values[0] */
};

struct arg_spec {
	const char *name;
	enum kind kind;
	const uint64_t *values;
	unsigned int nr_values;
};

struct op_spec {
	const char *name;
	unsigned int weight;	/* how often, against the others */
	const struct arg_spec *args;
	unsigned int nr_args;
};

extern const struct op_spec op_specs[NR_OPS];

struct call {
	enum op op;
	uint64_t arg[MAX_ARGS];
};

struct program {
	unsigned long number;
	unsigned int uid;
	unsigned int nr;
	struct call call[MAX_CALLS];
};

extern const char * const variant_names[NR_VARIANTS];

/* NR_VARIANTS: none of them */
unsigned int variant_of(const struct call *call);

/* The text, NUL at its end; the length, or 0 if it is longer than @size. */
size_t program_print(const struct program *program, char *text, size_t size);

/* The next program of a file. 1: read; 0: there is none; -1: not a program. */
int program_read(FILE *file, struct program *program);

#endif
