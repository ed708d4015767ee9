// SPDX-License-Identifier: GPL-2.0
#include "comm.h"
#include "dso.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "sideband-resolve.h"
#include "symbol.h"
#include "thread.h"

static struct machines machines;

void sideband_resolve__init(void)
{
	machines__init(&machines);
}

void sideband_resolve__exit(void)
{
	machine__delete_threads(&machines.host);
	machines__exit(&machines);
}

void sideband_resolve__event(const union perf_event *event, u64 time)
{
	struct perf_sample sample = { .cpumode = PERF_RECORD_MISC_USER, .time = time };

	machine__process_event(&machines.host, (union perf_event *)event, &sample);
}

const char *sideband_resolve__comm(u32 pid, u32 tid)
{
	struct thread *thread = machine__find_thread(&machines.host, pid, tid);
	const char *comm = thread ? thread__comm_str(thread) : "";

	thread__put(thread);
	return comm;
}

bool sideband_resolve__has_execed(u32 pid)
{
	struct thread *thread = machine__find_thread(&machines.host, pid, pid);
	bool ret = thread && thread__comm(thread) && thread__comm(thread)->exec;

	thread__put(thread);
	return ret;
}

const char *sideband_resolve__file(u32 pid, u32 tid, u64 addr)
{
	struct thread *thread = machine__find_thread(&machines.host, pid, tid);
	struct addr_location al = { .map = NULL, };
	const char *name = "";

	if (thread && thread__find_map(thread, PERF_RECORD_MISC_USER, addr, &al))
		name = al.map->dso->long_name;
	thread__put(thread);
	return name;
}
