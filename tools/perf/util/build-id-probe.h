/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILD_ID_PROBE_H
#define __PERF_BUILD_ID_PROBE_H 1

#include <stdbool.h>

/**
 * perf_can_record_build_id_alone - Do only events that ask for build-ids get them?
 *
 * When one event asks for the build-ids of mappings, some kernels also mark the MMAP2
 * records of other events as having one, in place of device and inode. Other versions
 * of perf, and other readers, then take these bytes for a build-id of up to 255 bytes.
 *
 * Return false if so, if the kernel has no build-ids, or if the probe fails.
 */
bool perf_can_record_build_id_alone(void);

#endif /* __PERF_BUILD_ID_PROBE_H */
