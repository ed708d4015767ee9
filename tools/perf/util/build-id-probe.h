/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILD_ID_PROBE_H
#define __PERF_BUILD_ID_PROBE_H 1

#include <stdbool.h>

/**
 * perf_can_record_build_id_alone - Do only those get build-ids who ask for them?
 *
 * When one event asks for the build-ids of mappings, a kernel may tell events of other
 * recordings that they have one, in place of device and inode. Other versions of perf,
 * and whatever else reads these records, take that for true: of up to 255 bytes.
 *
 * Return false also if the kernel can't tell any, or if it can't be found out.
 */
bool perf_can_record_build_id_alone(void);

#endif /* __PERF_BUILD_ID_PROBE_H */
