/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of the total of real trace hardware's AUX areas: what the model of the
 * hardware knows (kernel parameter trace_model), if there is one.
 */
#ifndef _AUX_MODEL_H
#define _AUX_MODEL_H

#include <errno.h>
#include <stdio.h>

#include "aux_control.h"

#define MODEL_DIR	DEBUG_DIR "/trace_model/"

/* For PROGRAM_NEEDS() */
static inline const char *lacks_counting(const char *pmu, __u64 config)
{
	struct aux_spec spec = { .pmu = pmu, .config = config, .cpu = -1,
				 .exclude_kernel = true };
	const char *missing = lacks_root();
	struct aux_group group;

	has_debugfs(MODEL_DIR "stats");		/* mounts it */

	if (missing)
		return missing;
	if (pmu_type(pmu) < 0)
		return "no such trace hardware, and no kernel parameter trace_model";
	if (aux_group_open(&group, &spec))
		return errno == EBUSY ? "the trace hardware is in use" : NULL;
	if (!group.page->cap_aux_total)
		missing = "the kernel has no total of AUX areas";
	aux_group_close(&group);

	return missing;
}

/* What all CPUs of the model have written: "bytes", "bts_records". -1: no model */
static inline long long model_stat(const char *name)
{
	char total[32];

	snprintf(total, sizeof(total), "total.%s", name);

	return file_value(MODEL_DIR "stats", total);
}

static inline bool has_model(void)
{
	return model_stat("bytes") >= 0;
}

static inline long long model_violations(void)
{
	return file_value(MODEL_DIR "violations", "total");
}

/*
 * Interrupts come at once. The model ends a skid by an NMI, in which the driver of BTS does
 * what the interrupt is for, and which is many branches in a trace of the kernel.
 */
static inline int no_skid(void)
{
	return write_file(MODEL_DIR "skid", "0\n");
}

/* The model's interrupts are held back. */
static inline int mask_interrupts(bool mask)
{
	return write_file(MODEL_DIR "mask", mask ? "1" : "0");
}

#endif /* _AUX_MODEL_H */
