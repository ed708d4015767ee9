// SPDX-License-Identifier: GPL-2.0
/*
 * Windows that are kept only if they lasted long enough.
 *
 * A function runs thousands of times a second and is slow once a minute. Gates at its
 * entry and exit make a window of each call; what is wanted is the trace of the slow
 * one. With PERF_EVENT_IOC_KEEP_AUX, a window that was too short is discarded when it
 * ends: the driver puts its output back to where the window began, and the bytes are
 * free again.
 *
 * Who does what
 * =============
 *
 *   gate			driver				here
 *
 *   resume	->start(RESUME)	window_begin()			notes the time
 *				notes where its output is
 *				hardware on
 *   ...
 *   pause	->stop(PAUSE)	hardware off
 *				window_end()			too short: true
 *				puts its output back
 *
 * So nothing changes for aux_action.c: a window begins and ends where the driver
 * executes the gates' requests.
 *
 * When a window can't be discarded
 * ================================
 *
 * What has been handed over to the reader is not taken back. A window is whole as
 * long as the AUX transaction in which it began is open: perf_aux_output_end() cuts it.
 * This happens when the area's interrupt hands over data, and when the event is stopped,
 * because its task is switched out or because user space pauses the event. A window that
 * was cut is kept, however short it was, and is counted as partial. So is one that a gate
 * didn't begin, but a ->start() of a trace that is not paused, or the return of its thread
 * (aux_thread.c), and one that began while there was no limit. (local_clock() of one CPU is
 * enough: a window that moves is not whole.)
 *
 * A window that is kept ends the transaction, so it has an AUX record to itself, or several
 * if it was cut. A gate in an NMI can't end it: an irq_work does. If another window has begun
 * by then, that is cut, and is kept as well.
 *
 * In an overwritten area, a discarded window has already replaced old data, which can't be
 * restored. So PERF_EVENT_IOC_KEEP_AUX and such an area exclude each other. If the output
 * is redirected to such an area, all windows are kept.
 *
 * NMIs
 * ====
 *
 * The core calls ->start(RESUME) and ->stop(PAUSE) neither in one another nor in a
 * driver's section, so window_begin() and window_end() don't nest. A driver whose own
 * interrupt is an NMI defers it in a pause and a resume. So it can't hand over the window
 * after window_end(), before the output is back. An AUX sample that comes then is empty,
 * as everywhere in a pause. One that was taken in the window stays as it is, even if the
 * window is discarded.
 */
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>

#include "internal.h"

static u64 aux_keep_longer(struct perf_event *event)
{
	struct perf_event *opened = event->parent ?: event;

	return atomic64_read(&opened->aux_keep.longer);
}

NOKPROBE_SYMBOL(aux_keep_longer);

/**
 * perf_aux_window_begin - a window begins
 * @event: AUX area event
 *
 * To be called by ->start() with PERF_EF_RESUME before it switches the hardware on, if
 * that was off.
 *
 * Context: any, NMI included. Interrupts are disabled.
 * Return: true if the driver has to note where its output is, because
 * perf_aux_window_end() may ask it to put the output back there.
 */
bool perf_aux_window_begin(struct perf_event *event)
{
	struct perf_aux_keep *keep = &event->aux_keep;

	/* Written in any case: an earlier window may have ended while there was no limit. */
	keep->whole = aux_keep_longer(event) && !keep->overwrites && !READ_ONCE(keep->continues);
	if (!keep->whole)
		return false;

	keep->began = local_clock();

	return true;
}
EXPORT_SYMBOL_GPL(perf_aux_window_begin);

NOKPROBE_SYMBOL(perf_aux_window_begin);

/* Count a window that ends. Return true if it is discarded. */
static bool aux_window_count(struct perf_aux_keep *keep, u64 longer)
{
	if (!keep->whole) {
		local64_inc(&keep->windows.partial);
		return false;
	}
	if (local_clock() - keep->began <= longer) {
		local64_inc(&keep->windows.discarded);
		return true;
	}
	local64_inc(&keep->windows.kept);

	return false;
}

NOKPROBE_SYMBOL(aux_window_count);

/**
 * perf_aux_window_end - a window has ended
 * @event: AUX area event
 *
 * To be called by ->stop() with PERF_EF_PAUSE after it has switched the hardware off, if
 * that was on.
 *
 * Context: any, NMI included. Interrupts are disabled.
 * Return: true if the driver has to put its output back to where the window began.
 */
