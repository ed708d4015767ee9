// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: below the kernel, in the place of a hypervisor.
 *
 * The GS base is written through these hooks as well: they must not use per-CPU data
 * before the number of the MSR is known to be one of the model's. For the same
 * reason the file is built without stack protector.
 */
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/kprobes.h>
#include <linux/tracepoint-defs.h>

#include <asm/msr.h>
#include <asm/paravirt.h>
#include <asm/perf_event.h>
#include <asm/processor.h>
#include <asm/tsc.h>

#include "registers.h"
#include "trace_model.h"

/* CPUID leaf 1 */
#define TM_LEAF1_ECX		(BIT(2) /* DTES64 */ | BIT(15) /* PDCM */)
#define TM_LEAF1_EDX		BIT(21)	/* DS */
/* leaf 7, subleaf 0 */
#define TM_LEAF7_EBX		BIT(25)	/* Intel PT */
#define TM_LEAF7_EDX		BIT(15)	/* hybrid */
/* leaf 0x1a, EAX: core type */
#define TM_CORE_SMALL		(0x20U << 24)
#define TM_CORE_BIG		(0x40U << 24)
/* leaf 0x80000007 */
#define TM_INVARIANT_TSC	BIT(8)	/* EDX */

static unsigned int tm_native_max_leaf __ro_after_init;
static bool tm_art_known __ro_after_init;

/* The MSRs that need an operation; see also tm_constant_msr(). */
static bool tm_owns_msr(unsigned int msr)
{
	switch (msr) {
	case MSR_IA32_RTIT_OUTPUT_BASE:
	case MSR_IA32_RTIT_OUTPUT_MASK:
	case MSR_IA32_RTIT_CTL:
	case MSR_IA32_RTIT_STATUS:
	case MSR_IA32_RTIT_CR3_MATCH:
	case MSR_IA32_RTIT_ADDR0_A ... MSR_IA32_RTIT_ADDR3_B:
	case MSR_IA32_DEBUGCTLMSR:
	case MSR_IA32_DS_AREA:
	case MSR_IA32_PEBS_ENABLE:
	case MSR_IA32_PERF_CAPABILITIES:
	case MSR_CORE_PERF_GLOBAL_STATUS:
	case MSR_CORE_PERF_GLOBAL_CTRL:
	case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
	case MSR_ARCH_PERFMON_FIXED_CTR_CTRL:
	case MSR_ARCH_PERFMON_FIXED_CTR0 ... MSR_ARCH_PERFMON_FIXED_CTR0 + TM_FIXED - 1:
	case MSR_ARCH_PERFMON_EVENTSEL0 ... MSR_ARCH_PERFMON_EVENTSEL0 + TM_GP - 1:
	case MSR_ARCH_PERFMON_PERFCTR0 ... MSR_ARCH_PERFMON_PERFCTR0 + TM_GP - 1:
	case MSR_IA32_PMC0 ... MSR_IA32_PMC0 + TM_GP - 1:
		return true;
	default:
		return false;
	}
}

/* MSRs that only describe the hardware. */
static u64 tm_constant_msr(unsigned int msr, u64 native)
{
	switch (msr) {
	case MSR_IA32_MISC_ENABLE:
		native |= MSR_IA32_MISC_ENABLE_EMON;
		native &= ~(u64)(MSR_IA32_MISC_ENABLE_BTS_UNAVAIL |
				 MSR_IA32_MISC_ENABLE_PEBS_UNAVAIL);
		return native | (tm_config.pebs ? 0 : MSR_IA32_MISC_ENABLE_PEBS_UNAVAIL);
	case MSR_PLATFORM_INFO:
		return (native & ~0xff00ULL) | tm_nonturbo_ratio() << 8;
	default:
		return native;
	}
}

/**
 * tm_nonturbo_ratio() - ratio of the TSC to a bus of 100 MHz, for PLATFORM_INFO
 *
 * Return: the ratio
 */
unsigned int tm_nonturbo_ratio(void)
{
	return clamp_t(unsigned int, DIV_ROUND_CLOSEST(tsc_khz, 100000), 1, 255);
}

static u64 notrace tm_hook_read_msr(unsigned int msr)
{
	u64 val;

	if (!tm_owns_msr(msr))
		return tm_constant_msr(msr, native_read_msr(msr));

	tm_read_msr(msr, &val);
	if (tracepoint_enabled(read_msr))
		do_trace_read_msr(msr, val, 0);
	return val;
}

static u64 notrace tm_hook_read_msr_safe(unsigned int msr, int *err)
{
	u64 val;

	if (!tm_owns_msr(msr))
		return tm_constant_msr(msr, native_read_msr_safe(msr, err));

	*err = tm_read_msr(msr, &val);
	if (tracepoint_enabled(read_msr))
		do_trace_read_msr(msr, val, *err);
	return val;
}

static void notrace tm_hook_write_msr(unsigned int msr, unsigned int low,
				      unsigned int high)
{
	u64 val = (u64)high << 32 | low;

	if (!tm_owns_msr(msr)) {
		native_write_msr(msr, low, high);
		return;
	}
	tm_write_msr(msr, val, _RET_IP_, false);
	if (tracepoint_enabled(write_msr))
		do_trace_write_msr(msr, val, 0);
}

static int notrace tm_hook_write_msr_safe(unsigned int msr, unsigned int low,
					  unsigned int high)
{
	u64 val = (u64)high << 32 | low;
	int err;

	if (!tm_owns_msr(msr))
		return native_write_msr_safe(msr, low, high);

	err = tm_write_msr(msr, val, _RET_IP_, true);
	if (tracepoint_enabled(write_msr))
		do_trace_write_msr(msr, val, err);
	return err;
}

