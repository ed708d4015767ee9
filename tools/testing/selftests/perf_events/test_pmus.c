// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs of the modules test_perf_aux and test_perf_nmi. See test_pmus.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "test_pmus.h"

#define NMI_AT		TEST_AUX_DIR "/nmi_at"

const char *lacks_test_pmus(void)
{
	if (lacks_root())
		return lacks_root();

	if (pmu_type("test_aux") < 0 && load_module("test_perf_aux"))
		return "no module test_perf_aux (CONFIG_TEST_PERF_AUX)";

	if (pmu_type("test_aux") < 0)
		return "no PMU test_aux";

	if (pmu_type("test_nmi") < 0)
		return "no PMU test_nmi (CONFIG_TEST_PERF_NMI)";

	return has_debugfs(TEST_AUX_DIR "/stats") ?
	       NULL : "no debugfs files of test_perf_aux (CONFIG_DEBUG_FS)";
}

void attr_nmi(struct perf_event_attr *attr, unsigned int interval,
	      unsigned int tag)
{
	attr_init(attr, pmu_type("test_nmi"));
	attr->disabled = 0;
	attr->config = interval | (__u64)tag << 32;
	attr->sample_period = 1;
}

int nmi_fire(unsigned int count, unsigned int tag)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u\n", count, tag);

	return write_file(TEST_NMI_DIR "/fire", line);
}

int nmi_at(const char *points)
{
	char line[512];

	snprintf(line, sizeof(line), "%s\n", points);

	return write_file(NMI_AT, line);
}

long long aux_stat(const char *name)
{
	return file_value(TEST_AUX_DIR "/stats", name);
}

long long nmi_stat(const char *name)
{
	return file_value(TEST_NMI_DIR "/stats", name);
}

int aux_stats_reset(void)
{
	return write_file(TEST_AUX_DIR "/stats", "0\n") ||
	       write_file(TEST_AUX_DIR "/actions", "0\n") ||
	       write_file(TEST_NMI_DIR "/stats", "0\n") ? -1 : 0;
}

/* A tick that hands out data switches it off and on: repeat until none came in between. */
bool aux_engine_is_on(int cpu)
{
	char on[32], off[32];
	long long before, result;

	snprintf(on, sizeof(on), "cpu%d.on", cpu);
	snprintf(off, sizeof(off), "cpu%d.off", cpu);
	do {
		before = aux_stat(on);
		result = before - aux_stat(off);
	} while (aux_stat(on) != before);

	return result == 1;
}

int try_kernel_counter(unsigned int aux_action)
{
	char line[16];

	snprintf(line, sizeof(line), "%u\n", aux_action);

	return write_file(TEST_AUX_DIR "/kernel_counter", line) ? errno : 0;
}

int module_users(const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);

	return read_number(path);
}

/* Events of tasks that have exited are freed a little later. */
int module_wait_unused(const char *module)
{
	__u64 end = clock_ns() + 10000000000ULL;

	while (module_users(module) > 0) {
		if (clock_ns() > end)
			return -1;
		poll(NULL, 0, 1);
	}

	return 0;
}
