/* SPDX-License-Identifier: GPL-2.0 */
#define preempt_disable()	barrier()
#define preempt_enable()	barrier()
