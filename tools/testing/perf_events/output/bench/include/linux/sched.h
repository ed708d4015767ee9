/* SPDX-License-Identifier: GPL-2.0 */
/* No CPU is idle that writes. */
#define current			NULL
#define is_idle_task(task)	false
