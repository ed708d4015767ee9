// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of perf_events. See perf_common.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest.h"
#include "perf_common.h"

#define PMU_DIR		"/sys/bus/event_source/devices"

/* --- Is there something to test? --- */

void skip_program(const char *missing)
{
	if (!missing)
		return;

	ksft_print_header();
	ksft_exit_skip("%s\n", missing);
}

const char *lacks_root(void)
{
	return geteuid() ? "needs root" : NULL;
}

int load_module(const char *module)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execlp("modprobe", "modprobe", "-q", module, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;

	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

bool has_debugfs(const char *path)
{
	if (!access(path, F_OK))
		return true;

	return !mount("debugfs", DEBUG_DIR, "debugfs", 0, NULL) &&
	       !access(path, F_OK);
}

/* --- Events --- */

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, group_fd,
		       PERF_FLAG_FD_CLOEXEC);
}

int perf_try_open(struct perf_event_attr *attr, int group_fd)
{
	int fd = perf_open(attr, 0, -1, group_fd);

	if (fd < 0)
		return errno;
	close(fd);

	return 0;
}

__u64 perf_id(int fd)
{
	__u64 id = 0;

	ioctl(fd, PERF_EVENT_IOC_ID, &id);

	return id;
}

__u64 perf_count(int fd)
{
	__u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : -1ULL;
}

int perf_enable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

int perf_disable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

int perf_set_output(int fd, int target_fd)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)target_fd);
}

int perf_set_filter(int fd, const char *filter)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter);
}

int perf_set_period(int fd, __u64 period)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

int pmu_type(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PMU_DIR "/%s/type", name);

	return read_number(path);
}

long long pmu_cap(const char *name, const char *cap)
{
	char path[128];

	snprintf(path, sizeof(path), PMU_DIR "/%s/caps/%s", name, cap);

	return read_number(path);
}

void attr_init(struct perf_event_attr *attr, int type)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC_RAW;
}

static int tracepoint_number(const char *name)
{
	static const char * const dir[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[256];
	unsigned int i;
	int id;

	for (i = 0; i < ARRAY_SIZE(dir); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", dir[i], name);
		id = read_number(path);
		if (id >= 0)
			return id;
	}

	return -1;
}

int attr_tracepoint(struct perf_event_attr *attr, const char *name)
{
	int id = tracepoint_number(name);

	if (id < 0 && !mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		id = tracepoint_number(name);
	if (id < 0)
		return -1;

	attr_init(attr, PERF_TYPE_TRACEPOINT);
	attr->disabled = 0;
	attr->config = id;
	attr->sample_period = 1;

	return 0;
}

void attr_page_fault(struct perf_event_attr *attr, bool user)
{
	attr_init(attr, PERF_TYPE_SOFTWARE);
	attr->disabled = 0;
	attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	attr->sample_period = 1;
	attr->exclude_kernel = user;
	attr->exclude_user = !user;
}

void attr_breakpoint(struct perf_event_attr *attr, const void *where, bool write)
{
	attr_init(attr, PERF_TYPE_BREAKPOINT);
	attr->disabled = 0;
	attr->bp_type = write ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
	attr->bp_addr = (uintptr_t)where;
	attr->bp_len = sizeof(long);
	attr->sample_period = 1;
	attr->exclude_kernel = 1;
}

void attr_probe(struct perf_event_attr *attr, int type, const char *where,
		__u64 offset)
{
	attr_init(attr, type);
	attr->disabled = 0;
	attr->config1 = (uintptr_t)where;
	attr->config2 = offset;
	attr->sample_period = 1;
}

__u64 file_offset(const void *addr)
{
	unsigned long start, end, offset;
	__u64 found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)addr >= start && (uintptr_t)addr < end)
			found = (uintptr_t)addr - start + offset;
	}
	if (maps)
		fclose(maps);

	return found;
}

void probed_first(void)
{
	asm volatile("");
}

/* A different body, or a compiler may merge the two functions. */
void probed_second(void)
{
	asm volatile("" : : "r" (1));
}

#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define MAX_PERCENT	"/proc/sys/kernel/perf_cpu_time_max_percent"

/* The rate can be written only as long as 0 < percent < 100. */
int set_rate_limit(const struct rate_limit *limit)
{
	char rate[32];

	snprintf(rate, sizeof(rate), "%d\n", limit->rate);

	return write_file(MAX_PERCENT, "50\n") ||
	       write_file(MAX_RATE, rate) ||
	       write_file(MAX_PERCENT, limit->percent) ? -1 : 0;
}

