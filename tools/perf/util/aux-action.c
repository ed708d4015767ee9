// SPDX-License-Identifier: GPL-2.0
/*
 * aux-action.c: the 'aux-action' event term: AUX area events that start
 * paused, and events ('gates') that pause and resume them.
 */

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <internal/xyarray.h>

#include "aux-action.h"
#include "cloexec.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "pmu.h"
#include "record.h"
#include "target.h"
#include "../perf-sys.h"

static const char * const aux_action_names[AUX_ACTION_NR] = {
	[AUX_ACTION_START_PAUSED]	= "start-paused",
	[AUX_ACTION_PAUSE]		= "pause",
	[AUX_ACTION_RESUME]		= "resume",
};

int aux_action__parse(const char *str)
{
	int action;

	for (action = 0; action < AUX_ACTION_NR; action++) {
		if (!strcmp(str, aux_action_names[action]))
			return action;
	}
	return -EINVAL;
}

bool evsel__is_aux_gate(struct evsel *evsel)
{
	struct evsel_config_term *term = evsel__get_config_term(evsel, AUX_ACTION);

	/* Events that were read from a file have no terms */
	if (!term)
		return evsel->core.attr.aux_pause || evsel->core.attr.aux_resume;
	return term->val.aux_action != AUX_ACTION_START_PAUSED;
}

bool evsel__leads_aux_gates(struct evsel *leader)
{
	struct evsel *evsel;

	evlist__for_each_entry(leader->evlist, evsel) {
		if (evsel__has_leader(evsel, leader) && evsel__is_aux_gate(evsel))
			return true;
	}
	return false;
}

static bool evsel__counts_occurrences(struct evsel *evsel)
{
	return evsel->core.attr.type == PERF_TYPE_TRACEPOINT ||
	       evsel->core.attr.type == PERF_TYPE_BREAKPOINT;
}

void evsel__apply_aux_action(struct evsel *evsel, enum aux_action action)
{
	struct perf_event_attr *attr = &evsel->core.attr;

	attr->aux_start_paused = action == AUX_ACTION_START_PAUSED;
	attr->aux_pause = action == AUX_ACTION_PAUSE;
	attr->aux_resume = action == AUX_ACTION_RESUME;

	/*
	 * -F and -c are meant for counters. A gate on a tracepoint or a
	 * breakpoint has to act on every hit, or it misses its window.
	 */
	if (action != AUX_ACTION_START_PAUSED && evsel__counts_occurrences(evsel) &&
	    !evsel__get_config_term(evsel, PERIOD) && !evsel__get_config_term(evsel, FREQ)) {
		attr->freq = 0;
		attr->sample_period = 1;
	}
}

static int __printf(4, 5) misuse(struct evsel *evsel, char *msg, size_t size,
				 const char *fmt, ...)
{
	va_list args;
	int len;

	len = scnprintf(msg, size, "'%s': ", evsel__name(evsel));
	va_start(args, fmt);
	vscnprintf(msg + len, size - len, fmt, args);
	va_end(args);
	return -EINVAL;
}

int evsel__nr_config_terms(struct evsel *evsel, enum evsel_term_type type)
{
	struct evsel_config_term *term;
	int nr = 0;

	list_for_each_entry(term, &evsel->config_terms, list)
		nr += term->type == type;
	return nr;
}

/* A gate in braces stays in that group. An AUX area event must lead it. */
static int check_gate_group(struct evsel *evsel, struct evsel *aux, char *msg, size_t size)
{
	struct evsel *leader = evsel__leader(evsel);

	if (leader == evsel && evsel->core.nr_members <= 1)
		leader = evsel__leader(aux);

	if (evsel__is_aux_event(leader))
		return 0;

	if (leader == evsel__leader(aux))
		return misuse(evsel, msg, size,
			      "the AUX area event before it, '%s', must lead its group to be paused and resumed. Put it first in the braces, before '%s'",
			      evsel__name(aux), evsel__name(leader));

	return misuse(evsel, msg, size,
		      "its group is led by '%s', which is not an AUX area event. Move it out of the braces, or put the AUX area event first in them",
		      evsel__name(leader));
}

