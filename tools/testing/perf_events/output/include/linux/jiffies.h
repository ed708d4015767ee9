/* SPDX-License-Identifier: GPL-2.0 */
/* The test's: it counts the ticks. */
extern unsigned long jiffies;
