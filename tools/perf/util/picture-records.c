// SPDX-License-Identifier: GPL-2.0
/* What records and branches add to a picture; see picture-records.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/time64.h>
#include "auxtrace.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "machine.h"
#include "picture-records.h"
#include "session.h"
#include "symbol.h"
#include "thread.h"

#define PREEMPTED	"preempted"
#define NO_THREAD	"unknown thread"
#define NO_TID		(PICTURE_CPUS_PID - 1)
#define MAX_NOTE	256
#define MAX_NAME	128

/* Between two branches of Intel BTS there is no jump as long as this */
#define MAX_RUN		(64 << 10)

static struct picture_records *records_of(struct perf_tool *tool)
{
	return container_of(tool, struct picture_records, tool);
}

/* ---- what is wanted */

static bool is_wanted_cpu(const struct picture_records *records, u32 cpu)
{
	return !records->cpus || cpu == (u32)-1 || test_bit(cpu, records->cpus);
}

static bool is_wanted(const struct picture_records *records, u32 cpu, u64 time)
{
	return is_wanted_cpu(records, cpu) && picture__range(&records->picture, time) >= 0;
}

/* False: it has no time, so it has no place in the picture */
static bool note_time(struct picture_records *records, u64 time)
{
	if (!time || time == (u64)-1)
		return false;
	if (!records->first) {
		records->first = time;
		records->picture.events.origin = time;
	}
	records->now = max(records->now, time);
	records->progress(records);
	return true;
}

/*
 * If the file is full, nothing that comes can be shown, so stop; likewise if the user says
 * so. A decoder is only stopped by an error, which it reports.
 */
static int check_done(struct picture_records *records, int err)
{
	if (err || (!records->picture.events.full && !session_done()))
		return err;
	session_done = 1;
	verbose = -1;
	return -ECANCELED;
}

/* ---- threads */

/* The row of a thread; that of idle threads is the CPU's. What has no thread has one row. */
static struct picture_thread *row_of(struct picture_records *records, struct thread *thread,
				     int pid, int tid, int cpu)
{
	struct picture_thread *row = thread__priv(thread);

	if (!tid)
		return picture__idle(&records->picture, cpu);
	if (row)
		return row;
	if (tid < 0)
		row = picture__add_thread(&records->picture, NO_TID, NO_TID, NO_THREAD);
	else
		row = picture__add_thread(&records->picture, pid < 0 ? tid : pid, tid,
					  thread__comm_str(thread));
	thread__set_priv(thread, row);
	return row;
}

/* It may have another name by now */
static int rename_row(struct thread *thread)
{
	struct picture_thread *row = thread__priv(thread);

	return row ? picture_thread__rename(row, thread__comm_str(thread)) : 0;
}

static int process_comm(struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	int err = perf_event__process_comm(tool, event, sample, machine);
	struct thread *thread;

	if (err)
		return err;
	thread = machine__find_thread(machine, event->comm.pid, event->comm.tid);
	if (!thread)
		return 0;
	/* exec: its calls were those of another program */
	if (event->header.misc & PERF_RECORD_MISC_COMM_EXEC && thread__priv(thread))
		err = picture_thread__cut(thread__priv(thread));
	if (!err)
		err = rename_row(thread);
	thread__put(thread);
	return err;
}

static int process_exit(struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	struct thread *thread = machine__find_thread(machine, event->fork.pid, event->fork.tid);
	struct picture_records *records = records_of(tool);
	int err = 0;

	if (thread && thread__priv(thread)) {
		err = picture_thread__delete(thread__priv(thread), records->now);
		thread__set_priv(thread, NULL);
	}
	thread__put(thread);
	return err ?: perf_event__process_exit(tool, event, sample, machine);
}

/* ---- code */

static int process_mmap(struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	records_of(tool)->picture.functions.maps++;
	return perf_event__process_mmap(tool, event, sample, machine);
}

static int process_mmap2(struct perf_tool *tool, union perf_event *event,
			 struct perf_sample *sample, struct machine *machine)
{
	records_of(tool)->picture.functions.maps++;
	return perf_event__process_mmap2(tool, event, sample, machine);
}

static int process_fork(struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine)
{
	records_of(tool)->picture.functions.maps++;
	return perf_event__process_fork(tool, event, sample, machine);
}

static int process_ksymbol(struct perf_tool *tool, union perf_event *event,
			   struct perf_sample *sample, struct machine *machine)
{
	records_of(tool)->picture.functions.maps++;
	return perf_event__process_ksymbol(tool, event, sample, machine);
}

/* ---- branches */

static int find_function(struct picture_records *records, struct machine *machine,
			 struct thread *thread, struct picture_thread *row, u64 address, int i)
{
	struct picture_functions *functions = &records->picture.functions;

