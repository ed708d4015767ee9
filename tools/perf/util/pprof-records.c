// SPDX-License-Identifier: GPL-2.0
/* What each sample adds to a profile; see pprof-records.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>
#include "callchain.h"
#include "dso.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "map.h"
#include "pprof-records.h"
#include "session.h"
#include "symbol.h"
#include "thread.h"
#include "time-utils.h"

static struct pprof_records *records_of(struct perf_tool *tool)
{
	return container_of(tool, struct pprof_records, tool);
}

/* Room for one more number behind @nr of them */
static int make_room(int **numbers, size_t *max, size_t nr)
{
	size_t larger = *max ? 2 * *max : 128;
	int *copy;

	if (nr < *max)
		return 0;
	copy = realloc(*numbers, larger * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*numbers = copy;
	*max = larger;
	return 0;
}

/* ---- events */

static int add_event(struct pprof_records *records, struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	bool clock = attr->type == PERF_TYPE_SOFTWARE &&
		     (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		      attr->config == PERF_COUNT_SW_TASK_CLOCK);

	return pprof__event(&records->profile, evsel__name(evsel),
			    clock ? "nanoseconds" : "count");
}

/* In their order, and how their call chains are to be unwound */
static int add_events(struct pprof_records *records, struct evlist *evlist)
{
	struct evsel *evsel;
	int number;

	callchain_param_setup(evlist__combined_sample_type(evlist), perf_env__arch(evlist->env));
	evlist__for_each_entry(evlist, evsel) {
		number = add_event(records, evsel);
		if (number < 0)
			return number;
	}
	return 0;
}

int pprof_records__add_events(struct pprof_records *records)
{
	return add_events(records, records->session->evlist);
}

/* In a pipe, records describe the events */
static int process_attr(struct perf_tool *tool, union perf_event *event,
			struct evlist **evlist)
{
	int err = perf_event__process_attr(tool, event, evlist);

	return err ?: add_events(records_of(tool), *evlist);
}

/* Likewise features, and one more record says that there are no more */
static int process_feature(struct perf_session *session, union perf_event *event)
{
	if (event->feat.feat_id >= HEADER_LAST_FEATURE)
		return 0;
	return perf_event__process_feature(session, event);
}

/* ---- locations */

static int add_mapping(struct pprof_records *records, struct map *map)
{
	struct dso *dso = map->dso;
	struct pprof_mapping mapping = {
		.start	= map->start,
		.limit	= map->end,
		.offset	= map->pgoff,
		.file	= dso->long_name,
	};

	if (dso->has_build_id) {
		mapping.build_id = dso->bid.data;
		mapping.build_id_size = dso->bid.size;
	}
	return pprof__mapping(&records->profile, &mapping);
}

/* With the first @nr of the functions */
static int add_location(struct pprof_records *records, struct map *map, u64 address, size_t nr)
{
	int mapping;

	if (!map)
		return pprof__location(&records->profile, PPROF_NONE, address,
				       records->functions, nr);
	mapping = add_mapping(records, map);
	if (mapping < 0)
		return mapping;
	return pprof__location(&records->profile, mapping, address - map->start,
			       records->functions, nr);
}

/* Behind the first @nr of them. Return how many there are then. */
static int add_function(struct pprof_records *records, size_t nr, const struct symbol *sym)
{
	int number;

	if (!sym)
		return nr;
	if (make_room(&records->functions, &records->max_functions, nr))
		return -ENOMEM;
	number = pprof__function(&records->profile, sym->name);
	if (number < 0)
		return number;
	records->functions[nr] = number;
	return nr + 1;
}

/* Does the next entry of a chain belong to the same place, which has @node inlined? */
static bool is_inlined(const struct callchain_cursor_node *node,
		       const struct callchain_cursor_node *first)
{
	const struct callchain_cursor_node *next = node->next;

	return node->ms.sym && node->ms.sym->inlined && next->ip == node->ip &&
	       next->ms.sym && next->ms.sym != first->ms.sym;
}

/* The location that a chain has next, with what is inlined there */
static int next_location(struct pprof_records *records, struct callchain_cursor *cursor)
{
	struct callchain_cursor_node *first = callchain_cursor_current(cursor), *node = first;
	int nr = add_function(records, 0, node->ms.sym);

	callchain_cursor_advance(cursor);
	while (nr > 0 && callchain_cursor_current(cursor) && is_inlined(node, first)) {
		node = callchain_cursor_current(cursor);
		nr = add_function(records, nr, node->ms.sym);
		callchain_cursor_advance(cursor);
	}
	return nr < 0 ? nr : add_location(records, first->ms.map, first->ip, nr);
}

/* ---- stacks */

/* Of the first @nr locations, the innermost one first. Return the number of a stack. */
static int add_stack(struct pprof_records *records, size_t nr)
{
	int stack = PPROF_NONE;

	while (nr--) {
		stack = pprof__stack(&records->profile, stack, records->locations[nr]);
		if (stack < 0)
			return stack;
	}
	return stack;
}

static int add_chain(struct pprof_records *records, struct callchain_cursor *cursor)
{
	size_t nr = 0;
	int location;

	callchain_cursor_commit(cursor);
	while (callchain_cursor_current(cursor)) {
		location = next_location(records, cursor);
		if (location < 0)
			return location;
		if (make_room(&records->locations, &records->max_locations, nr))
			return -ENOMEM;
		records->locations[nr++] = location;
	}
	return add_stack(records, nr);
}

/* A sample without a chain */
static int add_address(struct pprof_records *records, struct thread *thread,
		       const struct perf_sample *sample)
{
	struct addr_location al = { .sym = NULL };
	int nr, location;

	thread__find_symbol(thread, sample->cpumode, sample->ip, &al);
	nr = add_function(records, 0, al.sym);
	location = nr < 0 ? nr : add_location(records, al.map, sample->ip, nr);
	return location < 0 ? location : pprof__stack(&records->profile, PPROF_NONE, location);
}

/* Not one without an address: such a sample has no stack */
static bool has_stack(const struct evsel *evsel)
{
	return evsel->core.attr.sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
}

/* As perf script does, leave out a chain that can't be resolved */
static int add_resolved(struct pprof_records *records, struct thread *thread,
			struct evsel *evsel, struct perf_sample *sample)
{
	struct callchain_cursor *cursor = &callchain_cursor;
	int max_stack = max_t(int, PERF_MAX_STACK_DEPTH, sample->callchain->nr);
	int stack = PPROF_NONE;

	if (!thread__resolve_callchain(thread, cursor, evsel, sample, NULL, NULL, max_stack))
		stack = add_chain(records, cursor);
	callchain_cursor_reset(cursor);
	return stack;
}

/* Without a chain, or with one that has nothing that can be used, it is where the sample was */
static int stack_of(struct pprof_records *records, struct thread *thread, struct evsel *evsel,
		    struct perf_sample *sample, int *stack)
{
	*stack = PPROF_NONE;
	if (!has_stack(evsel))
		return 0;
	if (sample->callchain)
		*stack = add_resolved(records, thread, evsel, sample);
	if (*stack == PPROF_NONE)
		*stack = add_address(records, thread, sample);
	return *stack < 0 ? *stack : 0;
}

/* ---- samples */

static bool is_wanted(const struct pprof_records *records, struct thread *thread,
		      const struct perf_sample *sample)
{
	bool everywhere = !records->cpus || sample->cpu == (u32)-1;

	return !thread__is_filtered(thread) &&
	       (everywhere || test_bit(sample->cpu, records->cpus)) &&
	       !perf_time__ranges_skip_sample(records->ranges, records->nr_ranges, sample->time);
}

static void note_time(struct pprof_records *records, u64 time)
{
	if (!time || time == (u64)-1)
		return;
	if (!records->first || time < records->first)
		records->first = time;
	records->last = max(records->last, time);
}

static int add_sample(struct pprof_records *records, struct thread *thread,
		      struct evsel *evsel, struct perf_sample *sample)
{
	int event = add_event(records, evsel), stack, err;
	struct pprof_sample added = {
		.event	= event,
		.comm	= thread__comm_str(thread),
		.pid	= sample->pid,
		.tid	= sample->tid,
		.cpu	= sample->cpu,
		.period	= sample->period,
	};

	if (event < 0)
		return event;
	err = stack_of(records, thread, evsel, sample, &stack);
	if (err)
		return err;
	added.stack = stack;
	note_time(records, sample->time);
	records->samples++;
	err = pprof__sample(&records->profile, &added);
	return min(err, 0);
}

static int process_sample(struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct evsel *evsel,
			  struct machine *machine)
{
	struct pprof_records *records = records_of(tool);
	struct thread *thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	int err = 0;

	if (!thread)
		return -ENOMEM;
	if (is_wanted(records, thread, sample))
		err = add_sample(records, thread, evsel, sample);
	thread__put(thread);
	records->progress(records);
	return err;
}

int pprof_records__init(struct pprof_records *records)
{
	struct perf_tool *tool = &records->tool;

	memset(records, 0, sizeof(*records));
	tool->sample		= process_sample;
	tool->mmap		= perf_event__process_mmap;
	tool->mmap2		= perf_event__process_mmap2;
	tool->comm		= perf_event__process_comm;
	tool->namespaces	= perf_event__process_namespaces;
	tool->cgroup		= perf_event__process_cgroup;
	tool->exit		= perf_event__process_exit;
	tool->fork		= perf_event__process_fork;
	tool->lost		= perf_event__process_lost;
	tool->lost_samples	= perf_event__process_lost_samples;
	tool->ksymbol		= perf_event__process_ksymbol;
	tool->attr		= process_attr;
	tool->event_update	= perf_event__process_event_update;
	tool->tracing_data	= perf_event__process_tracing_data;
	tool->build_id		= perf_event__process_build_id;
	tool->id_index		= perf_event__process_id_index;
	tool->feature		= process_feature;
	tool->auxtrace_info	= perf_event__process_auxtrace_info;
	tool->auxtrace		= perf_event__process_auxtrace;
	tool->auxtrace_error	= perf_event__process_auxtrace_error;
	tool->ordered_events	= true;
	tool->ordering_requires_timestamps = true;
	symbol_conf.use_callchain = true;
	return pprof__init(&records->profile);
}

void pprof_records__exit(struct pprof_records *records)
{
	pprof__exit(&records->profile);
	zfree(&records->functions);
	zfree(&records->locations);
}
