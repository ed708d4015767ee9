/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_AUX_ACTION_H
#define __PERF_AUX_ACTION_H 1

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

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
	/* not for this PMU, although the kernel knows pause and resume */
	AUX_ACTION_NOT_BY_PMU,
	/* nothing: the kernel has no pause and resume */
	AUX_ACTION_NOT_BY_KERNEL,
	/* the trial gave another error, opening the real event will tell */
	AUX_ACTION_UNKNOWN,
};

/* Help text for a wrong value of the term */
#define AUX_ACTION_VALUES "valid values: start-paused,pause,resume\n"

/* Parse the term's value. Return an enum aux_action, or -EINVAL. */
int aux_action__parse(const char *str);

/* Put the event's aux-action term into its attribute */
void evsel__apply_aux_action(struct evsel *evsel, enum aux_action action);

/* Does @evsel pause or resume the trace of its group leader? */
bool evsel__is_aux_gate(struct evsel *evsel);

/*
 * Is the group of @leader there for the kernel, to find the AUX area event of
 * the gates in it? It is nothing to analyse together then.
 */
bool evsel__leads_aux_gates(struct evsel *leader);

/*
 * Move each event that pauses or resumes into the group of the AUX area event
 * before it. Return 0, or -EINVAL with what is wrong in @msg. Needs to know
 * which PMUs have an AUX area, i.e. comes after auxtrace_record__init().
 */
int evlist__group_aux_gates(struct evlist *evlist, char *msg, size_t size);

/*
 * Ask the kernel whether it can do what the aux-action terms want. Return 0
 * if it can or if the answer isn't clear, otherwise -EOPNOTSUPP with the
 * reason in @msg.
 */
int evlist__check_aux_actions(struct evlist *evlist, char *msg, size_t size);

/* All of the above for 'perf record'. Prints what is wrong. */
int evlist__prepare_aux_actions(struct evlist *evlist, struct record_opts *opts);

/* What the answer of the kernel to a trial means: 0 or an errno */
enum aux_action_support aux_action__kernel_support(int err);

/*
 * Say why opening @evsel failed with @err, if it has to do with its AUX
 * action. Return the length of the text in @msg, 0 if it hasn't.
 */
int evsel__aux_action_strerror(struct evsel *evsel, int err, char *msg, size_t size);

/* Can @evsel fail because the kernel knows nothing of aux-action? */
bool evsel__aux_action_missing(struct evsel *evsel);

/*
 * Shall a task's event of @evsel on one more CPU, that of @cpu_map_idx, share the
 * pause state of the one on the first CPU? Then paused and resumed belong to the
 * task and not to the CPU. Changes @group_fd and @flags to open it so. @pid: -1 for
 * an event of all tasks.
 */
void evsel__share_aux_level(struct evsel *evsel, int pid, int cpu_map_idx, int thread,
			    int *group_fd, unsigned long *flags);

/* What the kernel says to that flag without a descriptor: can it share? */
bool aux_action__level_support(int err);

/*
 * Open a disabled event of this process to see whether the kernel can. What
 * isn't permitted is left out of @attr. Return a descriptor, or -errno.
 */
int aux_action__try_open(struct perf_event_attr *attr);

#endif /* __PERF_AUX_ACTION_H */
