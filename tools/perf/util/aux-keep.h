/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_AUX_KEEP_H
#define __PERF_AUX_KEEP_H 1

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>
#include "duration.h"

struct evlist;
struct evsel;
struct record_opts;

/* Help text for a wrong value of the term */
#define AUX_KEEP_VALUES "valid values: a number and a unit, as in 10ms; units: " DURATION_UNITS "\n"

/* Parse the value of the 'keep' event term. Return a time in ns, or 0 if it is wrong. */
u64 aux_keep__parse(const char *str);

/*
 * Check the events' keep terms against the other events and options. Call it after
 * evlist__group_aux_gates(). Return 0, or -EINVAL with the reason in @msg.
 */
int evlist__check_aux_keep(struct evlist *evlist, const struct record_opts *opts,
			   char *msg, size_t size);

/* The above for 'perf record', and is the kernel able to? Prints an error message. */
int evlist__prepare_aux_keep(struct evlist *evlist, const struct record_opts *opts);

/*
 * Give the limits to the kernel, for events that are open and disabled. Return 0, or
 * -errno with the reason in @msg.
 */
int evlist__apply_aux_keep(struct evlist *evlist, char *msg, size_t size);

/* Interpret the errno of an attempt to do so for @evsel */
int evsel__aux_keep_strerror(struct evsel *evsel, int err, char *msg, size_t size);

/* Print what became of the windows, if an event has the term, or has windows of threads */
void evlist__fprintf_aux_windows(struct evlist *evlist, FILE *fp);

#endif /* __PERF_AUX_KEEP_H */
