/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct perf_event_attr with its bit fields as one word, so that a random word can
 * be any combination of them; and what a header may lack.
 */
#ifndef FUZZ_ATTR_H
#define FUZZ_ATTR_H

#include <stdint.h>
#include <linux/const.h>
#include <linux/ioctl.h>
#include <linux/perf_event.h>

struct attr {
	uint32_t type;
	uint32_t size;
	uint64_t config;
	uint64_t sample_period;
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint32_t wakeup;
	uint32_t bp_type;
	uint64_t config1;
	uint64_t config2;
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;
	uint16_t reserved_2;
	uint32_t aux_sample_size;
	uint32_t aux_action;
	uint64_t sig_data;
};

#define ATTR_DISABLED		_BITULL(0)
#define ATTR_INHERIT		_BITULL(1)
#define ATTR_EXCLUDE_KERNEL	_BITULL(5)
/*
 * mmap, comm, task, watermark, mmap_data, sample_id_all, mmap2, comm_exec, context_switch,
 * namespaces, ksymbol, bpf_event, cgroup, build_id
 */
#define ATTR_SIDE_BAND		0x575866300ull
#define ATTR_REMOVE_ON_EXEC	_BITULL(36)
#define ATTR_SIGTRAP		_BITULL(37)
#define ATTR_OUTPUT_SHARED	_BITULL(63)

#define AUX_START_PAUSED	1
#define AUX_PAUSE		2
#define AUX_RESUME		4

#define IOC_PAUSE_AUX		_IOW('$', 240, uint32_t)	/* PERF_EVENT_IOC_PAUSE_AUX */
#define IOC_KEEP_AUX		_IOW('$', 241, uint64_t)	/* PERF_EVENT_IOC_KEEP_AUX */
#define IOC_AUX_WINDOWS		_IOR('$', 242, uint64_t[4])	/* PERF_EVENT_IOC_AUX_WINDOWS */

#define HOW_AUX_THREADS		_BITUL(29)	/* PERF_FLAG_FD_AUX_THREADS */
#define HOW_AUX_LEVEL		_BITUL(30)	/* PERF_FLAG_FD_AUX_LEVEL */

#endif
