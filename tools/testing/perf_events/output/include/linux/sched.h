/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

/* The test's */
extern bool tick_stopped;
#define current			NULL
#define is_idle_task(task)	tick_stopped
