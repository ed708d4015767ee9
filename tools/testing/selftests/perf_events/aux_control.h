/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the control page says about the AUX area, read as documented in
 * include/uapi/linux/perf_event.h. Where a program has no use for the state of an area
 * without cap_aux_total: lacks_aux_total().
 */
#ifndef _AUX_CONTROL_H
#define _AUX_CONTROL_H

#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "aux_trace.h"

#define PACKET_SIZE	sizeof(struct test_perf_aux_packet)

struct aux_control {
	__u64	head, total;
	__u32	state, seq;
};

static inline void aux_control_read(const struct perf_event_mmap_page *page,
				    struct aux_control *ctl)
{
	do {
		ctl->seq = __atomic_load_n(&page->aux_seq, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		ctl->head = __atomic_load_n(&page->aux_head, __ATOMIC_RELAXED);
		ctl->total = __atomic_load_n(&page->aux_total, __ATOMIC_RELAXED);
		ctl->state = __atomic_load_n(&page->aux_state, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (ctl->seq & 1 ||
		 __atomic_load_n(&page->aux_seq, __ATOMIC_RELAXED) != ctl->seq);
}

static inline __u64 total_of(const struct aux_group *group)
{
	struct aux_control ctl;

	aux_control_read(group->page, &ctl);

	return ctl.total;
}

/* Waits for it */
static inline bool total_reaches(const struct aux_group *group, __u64 total)
{
	__u64 end = clock_ns() + 10000000000ULL;

	while (total_of(group) < total && clock_ns() < end)
		usleep(1000);

	return total_of(group) >= total;
}

static inline int pause_aux(const struct aux_group *group, unsigned long how)
{
	return ioctl(group->aux, PERF_EVENT_IOC_PAUSE_AUX, how);
}

/* For PROGRAM_NEEDS(). No lacks_test_pmus() is needed beside it. */
static inline const char *lacks_aux_total(void)
{
	const char *missing = lacks_test_pmus();
	struct aux_spec spec = { .pid = -1, .cpu = nth_cpu(0) };
	struct aux_group group;

	if (missing)
		return missing;

	if (aux_group_open(&group, &spec))
		return "no AUX area";

	if (!group.page->cap_aux_total)
		missing = "the kernel has no total of AUX areas";
	aux_group_close(&group);

	return missing;
}

#endif /* _AUX_CONTROL_H */
