// SPDX-License-Identifier: GPL-2.0
/*
 * A group around windows. See intel_gated.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "../kselftest.h"
#include "intel_gated.h"

static int read_pt(struct gated *gated)
{
	return pt_trace_read(gated->trace, &gated->records, &gated->pos, &gated->group);
}

static int read_overwritten_pt(struct gated *gated)
{
	return pt_trace_read_overwrite(gated->trace, &gated->group);
}

static int read_bts(struct gated *gated)
{
	return bts_trace_read(gated->trace, &gated->records, &gated->pos, &gated->group);
}

static int read_overwritten_bts(struct gated *gated)
{
	return bts_trace_read_overwrite(gated->trace, &gated->group);
}

static const struct gated_ops ops_pt = {
	.pmu			= "intel_pt",
	.is_on			= pt_is_on,
	.read			= read_pt,
	.read_overwritten	= read_overwritten_pt,
};

static const struct gated_ops ops_bts = {
	.pmu			= "intel_bts",
	.is_on			= bts_is_on,
	.read			= read_bts,
	.read_overwritten	= read_overwritten_bts,
};

static void gated_init(struct gated *gated, const struct gated_ops *ops, void *trace)
{
	static struct window_log log[MAX_WINDOWS];

	/* Page faults may be gates: map code and data before the gates are enabled. */
	if (!mlockall(MCL_CURRENT))
		munlockall();

	memset(log, 0, sizeof(log));
	memset(gated, 0, sizeof(*gated));
	aux_group_init(&gated->group);
	gated->ops = ops;
	gated->spec.pmu = ops->pmu;
	gated->spec.cpu = -1;
	gated->spec.start_paused = true;
	gated->spec.aux_pages = 256;
	gated->cpu = nth_cpu(0);
	gated->trace = trace;
	gated->log = log;

	model_watch();
	/* A test that was killed may have left it masked, losing interrupts, or overflowing. */
	if (has_model())
		model_reset();
}

void gated_init_pt(struct gated *gated, struct pt_trace *trace)
{
	gated_init(gated, &ops_pt, trace);
	gated->spec.config = PT_CONFIG_TSC;
	gated->error = trace->error;
}

void gated_init_bts(struct gated *gated, struct bts_trace *trace)
{
	gated_init(gated, &ops_bts, trace);
	gated->spec.exclude_kernel = true;
	gated->error = trace->error;
}

int gated_open(struct gated *gated)
{
	return pin_to_cpu(gated->cpu) ? -1 : aux_group_open(&gated->group, &gated->spec);
}

int gated_open_kind(struct gated *gated, const char *kind)
{
	gated->kind = gate_kind(kind);
	if (gated->kind->setup(&gated->spec, &gated->win)) {
		errno = ENODEV;
		return -1;
	}
	if (gated_open(gated))
		return -1;

	gated_window(gated, 2);
	gated_window(gated, 2);
	gated->nr = 0;

	return 0;
}

int gated_open_cycles(struct gated *gated, __u64 period, bool resumes)
{
	struct perf_event_attr attr;
	int fd;

	attr_cycles(&attr, period);
	fd = aux_group_add_gate(&gated->group, &gated->spec, &attr, resumes);
	if (fd < 0 || !perf_set_output(fd, gated->group.aux))
		return fd;
	close(fd);

	return -1;
}

void gated_close(struct gated *gated)
{
	aux_group_close(&gated->group);
	perf_records_free(&gated->records);
}

int gated_read(struct gated *gated)
{
	if (perf_records_read(&gated->records, &gated->group)) {
		gated->error = "the records can't be read";
		return -1;
	}

	return gated->spec.overwrite ? 0 : gated->ops->read(gated);
}

int gated_disable_and_read(struct gated *gated)
{
	if (aux_group_disable(&gated->group) || gated_read(gated))
		return -1;

	return gated->spec.overwrite ? gated->ops->read_overwritten(gated) : 0;
}

/* --- Windows --- */

/* Probes are on the first copy of the code only. */
static const struct window_code *gated_code(const struct gated *gated)
{
	bool second = gated->nr & 1 && gated->kind->code != WINDOW_PLACES;

	return window_code(gated->kind->code, second);
}

static int close_again(const struct gated *gated, __u64 pauses)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (perf_count(gated->group.pause) != pauses)
			return 0;
		gated_code(gated)->run(&gated->win);
	}
	errno = ETIMEDOUT;

	return -1;
}

