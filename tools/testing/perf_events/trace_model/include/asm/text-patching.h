/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PERF_EVENTS_ASM_TEXT_PATCHING_H
#define _PERF_EVENTS_ASM_TEXT_PATCHING_H

#define CALL_INSN_SIZE	5

#endif
