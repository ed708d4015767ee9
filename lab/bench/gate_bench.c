// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of a pause and a resume by gates, with a driver that does nothing:
 * the kernel's perf_aux_gate(), and mainline's algorithm.
 *
 * Mainline's algorithm, as of 6.13, is rewritten below. It uses the kernel's own
 * primitives and calls the kernel's ring_buffer_get() and ring_buffer_put(), as in
 * mainline.
 *
 * Then the same with a driver that asks whether to discard the window, and nothing else.
 *
 * The events are fake, and known to this module only.
 *
 * Output: /sys/kernel/debug/gate_bench, lines "name, min, max".
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "instructions.h"
#include "internal.h"

static unsigned long gate_address, overflow_address, get_address, put_address;
module_param_named(perf_aux_gate, gate_address, ulong, 0);
module_param_named(perf_event_overflow, overflow_address, ulong, 0);
module_param_named(ring_buffer_get, get_address, ulong, 0);
module_param_named(ring_buffer_put, put_address, ulong, 0);

/* The measured code is called through pointers, so that they can also do nothing. */
static void (*gate)(struct perf_event *event);
static void (*mainline_gate)(struct perf_event *aux, bool pause);
static int (*overflow)(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs);
static struct perf_buffer *(*buffer_get)(struct perf_event *event);
static void (*buffer_put)(struct perf_buffer *rb);

static struct perf_aux_level level = { .driver_state = PERF_AUX_DRIVER_UNKNOWN };
static struct perf_event *aux, *pauser, *resumer;

/* Fields that mainline has in the buffer and in the event, and 6.1 hasn't. */
static struct {
	int			aux_in_action;
	unsigned int		event_paused;
	struct perf_buffer	rb;
} mainline;

static unsigned int starts, stops;

static void idle(struct perf_event *event, int flags)
{
}

static void counting_start(struct perf_event *event, int flags)
{
	starts += flags == PERF_EF_RESUME;
}

static void counting_stop(struct perf_event *event, int flags)
{
	stops += flags == PERF_EF_PAUSE;
}

static struct pmu idle_pmu = {
	.capabilities	= PERF_PMU_CAP_AUX_PAUSE,
	.start		= idle,
	.stop		= idle,
};

/* As a driver that can discard a window, without its hardware's part of that */
static void keeping_start(struct perf_event *event, int flags)
{
	perf_aux_window_begin(event);
}

static void keeping_stop(struct perf_event *event, int flags)
{
	perf_aux_window_end(event);
}

/* Asked for by the window before the first one that can be discarded */
static void no_hand_over(struct irq_work *work)
{
}

static struct pmu keeping_pmu = {
	.capabilities	= PERF_PMU_CAP_AUX_PAUSE | PERF_PMU_CAP_AUX_DISCARD,
	.start		= keeping_start,
	.stop		= keeping_stop,
};

static struct pmu counting_pmu = {
	.capabilities	= PERF_PMU_CAP_AUX_PAUSE,
	.start		= counting_start,
	.stop		= counting_stop,
};

/* The driver is called only when the level changes. */
static void mainline_set_level(struct perf_event *event, bool pause)
{
	if (pause == !!mainline.event_paused)
		return;

	mainline.event_paused = pause;
	if (pause)
		event->pmu->stop(event, PERF_EF_PAUSE);
	else
		event->pmu->start(event, PERF_EF_RESUME);
}

/*
 * With the buffer's mark, an action that interrupts another one is dropped.
 */
static noinline void mainline_aux_pause(struct perf_event *event, bool pause)
{
	struct perf_buffer *rb;
	unsigned long flags;

	if (WARN_ON_ONCE(!event))
		return;

	rb = buffer_get(event);
	if (!rb)
		return;

	local_irq_save(flags);
	if (!READ_ONCE(mainline.aux_in_action)) {
		WRITE_ONCE(mainline.aux_in_action, 1);
		barrier();
		mainline_set_level(event, pause);
		barrier();
		WRITE_ONCE(mainline.aux_in_action, 0);
	}
	local_irq_restore(flags);

	buffer_put(rb);
}

static noinline void no_gate(struct perf_event *event)
{
	barrier();
}

static noinline int no_overflow(struct perf_event *event,
				struct perf_sample_data *data, struct pt_regs *regs)
{
	barrier();
	return 0;
}

static void gate_pair(void)
{
	gate(pauser);
	gate(resumer);
}

/* Mainline's caller looks up the AUX area event, perf_aux_gate() does it itself. */
static void mainline_pair(void)
{
	mainline_gate(READ_ONCE(pauser->aux_event), true);
	mainline_gate(READ_ONCE(resumer->aux_event), false);
}

/* Mainline's hooks at the beginning and at the end of the overflow handling. */
static __always_inline void mainline_hooks(struct perf_event *event)
{
	if (event->attr.aux_pause)
		mainline_gate(READ_ONCE(event->aux_event), true);

	if (event->attr.aux_resume)
		mainline_gate(READ_ONCE(event->aux_event), false);
}

static void mainline_hooks_pair(void)
{
	mainline_hooks(pauser);
	mainline_hooks(resumer);
}

/*
 * As above without the hooks. The overflow handler has the event in a callee-saved
 * register, so loading it and saving that register isn't a cost of the hooks.
 */
static void no_hooks_pair(void)
{
	asm volatile("" : : "r" (pauser) : "rbx");
	asm volatile("" : : "r" (resumer) : "rbx");
}

