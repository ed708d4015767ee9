// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: when its interrupt is acknowledged.
 *
 * Delivery masks LVTPC, and the drivers' handler unmasks it: first, in the middle, or
 * last, as suits the CPU. From then on the hardware may ask for the next interrupt,
 * which comes when the handler has returned. What goes wrong with that on one kind of
 * CPU does not on another. The model can be any of them.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../perf_event.h"
#include "trace_model.h"

static const char * const tm_ack_words[] = {
	[TM_ACK_CPU]	= "cpu",
	[TM_ACK_EARLY]	= "early",
	[TM_ACK_MID]	= "mid",
	[TM_ACK_LATE]	= "late",
};

/* What intel_pmu_init() has chosen */
static enum tm_ack tm_ack_cpu __ro_after_init;

/**
 * tm_ack_parse() - the word for it
 * @word: cpu, early, mid or late
 * @ack: what it stands for
 *
 * Return: true if there is such a word.
 */
bool tm_ack_parse(const char *word, enum tm_ack *ack)
{
	int i = sysfs_match_string(tm_ack_words, word);

	if (i >= 0)
		*ack = i;
	return i >= 0;
}

/**
 * tm_ack_set() - acknowledge the interrupt at another time, from the next one on
 * @ack: when
 *
 * Context: task
 */
void tm_ack_set(enum tm_ack ack)
{
	if (ack == TM_ACK_CPU)
		ack = tm_ack_cpu;

	x86_pmu.late_ack = ack == TM_ACK_LATE;
	x86_pmu.mid_ack = ack == TM_ACK_MID;
}

static enum tm_ack tm_ack_now(void)
{
	if (x86_pmu.late_ack)
		return TM_ACK_LATE;
	return x86_pmu.mid_ack ? TM_ACK_MID : TM_ACK_EARLY;
}

/**
 * tm_ack_word() - when the interrupt is acknowledged
 *
 * Return: early, mid or late
 */
const char *tm_ack_word(void)
{
	return tm_ack_words[tm_ack_now()];
}

/* Behind init_hw_perf_events() */
static int __init tm_ack_init(void)
{
	tm_ack_cpu = tm_ack_now();
	if (tm_config.on)
		tm_ack_set(tm_config.ack);
	return 0;
}
core_initcall(tm_ack_init);