static int get_rate_limit(struct rate_limit *limit)
{
	limit->rate = read_number(MAX_RATE);

	return limit->rate < 0 ||
	       read_file(MAX_PERCENT, limit->percent, sizeof(limit->percent)) ? -1 : 0;
}

int set_max_sample_rate(int rate)
{
	struct rate_limit limit;
	int old;

	if (get_rate_limit(&limit))
		return -1;

	old = limit.rate;
	limit.rate = rate;

	return set_rate_limit(&limit) ? -1 : old;
}

int rate_unlimit(struct rate_limit *limit)
{
	static const struct rate_limit unlimited = { RATE_UNLIMITED, "0\n" };

	return get_rate_limit(limit) ? -1 : set_rate_limit(&unlimited);
}

/* --- Storms --- */

bool storm_is_over(__u64 begin, bool seen)
{
	const char *fixed = getenv("PERF_STORM_SECONDS");
	const char *text = fixed ?: getenv("PERF_STORM_LIMIT");
	unsigned int seconds = text ? atoi(text) : STORM_SECONDS;

	return (seen && !fixed) || clock_ns() - begin >= seconds * 1000000000ULL;
}

bool storm_was_short(bool seen)
{
	return !seen && !getenv("PERF_STORM_SECONDS") && !getenv("PERF_STORM_LIMIT");
}

/* --- A task that execs --- */

static void wait_and_exec(int go, int out)
{
	char byte;

	dup2(out, STDOUT_FILENO);
	if (read(go, &byte, 1) == 1)
		execl("/bin/sh", "sh", "-c", "echo; while :; do :; done", NULL);
	_exit(1);
}

int execer_start(struct execer *execer)
{
	int go[2], out[2];

	if (pipe2(go, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;

	execer->pid = fork();
	if (!execer->pid)
		wait_and_exec(go[0], out[1]);
	close(go[0]);
	close(out[1]);
	execer->go = go[1];
	execer->out = out[0];

	return execer->pid < 0 ? -1 : 0;
}

int execer_exec(const struct execer *execer)
{
	char byte;

	return write(execer->go, "", 1) == 1 && read(execer->out, &byte, 1) == 1 ? 0 : -1;
}

void execer_end(struct execer *execer)
{
	kill(execer->pid, SIGKILL);
	waitpid(execer->pid, NULL, 0);
	close(execer->go);
	close(execer->out);
}

/* --- The machine --- */

int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);

	return sched_setaffinity(0, sizeof(set), &set);
}

int nth_cpu(int n)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && !n--)
			return cpu;
	}

	return -1;
}

int cpu_set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);

	return write_file(path, online ? "1" : "0");
}

static cpu_set_t taken;

static bool cpu_is_offline(int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);

	return !read_number(path);
}

int cpus_take_others(int cpu)
{
	int other, nr = sysconf(_SC_NPROCESSORS_CONF);

	for (other = 0; other < nr; other++) {
		if (other == cpu || cpu_is_offline(other))
			continue;
		if (cpu_set_online(other, false)) {
			cpus_give_back();
			return -1;
		}
		CPU_SET(other, &taken);
	}

	return 0;
}

void cpus_give_back(void)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &taken))
			cpu_set_online(cpu, true);
	}
	CPU_ZERO(&taken);
}

__u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);

	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void spin_ns(__u64 ns)
{
	__u64 end = clock_ns() + ns;

	while (clock_ns() < end)
		;
}

long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);

	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Where a virtual CPU loses its time, a sleep may be over before the task is switched out. */
void sleep_until_switched_out(void)
{
	long before = switches();

	do {
		usleep(1000);
	} while (switches() == before);
}

long long kernel_taint(void)
{
	return read_number("/proc/sys/kernel/tainted");
}

int read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;

	do {
		n = read(fd, buf + len, size - 1 - len);
		if (n > 0)
			len += n;
	} while (n > 0 && len < size - 1);
	close(fd);
	buf[len] = '\0';

	return n < 0 ? -1 : 0;
}

long long read_number(const char *path)
{
	char buf[64];

	return read_file(path, buf, sizeof(buf)) ? -1 : atoll(buf);
}

static long long text_value(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return atoll(line + len);
	}
	errno = ENOENT;

	return -1;
}

long long file_value(const char *path, const char *name)
{
	static char buf[65536];

	if (read_file(path, buf, sizeof(buf)))
		return -1;

	return text_value(buf, name);
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;

	n = write(fd, text, strlen(text));
	close(fd);

	return n == (ssize_t)strlen(text) ? 0 : -1;
}
