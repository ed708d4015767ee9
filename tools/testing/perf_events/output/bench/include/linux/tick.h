/* SPDX-License-Identifier: GPL-2.0 */
/* The tick goes on while a task runs. */
#define tick_nohz_full_cpu(cpu)	((void)(cpu), false)
