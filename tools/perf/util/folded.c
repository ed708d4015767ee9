// SPDX-License-Identifier: GPL-2.0
/* Folded stacks; see folded.h. A tree can be deep, so nothing here is recursive. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "folded.h"

static struct folded_node *new_child(struct folded_node *parent, const char *name)
{
	struct folded_node *node = zalloc(sizeof(*node));

	if (!node)
		return NULL;
	node->name = strdup(name);
	if (!node->name) {
		free(node);
		return NULL;
	}
	node->parent = parent;
	node->next = parent->child;
	parent->child = node;
	return node;
}

static void free_node(struct folded_node *node)
{
	free(node->name);
	free(node);
}

/* What was found goes to the front: it is wanted again soon */
static struct folded_node *find_child(struct folded_node *parent, const char *name)
{
	struct folded_node **link, *node;

	for (link = &parent->child; *link; link = &(*link)->next) {
		node = *link;
		if (strcmp(node->name, name))
			continue;
		*link = node->next;
		node->next = parent->child;
		parent->child = node;
		return node;
	}
	return new_child(parent, name);
}

void folded__free(struct folded_node *root)
{
	struct folded_node *node = root, *child;

	for (;;) {
		child = node->child;
		if (child) {
			node->child = child->next;
			node = child;
			continue;
		}
		if (node == root)
			return;
		child = node;
		node = node->parent;
		free_node(child);
	}
}

void folded_stack__init(struct folded_stack *stack)
{
	memset(stack, 0, sizeof(*stack));
	stack->at = &stack->root;
}

void folded_stack__exit(struct folded_stack *stack)
{
	folded__free(&stack->root);
	folded_stack__init(stack);
}

static void count(struct folded_stack *stack, u64 time)
{
	stack->at->self += time - stack->since;
	stack->since = time;
}

int folded_stack__begin(struct folded_stack *stack, const char *name, u64 time)
{
	struct folded_node *node;

	count(stack, time);
	if (stack->depth < FOLDED_MAX_DEPTH) {
		node = find_child(stack->at, name);
		if (!node)
			return -ENOMEM;
		stack->at = node;
	}
	stack->depth++;
	return 0;
}

void folded_stack__end(struct folded_stack *stack, u64 time)
{
	count(stack, time);
	if (--stack->depth < FOLDED_MAX_DEPTH)
		stack->at = stack->at->parent;
}

int folded_stack__around(struct folded_stack *stack, const char *name, u64 time)
{
	struct folded_node *calls = stack->root.child, *node;

	count(stack, time);
	stack->root.child = NULL;
	node = new_child(&stack->root, name);
	if (!node) {
		stack->root.child = calls;
		return -ENOMEM;
	}
	node->child = calls;
	for (; calls; calls = calls->next)
		calls->parent = node;
	stack->at = node;
	stack->depth = 1;
	return 0;
}

/* Both trees are walked together, and the first one is freed on the way */
static int move(struct folded_node *root, struct folded_node *sum)
{
	struct folded_node *node = root, *child, *to = sum;

	for (;;) {
		child = node->child;
		if (child) {
			to = find_child(to, child->name);
			if (!to)
				return -ENOMEM;
			to->self += child->self;
			node->child = child->next;
			node = child;
			continue;
		}
		if (node == root)
			return 0;
		child = node;
		node = node->parent;
		to = to->parent;
		free_node(child);
	}
}

int folded_stack__add_to(struct folded_stack *stack, struct folded_node *sum, const char *name)
{
	struct folded_node *to;

	if (!stack->root.child)
		return 0;
	to = find_child(sum, name);
	return to ? move(&stack->root, to) : -ENOMEM;
}

/* Each has a separator before it, as the names are those of the program */
static size_t put_name(char *at, const char *name)
{
	size_t len = 0;

	at[len++] = ';';
	for (; *name; name++)
		at[len++] = *name == ';' ? ':' : *name == '\n' ? ' ' : *name;
	return len;
}

struct path {
	char	*text;
	size_t	len;
	size_t	size;
};

static int push_name(struct path *path, const char *name)
{
	size_t size = path->len + strlen(name) + 2;
	char *text;

	if (size > path->size) {
		text = realloc(path->text, size * 2);
		if (!text)
			return -ENOMEM;
		path->text = text;
		path->size = size * 2;
	}
	path->len += put_name(path->text + path->len, name);
	return 0;
}

static int print_node(const struct folded_node *node, struct path *path, FILE *out)
{
	int err = push_name(path, node->name);

	if (!err && node->self)
		fprintf(out, "%.*s %" PRIu64 "\n", (int)path->len - 1, path->text + 1, node->self);
	return err;
}

int folded__print(const struct folded_node *root, FILE *out)
{
	const struct folded_node *node = root->child;
	struct path path = { .len = 0 };
	int err = 0;

	while (node && !err) {
		err = print_node(node, &path, out);
		if (node->child) {
			node = node->child;
			continue;
		}
		path.len -= strlen(node->name) + 1;
		while (!node->next && node->parent != root) {
			node = node->parent;
			path.len -= strlen(node->name) + 1;
		}
		node = node->next;
	}
	free(path.text);
	return err;
}
