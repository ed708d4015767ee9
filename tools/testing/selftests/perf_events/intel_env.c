// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of Intel PT and Intel BTS run on. See intel_env.h.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "intel_env.h"

#define MODEL_DIR	DEBUG_DIR "/trace_model"
#define RESTART		DEBUG_DIR "/test_perf_restart"

/* --- What can be tested --- */

const char *lacks_pmu(const char *pmu)
{
	static char text[128];

	if (lacks_root())
		return lacks_root();
	if (pmu_type(pmu) >= 0)
		return NULL;

	snprintf(text, sizeof(text),
		 "no PMU %s: no such Intel CPU, and no kernel parameter trace_model",
		 pmu);

	return text;
}

/* Hybrid CPUs have PMUs "cpu_core" and "cpu_atom". */
const char *lacks_counters(void)
{
	return pmu_type("cpu_core") >= 0 ? NULL : lacks_pmu("cpu");
}

const char *lacks_nmi(void)
{
	if ((pmu_type("test_nmi") < 0 && load_module("test_perf_nmi")) ||
	    pmu_type("test_nmi") < 0)
		return "module test_perf_nmi (CONFIG_TEST_PERF_NMI)";

	return has_debugfs(TEST_NMI_DIR "/fire") ?
	       NULL : "debugfs (CONFIG_DEBUG_FS)";
}

const char *lacks_account(void)
{
	if (pmu_type("test_aux") < 0 && load_module("test_perf_aux"))
		return "module test_perf_aux (CONFIG_TEST_PERF_AUX)";

	return has_debugfs(TEST_AUX_DIR "/actions") ?
	       NULL : "debugfs (CONFIG_DEBUG_FS)";
}

const char *lacks_regions(void)
{
	return pmu_cap("intel_pt", "topa_multiple_entries") == 1 ? NULL :
		"ToPA tables of more than one entry";
}

const char *lacks_restart(void)
{
	return has_debugfs(RESTART) ?
	       NULL : "file test_perf_restart (CONFIG_TEST_PERF_RESTART)";
}

int restart_event(int fd)
{
	char text[32];

	snprintf(text, sizeof(text), "%d\n", fd);

	return write_file(RESTART, text);
}

/* --- The machine --- */

void attr_cycles(struct perf_event_attr *attr, __u64 period)
{
	attr_init(attr, PERF_TYPE_HARDWARE);
	attr->disabled = 0;
	attr->config = PERF_COUNT_HW_CPU_CYCLES;
	attr->sample_period = period;
}

void attr_precise(struct perf_event_attr *attr, __u64 period)
{
	attr_cycles(attr, period);
	attr->config = PERF_COUNT_HW_INSTRUCTIONS;
	attr->precise_ip = 1;
	attr->sample_type &= ~PERF_SAMPLE_TIME;
}

void attr_all_branches(struct perf_event_attr *attr)
{
	attr_cycles(attr, 1);
	attr->config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr->exclude_kernel = 1;
	attr->disabled = 1;
}

__u64 kernel_symbol(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256];
	unsigned long long addr;
	__u64 found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %255s", &addr, symbol) == 2 &&
		    !strcmp(symbol, name))
			found = addr;
	}
	if (file)
		fclose(file);

	return found;
}

void sleep_a_little(void)
{
	poll(NULL, 0, 2);
}

/* --- The model --- */

bool has_model(void)
{
	return has_debugfs(MODEL_DIR "/stats");
}

long long model_stat(const char *name)
{
	return has_model() ? file_value(MODEL_DIR "/stats", name) : -1;
}

static long long count_violations(void)
{
	return has_model() ? file_value(MODEL_DIR "/violations", "total") : 0;
}

static long long violations;

void model_watch(void)
{
	violations = count_violations();
}

long long model_violations(void)
{
	return count_violations() - violations;
}

static int write_number(const char *path, unsigned int number)
{
	char text[32];

	snprintf(text, sizeof(text), "%u\n", number);

	return write_file(path, text);
}

int model_vmx(unsigned int us)
{
	return write_number(MODEL_DIR "/vmx", us);
}

int model_vmexit(void)
{
	return write_file(MODEL_DIR "/vmexit", "1\n");
}

int model_suspend(void)
{
	return write_file(MODEL_DIR "/suspend", "1\n");
}

int model_crash(void)
{
	return write_file(MODEL_DIR "/crash", "1\n");
}

int model_mask(bool mask)
{
	return write_file(MODEL_DIR "/mask", mask ? "1\n" : "0\n");
}

int model_ack(const char *when)
{
	return write_file(MODEL_DIR "/ack", when);
}

int model_ratio(unsigned int ratio)
{
	return write_number(MODEL_DIR "/ratio", ratio);
}

int model_overflow(unsigned int bytes)
{
	return write_number(MODEL_DIR "/overflow", bytes);
}

int model_output_error(void)
{
	return write_file(MODEL_DIR "/error", "1\n");
}

int model_skid(unsigned int most, unsigned int seed)
{
	return write_number(MODEL_DIR "/seed", seed) ||
	       write_number(MODEL_DIR "/skid", most) ? -1 : 0;
}

int model_until(__u64 function)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx\n", (unsigned long long)function);

	return write_file(MODEL_DIR "/until", text);
}

int model_reset(void)
{
	return write_file(MODEL_DIR "/reset", "1\n");
}

int model_setting(const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), MODEL_DIR "/%s", name);

	return read_file(path, text, size);
}

int model_step(bool step)
{
	return write_file(MODEL_DIR "/step", step ? "1\n" : "0\n");
}

int model_lose_masked(bool lose)
{
	return write_file(MODEL_DIR "/lost", lose ? "1\n" : "0\n");
}
