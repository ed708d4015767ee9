/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of Intel PT and Intel BTS run on: Intel's hardware, or the model of it
 * (kernel parameter trace_model). The model also counts protocol violations of a driver.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _INTEL_ENV_H
#define _INTEL_ENV_H

#include "test_pmus.h"

/* --- What can be tested --- */

/* NULL, or what is missing: the PMU, hardware counters, NMI gates, the accounting of gates */
const char *lacks_pmu(const char *pmu);
const char *lacks_counters(void);
const char *lacks_nmi(void);
const char *lacks_account(void);

/*
 * If ToPA tables have one entry, the trace stops at the end of each region: the driver
 * takes that for a full area, and the event is disabled. NULL, or what is missing.
 */
const char *lacks_regions(void);

/* ->stop() without PERF_EF_UPDATE, then ->start(). NULL, or what is missing. */
const char *lacks_restart(void);
int restart_event(int fd);

/* --- The machine --- */

/* Counts cycles, on a hardware counter */
void attr_cycles(struct perf_event_attr *attr, __u64 period);
/* An event that PEBS may collect: PEBS can't record times of the tests' clock. */
void attr_precise(struct perf_event_attr *attr, __u64 period);
/* Each branch in user mode: perf takes BTS for that, with a buffer of its own. */
void attr_all_branches(struct perf_event_attr *attr);
/* Address of a kernel function; 0 if it is hidden */
__u64 kernel_symbol(const char *name);
/* Another task runs on the CPU: a task's event is scheduled out and in. */
void sleep_a_little(void);

/* --- The model --- */

bool has_model(void);
/* -1 where there is no model */
long long model_stat(const char *name);
/*
 * Number of protocol violations since the last call of model_watch(). Without the
 * model it is 0.
 */
void model_watch(void);
long long model_violations(void);
/* VMX operation on this CPU, as KVM enters and leaves it, for @us microseconds */
int model_vmx(unsigned int us);
/* A VM exit on this CPU, and what KVM does to DEBUGCTL before and after it */
int model_vmexit(void);
/* Suspend to RAM and resume, on the only CPU that is online. EBUSY: there are others. */
int model_suspend(void);
/* What a crash of the kernel does to the trace of this CPU, before it starts another one */
int model_crash(void);
/* As it was at boot, by the kernel's parameter, after any of the calls that follow */
int model_reset(void);
/* A setting as text; as files in the model's directory are named */
int model_setting(const char *name, char *text, size_t size);
/* Mask LVTPC: no interrupts */
int model_mask(bool mask);
/* When the handler acknowledges the interrupt: "early", "mid", "late"; "cpu": as on the CPU */
int model_ack(const char *when);
/* Interrupts come up to @most operations of the model late; @seed chooses how many. */
int model_skid(unsigned int most, unsigned int seed);
/* Interrupts wait until the kernel enters the function of this address, once. */
int model_until(__u64 function);
/* Are instructions of user mode counted one by one, where a counter counts no others? */
int model_step(bool step);
/* Are interrupts lost that are requested while LVTPC is masked? */
int model_lose_masked(bool lose);

/* The core:bus ratio, 1 to 255; 0: that of the TSC */
int model_ratio(unsigned int ratio);
/* The internal buffer overflows after so many bytes of packets; 0: never */
int model_overflow(unsigned int bytes);
/* The next write of trace data fails with an operational error. */
int model_output_error(void);

#endif /* _INTEL_ENV_H */
