// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of one AUX area event and its gates. See aux_group.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../kselftest.h"
#include "aux_group.h"

#define PAGE		4096UL

void aux_group_unmap(struct aux_group *group)
{
	if (group->area)
		munmap(group->area, group->area_size);
	if (group->page)
		munmap(group->page, PAGE + group->data_size);
	group->area = NULL;
	group->page = NULL;
}

int aux_group_map(struct aux_group *group, const struct aux_spec *spec)
{
	int prot = spec->overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	void *map;

	group->data_size = (spec->data_pages ?: 64) * PAGE;
	group->area_size = (spec->aux_pages ?: 64) * PAGE;

	map = mmap(NULL, PAGE + group->data_size, PROT_READ | PROT_WRITE,
		   MAP_SHARED, group->aux, 0);
	if (map == MAP_FAILED)
		return -1;

	group->page = map;
	group->data = map + PAGE;
	group->page->aux_offset = PAGE + group->data_size;
	group->page->aux_size = group->area_size;

	map = mmap(NULL, group->area_size, prot, MAP_SHARED, group->aux,
		   group->page->aux_offset);
	if (map == MAP_FAILED)
		return -1;

	group->area = map;

	return 0;
}

void aux_group_init(struct aux_group *group)
{
	memset(group, 0, sizeof(*group));
	group->aux = -1;
	group->resume = -1;
	group->pause = -1;
}

void aux_group_close(struct aux_group *group)
{
	aux_group_unmap(group);
	if (group->pause >= 0)
		close(group->pause);
	if (group->resume >= 0)
		close(group->resume);
	if (group->aux >= 0)
		close(group->aux);
	aux_group_init(group);
}

int perf_open_level(struct perf_event_attr *attr, pid_t pid, int cpu, int level_fd)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, level_fd,
		       PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_AUX_LEVEL);
}

/* Without a descriptor: a kernel that knows the flag looks for it first. */
const char *lacks_aux_level(void)
{
	struct perf_event_attr attr;

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	if (perf_open_level(&attr, 0, 0, -1) < 0 && errno == EINVAL)
		return "no PERF_FLAG_FD_AUX_LEVEL";

	return NULL;
}

int perf_open_threads(struct perf_event_attr *attr, pid_t pid, int cpu, int threads_fd)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, threads_fd,
		       PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_AUX_THREADS);
}

/* With a descriptor that isn't one: a kernel that knows the flag looks for it first. */
const char *lacks_aux_threads(void)
{
	struct perf_event_attr attr;

	attr_init(&attr, PERF_TYPE_SOFTWARE);
	if (perf_open_threads(&attr, -1, 0, INT_MAX) < 0 && errno == EINVAL)
		return "no PERF_FLAG_FD_AUX_THREADS";

	return NULL;
}

