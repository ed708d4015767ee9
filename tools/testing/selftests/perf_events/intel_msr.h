/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of Intel's trace hardware, and gates that hit where a driver accesses
 * them.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _INTEL_MSR_H
#define _INTEL_MSR_H

#include "aux_group.h"

/* --- Registers --- */

#define MSR_DEBUGCTL		0x1d9
#define MSR_GLOBAL_STATUS	0x38e
#define GLOBAL_STATUS_TOPA	0x80000000000000ULL
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390
#define MSR_RTIT_OUTPUT_BASE	0x560
#define MSR_RTIT_OUTPUT_MASK	0x561
#define MSR_RTIT_CTL		0x570
#define MSR_RTIT_STATUS		0x571
#define RTIT_STATUS_STOPPED	0x20
#define MSR_RTIT_LAST		0x587

/* NULL, or what is missing */
const char *lacks_msr(void);
int msr_read(int cpu, unsigned int msr, __u64 *value);
/* Is the hardware tracing? 1, 0, or -1 */
int pt_is_on(int cpu);
int bts_is_on(int cpu);

/* --- Accesses --- */

/* An event on reads or writes of MSRs */
int attr_msr(struct perf_event_attr *attr, bool write);
const char *lacks_msr_events(void);
/* Writes by a group's task or CPU; -1 if there is no such tracepoint */
int count_msr_writes(const struct aux_spec *spec, unsigned int first,
		     unsigned int last);

/* A place inside a driver: right after an access to an MSR */
struct msr_point {
	const char	*name;
	unsigned int	msr;
	bool		write;
};

/* A gate at such a point, on a tracepoint. It begins disabled. */
int open_msr_gate(const struct aux_spec *spec, const struct aux_group *group,
		  const struct msr_point *point, bool resumes);

/*
 * An NMI whenever this CPU passes such a point, outside of NMIs. Gates and samplers
 * with this tag count it; nothing has TAG_NONE. By the module test_perf_msr.
 */
#define TAG_NONE	9

const char *lacks_nmi_at_msr(void);
int nmi_at_msr(const struct msr_point *point, unsigned int tag);
/* The same once, when it passes the point for the nth time; the first one is 1. */
int nmi_at_nth_msr(const struct msr_point *point, unsigned int tag, unsigned int nth);
/* Returns the number of these NMIs. */
long nmi_at_msr_off(void);

#endif /* _INTEL_MSR_H */