static int check_gate(struct evsel *evsel, struct evsel *aux, const char *name,
		      char *msg, size_t size)
{
	struct evsel_config_term *period = evsel__get_config_term(evsel, PERIOD);
	struct evsel_config_term *freq = evsel__get_config_term(evsel, FREQ);

	if (evsel__is_aux_event(evsel))
		return misuse(evsel, msg, size,
			      "an AUX area event cannot %s itself. Use aux-action=start-paused here, and aux-action=%s on an event after it",
			      name, name);

	if (!aux)
		return misuse(evsel, msg, size,
			      "there is no AUX area event before it that it could %s. Put one first, for example -e intel_pt/aux-action=start-paused/",
			      name);

	if (evsel__get_config_term(evsel, AUX_OUTPUT))
		return misuse(evsel, msg, size,
			      "aux-output and aux-action=%s exclude each other. Give the event twice, once with each",
			      name);

	if ((period && !period->val.period) || (freq && !freq->val.freq))
		return misuse(evsel, msg, size,
			      "with %s=0 it never overflows, so it can never %s",
			      period ? "period" : "freq", name);

	return check_gate_group(evsel, aux, msg, size);
}

static int check_aux_action(struct evsel *evsel, struct evsel *aux, char *msg, size_t size)
{
	struct evsel_config_term *term = evsel__get_config_term(evsel, AUX_ACTION);

	if (!term)
		return 0;

	if (evsel__nr_config_terms(evsel, EVSEL__CONFIG_TERM_AUX_ACTION) > 1)
		return misuse(evsel, msg, size,
			      "more than one aux-action. Give the event several times, each time with one");

	if (term->val.aux_action != AUX_ACTION_START_PAUSED)
		return check_gate(evsel, aux, aux_action_names[term->val.aux_action],
				  msg, size);

	if (!evsel__is_aux_event(evsel))
		return misuse(evsel, msg, size,
			      "aux-action=start-paused is for AUX area events, and this is not one. Events that control a trace have aux-action=pause or aux-action=resume");
	return 0;
}

static struct evsel *evsel__last_member(struct evsel *leader)
{
	struct evsel *evsel, *last = leader;

	evlist__for_each_entry(leader->evlist, evsel) {
		if (evsel__has_leader(evsel, leader))
			last = evsel;
	}
	return last;
}

/* The members of a group must be adjacent: put @evsel after the last one */
static void evsel__join_group(struct evsel *evsel, struct evsel *leader)
{
	struct evsel *last = evsel__last_member(leader);

	list_move(&evsel->core.node, &last->core.node);
	evsel__set_leader(evsel, leader);

	leader->core.nr_members = max(leader->core.nr_members, 1) + 1;
}

int evlist__group_aux_gates(struct evlist *evlist, char *msg, size_t size)
{
	struct evsel *evsel, *next, *aux = NULL;
	int err;

	evlist__for_each_entry_safe(evlist, next, evsel) {
		err = check_aux_action(evsel, aux, msg, size);
		if (err)
			return err;
		if (evsel__is_aux_event(evsel))
			aux = evsel;
		else if (evsel__is_aux_gate(evsel) && evsel__is_group_leader(evsel))
			evsel__join_group(evsel, evsel__leader(aux));
	}
	evlist__renumber(evlist);
	return 0;
}

int aux_action__try_open(struct perf_event_attr *attr)
{
	unsigned long flags = perf_event_open_cloexec_flag();
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	/* A PMU may refuse these. They make no difference to the probe. */
	attr->exclude_guest = 0;
	attr->exclude_host = 0;

	fd = sys_perf_event_open(attr, 0, -1, -1, flags);
	if (fd < 0 && errno == EACCES && !attr->exclude_kernel) {
		attr->exclude_kernel = 1;
		attr->exclude_hv = 1;
		fd = sys_perf_event_open(attr, 0, -1, -1, flags);
	}
	return fd < 0 ? -errno : fd;
}

/* Return 0, or the errno of the open before close() can change it */
static int try_attr(struct perf_event_attr *attr)
{
	int fd = aux_action__try_open(attr);

	if (fd < 0)
		return -fd;
	close(fd);
	return 0;
}