bool perf_aux_window_end(struct perf_event *event)
{
	struct perf_aux_keep *keep = &event->aux_keep;
	u64 longer = aux_keep_longer(event);

	if (!longer)
		return false;
	/* What a thread leaves behind is a piece of its window. */
	if (!READ_ONCE(keep->continues) && aux_window_count(keep, longer))
		return true;

	irq_work_queue(&keep->hand_over);

	return false;
}
EXPORT_SYMBOL_GPL(perf_aux_window_end);

NOKPROBE_SYMBOL(perf_aux_window_end);

/**
 * perf_aux_window_cut - what was written so far is handed over
 * @event: AUX area event whose transaction ends
 *
 * Context: any, NMI included, on the CPU of @event.
 */
void perf_aux_window_cut(struct perf_event *event)
{
	event->aux_keep.whole = false;
}

NOKPROBE_SYMBOL(perf_aux_window_cut);

/*
 * End the transaction, and begin another one. If the event was switched out meanwhile, that
 * has ended the transaction. Or a full area has stopped the event.
 */
static void aux_keep_hand_over(struct irq_work *work)
{
	struct perf_event *event = container_of(work, struct perf_event, aux_keep.hand_over);

	lockdep_assert_irqs_disabled();

	if (event->state != PERF_EVENT_STATE_ACTIVE ||
	    event->oncpu != smp_processor_id() || event->hw.state & PERF_HES_STOPPED)
		return;

	event->pmu->stop(event, PERF_EF_UPDATE);
	event->pmu->start(event, 0);
}

/**
 * perf_aux_keep_init - make a new event ready to keep windows
 * @event: event that is being allocated
 *
 * Its hand_over has to be waited for before the event is freed.
 */
void perf_aux_keep_init(struct perf_event *event)
{
	event->aux_keep.hand_over = IRQ_WORK_INIT_HARD(aux_keep_hand_over);
}

/**
 * perf_aux_keep_set - keep only windows that last longer
 * @event: event that user space has opened
 * @longer: than this, in ns; 0: keep all
 *
 * Applies to the windows of the event and of its children that end from now on. A window
 * that began while there was no limit is kept.
 *
 * Context: holds the mutex of the event's context.
 * Return: 0, -EOPNOTSUPP (the PMU can't discard a window), -EINVAL (its AUX area is
 * overwritten).
 */
int perf_aux_keep_set(struct perf_event *event, u64 longer)
{
	struct perf_buffer *rb;
	int ret = 0;

	if (!(event->pmu->capabilities & PERF_PMU_CAP_AUX_DISCARD))
		return -EOPNOTSUPP;

	mutex_lock(&event->mmap_mutex);
	rb = event->rb;
	if (longer && rb && rb_has_aux(rb) && rb->aux_overwrite)
		ret = -EINVAL;
	else
		atomic64_set(&event->aux_keep.longer, longer);
	mutex_unlock(&event->mmap_mutex);

	return ret;
}

static void aux_windows_add(struct perf_event_aux_windows *sum,
			    const struct perf_aux_windows *windows)
{
	sum->lost += local64_read(&windows->lost);
	sum->kept += local64_read(&windows->kept);
	sum->partial += local64_read(&windows->partial);
	sum->discarded += local64_read(&windows->discarded);
}

/**
 * perf_aux_keep_sum - what became of the windows of an event and its children
 * @event: event that user space has opened
 * @sum: result
 *
 * Context: may sleep.
 */
void perf_aux_keep_sum(struct perf_event *event, struct perf_event_aux_windows *sum)
{
	struct perf_event *child;

	mutex_lock(&event->child_mutex);
	*sum = event->aux_keep.gone;
	aux_windows_add(sum, &event->aux_keep.windows);
	list_for_each_entry(child, &event->child_list, child_list)
		aux_windows_add(sum, &child->aux_keep.windows);
	mutex_unlock(&event->child_mutex);
}

/**
 * perf_aux_keep_child_gone - keep the numbers of a child that exits
 * @child: inherited event that is detached from its parent
 *
 * Context: holds the parent's child_mutex.
 */
void perf_aux_keep_child_gone(struct perf_event *child)
{
	lockdep_assert_held(&child->parent->child_mutex);

	aux_windows_add(&child->parent->aux_keep.gone, &child->aux_keep.windows);
}