	/* Most branches come from the function that the last one went to */
	if (picture_functions__has(functions, address, &row->places[!i]))
		row->places[i] = row->places[!i];
	return picture_functions__find(functions, machine, thread, address, &row->places[i]);
}

static bool is_start(const struct picture_place *place, const struct perf_sample *sample)
{
	/* Of code without symbols it isn't known; but what is called begins there */
	if (!place->function->known)
		return sample->flags & PERF_IP_FLAG_CALL;
	return sample->addr == place->start;
}

static int fill_branch(struct picture_records *records, struct machine *machine,
		       struct thread *thread, struct picture_thread *row,
		       const struct perf_sample *sample, struct call_branch *branch)
{
	int err = 0;

	branch->from = sample->ip;
	branch->to = sample->addr;
	branch->flags = sample->flags;
	branch->insn_len = sample->insn_len;
	if (branch->from) {
		err = find_function(records, machine, thread, row, branch->from, 0);
		if (err)
			return err;
		branch->from_function = &row->places[0].function->call;
	}
	if (branch->to) {
		err = find_function(records, machine, thread, row, branch->to, 1);
		if (err)
			return err;
		branch->to_function = &row->places[1].function->call;
		branch->to_start = is_start(&row->places[1], sample);
	}
	return err;
}

/*
 * Intel BTS doesn't tell where a window begins. But what has run from the last branch on
 * must lead to this one, in the same mode: system calls and interrupts are not all there.
 */
static bool is_gap(const struct picture_thread *row, struct machine *machine,
		   const struct perf_sample *sample)
{
	if (!row->to || !sample->ip ||
	    machine__kernel_ip(machine, row->to) != machine__kernel_ip(machine, sample->ip))
		return false;
	return sample->ip < row->to || sample->ip - row->to > MAX_RUN;
}

/*
 * Without times, branches are drawn a nanosecond apart, from when they were recorded, and
 * windows a microsecond: their order is all that is known.
 */
static u64 time_of_branch(const struct picture_records *records, const struct picture_thread *row,
			  const struct perf_sample *sample)
{
	u64 step = row->calls.open ? 1 : NSEC_PER_USEC;

	return sample->time ?: max(records->now, row->calls.time + step);
}

static int add_branch(struct picture_records *records, struct machine *machine,
		      struct thread *thread, const struct perf_sample *sample)
{
	struct call_branch branch = { .from = 0 };
	struct picture_thread *row;
	int part, err;

	/* What isn't shown has no row; but it ends what was shown before */
	if (!thread__priv(thread) && !is_wanted(records, sample->cpu, sample->time ?: records->now))
		return 0;
	row = row_of(records, thread, sample->pid, sample->tid, sample->cpu);
	if (!row)
		return records->picture.events.err ?: -ENOMEM;
	if (!sample->time && is_gap(row, machine, sample)) {
		err = picture_thread__cut(row);
		if (err)
			return err;
	}
	branch.time = time_of_branch(records, row, sample);
	part = picture__range(&records->picture, branch.time);
	if (part != row->part || !is_wanted_cpu(records, sample->cpu)) {
		err = picture_thread__cut(row);
		if (err)
			return err;
	}
	row->part = part;
	row->to = sample->addr;
	if (part < 0 || !is_wanted_cpu(records, sample->cpu))
		return 0;
	records->branches++;
	err = fill_branch(records, machine, thread, row, sample, &branch);
	return err ?: picture_thread__branch(row, sample->cpu, &branch);
}

static bool is_branch(const struct picture_records *records, struct evsel *evsel)
{
	return records->session->auxtrace && is_bts_event(&evsel->core.attr);
}

/* ---- samples */

union aux_action {
	u32 word;
	struct {
		u32	start_paused : 1,
			pause : 1,
			resume : 1,
			reserved : 29;
	};
};

/* By its place: headers before Linux 6.13 have no name for it */
static union aux_action aux_action(const struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	size_t offset = offsetof(struct perf_event_attr, aux_sample_size) +
			sizeof(attr->aux_sample_size);
	union aux_action action;

	memcpy(&action.word, (const char *)attr + offset, sizeof(action.word));
	return action;
}

static void look_for_gates(struct picture_records *records, struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (aux_action(evsel).word)
			records->picture.windows = true;
	}
}

void picture_records__look_for_gates(struct picture_records *records)
{
	look_for_gates(records, records->session->evlist);
}

/* In a pipe, records describe the events */
static int process_attr(struct perf_tool *tool, union perf_event *event,
			struct evlist **evlist)
{
	int err = perf_event__process_attr(tool, event, evlist);

	if (!err)
		look_for_gates(records_of(tool), *evlist);
	return err;
}

