/* SPDX-License-Identifier: GPL-2.0 */
/* What kernel/events/internal.h says of kernel/events/aux_level.c. */
int perf_aux_level_share(struct perf_event *event, struct perf_event *with,
			 struct perf_event_context *ctx);
void perf_aux_level_inherit(struct perf_event *child, struct perf_event_context *ctx);