int gated_window(struct gated *gated, __u64 loops)
{
	__u64 resumes = perf_count(gated->group.resume);
	__u64 pauses = perf_count(gated->group.pause);
	struct window_log *log = &gated->log[gated->nr];
	int ret = 0;

	if (gated->kind->prepare)
		gated->kind->prepare();

	gated->win.loops = loops;
	log->loops = loops;
	log->from = __rdtsc();
	gated_code(gated)->run(&gated->win);
	if (gated->kind->late)
		log->loops = LOOPS_UNKNOWN;
	if (perf_count(gated->group.resume) == resumes) {
		log->loops = 0;
	} else if (perf_count(gated->group.pause) == pauses) {
		log->loops = LOOPS_UNKNOWN;
		ret = close_again(gated, pauses);
	}
	log->to = __rdtsc();
	gated->nr++;

	return ret;
}

/* --- The level --- */

const char *gated_inexact(const struct gated *gated)
{
	static char text[160];
	struct aux_actions act;
	__u64 gates;

	if (lacks_account())
		return NULL;
	if (aux_actions_read(&gated->group, &act))
		return "no accounting of the event";

	gates = perf_count(gated->group.resume) +
		perf_count(gated->group.pause) + gated->others;
	if (act.requested == gates && !act.pending &&
	    act.requested == act.executed + act.superseded)
		return NULL;

	snprintf(text, sizeof(text),
		 "%llu gates: %llu requests, %llu executed, %llu superseded",
		 gates, act.requested, act.executed, act.superseded);

	return text;
}

const char *gated_check_level(struct gated *gated, bool running)
{
	static const char * const when[] = {
		"at first", "after the opposite", "after both",
	};
	static char text[128];
	int on[ARRAY_SIZE(when)];
	unsigned int i;

	on[0] = gated->ops->is_on(gated->cpu);
	fire(!running);
	on[1] = gated->ops->is_on(gated->cpu);
	fire(running);
	on[2] = gated->ops->is_on(gated->cpu);
	fire(false);

	for (i = 0; i < ARRAY_SIZE(when); i++) {
		if (on[i] == (i == 1 ? !running : running))
			continue;
		snprintf(text, sizeof(text), "%s, and the hardware is %s %s",
			 running ? "running" : "paused", on[i] ? "on" : "off",
			 when[i]);
		return text;
	}

	return gated_inexact(gated);
}

static long by_tracepoint(struct gated *gated, const struct msr_point *point,
			  bool resumes, void (*section)(struct gated *gated))
{
	int gate = open_msr_gate(&gated->spec, &gated->group, point, resumes);
	long hits;

	if (gate < 0 || perf_enable(gate))
		return -1;
	section(gated);
	if (perf_disable(gate))
		return -1;

	hits = perf_count(gate);
	gated->others += hits;
	close(gate);

	return hits;
}

/* The gate's own count tells its hits: not every NMI at the point finds the gate active. */
static long by_nmi(struct gated *gated, const struct msr_point *point,
		   bool resumes, void (*section)(struct gated *gated))
{
	int gate = resumes ? gated->group.resume : gated->group.pause;
	long before = perf_count(gate);

	if (nmi_at_msr(point, resumes ? TAG_RESUME : TAG_PAUSE))
		return -1;
	section(gated);
	if (nmi_at_msr_off() < 0)
		return -1;

	return perf_count(gate) - before;
}

long gated_at_point(struct gated *gated, const struct msr_point *point,
		    enum gate_way way, bool resumes, bool running,
		    void (*section)(struct gated *gated))
{
	static char text[256];
	const char *wrong;
	long hits;

	fire(running);
	hits = way == BY_NMI ? by_nmi(gated, point, resumes, section) :
			       by_tracepoint(gated, point, resumes, section);
	wrong = hits < 0 ? "no gate" :
		gated_check_level(gated, hits ? resumes : running);
	if (!wrong)
		return hits;

	snprintf(text, sizeof(text), "%s, %s, %ld hits: %s", point->name,
		 way == BY_NMI ? "NMI" : "tracepoint", hits, wrong);
	gated->error = text;

	return -1;
}

/* --- The interrupt --- */

#define LONGEST_WAIT	20000000000ULL