/* Likewise features, and one more record says that there are no more */
static int process_feature(struct perf_session *session, union perf_event *event)
{
	if (event->feat.feat_id >= HEADER_LAST_FEATURE)
		return 0;
	return perf_event__process_feature(session, event);
}

static const char *action_of(const struct evsel *evsel)
{
	union aux_action action = aux_action(evsel);

	if (action.pause)
		return "pause: ";
	return action.resume ? "resume: " : "";
}

/*
 * What occurs, as a tracepoint, is called so. Samples of a counter or a clock say where time
 * goes: they are called by their function.
 */
static bool is_counter(const struct evsel *evsel)
{
	u32 type = evsel->core.attr.type;

	return !aux_action(evsel).word && type != PERF_TYPE_TRACEPOINT && type != PERF_TYPE_SYNTH;
}

/* "cpu-clock, f+0x12 (libc.so.6), CPU 3": what the name says is there once more */
static void put_note(char *note, const struct perf_sample *sample, const char *event,
		     const struct picture_place *place)
{
	int len = snprintf(note, MAX_NOTE, "%s", event);

	if (place->function && len < MAX_NOTE)
		len += snprintf(note + len, MAX_NOTE - len, ", %s+0x%" PRIx64 " (%s)",
				place->function->name, sample->ip - place->start,
				place->function->dso);
	if (sample->cpu != (u32)-1 && len < MAX_NOTE)
		snprintf(note + len, MAX_NOTE - len, ", CPU %u", sample->cpu);
}

static int mark_sample(struct picture_records *records, struct machine *machine,
		       struct thread *thread, struct picture_thread *row,
		       const struct perf_sample *sample, struct evsel *evsel)
{
	struct picture_place place = { .maps = 0 };
	char event[MAX_NAME], note[MAX_NOTE];
	const char *name = event;

	if (sample->ip) {
		int err = picture_functions__find(&records->picture.functions, machine, thread,
						  sample->ip, &place);

		if (err)
			return err;
	}
	snprintf(event, sizeof(event), "%s%s", action_of(evsel), evsel__name(evsel));
	put_note(note, sample, event, &place);
	if (is_counter(evsel) && place.function && place.function->known)
		name = place.function->name;
	return picture_thread__mark(row, sample->time, name, note);
}

static int add_sample(struct picture_records *records, struct machine *machine,
		      struct thread *thread, const struct perf_sample *sample, struct evsel *evsel)
{
	struct picture_thread *row;
	int err = 0;

	if (!note_time(records, sample->time)) {
		records->timeless++;
		return 0;
	}
	if (!aux_action(evsel).pause && !is_wanted(records, sample->cpu, sample->time))
		return 0;
	row = row_of(records, thread, sample->pid, sample->tid, sample->cpu);
	if (!row)
		return records->picture.events.err ?: -ENOMEM;
	if (aux_action(evsel).pause)
		err = picture_thread__pause(row, sample->cpu, sample->time);
	if (err || !is_wanted(records, sample->cpu, sample->time))
		return err;
	records->samples++;
	return mark_sample(records, machine, thread, row, sample, evsel);
}

static int process_sample(struct perf_tool *tool, union perf_event *event __maybe_unused,
			  struct perf_sample *sample, struct evsel *evsel,
			  struct machine *machine)
{
	struct picture_records *records = records_of(tool);
	struct thread *thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	int err = 0;

	if (!thread)
		return -ENOMEM;
	if (is_branch(records, evsel)) {
		note_time(records, sample->time);
		if (!thread__is_filtered(thread))
			err = add_branch(records, machine, thread, sample);
	} else if (!thread__is_filtered(thread)) {
		err = add_sample(records, machine, thread, sample, evsel);
	}
	thread__put(thread);
	return check_done(records, err);
}

/* ---- who ran */

static int process_switch(struct perf_tool *tool, union perf_event *event,
			  struct perf_sample *sample, struct machine *machine)
{
	struct picture_records *records = records_of(tool);
	u16 misc = event->header.misc;
	struct thread *thread;
	const char *name;
	int err = 0;

	/* Without a CPU, it isn't known which row it belongs to */
	if (!note_time(records, sample->time) || sample->cpu == (u32)-1 ||
	    !is_wanted_cpu(records, sample->cpu))
		return 0;
	thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	if (!thread)
		return -ENOMEM;
	name = thread__comm_str(thread);
	if (thread__is_filtered(thread))
		goto out;
	if (picture__range(&records->picture, sample->time) >= 0)
		records->switches++;
	if (misc & PERF_RECORD_MISC_SWITCH_OUT)
		err = picture__switch_out(&records->picture, sample->cpu, sample->time,
					  sample->tid, name,
					  misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? PREEMPTED :
										       NULL);
	else
		err = picture__switch_in(&records->picture, sample->cpu, sample->time,
					 sample->tid, name);
out:
	thread__put(thread);
	return check_done(records, err);
}

