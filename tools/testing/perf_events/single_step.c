// SPDX-License-Identifier: GPL-2.0
/*
 * An interrupt after any chosen instruction. With the trap flag set, the CPU stops after
 * each instruction, the kernel sends SIGTRAP, and the handler counts. After the chosen
 * one, the handler calls the interrupt; then the function goes on without the flag. The
 * kernel clears the flag for the handler and sets it again on return.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <linux/compiler.h>

#include "single_step.h"

#ifdef __x86_64__

#define TRAP_FLAG	0x100UL

struct stepper {
	unsigned long	steps;
	unsigned long	when;
	void		(*interrupt)(void *arg);
	void		*arg;
};

static struct stepper *stepper;

static void on_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	struct stepper *self = READ_ONCE(stepper);

	(void)signal;
	(void)info;

	if (!self) {
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}

	if (++self->steps < self->when)
		return;

	interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	WRITE_ONCE(stepper, NULL);
	self->interrupt(self->arg);
}

const char *single_step_unsupported(void)
{
	return NULL;
}

/* SIGTRAP stays unblocked in its handler, for interrupts of the interrupt. */
void single_step_init(void)
{
	struct sigaction action = {
		.sa_sigaction = on_step,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	if (sigaction(SIGTRAP, &action, NULL)) {
		perror("sigaction");
		exit(1);
	}
}

static void run(struct stepper *self, void (*function)(void *arg), void *arg)
{
	WRITE_ONCE(stepper, self);
	barrier();
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	function(arg);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
	barrier();
	WRITE_ONCE(stepper, NULL);
}

bool single_step(void (*function)(void *arg), void *arg, unsigned long when,
		 void (*interrupt)(void *arg), void *interrupt_arg)
{
	struct stepper self = {
		.when = when,
		.interrupt = interrupt,
		.arg = interrupt_arg,
	};

	run(&self, function, arg);
	return self.steps == when;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* A call that does nothing gives the number of instructions around the call. */
unsigned long single_step_count(void (*function)(void *arg), void *arg)
{
	struct stepper empty = { .when = ULONG_MAX };
	struct stepper full = { .when = ULONG_MAX };

	run(&empty, nothing, arg);
	run(&full, function, arg);
	return full.steps - empty.steps;
}

#else

const char *single_step_unsupported(void)
{
	return "no single step on this machine";
}

void single_step_init(void)
{
}

bool single_step(void (*function)(void *arg), void *arg, unsigned long when,
		 void (*interrupt)(void *arg), void *interrupt_arg)
{
	(void)when;
	(void)interrupt;
	(void)interrupt_arg;
	function(arg);
	return false;
}

unsigned long single_step_count(void (*function)(void *arg), void *arg)
{
	function(arg);
	return 0;
}

#endif
