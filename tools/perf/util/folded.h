/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_FOLDED_H
#define __PERF_FOLDED_H 1

/*
 * Folded stacks, of which flame graphs are made: for each stack of calls, a line with the
 * names and with how long its innermost function ran itself, in nanoseconds:
 *
 *	program;main;f;g 1234
 *
 * Memory grows with the number of different stacks, and not with that of calls.
 */
#include <stdio.h>
#include <linux/types.h>

/* Calls in one another beyond this belong to the last one that counts */
#define FOLDED_MAX_DEPTH	1024

/**
 * struct folded_node - A call in a stack
 * @self:  how long it ran itself
 * @child: the first of those that it calls; @next: the next one of its caller's
 */
struct folded_node {
	struct folded_node	*parent;
	struct folded_node	*child;
	struct folded_node	*next;
	u64			self;
	char			*name;
};

/**
 * struct folded_stack - What a thread has called since it was in no call
 * @root:  has these calls
 * @at:	   the innermost one
 * @depth: calls that it is in, beyond the maximum, too
 * @since: until then, the time was counted
 */
struct folded_stack {
	struct folded_node	root;
	struct folded_node	*at;
	size_t			depth;
	u64			since;
};

/* Functions that return an int return 0, or -ENOMEM */

void folded_stack__init(struct folded_stack *stack);
void folded_stack__exit(struct folded_stack *stack);

int folded_stack__begin(struct folded_stack *stack, const char *name, u64 time);
void folded_stack__end(struct folded_stack *stack, u64 time);

/* It is in no call: it was in this one all the time, and still is */
int folded_stack__around(struct folded_stack *stack, const char *name, u64 time);

/* It is in no call: add what it has called to the child @name of @sum, and forget it */
int folded_stack__add_to(struct folded_stack *stack, struct folded_node *sum, const char *name);

/* The lines of what a root has. An error is one of the stream's: see ferror(). */
int folded__print(const struct folded_node *root, FILE *out);

void folded__free(struct folded_node *root);

#endif /* __PERF_FOLDED_H */
