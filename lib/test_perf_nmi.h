/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In-kernel interface of the module test_perf_nmi.
 */
#ifndef _LIB_TEST_PERF_NMI_H
#define _LIB_TEST_PERF_NMI_H

#include <linux/kconfig.h>
#include <linux/types.h>

#if IS_ENABLED(CONFIG_TEST_PERF_NMI)
bool test_perf_nmi_fire(u8 tag);
#else
static inline bool test_perf_nmi_fire(u8 tag)
{
	return false;
}
#endif

#endif /* _LIB_TEST_PERF_NMI_H */
