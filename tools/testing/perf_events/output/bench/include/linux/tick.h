/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

bool tick_nohz_tick_stopped(void);
