// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of Intel's trace hardware, and gates that hit where the driver accesses
 * them. See intel_msr.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "intel_msr.h"

#define MSR_NMI		DEBUG_DIR "/test_perf_msr"

/* --- Registers --- */

const char *lacks_msr(void)
{
	__u64 value;

	if (access("/dev/cpu/0/msr", R_OK))
		load_module("msr");

	return msr_read(nth_cpu(0), MSR_DEBUGCTL, &value) ?
	       "/dev/cpu/N/msr (CONFIG_X86_MSR)" : NULL;
}

/* The file stays open, as this may run while it is traced. */
int msr_read(int cpu, unsigned int msr, __u64 *value)
{
	static int fd = -1, fd_cpu;
	char path[64];

	if (fd >= 0 && fd_cpu != cpu) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		fd_cpu = cpu;
	}

	return pread(fd, value, sizeof(*value), msr) == sizeof(*value) ? 0 : -1;
}

int pt_is_on(int cpu)
{
	__u64 ctl;

	return msr_read(cpu, MSR_RTIT_CTL, &ctl) ? -1 : (int)(ctl & 1);
}

/* TR and BTS: trace branches, and store them in the DS area */
#define DEBUGCTL_ON	0xc0

int bts_is_on(int cpu)
{
	__u64 ctl;

	if (msr_read(cpu, MSR_DEBUGCTL, &ctl))
		return -1;

	return (ctl & DEBUGCTL_ON) == DEBUGCTL_ON;
}

/* --- Accesses --- */

int attr_msr(struct perf_event_attr *attr, bool write)
{
	return attr_tracepoint(attr, write ? "msr/write_msr" : "msr/read_msr");
}

const char *lacks_msr_events(void)
{
	struct perf_event_attr attr;

	return attr_msr(&attr, true) ? "tracepoint msr:write_msr" : NULL;
}

static int filter_msrs(int fd, unsigned int first, unsigned int last)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "msr >= %u && msr <= %u", first, last);
	if (fd < 0 || !perf_set_filter(fd, filter))
		return fd;
	close(fd);

	return -1;
}

int count_msr_writes(const struct aux_spec *spec, unsigned int first,
		     unsigned int last)
{
	struct perf_event_attr attr;

	if (attr_msr(&attr, true))
		return -1;

	attr.disabled = 1;
	attr.sample_period = 0;

	return filter_msrs(perf_open(&attr, spec->pid, spec->cpu, -1), first, last);
}

int open_msr_gate(const struct aux_spec *spec, const struct aux_group *group,
		  const struct msr_point *point, bool resumes)
{
	struct perf_event_attr attr;

	if (attr_msr(&attr, point->write))
		return -1;

	attr.disabled = 1;

	return filter_msrs(aux_group_add_gate(group, spec, &attr, resumes),
			   point->msr, point->msr);
}

const char *lacks_nmi_at_msr(void)
{
	if (!has_debugfs(MSR_NMI))
		load_module("test_perf_msr");

	return has_debugfs(MSR_NMI) ?
	       NULL : "module test_perf_msr (CONFIG_TEST_PERF_MSR)";
}

int nmi_at_nth_msr(const struct msr_point *point, unsigned int tag, unsigned int nth)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %x %u %u\n", point->write ? "write" : "read",
		 point->msr, tag, nth);

	return write_file(MSR_NMI, text);
}

int nmi_at_msr(const struct msr_point *point, unsigned int tag)
{
	return nmi_at_nth_msr(point, tag, 0);
}

long nmi_at_msr_off(void)
{
	char text[32];

	if (write_file(MSR_NMI, "off\n") ||
	    read_file(MSR_NMI, text, sizeof(text)))
		return -1;

	return atol(text);
}
