/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the checkers of the Intel PT and Intel BTS streams.
 */
#ifndef _INTEL_STREAM_H
#define _INTEL_STREAM_H

#include <stdio.h>

#include "aux_records.h"

/* The fault goes into ->error; the value is -1. */
#define stream_error(trace, fmt, ...)					\
	(snprintf((trace)->error, sizeof((trace)->error), fmt, ##__VA_ARGS__), -1)

/* Append @size bytes of the area from offset @from on. */
int area_append(void **bytes, size_t *nr, const struct aux_group *group, __u64 from,
		size_t size);
/* Let the kernel reuse the space of this AUX record. */
void area_consumed(struct aux_group *group, const struct perf_record *rec);

#endif /* _INTEL_STREAM_H */
