/* SPDX-License-Identifier: GPL-2.0 */
/* As a kernel without preemption has it. */
#define preempt_disable()	barrier()
#define preempt_enable()	barrier()
#define smp_processor_id()	0