static struct perf_sample_data data;
static struct pt_regs regs;

static void gate_overflows(void)
{
	overflow(pauser, &data, &regs);
	overflow(resumer, &data, &regs);
}

/* Avoids throttling. */
static void forget_interrupts(void)
{
	pauser->hw.interrupts = 0;
	resumer->hw.interrupts = 0;
}

/* One run with a driver that counts: does the code really act? */
static bool acts(void (*code)(void))
{
	unsigned long flags;

	starts = 0;
	stops = 0;
	aux->pmu = &counting_pmu;
	local_irq_save(flags);
	forget_interrupts();
	code();
	local_irq_restore(flags);
	aux->pmu = &idle_pmu;

	return starts == 1 && stops == 1;
}

static void restore_pointers(void)
{
	gate = (void *)gate_address;
	mainline_gate = mainline_aux_pause;
	overflow = (void *)overflow_address;
}

static void show_pairs(struct seq_file *m)
{
	struct instructions ours, theirs, nothing;

	ours = count_instructions(NULL, gate_pair);
	theirs = count_instructions(NULL, mainline_pair);
	gate = no_gate;
	nothing = count_instructions(NULL, gate_pair);
	restore_pointers();

	show_instructions(m, "gate-pair", ours, nothing);
	show_instructions(m, "mainline-pair", theirs, nothing);
}

/* Are all windows too short? */
static bool discards(void)
{
	u64 before = local64_read(&aux->aux_keep.windows.discarded);

	gate_pair();

	return local64_read(&aux->aux_keep.windows.discarded) == before + 1;
}

static int show_windows(struct seq_file *m)
{
	struct instructions nothing, all_kept, discarded;
	bool right;

	gate = no_gate;
	nothing = count_instructions(NULL, gate_pair);
	restore_pointers();
	aux->pmu = &keeping_pmu;
	all_kept = count_instructions(NULL, gate_pair);
	atomic64_set(&aux->aux_keep.longer, U64_MAX);
	gate_pair();	/* its pause ends a window that began without a limit */
	right = discards();
	discarded = count_instructions(NULL, gate_pair);
	atomic64_set(&aux->aux_keep.longer, 0);
	aux->pmu = &idle_pmu;

	show_instructions(m, "window-no-limit", all_kept, nothing);
	show_instructions(m, "window-discarded", discarded, nothing);

	return right ? 0 : -EPROTO;
}

static void show_overflows(struct seq_file *m)
{
	struct instructions gates, hooks, no_hooks, nothing;

	gates = count_instructions(forget_interrupts, gate_overflows);
	hooks = count_instructions(NULL, mainline_hooks_pair);
	no_hooks = count_instructions(NULL, no_hooks_pair);
	overflow = no_overflow;
	nothing = count_instructions(NULL, gate_overflows);
	restore_pointers();

	show_instructions(m, "gate-overflow-pair", gates, nothing);
	show_instructions(m, "mainline-hooks-pair", hooks, no_hooks);
}

/* The events are active on the CPU that this runs on. */
static int gate_bench_show(struct seq_file *m, void *unused)
{
	int ret;

	aux->oncpu = get_cpu();
	if (!acts(gate_pair) || !acts(mainline_pair) ||
	    !acts(gate_overflows) || !acts(mainline_hooks_pair)) {
		put_cpu();
		pr_err("gate_bench: %u starts, %u stops of one pair\n", starts, stops);
		return -EPROTO;
	}

	show_calibration(m);
	show_pairs(m);
	show_overflows(m);
	ret = show_windows(m);
	put_cpu();

	return ret;
}
DEFINE_SHOW_ATTRIBUTE(gate_bench);

static void no_sample(struct perf_event *event, struct perf_sample_data *sample,
		      struct pt_regs *sample_regs)
{
}

static struct perf_event *new_event(void)
{
	struct perf_event *event = kzalloc(sizeof(*event), GFP_KERNEL);

	if (!event)
		return NULL;

	event->pmu = &idle_pmu;
	event->state = PERF_EVENT_STATE_ACTIVE;
	event->attr.sample_period = 1;
	event->overflow_handler = no_sample;
	event->aux_event = aux;

	return event;
}

static struct dentry *file;

static void free_events(void)
{
	kfree(resumer);
	kfree(pauser);
	kfree(aux);
}

static int __init gate_bench_init(void)
{
	if (!gate_address || !overflow_address || !get_address || !put_address)
		return -EINVAL;

	restore_pointers();
	buffer_get = (void *)get_address;
	buffer_put = (void *)put_address;

	aux = new_event();
	pauser = new_event();
	resumer = new_event();
	if (!aux || !pauser || !resumer) {
		free_events();
		return -ENOMEM;
	}

	refcount_set(&mainline.rb.refcount, 1);
	aux->rb = &mainline.rb;
	aux->aux_action.level = &level;
	aux->aux_keep.hand_over = IRQ_WORK_INIT_HARD(no_hand_over);
	pauser->attr.aux_pause = 1;
	resumer->attr.aux_resume = 1;
	file = debugfs_create_file("gate_bench", 0400, NULL, NULL, &gate_bench_fops);

	return 0;
}

static void __exit gate_bench_exit(void)
{
	debugfs_remove(file);
	free_events();
}

module_init(gate_bench_init);
module_exit(gate_bench_exit);
MODULE_DESCRIPTION("Instructions of a pause and a resume by gates");
MODULE_LICENSE("GPL");
