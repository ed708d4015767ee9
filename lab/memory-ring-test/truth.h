/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The truth table: which process ran which program, and when. The load writes it, and
 * the checker compares perf's output for each sample with it.
 *
 * It is a file that all processes of the load share. An entry is a change of a process
 * or thread between two clock readings, one before and one after the change. A sample in
 * between may see either state, and the checker accepts both.
 */
#ifndef LAB_SNAPSHOT_TEST_TRUTH_H
#define LAB_SNAPSHOT_TEST_TRUTH_H

#include <stdint.h>

#define TRUTH_MAGIC	0x3168747572740a21ULL
#define TRUTH_OBJECTS	32
#define TRUTH_PATH	256

enum truth_kind {
	TRUTH_NONE,
	TRUTH_FORK,	/* pid is a new process, forked by the thread @parent */
	TRUTH_THREAD,	/* tid is a new thread, made by the thread @parent */
	TRUTH_EXEC,	/* pid calls execve(); after: 0 */
	TRUTH_IMAGE,	/* object came with execve(), done at @before; first the program */
	TRUTH_MAP,	/* object was mapped */
	TRUTH_UNMAP,	/* the object at base was unmapped */
	TRUTH_COMM,	/* tid is called comm */
	TRUTH_GONE,	/* tid had ended at @before; its id is free from then on */
};

struct truth_entry {
	uint64_t before;
	uint64_t after;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent;
	uint16_t object;
	uint16_t kind;		/* written last */
	uint64_t base;		/* is added to the addresses of the object's file */
	char	 comm[16];
};

struct truth {
	uint64_t magic;
	uint32_t capacity;
	uint32_t entries;	/* requested; if more than capacity, some are missing */
	uint32_t objects;	/* no process adds one while another does: see the load */
	uint32_t unused;
	char	 path[TRUTH_OBJECTS][TRUTH_PATH];
	struct truth_entry entry[];
};

#endif
