/* SPDX-License-Identifier: GPL-2.0 */
/* All contexts are of the task. */
#define interrupt_context_level()	0
