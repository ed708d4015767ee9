/* SPDX-License-Identifier: GPL-2.0 */
/* What kernel/events/{output_shared,ring_buffer}.c use of the kernel's header. */
#ifndef _OUTPUT_LINUX_PERF_EVENT_H
#define _OUTPUT_LINUX_PERF_EVENT_H

#include <errno.h>

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "../../../../../../include/uapi/linux/perf_event.h"

#define PERF_PMU_CAP_AUX_NO_SG		0x0004
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0x0400

struct perf_buffer;
struct perf_event;

struct pmu {
	int	capabilities;
	void	*(*setup_aux)(struct perf_event *event, void **pages, int nr_pages,
			      bool overwrite);
	void	(*free_aux)(void *aux);
	bool	(*aux_counts)(void *aux);
};

/* Which windows of an AUX area are kept, in trees with the gates */
struct perf_aux_keep {
	atomic64_t	longer;
	bool		overwrites;
};

struct perf_event {
	struct perf_event	*parent;
	struct perf_event_attr	attr;
	struct perf_buffer	*rb;
	struct list_head	rb_entry;
	wait_queue_head_t	waitq;
	struct pmu		*pmu;
	int			cpu;
	u64			id;
	u16			id_header_size;
	atomic64_t		lost_samples;
	struct fasync_struct	*fasync;
	int			pending_wakeup;
	int			pending_kill;
	int			pending_disable;
	struct irq_work		pending_irq;
	struct perf_aux_keep	aux_keep;
};

static inline void perf_aux_window_cut(struct perf_event *event)
{
	(void)event;
}

static inline struct fasync_struct **perf_event_fasync(struct perf_event *event)
{
	return &event->fasync;
}

static inline void perf_event_disable_inatomic(struct perf_event *event)
{
	event->pending_disable = 1;
}

struct perf_sample_data {
	u64			id;
};

struct perf_output_handle {
	struct perf_event	*event;
	struct perf_buffer	*rb;
	union {
		unsigned long	wakeup;
		unsigned long	shared_start;
	};
	unsigned long		size;
	union {
		u64		flags;
		u64		aux_flags;
	};
	union {
		void		*addr;
		unsigned long	head;
	};
	int			page;
	unsigned int		shared_size;
	unsigned long		shared_lost;
};

typedef unsigned long (*perf_copy_f)(void *dst, const void *src, unsigned long off,
				     unsigned long len);

static inline bool is_write_backward(const struct perf_event *event)
{
	return event->attr.write_backward;
}

static inline bool has_aux(const struct perf_event *event)
{
	return event->pmu && event->pmu->setup_aux;
}

#define perf_output_put(handle, x)	perf_output_copy(handle, &(x), sizeof(x))

int perf_output_begin(struct perf_output_handle *handle,
		      struct perf_sample_data *data, struct perf_event *event,
		      unsigned int size);
int perf_output_begin_forward(struct perf_output_handle *handle,
			      struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size);
int perf_output_begin_backward(struct perf_output_handle *handle,
			       struct perf_sample_data *data,
			       struct perf_event *event, unsigned int size);
void perf_output_end(struct perf_output_handle *handle);
unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf,
			      unsigned int len);
unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len);

void *perf_aux_output_begin(struct perf_output_handle *handle,
			    struct perf_event *event);
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size);
int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size);
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags);
void *perf_get_aux(struct perf_output_handle *handle);
long perf_output_copy_aux(struct perf_output_handle *aux_handle,
			  struct perf_output_handle *handle, unsigned long from,
			  unsigned long to);

/* The id of a record is eight bytes behind it. */
static inline void perf_event_header__init_id(struct perf_event_header *header,
					      struct perf_sample_data *data,
					      const struct perf_event *event)
{
	if (event->attr.sample_id_all) {
		data->id = event->id;
		header->size += event->id_header_size;
	}
}

static inline void perf_event_header__init(struct perf_event_header *header,
					   struct perf_sample_data *data,
					   u32 type, u16 misc, u16 size,
					   const struct perf_event *event)
{
	*header = (struct perf_event_header) { type, misc, size };
	perf_event_header__init_id(header, data, event);
}

/* Not inlined: the kernel's is in another file. */
static noinline __maybe_unused void
perf_event__output_id_sample(const struct perf_event *event, struct perf_output_handle *handle,
			     const struct perf_sample_data *data)
{
	if (!event->attr.sample_id_all)
		return;
	/* All fields are the id. */
	for (int i = 0; i < event->id_header_size; i += sizeof(data->id))
		perf_output_copy(handle, &data->id, sizeof(data->id));
}

#endif
