/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_EVENTS_SINGLE_STEP_H
#define PERF_EVENTS_SINGLE_STEP_H

#include <stdbool.h>

/* NULL, or why this machine can't. */
const char *single_step_unsupported(void);

void single_step_init(void);

/*
 * Call function(arg), and come in with interrupt(interrupt_arg) behind its
 * instruction number @when, counted from 1. Nests: @interrupt may do the same.
 *
 * Return: false if the function has fewer instructions, so that nothing came in.
 */
bool single_step(void (*function)(void *arg), void *arg, unsigned long when,
		 void (*interrupt)(void *arg), void *interrupt_arg);

/* Number of instructions of a call, the same for each call. */
unsigned long single_step_count(void (*function)(void *arg), void *arg);

#endif