int perf_open_cgroup(struct perf_event_attr *attr, int cgroup_fd, int cpu)
{
	return syscall(__NR_perf_event_open, attr, cgroup_fd, cpu, -1,
		       PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
}

static int open_aux(struct perf_event_attr *attr, const struct aux_spec *spec)
{
	if (spec->threads_fd)
		return perf_open_threads(attr, spec->pid, spec->cpu, *spec->threads_fd);
	if (spec->level_fd)
		return perf_open_level(attr, spec->pid, spec->cpu, *spec->level_fd);
	if (spec->cgroup_fd)
		return perf_open_cgroup(attr, *spec->cgroup_fd, spec->cpu);

	return perf_open(attr, spec->pid, spec->cpu, -1);
}

static int open_leader(struct aux_group *group, const struct aux_spec *spec)
{
	struct perf_event_attr attr;

	attr_init(&attr, pmu_type(spec->pmu ?: "test_aux"));
	attr.config = spec->config ?: spec->period;
	attr.exclude_kernel = spec->exclude_kernel;
	attr.exclude_user = spec->exclude_user;
	/* Its only effect: PERF_EVENT_IOC_PERIOD stops and starts the event. */
	attr.sample_period = 1;
	attr.aux_watermark = spec->watermark;
	attr.inherit = spec->inherit;
	attr.remove_on_exec = spec->leader_removed_on_exec;
	attr.aux_start_paused = spec->start_paused;

	group->period = spec->period ?: TEST_PERF_AUX_PERIOD;
	group->aux = open_aux(&attr, spec);
	if (group->aux < 0)
		return -1;

	group->aux_id = perf_id(group->aux);

	return 0;
}

int aux_leader_error(const struct aux_spec *spec)
{
	struct aux_group group;

	if (open_leader(&group, spec))
		return errno;
	close(group.aux);

	return 0;
}

int aux_group_add_gate(const struct aux_group *group, const struct aux_spec *spec,
		       const struct perf_event_attr *gate, bool resumes)
{
	struct perf_event_attr attr = *gate;

	attr.inherit = spec->inherit;
	attr.aux_resume = resumes;
	attr.aux_pause = !resumes;

	return perf_open(&attr, spec->pid, spec->cpu, group->aux);
}

int aux_group_add_sampler(const struct aux_group *group,
			  const struct aux_spec *spec,
			  const struct perf_event_attr *sampler,
			  unsigned int size)
{
	struct perf_event_attr attr = *sampler;
	int fd;

	attr.sample_type |= PERF_SAMPLE_AUX;
	attr.aux_sample_size = size;
	fd = perf_open(&attr, spec->pid, spec->cpu, group->aux);
	if (fd < 0 || !perf_set_output(fd, group->aux))
		return fd;
	close(fd);

	return -1;
}

int aux_group_add_soft_gate(const struct aux_group *group,
			    const struct aux_spec *spec, const char *where,
			    bool resumes)
{
	struct perf_event_attr attr;

	return attr_tracepoint(&attr, where) ?
	       -1 : aux_group_add_gate(group, spec, &attr, resumes);
}

int aux_group_add_soft_sampler(const struct aux_group *group,
			       const struct aux_spec *spec, const char *where,
			       unsigned int size)
{
	struct perf_event_attr attr;

	return attr_tracepoint(&attr, where) ?
	       -1 : aux_group_add_sampler(group, spec, &attr, size);
}

int aux_group_add_nmi_sampler(const struct aux_group *group,
			      const struct aux_spec *spec, unsigned int size)
{
	struct perf_event_attr attr;

	attr_nmi(&attr, 0, TAG_SAMPLE);

	return aux_group_add_sampler(group, spec, &attr, size);
}

static int open_gates(struct aux_group *group, const struct aux_spec *spec)
{
	if (spec->resume.size) {
		group->resume = aux_group_add_gate(group, spec, &spec->resume, true);
		if (group->resume < 0)
			return -1;
		group->resume_id = perf_id(group->resume);
	}
	if (spec->pause.size) {
		group->pause = aux_group_add_gate(group, spec, &spec->pause, false);
		if (group->pause < 0)
			return -1;
		group->pause_id = perf_id(group->pause);
	}

	return 0;
}

static int set_filters(const struct aux_group *group, const struct aux_spec *spec)
{
	if (spec->resume_filter &&
	    perf_set_filter(group->resume, spec->resume_filter))
		return -1;

	return spec->pause_filter ?
	       perf_set_filter(group->pause, spec->pause_filter) : 0;
}

static int share_output(const struct aux_group *group)
{
	if (group->resume >= 0 &&
	    perf_set_output(group->resume, group->aux))
		return -1;

	if (group->pause >= 0 &&
	    perf_set_output(group->pause, group->aux))
		return -1;

	return 0;
}

int aux_group_open(struct aux_group *group, const struct aux_spec *spec)
{
	int err;

	aux_group_init(group);
	if (open_leader(group, spec) || open_gates(group, spec) ||
	    set_filters(group, spec) ||
	    (!spec->no_map &&
	     (aux_group_map(group, spec) || share_output(group)))) {
		err = errno;
		aux_group_close(group);
		errno = err;
		return -1;
	}

	return 0;
}

int aux_group_enable(const struct aux_group *group)
{
	return perf_enable(group->aux);
}

int aux_group_disable(const struct aux_group *group)
{
	return perf_disable(group->aux);
}

void aux_group_restart(const struct aux_group *group)
{
	perf_set_period(group->aux, 1);
}

/* --- Accounting of its gates --- */

int aux_actions_read(const struct aux_group *group, struct aux_actions *act)
{
	static const char * const field[] = {
		"requested", "executed", "superseded", "paused", "pending",
	};
	long long value[ARRAY_SIZE(field)];
	char name[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(field); i++) {
		snprintf(name, sizeof(name), "event.%llu.%s",
			 (unsigned long long)group->aux_id, field[i]);
		value[i] = file_value(TEST_AUX_DIR "/actions", name);
		if (value[i] < 0)
			return -1;
	}

	act->requested = value[0];
	act->executed = value[1];
	act->superseded = value[2];
	act->paused = value[3];
	act->pending = value[4];

	return 0;
}

/* --- Places for gates --- */

bool has_soft_places(void)
{
	struct perf_event_attr attr;

	return !attr_tracepoint(&attr, AT_RESUME) &&
	       !attr_tracepoint(&attr, AT_PAUSE) &&
	       !attr_tracepoint(&attr, AT_SAMPLE);
}

void soft_resume(void)
{
	syscall(__NR_sched_get_priority_max, 0);
}

void soft_pause(void)
{
	syscall(__NR_sched_get_priority_min, 0);
}

void soft_sample(void)
{
	syscall(__NR_sched_getscheduler, 0);
}
