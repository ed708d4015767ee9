/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_AUX_ACTION_H
#define __PERF_AUX_ACTION_H 1

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include "evsel_config.h"

struct evlist;
struct evsel;
struct perf_event_attr;
struct record_opts;

/* Values of the 'aux-action' event term */
enum aux_action {
	AUX_ACTION_START_PAUSED,
	AUX_ACTION_PAUSE,
	AUX_ACTION_RESUME,
	AUX_ACTION_NR,
};

/* What the kernel can do for an AUX area event */
enum aux_action_support {
	/* pause and resume it */
	AUX_ACTION_SUPPORTED,
	/* the kernel supports pause and resume, the PMU's driver does not */
	AUX_ACTION_NO_PMU_SUPPORT,
	/* the kernel does not support pause and resume */
	AUX_ACTION_NO_KERNEL_SUPPORT,
	/* the probe failed for another reason; opening the real event will show it */
	AUX_ACTION_UNKNOWN,
};

/* Help text for a wrong value of the term */
#define AUX_ACTION_VALUES "valid values: start-paused,pause,resume\n"

/* Parse the term's value. Return an enum aux_action, or -EINVAL. */
int aux_action__parse(const char *str);

/* How many terms of @type were given to @evsel? The last one would count. */
int evsel__nr_config_terms(struct evsel *evsel, enum evsel_term_type type);

/* Put the event's aux-action term into its attribute */
void evsel__apply_aux_action(struct evsel *evsel, enum aux_action action);

/* Does @evsel pause or resume the trace of its group leader? */
bool evsel__is_aux_gate(struct evsel *evsel);

/*
 * Does the group of @leader exist only so that the kernel finds the AUX area
 * event of its gates? Then its members are not reported as a group.
 */
bool evsel__leads_aux_gates(struct evsel *leader);

/*
 * Move each event that pauses or resumes into the group of the AUX area event
 * before it. Return 0, or -EINVAL with the reason in @msg. Call it after
 * auxtrace_record__init(), which finds out which PMUs have an AUX area.
 */
int evlist__group_aux_gates(struct evlist *evlist, char *msg, size_t size);

/*
 * Check that the kernel supports the events' aux-action terms. Return 0 if it
 * does or if that is unknown, otherwise -EOPNOTSUPP with the reason in @msg.
 */
int evlist__check_aux_actions(struct evlist *evlist, char *msg, size_t size);

/* All of the above for 'perf record'. Prints an error message. */
int evlist__prepare_aux_actions(struct evlist *evlist, struct record_opts *opts);

/* Interpret the result of a probe, 0 or an errno */
enum aux_action_support aux_action__kernel_support(int err);

/*
 * If opening @evsel failed with @err because of its AUX action, explain that in
 * @msg. Return the length of the text, 0 if there is another cause.
 */
int evsel__aux_action_strerror(struct evsel *evsel, int err, char *msg, size_t size);

/* Has @evsel an AUX action, and does the kernel not support them? */
bool evsel__aux_action_missing(struct evsel *evsel);

/*
 * Check whether opts->thread_windows makes sense with these events, and mark those that it
 * is for. Call it after evlist__group_aux_gates(). Return 0, or -EINVAL with the reason in
 * @msg.
 */
int evlist__check_thread_windows(struct evlist *evlist, const struct record_opts *opts,
				 char *msg, size_t size);

/*
 * Let a task's event of @evsel on a further CPU, that of @cpu_map_idx, share the
 * pause state of the one on the first CPU, if the kernel can: then paused and
 * resumed belong to the task and not to the CPU. If @evsel is marked, let its events on
 * all CPUs share the windows of threads. Changes @group_fd and @flags to open it so.
 * @pid: -1 for an event of all tasks, a descriptor for one of a cgroup, which @flags say.
 */
void evsel__share_aux_level(struct evsel *evsel, int pid, int cpu_map_idx, int thread,
			    int *group_fd, unsigned long *flags);

/* @err: result of a flag with what is no descriptor. Does the kernel know the flag? */
bool aux_action__flag_support(int err);

/*
 * Open a disabled event on this process to probe for support. Without permission
 * to trace the kernel, exclude it in @attr. Return a descriptor, or -errno.
 */
int aux_action__try_open(struct perf_event_attr *attr);

#endif /* __PERF_AUX_ACTION_H */
