/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

/* The test's */
extern bool tick_stopped;
#define tick_nohz_tick_stopped()	tick_stopped
