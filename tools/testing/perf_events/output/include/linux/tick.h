/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/compiler.h>
#include <linux/types.h>

/* The test's. Weak: other programs have no such CPU. */
extern bool cpu_nohz_full __weak;
#define tick_nohz_full_cpu(cpu)	((void)(cpu), &cpu_nohz_full && cpu_nohz_full)
