/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LINES_LEASE_SHARED_H
#define LINES_LEASE_SHARED_H

#include "internal.h"

/**
 * struct lease_limit - up to where a CPU takes leases without a look at the limits
 * @until: the limits when they were last read, less the slack
 * @over: its last lease ends behind that
 */
struct lease_limit {
	unsigned long	until;
	bool		over;
};

/**
 * lease_reserve - take a lease with one addition
 * @rb: shared buffer
 * @limit: of this CPU
 * @size: of the lease
 * @slack: all CPUs' leases together
 * @start: where it begins
 *
 * Nobody looks before the addition, so the end may be behind the limits, less the slack.
 * A CPU whose lease is there has to look before it takes the next one. So each CPU has
 * one at most there, and they fit into the slack.
 *
 * Return: false if there is no room.
 */
bool lease_reserve(struct perf_buffer *rb, struct lease_limit *limit, unsigned int size,
		   unsigned long slack, unsigned long *start);

/* Commit a lease. Publishes if this completes a block. */
void lease_commit(struct perf_buffer *rb, unsigned long start, unsigned int size);

/*
 * A single record. @contended: in: try until there is no room, however often others are
 * faster; out: somebody was.
 */
bool lease_reserve_single(struct perf_buffer *rb, unsigned int size, unsigned long slack,
			  unsigned long *start, bool *contended);
void lease_commit_single(struct perf_buffer *rb, unsigned long start, unsigned int size);

/* At a tick: what is committed, whether it completes a block or not. */
void lease_publish(struct perf_buffer *rb);

#endif
