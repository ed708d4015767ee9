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

/* The choice of intel_pmu_init() */
static enum tm_ack tm_ack_cpu __ro_after_init;

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

/**
 * tm_ack_set() - set the time of the acknowledgment, from the next interrupt on
 * @ack: the time
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
 * tm_ack_word() - the time at which the interrupt is acknowledged
 *
 * Return: early, mid or late
 */
const char *tm_ack_word(void)
{
	return tm_ack_words[tm_ack_now()];
}

/* Runs after init_hw_perf_events() */
static int __init tm_ack_init(void)
{
	tm_ack_cpu = tm_ack_now();
	if (tm_config.on)
		tm_ack_set(tm_config.ack);
	return 0;
}
core_initcall(tm_ack_init);
