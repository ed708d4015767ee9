/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the load's programs write the truth table, and how they burn CPU time.
 */
#ifndef LAB_SNAPSHOT_TEST_RECORD_H
#define LAB_SNAPSHOT_TEST_RECORD_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

static struct truth *truth;

static inline uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static inline _Noreturn void die(const char *what)
{
	perror(what);
	_exit(EXIT_FAILURE);
}

/* Copies as much of a string as fits. The rest of @to is already zero. */
static inline void copy_string(char *to, size_t size, const char *from)
{
	memcpy(to, from, strnlen(from, size - 1));
}

static inline void truth_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	truth = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (truth == MAP_FAILED)
		die(path);
	close(fd);
}

static inline void truth_write(enum truth_kind kind, struct truth_entry entry)
{
	uint32_t number = __atomic_fetch_add(&truth->entries, 1, __ATOMIC_RELAXED);
	struct truth_entry *slot = &truth->entry[number];

	if (number >= truth->capacity)
		return;
	if (!entry.after && kind != TRUTH_EXEC)
		entry.after = now();
	entry.pid = getpid();
	if (!entry.tid)
		entry.tid = syscall(SYS_gettid);
	entry.kind = TRUTH_NONE;
	*slot = entry;
	__atomic_store_n(&slot->kind, kind, __ATOMIC_RELEASE);
}

/* The load knows all objects before it starts a process. */
static inline uint16_t truth_object(const char *path)
{
	uint16_t i;

	for (i = 0; i < truth->objects; i++) {
		if (!strcmp(truth->path[i], path))
			return i;
	}
	fprintf(stderr, "not in the truth table: %s\n", path);
	_exit(EXIT_FAILURE);
}

static inline void set_comm(const char *comm)
{
	struct truth_entry entry = { .before = now() };

	prctl(PR_SET_NAME, comm);
	copy_string(entry.comm, sizeof(entry.comm), comm);
	truth_write(TRUTH_COMM, entry);
}

/* Returns as fork() does. */
static inline pid_t recorded_fork(void)
{
	struct truth_entry entry = {
		.before = now(),
		.parent = syscall(SYS_gettid),
	};
	pid_t pid = fork();

	if (!pid)
		truth_write(TRUTH_FORK, entry);
	return pid;
}

static inline _Noreturn void recorded_exec(char **argv)
{
	truth_write(TRUTH_EXEC, (struct truth_entry){ .before = now() });
	execv(argv[0], argv);
	die(argv[0]);
}

#endif
