// SPDX-License-Identifier: GPL-2.0
/*
 * Folded stacks.
 *
 * Expected: each stack of calls has its own time, once, whatever was called how often, and
 * also below a function that is only known when it is returned to. A time that is counted
 * twice, or that is another function's, fails here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "debug.h"
#include "folded.h"
#include "tests.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

static int check(const struct folded_node *sum, const char *wanted)
{
	char text[1024] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	CHECK(out);
	CHECK(!folded__print(sum, out));
	CHECK(!fclose(out));
	if (!strcmp(text, wanted))
		return TEST_OK;
	pr_debug("%s, not\n%s\n", text, wanted);
	return TEST_FAIL;
}

static int test_calls(void)
{
	struct folded_node sum = { .self = 0 };
	struct folded_stack stack;

	folded_stack__init(&stack);
	CHECK(!folded_stack__begin(&stack, "main", 10));
	CHECK(!folded_stack__begin(&stack, "f", 15));
	folded_stack__end(&stack, 17);
	CHECK(!folded_stack__begin(&stack, "g", 20));
	CHECK(!folded_stack__begin(&stack, "f", 20));
	folded_stack__end(&stack, 30);
	folded_stack__end(&stack, 30);
	CHECK(!folded_stack__begin(&stack, "f", 31));
	folded_stack__end(&stack, 32);
	folded_stack__end(&stack, 40);
	CHECK(!folded_stack__add_to(&stack, &sum, "p"));
	/* Again, and what was between doesn't count */
	CHECK(!folded_stack__begin(&stack, "main", 100));
	folded_stack__end(&stack, 101);
	CHECK(!folded_stack__begin(&stack, "other;\n", 110));
	folded_stack__end(&stack, 113);
	CHECK(!folded_stack__add_to(&stack, &sum, "p"));
	CHECK(!folded_stack__add_to(&stack, &sum, "q"));
	CHECK(!check(&sum, "p;main 18\np;main;g;f 10\np;main;f 3\np;other:  3\n"));
	folded_stack__exit(&stack);
	folded__free(&sum);
	CHECK(!sum.child);
	return TEST_OK;
}

static int test_around(void)
{
	struct folded_node sum = { .self = 0 };
	struct folded_stack stack;

	folded_stack__init(&stack);
	CHECK(!folded_stack__begin(&stack, "g", 10));
	CHECK(!folded_stack__begin(&stack, "h", 11));
	folded_stack__end(&stack, 13);
	folded_stack__end(&stack, 20);
	CHECK(!folded_stack__around(&stack, "f", 20));
	folded_stack__end(&stack, 24);
	CHECK(!folded_stack__around(&stack, "main", 24));
	CHECK(!folded_stack__begin(&stack, "f", 25));
	folded_stack__end(&stack, 26);
	folded_stack__end(&stack, 30);
	CHECK(!folded_stack__add_to(&stack, &sum, "p"));
	CHECK(!check(&sum, "p;main 5\np;main;f 5\np;main;f;g 8\np;main;f;g;h 2\n"));
	folded_stack__exit(&stack);
	folded__free(&sum);
	return TEST_OK;
}

/* Deeper than what is told apart: the time belongs to the last call that is */
static int test_depth(void)
{
	struct folded_node sum = { .self = 0 };
	const struct folded_node *node;
	struct folded_stack stack;
	int i, depth = 0;

	folded_stack__init(&stack);
	for (i = 0; i < FOLDED_MAX_DEPTH + 10; i++)
		CHECK(!folded_stack__begin(&stack, "f", i));
	for (; i; i--)
		folded_stack__end(&stack, FOLDED_MAX_DEPTH + 10);
	CHECK(stack.at == &stack.root);
	CHECK(!folded_stack__add_to(&stack, &sum, "p"));
	for (node = sum.child; node->child; node = node->child)
		depth++;
	CHECK(depth == FOLDED_MAX_DEPTH);
	CHECK(node->self == 11);
	/* What is left is freed */
	CHECK(!folded_stack__begin(&stack, "f", 0));
	folded_stack__exit(&stack);
	folded__free(&sum);
	return TEST_OK;
}

static int test__folded(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	CHECK(!test_calls());
	CHECK(!test_around());
	CHECK(!test_depth());
	return TEST_OK;
}

DEFINE_SUITE("Folded stacks", folded);
