/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A buffer of a process tree on all CPUs, writers in that tree, and the tally of what they wrote.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _OUTPUT_TREE_H
#define _OUTPUT_TREE_H

#include "output_common.h"

#define TREE_WRITERS	6	/* at most */

struct output_tree {
	struct perf_event_attr attr;
	struct output out;
	struct writer_shared *writers;
	pid_t pid[TREE_WRITERS];
	int nr_pids;
	int fd;
	int nr_cpus;
	struct out_record rec;
	const char *why;
};

/* Prepare the attr of an event of names; nothing is open. */
int tree_begin(struct output_tree *tree);
/* Kill the writers, unmap and close. */
void tree_end(struct output_tree *tree);
/* A buffer of this process and all its children, on all CPUs */
int tree_open(struct output_tree *tree, unsigned int pages, int prot);

/* Start writers on all CPUs in turn; they wait for tree_let_go(). 0 for @nr_each: no limit. */
int tree_start_writers(struct output_tree *tree, int nr, unsigned int nr_each);
void tree_let_go(struct output_tree *tree);
/* Wait for those that have a limit, stop the others. The event is disabled. */
int tree_end_writers(struct output_tree *tree);
/* This process writes, too. */
void write_names(int first, int nr);

long long tree_data_head(const struct output_tree *tree);

/* --- Tally --- */

/* The fate of each writer's records */
struct tally {
	pid_t	pid[TREE_WRITERS + 1];	/* the writers, and this process */
	int	nr;
	long	records[TREE_WRITERS + 1];
	long	next[TREE_WRITERS + 1];
	long	gaps[TREE_WRITERS + 1];
	__u64	lost;
	long	total;
	const char *error;		/* NULL: there was none */
};

/* The writers of @tree, none of whose records was read yet */
void tally_init(struct tally *t, const struct output_tree *tree);
/* The number of the writer, or -1 */
int tally_slot(const struct tally *t, const struct out_record *rec);
void tally_add(struct tally *t, const struct out_record *rec);
/* Take all that is in the buffer, and leave room for more. */
void tally_read(struct tally *t, struct output_tree *tree);
/* The records of all writers */
long tally_sum(const struct tally *t);
/* Write one more record, so that earlier losses are reported. */
void tally_flush_lost(struct tally *t, struct output_tree *tree);

#endif /* _OUTPUT_TREE_H */
