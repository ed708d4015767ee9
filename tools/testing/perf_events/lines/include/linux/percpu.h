/* SPDX-License-Identifier: GPL-2.0 */
/* As many CPUs as are simulated */
#include_next <linux/percpu.h>

extern unsigned int simulated_cpus;

#undef POSSIBLE_CPUS
#define POSSIBLE_CPUS	simulated_cpus
