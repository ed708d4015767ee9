/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_SNAPSHOT_H
#define __PERF_TRIGGER_SNAPSHOT_H 1

/*
 * Snapshots of the AUX area (perf record -S) that triggers ask for, without a memory ring
 *
 * It is as if SIGUSR2 came, but the file says why. All requests that come before a snapshot
 * is taken share it.
 */
#include <linux/types.h>
#include <stdbool.h>
#include "dump-requests.h"

/**
 * struct trigger_snapshot - Requests for snapshots
 * @max:	refuse requests after so many snapshots, 0: never
 * @nr:		snapshots so far
 * @nr_refused:	requests after the last one
 * @nr_waited:	snapshots that had to wait for the interval
 * @waiting:	one has to wait now
 */
struct trigger_snapshot {
	struct dump_requests	requests;
	unsigned int		max;
	unsigned int		nr;
	unsigned int		nr_refused;
	unsigned int		nr_waited;
	bool			waiting;
};

/* @interval: in seconds, from one to the next. Return 0, or -errno after a message. */
int trigger_snapshot__init(struct trigger_snapshot *snapshot, unsigned int interval,
			   unsigned int max);
void trigger_snapshot__exit(struct trigger_snapshot *snapshot);

void trigger_snapshot__request(struct trigger_snapshot *snapshot,
			       const struct dump_request *request);
/* A program wants to request one: why not, which is counted then, or NULL */
const char *trigger_snapshot__refuses(struct trigger_snapshot *snapshot);

/**
 * trigger_snapshot__due - Is one due now?
 * @at_exit: there won't be a later one: don't wait for the interval
 * @why: if so, it is taken by the caller, and lines are added that say why it was
 */
bool trigger_snapshot__due(struct trigger_snapshot *snapshot, bool at_exit, char **why);

void trigger_snapshot__print_stats(const struct trigger_snapshot *snapshot);

#endif /* __PERF_TRIGGER_SNAPSHOT_H */