/*
 * A kernel with support refuses an event that cannot be paused with EOPNOTSUPP.
 * For a kernel without, the bit is reserved: EINVAL, or E2BIG if its struct
 * perf_event_attr ends before it.
 */
enum aux_action_support aux_action__kernel_support(int err)
{
	switch (err) {
	case 0:
	case EOPNOTSUPP:
		return AUX_ACTION_SUPPORTED;
	case EINVAL:
	case E2BIG:
		return AUX_ACTION_NO_KERNEL_SUPPORT;
	default:
		return AUX_ACTION_UNKNOWN;
	}
}

static enum aux_action_support probe_kernel(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int err = try_attr(&attr);

	/* If it fails without the bit, the probe can't tell */
	if (err)
		return AUX_ACTION_UNKNOWN;

	attr.aux_start_paused = 1;
	return aux_action__kernel_support(try_attr(&attr));
}

static enum aux_action_support probe_pmu(struct evsel *aux)
{
	struct perf_event_attr attr = aux->core.attr;

	attr.aux_action = 0;
	if (try_attr(&attr))
		return AUX_ACTION_UNKNOWN;

	attr.aux_start_paused = 1;
	switch (try_attr(&attr)) {
	case 0:
		return AUX_ACTION_SUPPORTED;
	case EOPNOTSUPP:
		return AUX_ACTION_NO_PMU_SUPPORT;
	default:
		return AUX_ACTION_UNKNOWN;
	}
}

static enum aux_action_support probe(struct evsel *aux)
{
	enum aux_action_support support = probe_kernel();

	return support == AUX_ACTION_SUPPORTED ? probe_pmu(aux) : support;
}

bool aux_action__flag_support(int err)
{
	return err == EBADF;
}

/* @flag takes a descriptor, which this isn't */
static bool probe_flag(unsigned long flag)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = sys_perf_event_open(&attr, 0, -1, INT_MAX, flag);

	if (fd < 0)
		return aux_action__flag_support(errno);
	close(fd);
	return false;
}

static bool kernel_shares_levels(void)
{
	static int shares = -1;

	if (shares < 0) {
		shares = probe_flag(PERF_FLAG_FD_AUX_LEVEL);
		pr_debug(shares ?
			 "aux-action: one pause state for each task, on all CPUs\n" :
			 "aux-action: this kernel has a pause state for each CPU. A task that moves between resume and pause is not traced on the new CPU\n");
	}
	return shares;
}

void evsel__share_aux_level(struct evsel *evsel, int pid, int cpu_map_idx, int thread,
			    int *group_fd, unsigned long *flags)
{
	bool task = pid != -1 && !(*flags & PERF_FLAG_PID_CGROUP);
	int fd = -1;

	if (!evsel__is_aux_event(evsel) || !evsel__leads_aux_gates(evsel))
		return;

	if (cpu_map_idx)
		fd = *(int *)xyarray__entry(evsel->core.fd, 0, thread);

	if (evsel->thread_windows) {
		*group_fd = fd;
		*flags |= PERF_FLAG_FD_AUX_THREADS;
	} else if (task && fd >= 0 && kernel_shares_levels()) {
		*group_fd = fd;
		*flags |= PERF_FLAG_FD_AUX_LEVEL;
	}
}

static const char *evsel__describe_pmu(struct evsel *evsel)
{
	struct perf_pmu *pmu = evsel__find_pmu(evsel);

	return pmu ? pmu->name : "of that event";
}

/* Explain in @msg why @evsel cannot have its AUX action on the trace of @aux */
static int describe_support(struct evsel *evsel, struct evsel *aux,
			    enum aux_action_support support, char *msg, size_t size)
{
	switch (support) {
	case AUX_ACTION_NO_KERNEL_SUPPORT:
		return scnprintf(msg, size,
				 "'%s': this kernel cannot pause and resume AUX area tracing. Boot one that can (Linux 6.13, or an older one with a backport), or leave out aux-action",
				 evsel__name(evsel));
	case AUX_ACTION_NO_PMU_SUPPORT:
		return scnprintf(msg, size,
				 "'%s': this kernel can pause and resume AUX area tracing, but its driver of the PMU %s cannot. Leave out aux-action to trace without gates",
				 evsel__name(evsel), evsel__describe_pmu(aux));
	case AUX_ACTION_SUPPORTED:
	case AUX_ACTION_UNKNOWN:
	default:
		return 0;
	}
}

