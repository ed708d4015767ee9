/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_SYSTEM_H
#define __PERF_SIDEBAND_SYSTEM_H 1

/*
 * The system that perf runs on, as a sideband-store asks it: see struct sideband_ops
 */
#include "sideband-store.h"

struct perf_env;

/**
 * struct sideband_system - What the store's questions need
 * @env:       has what perf has read about BPF programs, for the file's header
 * @cgroup_fd: of a file system of cgroups, -1: there is none
 */
struct sideband_system {
	struct perf_env	*env;
	int		cgroup_fd;
};

/* To be given to sideband_store__new(), with the struct */
extern const struct sideband_ops sideband_system_ops;

void sideband_system__init(struct sideband_system *sys, struct perf_env *env);
void sideband_system__exit(struct sideband_system *sys);

#endif /* __PERF_SIDEBAND_SYSTEM_H */
