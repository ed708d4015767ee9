// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: when its interrupt is acknowledged.
 *
 * Delivery masks LVTPC, and the drivers' handler unmasks it: early, in the middle, or
 * late, depending on the CPU. From then on the hardware may request the next interrupt,
 * which is delivered when the handler has returned. An error may show on one kind of
 * CPU only. The model can be each of them.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../perf_event.h"
#include "host.h"
#include "trace_model.h"

static const char * const tm_ack_words[] = {
	[TM_ACK_CPU]	= "cpu",
	[TM_ACK_EARLY]	= "early",
	[TM_ACK_MID]	= "mid",
	[TM_ACK_LATE]	= "late",
};

/* The choices of intel_pmu_init(): for the CPU, or for each kind of core of a hybrid one */
static enum tm_ack tm_ack_cpu __ro_after_init;
static enum tm_ack tm_ack_core[X86_HYBRID_NUM_PMUS] __ro_after_init;

/**
 * tm_ack_parse() - parse a word for the time of the acknowledgment
 * @word: cpu, early, mid or late
 * @ack: set to its meaning
 *
 * Return: true if the word is known.
 */
bool tm_ack_parse(const char *word, enum tm_ack *ack)
{
	int i = sysfs_match_string(tm_ack_words, word);

	if (i >= 0)
		*ack = i;
	return i >= 0;
}

static enum tm_ack tm_ack_choice(bool late, bool mid)
{
	if (late)
		return TM_ACK_LATE;
	return mid ? TM_ACK_MID : TM_ACK_EARLY;
}

static enum tm_ack tm_ack_now(void)
{
	const struct x86_hybrid_pmu *core = x86_pmu.hybrid_pmu;

	if (is_hybrid())
		return tm_ack_choice(core->late_ack, core->mid_ack);
	return tm_ack_choice(x86_pmu.late_ack, x86_pmu.mid_ack);
}

static void tm_ack_set_core(struct x86_hybrid_pmu *core, enum tm_ack ack)
{
	core->late_ack = ack == TM_ACK_LATE;
	core->mid_ack = ack == TM_ACK_MID;
}

/**
 * tm_ack_set() - set the time of the acknowledgment, from the next interrupt on
 * @ack: the time
 *
 * Context: task
 */
void tm_ack_set(enum tm_ack ack)
{
	enum tm_ack of_cpu = ack == TM_ACK_CPU ? tm_ack_cpu : ack;
	int i;

	x86_pmu.late_ack = of_cpu == TM_ACK_LATE;
	x86_pmu.mid_ack = of_cpu == TM_ACK_MID;
	for (i = 0; i < x86_pmu.num_hybrid_pmus; i++)
		tm_ack_set_core(&x86_pmu.hybrid_pmu[i],
				ack == TM_ACK_CPU ? tm_ack_core[i] : ack);
}

/**
 * tm_ack_word() - the time at which the interrupt is acknowledged
 *
 * Return: early, mid or late; of a hybrid CPU, that of its first kind of cores
 */
const char *tm_ack_word(void)
{
	return tm_ack_words[tm_ack_now()];
}

/* Runs after init_hw_perf_events() */
static int __init tm_ack_init(void)
{
	const struct x86_hybrid_pmu *core = x86_pmu.hybrid_pmu;
	int i;

	tm_ack_cpu = tm_ack_choice(x86_pmu.late_ack, x86_pmu.mid_ack);
	for (i = 0; i < x86_pmu.num_hybrid_pmus; i++)
		tm_ack_core[i] = tm_ack_choice(core[i].late_ack, core[i].mid_ack);
	if (tm_config.on)
		tm_ack_set(tm_config.ack);
	return 0;
}
core_initcall(tm_ack_init);