int evlist__check_aux_actions(struct evlist *evlist, char *msg, size_t size)
{
	struct evsel *evsel, *leader, *probed = NULL;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__get_config_term(evsel, AUX_ACTION))
			continue;
		leader = evsel__is_aux_event(evsel) ? evsel : evsel__leader(evsel);
		if (leader == probed)
			continue;
		probed = leader;
		if (describe_support(evsel, leader, probe(leader), msg, size))
			return -EOPNOTSUPP;
	}
	return 0;
}

static int check_no_samples(struct evlist *evlist, char *msg, size_t size)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel__is_aux_gate(evsel))
			return misuse(evsel, msg, size,
				      "with -n/--no-samples it never overflows, so it cannot control a trace");
	}
	return 0;
}

static bool evsel__starts_paused(struct evsel *evsel)
{
	struct evsel_config_term *term = evsel__get_config_term(evsel, AUX_ACTION);

	return term && term->val.aux_action == AUX_ACTION_START_PAUSED;
}

int evlist__check_thread_windows(struct evlist *evlist, const struct record_opts *opts,
				 char *msg, size_t size)
{
	struct evsel *evsel;
	bool found = false;

	if (!opts->target.system_wide && !opts->target.cpu_list) {
		scnprintf(msg, size,
			  "--thread-windows is for -a and -C. Leave it out: the windows of a task follow it");
		return -EINVAL;
	}

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel__is_aux_event(evsel) || !evsel__leads_aux_gates(evsel))
			continue;
		if (!evsel__starts_paused(evsel))
			return misuse(evsel, msg, size,
				      "with --thread-windows it needs aux-action=start-paused: no thread has opened a window that is there from the start");
		evsel->thread_windows = true;
		found = true;
	}

	if (!found) {
		scnprintf(msg, size,
			  "--thread-windows needs windows: no event has aux-action=resume or =pause");
		return -EINVAL;
	}
	return 0;
}

static int evlist__prepare_thread_windows(struct evlist *evlist, const struct record_opts *opts,
					  char *msg, size_t size)
{
	int err = evlist__check_thread_windows(evlist, opts, msg, size);

	if (!err && !probe_flag(PERF_FLAG_FD_AUX_THREADS)) {
		scnprintf(msg, size,
			  "This kernel has windows of CPUs only, not of threads. Leave out --thread-windows, or trace a task");
		err = -EOPNOTSUPP;
	}
	return err;
}

int evlist__prepare_aux_actions(struct evlist *evlist, struct record_opts *opts)
{
	char msg[BUFSIZ];
	int err;

	err = evlist__group_aux_gates(evlist, msg, sizeof(msg));
	if (!err && opts->no_samples)
		err = check_no_samples(evlist, msg, sizeof(msg));
	if (!err)
		err = evlist__check_aux_actions(evlist, msg, sizeof(msg));
	if (!err && opts->thread_windows)
		err = evlist__prepare_thread_windows(evlist, opts, msg, sizeof(msg));
	if (err)
		pr_err("%s\n", msg);
	return err;
}

bool evsel__aux_action_missing(struct evsel *evsel)
{
	return evsel->core.attr.aux_action && probe_kernel() == AUX_ACTION_NO_KERNEL_SUPPORT;
}

int evsel__aux_action_strerror(struct evsel *evsel, int err, char *msg, size_t size)
{
	struct perf_event_attr *attr = &evsel->core.attr;
	struct evsel *leader = evsel__leader(evsel);

	if (!attr->aux_action || (err != EINVAL && err != EOPNOTSUPP))
		return 0;

	if (leader == evsel && !attr->aux_start_paused && probe_kernel() == AUX_ACTION_SUPPORTED)
		return scnprintf(msg, size,
				 "'%s': an event with aux-action=%s must be in a group that an AUX area event leads. 'perf record' puts it there",
				 evsel__name(evsel), attr->aux_pause ? "pause" : "resume");

	return describe_support(evsel, leader, probe(leader), msg, size);
}
