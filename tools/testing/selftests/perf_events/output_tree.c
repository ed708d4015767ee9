// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "output_tree.h"

int tree_begin(struct output_tree *tree)
{
	attr_names(&tree->attr);
	tree->attr.output_shared = 1;
	tree->fd = -1;
	for (tree->nr_cpus = 0; test_cpu(tree->nr_cpus) >= 0; tree->nr_cpus++)
		;
	tree->writers = writers_alloc();
	return tree->writers ? 0 : -1;
}

void tree_end(struct output_tree *tree)
{
	for (int i = 0; i < tree->nr_pids; i++)
		kill(tree->pid[i], SIGKILL);
	for (int i = 0; i < tree->nr_pids; i++)
		end_writer(tree->pid[i]);
	output_unmap(&tree->out);
	if (tree->fd >= 0)
		close(tree->fd);
	writers_free(tree->writers);
}

int tree_open(struct output_tree *tree, unsigned int pages, int prot)
{
	tree->attr.inherit = 1;
	tree->fd = perf_open(&tree->attr, 0, -1, -1);
	if (tree->fd < 0)
		return -1;
	return output_map(&tree->out, tree->fd, pages, prot);
}

int tree_start_writers(struct output_tree *tree, int nr, unsigned int nr_each)
{
	for (int i = 0; i < nr; i++) {
		pid_t pid = start_writer(tree->writers, i, test_cpu(i % tree->nr_cpus), nr_each,
					 false);

		if (pid < 0)
			return -1;
		tree->pid[tree->nr_pids++] = pid;
	}
	return wait_count(&tree->writers->ready, nr);
}

void tree_let_go(struct output_tree *tree)
{
	__atomic_store_n(&tree->writers->go, 1, __ATOMIC_RELEASE);
}

int tree_end_writers(struct output_tree *tree)
{
	int failed;

	__atomic_store_n(&tree->writers->stop, 1, __ATOMIC_RELAXED);
	failed = wait_count(&tree->writers->finished, tree->nr_pids);
	perf_disable(tree->fd);
	__atomic_store_n(&tree->writers->end, 1, __ATOMIC_RELEASE);
	for (; tree->nr_pids; tree->nr_pids--)
		failed |= end_writer(tree->pid[tree->nr_pids - 1]);
	return failed ? -1 : 0;
}

long long tree_data_head(const struct output_tree *tree)
{
	return __atomic_load_n(&tree->out.page->data_head, __ATOMIC_ACQUIRE);
}

void write_names(int first, int nr)
{
	for (int i = first; i < first + nr; i++)
		write_name(i);
}

/* --- Tally --- */

int tally_slot(const struct tally *t, const struct out_record *rec)
{
	for (int i = 0; i < t->nr; i++) {
		if (t->pid[i] == (pid_t)rec->tid)
			return i;
	}
	return -1;
}

void tally_add(struct tally *t, const struct out_record *rec)
{
	long long number;
	int slot;

	t->total++;
	if (rec->type == PERF_RECORD_LOST) {
		t->lost += rec->lost;
		return;
	}

	slot = tally_slot(t, rec);
	number = record_number(rec);
	if (slot < 0)
		t->error = "a record of none of the writers";
	else if (number < 0)
		t->error = "a record isn't what was written";
	else if (number < t->next[slot])
		t->error = "a record is out of its writer's order";
	if (t->error)
		return;

	t->gaps[slot] += number - t->next[slot];
	t->next[slot] = number + 1;
	t->records[slot]++;
}

void tally_init(struct tally *t, const struct output_tree *tree)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->pid, tree->pid, sizeof(tree->pid));
	t->nr = tree->nr_pids;
}

void tally_read(struct tally *t, struct output_tree *tree)
{
	int ret;

	while (!t->error && (ret = output_next(&tree->out, &tree->rec, &tree->why))) {
		if (ret < 0)
			t->error = tree->why;
		else
			tally_add(t, &tree->rec);
	}
	output_release(&tree->out);
}

long tally_sum(const struct tally *t)
{
	long sum = 0;

	for (int i = 0; i < t->nr; i++)
		sum += t->records[i];
	return sum;
}

void tally_flush_lost(struct tally *t, struct output_tree *tree)
{
	perf_enable(tree->fd);
	t->pid[t->nr] = gettid();
	write_name(t->next[t->nr]);
	t->nr++;
	tally_read(t, tree);
}
