// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: options, and start.
 */
#define pr_fmt(fmt) "trace_model: " fmt

#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <asm/processor.h>

#include "host.h"
#include "registers.h"
#include "trace_model.h"

struct tm_config tm_config = {
	.single_range	= true,
	.mtc		= true,
	.cyc		= true,
	.ptwrite	= true,
	.cr3_filter	= true,
	.icount		= TM_NO_ICOUNT,
	.filters	= 2,
};

static int tm_prepare_cpu(unsigned int cpu)
{
	tm_reset(cpu);
	tm_host_reset(cpu);
	return 0;
}

static int __init tm_init(void)
{
	if (!tm_config.on)
		return 0;

	return cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "x86/trace_model:prepare",
					 tm_prepare_cpu, NULL);
}
early_initcall(tm_init);

struct tm_option {
	const char	*name;
	bool		*flag;
	bool		value;
};

static const struct tm_option tm_options[] __initconst = {
	{ "single-entry", &tm_config.single_entry, true },
	{ "no-single-range", &tm_config.single_range, false },
	{ "no-mtc", &tm_config.mtc, false },
	{ "no-cyc", &tm_config.cyc, false },
	{ "no-ptwrite", &tm_config.ptwrite, false },
	{ "no-cr3", &tm_config.cr3_filter, false },
	{ "pebs", &tm_config.pebs, true },
	{ "tsx", &tm_config.tsx, true },
	{ "long-tnt", &tm_config.long_tnt, true },
	{ "whole-ip", &tm_config.whole_ip, true },
	{ "hybrid", &tm_config.hybrid, true },
	{ "step", &tm_config.step, true },
	{ "lost", &tm_delivery.lost, true },
};

static void __init tm_parse_option(const char *option)
{
	unsigned int i;

	if (sscanf(option, "filters=%u", &tm_config.filters) == 1) {
		tm_config.filters = min_t(unsigned int, tm_config.filters, 4);
		return;
	}
	if (sscanf(option, "icount=%u", &tm_config.icount) == 1) {
		tm_config.icount = min_t(u32, tm_config.icount, 10);
		return;
	}
	if (sscanf(option, "overflow=%u", &tm_config.overflow) == 1 ||
	    sscanf(option, "skid=%u", &tm_delivery.skid) == 1 ||
	    sscanf(option, "seed=%u", &tm_delivery.seed) == 1)
		return;
	if (strstarts(option, "ack=") && tm_ack_parse(option + 4, &tm_config.ack))
		return;
	for (i = 0; i < ARRAY_SIZE(tm_options); i++) {
		if (!strcmp(option, tm_options[i].name)) {
			*tm_options[i].flag = tm_options[i].value;
			return;
		}
	}
	pr_warn("option '%s' is not known\n", option);
}

/*
 * Runs early, because alternatives make direct calls of the hooks, and CPUID is read
 * once only. The kernel has identified the boot CPU's vendor by now, but no more.
 */
static int __init tm_setup(char *options)
{
	char *option;

	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL) {
		pr_warn("off: the CPU isn't an Intel one\n");
		return 0;
	}
	while ((option = strsep(&options, ","))) {
		if (*option)
			tm_parse_option(option);
	}
	tm_config.on = true;
	tm_hooks_install();
	tm_step_init_early();
	pr_info("on: Intel PT, BTS and performance counters are a model in software\n");

	return 0;
}
early_param("trace_model", tm_setup);
