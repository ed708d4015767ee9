// SPDX-License-Identifier: GPL-2.0
/* Snapshots of the AUX area that triggers ask for; see trigger-snapshot.h */
#include <stdio.h>
#include "debug.h"
#include "trigger-snapshot.h"

int trigger_snapshot__init(struct trigger_snapshot *snapshot, unsigned int interval,
			   unsigned int max)
{
	int err;

	*snapshot = (struct trigger_snapshot){ .max = max };
	err = dump_requests__init(&snapshot->requests, interval);
	if (err)
		pr_err("Failed to create a pipe or a timer for triggers: %m\n");
	return err;
}

void trigger_snapshot__exit(struct trigger_snapshot *snapshot)
{
	dump_requests__exit(&snapshot->requests);
}

void trigger_snapshot__request(struct trigger_snapshot *snapshot,
			       const struct dump_request *request)
{
	dump_requests__add_named(&snapshot->requests, request);
}

static bool is_enough(const struct trigger_snapshot *snapshot)
{
	return snapshot->max && snapshot->nr >= snapshot->max;
}

const char *trigger_snapshot__refuses(struct trigger_snapshot *snapshot)
{
	if (!is_enough(snapshot))
		return NULL;
	snapshot->nr_refused++;
	return "there were as many snapshots as --max-dumps allows";
}

static bool has_to_wait(struct trigger_snapshot *snapshot)
{
	bool wait = snapshot->requests.too_early;

	snapshot->nr_waited += wait && !snapshot->waiting;
	snapshot->waiting = wait;
	return wait;
}

static int say(void *arg, const char *why)
{
	if (!quiet)
		fprintf(stderr, "[ perf record: Snapshot because of %s ]\n", why);
	return dump_requests__add_line(arg, why);
}

bool trigger_snapshot__due(struct trigger_snapshot *snapshot, bool at_exit, char **why)
{
	struct dump_requests *requests = &snapshot->requests;
	bool enough = is_enough(snapshot);

	dump_requests__woken_up(requests);
	if (!dump_requests__any(requests) || (!enough && !at_exit && has_to_wait(snapshot)))
		return false;
	dump_requests__take(requests);
	if (enough) {
		snapshot->nr_refused += dump_requests__nr(requests);
	} else {
		snapshot->nr++;
		dump_requests__begin(requests);
		if (dump_requests__reasons(requests, say, why))
			pr_err("Not enough memory for the reasons of a snapshot\n");
	}
	dump_requests__answer(requests, &(struct dump_outcome){});
	return !enough;
}

void trigger_snapshot__print_stats(const struct trigger_snapshot *snapshot)
{
	fprintf(stderr,
		"[ perf record: Triggers asked for %u snapshots; %u had to wait for --dump-interval, %u requests came after --max-dumps ]\n",
		snapshot->nr, snapshot->nr_waited, snapshot->nr_refused);
}