static u64 notrace tm_hook_read_pmc(int counter)
{
	u64 val = tm_read_pmc(counter);

	if (tracepoint_enabled(rdpmc))
		do_trace_rdpmc(counter, val, 0);
	return val;
}

/*
 * CPUID
 */

static void tm_leaf_pt(unsigned int subleaf, unsigned int *eax, unsigned int *ebx,
		       unsigned int *ecx, unsigned int *edx)
{
	*eax = *ebx = *ecx = *edx = 0;

	if (subleaf == 0) {
		*eax = 1;
		*ebx = (tm_config.cr3_filter ? BIT(0) : 0) |
		       (tm_config.cyc ? BIT(1) : 0) |
		       (tm_config.filters ? BIT(2) : 0) |
		       (tm_config.mtc ? BIT(3) : 0) |
		       (tm_config.ptwrite ? BIT(4) : 0);
		*ecx = BIT(0) | (tm_config.single_entry ? 0 : BIT(1)) |
		       (tm_config.single_range ? BIT(2) : 0);
	} else if (subleaf == 1) {
		*eax = tm_config.filters | (tm_config.mtc ? TM_MTC_PERIODS << 16 : 0);
		*ebx = tm_config.cyc ? TM_PSB_PERIODS << 16 | TM_CYC_THRESHOLDS : 0;
	}
}

static void tm_leaf_perfmon(unsigned int *eax, unsigned int *ebx, unsigned int *ecx,
			    unsigned int *edx)
{
	/*
	 * On a hybrid CPU, the kernel takes these numbers for small cores. It expects two
	 * general counters and a fixed one more on big cores.
	 */
	union cpuid10_eax a = { .split = {
		.version_id	= 2,
		.num_counters	= tm_config.hybrid ? TM_GP - 2 : TM_GP,
		.bit_width	= TM_CNT_BITS,
		.mask_length	= ARCH_PERFMON_EVENTS_COUNT,
	} };
	union cpuid10_edx d = { .split = {
		.num_counters_fixed	= tm_config.hybrid ? TM_FIXED - 1 : TM_FIXED,
		.bit_width_fixed	= TM_CNT_BITS,
	} };

	*eax = a.full;
	*ebx = *ecx = 0;
	*edx = d.full;
}

/*
 * The ratio is hidden until the TSC is calibrated: without the crystal's frequency the
 * kernel would guess that frequency, and calibrate the TSC with it.
 */
static void tm_leaf_tsc(unsigned int *eax, unsigned int *ebx, unsigned int *ecx,
			unsigned int *edx)
{
	*eax = tm_art_known ? TM_ART_DEN : 0;
	*ebx = tm_art_known ? TM_ART_NUM : 0;
	*ecx = *edx = 0;
}

static unsigned int tm_max_leaf(void)
{
	return tm_config.hybrid ? 0x1a : 0x15;
}

static void tm_leaf_hybrid(unsigned int *eax, unsigned int *ebx, unsigned int *ecx,
			   unsigned int *edx)
{
	*eax = raw_smp_processor_id() & 1 ? TM_CORE_SMALL : TM_CORE_BIG;
	*ebx = *ecx = *edx = 0;
}

static void notrace tm_hook_cpuid(unsigned int *eax, unsigned int *ebx,
				  unsigned int *ecx, unsigned int *edx)
{
	unsigned int leaf = *eax, subleaf = *ecx;

	native_cpuid(eax, ebx, ecx, edx);

	switch (leaf) {
	case 0:
		*eax = max(*eax, tm_max_leaf());
		break;
	case 1:
		*ecx |= TM_LEAF1_ECX;
		*edx |= TM_LEAF1_EDX;
		break;
	case 7:
		*ebx |= subleaf ? 0 : TM_LEAF7_EBX;
		*edx |= tm_config.hybrid && !subleaf ? TM_LEAF7_EDX : 0;
		break;
	case 0xa:
		tm_leaf_perfmon(eax, ebx, ecx, edx);
		break;
	case 0x14:
		tm_leaf_pt(subleaf, eax, ebx, ecx, edx);
		break;
	case 0x15:
		tm_leaf_tsc(eax, ebx, ecx, edx);
		break;
	case 0x80000007:
		*edx |= TM_INVARIANT_TSC;
		break;
	default:
		/* A CPU answers leaves beyond its last one with the data of the last one. */
		if (leaf > tm_native_max_leaf && leaf <= tm_max_leaf())
			*eax = *ebx = *ecx = *edx = 0;
		if (leaf == 0x1a && tm_config.hybrid)
			tm_leaf_hybrid(eax, ebx, ecx, edx);
	}
}

static int __init tm_tsc_is_calibrated(void)
{
	tm_art_known = tm_config.on;
	return 0;
}
core_initcall(tm_tsc_is_calibrated);

/**
 * tm_hooks_install() - install the model below the kernel
 */
void __init tm_hooks_install(void)
{
	tm_native_max_leaf = cpuid_eax(0);

	pv_ops.cpu.cpuid = tm_hook_cpuid;
	pv_ops.cpu.read_msr = tm_hook_read_msr;
	pv_ops.cpu.read_msr_safe = tm_hook_read_msr_safe;
	pv_ops.cpu.write_msr = tm_hook_write_msr;
	pv_ops.cpu.write_msr_safe = tm_hook_write_msr_safe;
	pv_ops.cpu.read_pmc = tm_hook_read_pmc;
}
