// SPDX-License-Identifier: GPL-2.0
/*
 * What is new in an AUX area that the kernel writes over. See aux-window.h.
 */
#include <sys/ioctl.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <asm/barrier.h>
#include <internal/xyarray.h>

#include "auxtrace.h"
#include "aux-window.h"
#include "evlist.h"
#include "evsel.h"

void aux_window__init(struct aux_window *window, u64 last, u64 total, u64 len)
{
	u64 new = total - last;

	window->overwritten = new > len ? new - len : 0;
	window->begin = last + window->overwritten;
	window->end = total;
}

void aux_window__cut(struct aux_window *window, u64 len, u64 limit, unsigned int alignment)
{
	u64 lap;

	if (window->end - window->begin > limit)
		window->begin = window->end - limit;
	if (!alignment)
		return;

	lap = window->begin - window->begin % len;
	window->begin = min(lap + roundup(window->begin - lap, alignment), lap + len);
	lap = window->begin - window->begin % len;
	window->end = min(window->end, lap + len);
}

/* The sequence count makes head, total and state belong together, and 64 bits whole. */
static bool userpg__read_total(const struct perf_event_mmap_page *pc, u64 *head, u64 *total)
{
	u32 seq, state;

	if (!pc->cap_aux_total)
		return false;

	do {
		seq = READ_ONCE(pc->aux_seq);
		smp_rmb();	/* B, matches C in kernel/events/aux_total.h */
		*head = READ_ONCE(pc->aux_head);
		*total = READ_ONCE(pc->aux_total);
		state = READ_ONCE(pc->aux_state);
		smp_rmb();	/* D, matches A */
	} while (seq & 1 || READ_ONCE(pc->aux_seq) != seq);

	return state & PERF_AUX_STATE_COUNTED;
}

/* The callers take positions modulo the size: that has to be where the data is. */
bool auxtrace_mmap__window(const struct auxtrace_mmap *mm, struct aux_window *window)
{
	u64 head, total;

	if (!userpg__read_total(mm->userpg, &head, &total) ||
	    head % mm->len != total % mm->len)
		return false;

	aux_window__init(window, mm->prev, total, mm->len);

	return true;
}

static int evsel__pause_aux(struct evsel *evsel, enum perf_event_pause_aux how)
{
	struct xyarray *fds = evsel->core.fd;
	int x, y, fd, err = 0;

	if (!fds)
		return 0;

	for (x = 0; x < xyarray__max_x(fds); x++) {
		for (y = 0; y < xyarray__max_y(fds); y++) {
			fd = *(int *)xyarray__entry(fds, x, y);
			if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_PAUSE_AUX, how))
				err = -1;
		}
	}

	return err;
}

/* Gates that only pause keep what led to an event, for the snapshot that comes next. */
static bool evsel__is_only_paused(struct evsel *aux)
{
	bool paused = false;
	struct evsel *evsel;

	if (aux->core.attr.aux_start_paused)
		return false;

	evlist__for_each_entry(aux->evlist, evsel) {
		if (evsel__leader(evsel) != aux)
			continue;
		if (evsel->core.attr.aux_resume)
			return false;
		paused |= evsel->core.attr.aux_pause;
	}

	return paused;
}

static int evlist__end_pause(struct evlist *evlist)
{
	struct evsel *evsel;
	int err = 0;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->needs_auxtrace_mmap && evsel__pause_aux(evsel, PERF_AUX_RESUME))
			err = -1;
	}

	return err;
}

int evlist__resume_aux(struct evlist *evlist)
{
	struct evsel *evsel;

	/* Events on several CPUs may share a state: first all, then let the trace go on. */
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->needs_auxtrace_mmap && evsel__is_only_paused(evsel) &&
		    evsel__pause_aux(evsel, PERF_AUX_GATE_RESUME))
			return -1;
	}

	return evlist__end_pause(evlist);
}

int evlist__pause_aux(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->needs_auxtrace_mmap || !evsel__pause_aux(evsel, PERF_AUX_PAUSE))
			continue;
		evlist__end_pause(evlist);
		return -1;
	}

	return 0;
}