/* ---- what is lost */

static int mark_loss(struct picture_records *records, u32 cpu, u64 time, const char *name,
		     const char *note)
{
	if (!note_time(records, time) || !is_wanted(records, cpu, time))
		return 0;
	return check_done(records, picture__mark_cpu(&records->picture, cpu, time, name, note));
}

static int process_lost(struct perf_tool *tool, union perf_event *event,
			struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	char note[MAX_NOTE];

	snprintf(note, sizeof(note), "%" PRI_lu64 " records", event->lost.lost);
	return mark_loss(records_of(tool), sample->cpu, sample->time, "lost records", note);
}

static int process_lost_samples(struct perf_tool *tool, union perf_event *event,
				struct perf_sample *sample,
				struct machine *machine __maybe_unused)
{
	char note[MAX_NOTE];

	snprintf(note, sizeof(note), "%" PRI_lu64 " samples", event->lost_samples.lost);
	return mark_loss(records_of(tool), sample->cpu, sample->time, "lost samples", note);
}

static int process_throttle(struct perf_tool *tool, union perf_event *event __maybe_unused,
			    struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	return mark_loss(records_of(tool), sample->cpu, sample->time, "throttled", NULL);
}

static int process_unthrottle(struct perf_tool *tool, union perf_event *event __maybe_unused,
			      struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	return mark_loss(records_of(tool), sample->cpu, sample->time, "no longer throttled", NULL);
}

static int process_aux(struct perf_tool *tool, union perf_event *event,
		       struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct picture_records *records = records_of(tool);
	u64 flags = event->aux.flags;
	const char *why;

	note_time(records, sample->time);
	if (flags & PERF_AUX_FLAG_TRUNCATED)
		why = "the AUX area was full";
	else if (flags & PERF_AUX_FLAG_PARTIAL)
		why = "it has gaps";
	else if (flags & PERF_AUX_FLAG_COLLISION)
		why = "it collided with another one";
	else
		return 0;
	return mark_loss(records, sample->cpu, sample->time, "lost trace", why);
}

static int lose_thread(struct picture_records *records, const struct perf_record_auxtrace_error *e,
		       u64 time)
{
	struct machine *machine = &records->session->machines.host;
	struct thread *thread = machine__findnew_thread(machine, e->pid, e->tid);
	struct picture_thread *row = NULL;
	int err = -ENOMEM;

	if (!thread)
		return err;
	if (thread__is_filtered(thread)) {
		err = 0;
		goto out;
	}
	row = row_of(records, thread, e->pid, e->tid, e->cpu);
	if (!row)
		goto out;
	time = max(time, row->calls.time);
	err = picture_thread__lose(row, time, e->msg);
	if (!err && is_wanted(records, e->cpu, time))
		err = picture_thread__mark(row, time, "trace error", e->msg);
out:
	thread__put(thread);
	return err;
}

static int process_error(struct perf_session *session, union perf_event *event)
{
	struct picture_records *records = records_of(session->tool);
	const struct perf_record_auxtrace_error *e = &event->auxtrace_error;
	u64 time = e->fmt && e->time ? e->time : records->now;

	records->errors++;
	if (!note_time(records, time))
		return 0;
	if ((int)e->tid < 0)
		return mark_loss(records, e->cpu, time, "trace error", e->msg);
	return check_done(records, lose_thread(records, e, time));
}

void picture_records__init(struct picture_records *records)
{
	struct perf_tool *tool = &records->tool;

	memset(records, 0, sizeof(*records));
	picture__init(&records->picture);
	tool->sample		= process_sample;
	tool->mmap		= process_mmap;
	tool->mmap2		= process_mmap2;
	tool->comm		= process_comm;
	tool->namespaces	= perf_event__process_namespaces;
	tool->cgroup		= perf_event__process_cgroup;
	tool->exit		= process_exit;
	tool->fork		= process_fork;
	tool->lost		= process_lost;
	tool->lost_samples	= process_lost_samples;
	tool->throttle		= process_throttle;
	tool->unthrottle	= process_unthrottle;
	tool->aux		= process_aux;
	tool->context_switch	= process_switch;
	tool->ksymbol		= process_ksymbol;
	tool->attr		= process_attr;
	tool->event_update	= perf_event__process_event_update;
	tool->tracing_data	= perf_event__process_tracing_data;
	tool->build_id		= perf_event__process_build_id;
	tool->id_index		= perf_event__process_id_index;
	tool->feature		= process_feature;
	tool->auxtrace_info	= perf_event__process_auxtrace_info;
	tool->auxtrace		= perf_event__process_auxtrace;
	tool->auxtrace_error	= process_error;
	tool->ordered_events	= true;
	tool->ordering_requires_timestamps = true;
}
