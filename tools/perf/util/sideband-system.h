/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_SIDEBAND_SYSTEM_H
#define __PERF_SIDEBAND_SYSTEM_H 1

/*
 * Answer a sideband-store's questions about the system that perf runs on: see struct
 * sideband_ops
 */
#include "sideband-store.h"

struct perf_env;

/**
 * struct sideband_system - Data for answering a store's questions
 * @env:       what perf has read about BPF programs, for the file's header
 * @cgroup_fd: of the mounted cgroup file system, -1: there is none
 */
struct sideband_system {
	struct perf_env	*env;
	int		cgroup_fd;
};

/* Pass this to sideband_store__new(), with the struct as priv */
extern const struct sideband_ops sideband_system_ops;

void sideband_system__init(struct sideband_system *sys, struct perf_env *env);
void sideband_system__exit(struct sideband_system *sys);

#endif /* __PERF_SIDEBAND_SYSTEM_H */
