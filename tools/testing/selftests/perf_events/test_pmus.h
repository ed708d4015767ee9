/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PMUs of the modules test_perf_aux and test_perf_nmi: their events, and the
 * modules' files in debugfs.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _TEST_PMUS_H
#define _TEST_PMUS_H

#include "perf_common.h"
#include "../../../../lib/test_perf_aux_uapi.h"

#define TEST_AUX_DIR	DEBUG_DIR "/test_perf_aux"
#define TEST_NMI_DIR	DEBUG_DIR "/test_perf_nmi"

/* For PROGRAM_NEEDS(); loads the modules. */
const char *lacks_test_pmus(void);

/* Tags of NMIs by hand: those that a group's gates count, and those of AUX samplers */
#define TAG_RESUME	1
#define TAG_PAUSE	2
#define TAG_SAMPLE	3

/* Overflows by NMI every @interval ns or, with 0, by hand. Begins enabled. */
void attr_nmi(struct perf_event_attr *attr, unsigned int interval,
	      unsigned int tag);
/* NMIs by hand on this CPU, for events with this tag, or with any if it is 0 */
int nmi_fire(unsigned int count, unsigned int tag);
/* NMIs at points in the driver of test_aux */
int nmi_at(const char *points);

long long aux_stat(const char *name);
long long nmi_stat(const char *name);
int aux_stats_reset(void);
/* Is the engine of test_aux on? By its own counts, which a tick changes for a moment. */
bool aux_engine_is_on(int cpu);
/* Has the kernel create a counter. Returns 0 or the error. */
int try_kernel_counter(unsigned int aux_action);

/* Number of users of the module, or -1 */
int module_users(const char *module);
/* -1: there are still users after ten seconds */
int module_wait_unused(const char *module);

#endif /* _TEST_PMUS_H */
