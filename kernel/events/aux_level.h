/* SPDX-License-Identifier: GPL-2.0 */
/* AUX area events of one task that share the level of their trace, see aux_level.c. */
#ifndef _KERNEL_EVENTS_AUX_LEVEL_H
#define _KERNEL_EVENTS_AUX_LEVEL_H

#include <linux/perf_event.h>

int perf_aux_level_share(struct perf_event *event, struct perf_event *with,
			 struct perf_event_context *ctx);
void perf_aux_level_inherit(struct perf_event *child, struct perf_event_context *ctx);

#endif /* _KERNEL_EVENTS_AUX_LEVEL_H */
