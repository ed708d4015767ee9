/* SPDX-License-Identifier: GPL-2.0 */
/* What kernel/events/aux_action.c uses of the kernel's header of this name. */
#ifndef _PERF_EVENTS_LINUX_PERF_EVENT_H
#define _PERF_EVENTS_LINUX_PERF_EVENT_H

#define CONFIG_PERF_EVENTS	1

#include <errno.h>
#include <linux/compiler.h>
#include <linux/perf_aux_action.h>
#include <linux/rculist.h>
#include <linux/types.h>

#define PERF_PMU_CAP_AUX_PAUSE	0x0400
#define PERF_EF_PAUSE		0x08
#define PERF_EF_RESUME		0x10

enum perf_event_state {
	PERF_EVENT_STATE_OFF		= -1,
	PERF_EVENT_STATE_INACTIVE	=  0,
	PERF_EVENT_STATE_ACTIVE		=  1,
};

struct perf_event_attr {
	u32	aux_output : 1,
		aux_start_paused : 1,
		aux_pause : 1,
		aux_resume : 1;
};

struct buffer;

struct pmu {
	int	capabilities;
	bool	has_aux;
	void	(*start)(struct perf_event *event, int flags);
	void	(*stop)(struct perf_event *event, int flags);
};

#define PERF_NR_TASK_CONTEXTS	2
#define perf_task_context(task, nr)	((task)->ctx[nr])

struct task_struct {
	struct perf_event_context *ctx[PERF_NR_TASK_CONTEXTS];
};

struct perf_event_context {
	struct task_struct	*task;
	struct list_head	event_list;
};

struct perf_event {
	struct perf_event_attr	attr;
	struct pmu		*pmu;
	enum perf_event_state	state;
	int			oncpu;
	int			cpu;
	struct perf_event_context *ctx;
	struct list_head	event_entry;
	struct perf_event	*parent;
	struct perf_event	*aux_event;
	struct perf_event	*next;		/* in the group */
	struct perf_aux_action	aux_action;

	/* for mainline_action.c */
	struct buffer		*rb;
};

#define for_each_sibling_event(sibling, event)				\
	for (struct perf_event *each_ = (event)->next;		\
	     !!((sibling) = each_); each_ = each_->next)

static inline bool has_aux(struct perf_event *event)
{
	return event->pmu->has_aux;
}

static inline bool perf_event_is_aux_gate(struct perf_event *event)
{
	return event->attr.aux_pause || event->attr.aux_resume;
}

#define cmpxchg(word, old, new)						\
	({								\
		__typeof__(*(word)) seen_ = (old);			\
									\
		__atomic_compare_exchange_n(word, &seen_, new, 0,	\
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
		seen_;							\
	})

#endif
