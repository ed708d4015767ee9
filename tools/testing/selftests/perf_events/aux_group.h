/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups of one AUX area event and its gates, for the tests of AUX area pause and
 * resume.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _AUX_GROUP_H
#define _AUX_GROUP_H

#include "test_pmus.h"

struct aux_spec {
	const char	*pmu;		/* default: test_aux */
	pid_t		pid;
	int		cpu;
	bool		start_paused;
	bool		inherit;
	bool		no_map;
	bool		overwrite;
	bool		leader_removed_on_exec;
	int		*level_fd;	/* of the AUX event whose level it shares */
	int		*threads_fd;	/* ... whose threads it shares; of -1: none. pid is -1 */
	int		*cgroup_fd;	/* without gates; pid is ignored */
	unsigned int	period;		/* of the DATA packets; 0: default */
	__u64		config;		/* for other PMUs */
	bool		exclude_kernel;
	bool		exclude_user;
	unsigned int	data_pages;	/* default: 64 */
	unsigned int	aux_pages;	/* default: 64 */
	unsigned int	watermark;	/* default: half the area */
	struct perf_event_attr resume;	/* size 0: no such gate */
	struct perf_event_attr pause;
	const char	*resume_filter;	/* of a tracepoint */
	const char	*pause_filter;
};

struct aux_group {
	int		aux, resume, pause;
	__u64		aux_id, resume_id, pause_id;
	unsigned int	period;
	struct perf_event_mmap_page *page;
	unsigned char	*data, *area;
	size_t		data_size, area_size;
};

/* An AUX area event that shares the level of the one of @level_fd */
int perf_open_level(struct perf_event_attr *attr, pid_t pid, int cpu, int level_fd);
/* NULL, or why a test can't run that needs such events */
const char *lacks_aux_level(void);
/* An AUX area event of a CPU whose windows belong to threads: those of @threads_fd, or -1 */
int perf_open_threads(struct perf_event_attr *attr, pid_t pid, int cpu, int threads_fd);
const char *lacks_aux_threads(void);
/* An event of a cgroup, on one CPU */
int perf_open_cgroup(struct perf_event_attr *attr, int cgroup_fd, int cpu);
/* Opens and maps the group, disabled. On failure nothing stays open. */
int aux_group_open(struct aux_group *group, const struct aux_spec *spec);
/* 0, or the error of opening the AUX area event alone; it is closed again. */
int aux_leader_error(const struct aux_spec *spec);
int aux_group_map(struct aux_group *group, const struct aux_spec *spec);
void aux_group_unmap(struct aux_group *group);
void aux_group_close(struct aux_group *group);
int aux_group_enable(const struct aux_group *group);
int aux_group_disable(const struct aux_group *group);
/* ->stop() and ->start() of the AUX event, while all the gates are active */
void aux_group_restart(const struct aux_group *group);
/* Marks all as not opened, for aux_group_close() */
void aux_group_init(struct aux_group *group);

/* More members. Gates have no output, samplers write to the group's buffer. */
int aux_group_add_gate(const struct aux_group *group, const struct aux_spec *spec,
		       const struct perf_event_attr *gate, bool resumes);
int aux_group_add_sampler(const struct aux_group *group,
			  const struct aux_spec *spec,
			  const struct perf_event_attr *sampler,
			  unsigned int size);
/* On a tracepoint: AT_RESUME and the like */
int aux_group_add_soft_gate(const struct aux_group *group,
			    const struct aux_spec *spec, const char *where,
			    bool resumes);
int aux_group_add_soft_sampler(const struct aux_group *group,
			       const struct aux_spec *spec, const char *where,
			       unsigned int size);
int aux_group_add_nmi_sampler(const struct aux_group *group,
			      const struct aux_spec *spec, unsigned int size);

/* --- Accounting of its gates, by the module test_perf_aux --- */

struct aux_actions {
	unsigned long long requested, executed, superseded;
	int paused, pending;
};

int aux_actions_read(const struct aux_group *group, struct aux_actions *act);

/* --- Places for gates --- */

/* Rare system calls: other tasks on the CPU don't use them. */
#define AT_RESUME	"syscalls/sys_enter_sched_get_priority_max"
#define AT_PAUSE	"syscalls/sys_enter_sched_get_priority_min"
#define AT_SAMPLE	"syscalls/sys_enter_sched_getscheduler"

bool has_soft_places(void);
void soft_resume(void);
void soft_pause(void);
void soft_sample(void);

#endif /* _AUX_GROUP_H */
