/* SPDX-License-Identifier: GPL-2.0 */
/* Each CPU counts its own ticks. */
unsigned long *cpu_jiffies(void);

#define jiffies		(*cpu_jiffies())