int gated_wait_handed_over(struct gated *gated, void (*work)(struct gated *gated))
{
	__u64 end = clock_ns() + LONGEST_WAIT, head = gated->group.page->aux_head;

	do {
		if (clock_ns() > end)
			return -1;
		work(gated);
	} while (__atomic_load_n(&gated->group.page->aux_head,
				 __ATOMIC_ACQUIRE) == head);

	return 0;
}

int gated_wait_truncated(struct gated *gated, void (*work)(struct gated *gated))
{
	__u64 end = clock_ns() + LONGEST_WAIT;
	size_t i;

	do {
		work(gated);
		i = gated->records.nr;
		if (perf_records_read(&gated->records, &gated->group))
			return -1;
		if (perf_records_flagged(&gated->records, i, PERF_AUX_FLAG_TRUNCATED))
			return 0;
	} while (clock_ns() < end);

	return -1;
}

/*
 * Counts AUX records from @from on, with these flags, that were written while the trace
 * was paused. It runs from a sample of the resume gate to the next sample of any other
 * event.
 */
static size_t late_records(const struct gated *gated, size_t from, __u64 flags)
{
	const struct perf_record *rec;
	bool paused = true;
	size_t found = 0;

	for (; from < gated->records.nr; from++) {
		rec = &gated->records.rec[from];
		if (rec->type == PERF_RECORD_SAMPLE)
			paused = rec->id != gated->group.resume_id;
		else if (rec->type == PERF_RECORD_AUX && paused &&
			 (rec->flags & flags) == flags)
			found++;
	}

	return found;
}

bool gated_is_paused(const struct gated *gated)
{
	const struct perf_record *resume, *pause;

	resume = perf_records_newest(&gated->records, gated->group.resume_id);
	pause = perf_records_newest(&gated->records, gated->group.pause_id);

	return !resume || (pause && pause > resume);
}

/*
 * Makes NMIs with this tag take longer, before the gates that are opened later: this
 * makes events in the NMI, but before these gates, more likely. It samples as soon as it
 * has a buffer.
 */
static int open_nmi_load(int cpu, unsigned int tag)
{
	struct perf_event_attr attr;

	attr_nmi(&attr, 0, tag);
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;

	return perf_open(&attr, -1, cpu, -1);
}

int gated_open_late(struct gated *gated)
{
	int load = open_nmi_load(gated->cpu, TAG_PAUSE);

	gated->spec.pid = -1;
	gated->spec.cpu = gated->cpu;
	gated->spec.exclude_kernel = false;
	if (load < 0 || gated_open(gated) ||
	    perf_set_output(load, gated->group.aux) ||
	    aux_group_enable(&gated->group))
		return -1;

	return load;
}

const char *gated_late_interrupts(struct gated *gated,
				  void (*window)(struct gated *gated))
{
	__u64 end = clock_ns() + LONGEST_WAIT;
	size_t late = 0, from = 0;

	while (late < 5) {
		if (clock_ns() > end)
			return late ? "too few interrupts while paused" :
				      "no interrupt while paused";
		window(gated);
		if (gated->ops->is_on(gated->cpu))
			return "on after a pause";
		if (gated_read(gated))
			return gated->error;
		late += late_records(gated, from, 0);
		from = gated->records.nr;
	}

	return NULL;
}

static void open_and_close(struct gated *gated)
{
	fire(true);
	fire(false);
}

static const char *enable_again(struct gated *gated)
{
	if (aux_group_enable(&gated->group))
		return "the event can't be enabled again";
	if (gated->ops->is_on(gated->cpu) != !gated_is_paused(gated))
		return "enabled again at another level";
	fire(false);

	return gated->ops->is_on(gated->cpu) ? "on after a pause" : NULL;
}

const char *gated_late_full(struct gated *gated)
{
	__u64 end = clock_ns() + LONGEST_WAIT;
	const char *wrong = NULL;
	size_t late = 0, from = 0;

	while (late < 3 && !wrong) {
		if (clock_ns() > end || gated_wait_truncated(gated, open_and_close))
			return "not full while paused, or too rarely";
		late += late_records(gated, from, PERF_AUX_FLAG_TRUNCATED);
		open_and_close(gated);
		if (gated->ops->is_on(gated->cpu))
			return "on while disabled";
		if (gated_read(gated))
			return gated->error;
		from = gated->records.nr;
		wrong = enable_again(gated);
	}

	return wrong;
}
