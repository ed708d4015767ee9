/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of perf_events: events and their attributes, what a program
 * needs, and the machine that it runs on.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _PERF_COMMON_H
#define _PERF_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>

/* --- Is there something to test? --- */

/*
 * Once per program: what it needs. @missing is NULL, or says what is missing: then the
 * whole program is one skip. It is evaluated before main().
 */
#define PROGRAM_NEEDS(missing)						\
static void __attribute__((constructor)) program_needs(void)		\
{									\
	skip_program(missing);						\
}

void skip_program(const char *missing);

/* For PROGRAM_NEEDS() */
const char *lacks_root(void);

int load_module(const char *module);
/* Does this file of debugfs exist? Mounts debugfs if necessary. */
bool has_debugfs(const char *path);
#define DEBUG_DIR	"/sys/kernel/debug"

/* --- Events --- */

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);
/* Open and close; 0 or the error. */
int perf_try_open(struct perf_event_attr *attr, int group_fd);
__u64 perf_id(int fd);
__u64 perf_count(int fd);
int perf_enable(int fd);
int perf_disable(int fd);
/* @target_fd: -1 for its own buffer again */
int perf_set_output(int fd, int target_fd);
int perf_set_filter(int fd, const char *filter);
int perf_set_period(int fd, __u64 period);

/* Type number of a PMU, or -1 if the kernel has none of that name. */
int pmu_type(const char *name);

/* A capability of a PMU, from its caps/; -1 if it has none */
long long pmu_cap(const char *name, const char *cap);

/*
 * Set up an event of type @type that begins disabled, with the clock of clock_ns()
 * and a sample_type that all events of a test have in common.
 */
void attr_init(struct perf_event_attr *attr, int type);

/* Events that sample each time and begin enabled */
int attr_tracepoint(struct perf_event_attr *attr, const char *name);
void attr_page_fault(struct perf_event_attr *attr, bool user);
/* On writes of eight bytes, or on an instruction */
void attr_breakpoint(struct perf_event_attr *attr, const void *where, bool write);
/* @type: of the PMU kprobe or uprobe. @where: function or file */
void attr_probe(struct perf_event_attr *attr, int type, const char *where,
		__u64 offset);
/* Offset in the program's file of an address in the running program */
__u64 file_offset(const void *addr);
/* Places for uprobes, which no compiler can inline */
void probed_first(void);
void probed_second(void);

/* Events are throttled beyond this rate. Returns the rate so far, or -1. */
int set_max_sample_rate(int rate);
/* None of the tests is that fast. */
#define RATE_UNLIMITED	10000000

/*
 * Throttled gates don't act, so neither the rate nor the time spent in interrupts may
 * throttle them.
 */
struct rate_limit {
	int rate;
	char percent[32];
};

int rate_unlimit(struct rate_limit *limit);
int set_rate_limit(const struct rate_limit *limit);

/* --- Storms: tests that wait for rare races --- */

/*
 * A storm that began at @begin (clock_ns()) is over when it has @seen what it is for,
 * at the latest after STORM_SECONDS, for test farms, or after PERF_STORM_LIMIT seconds
 * (environment). With PERF_STORM_SECONDS it is over after that many seconds, not before.
 */
#define STORM_SECONDS	15
bool storm_is_over(__u64 begin, bool seen);
#define STORM_TIMEOUT	(24 * 3600)

/*
 * A storm that hasn't seen enough in STORM_SECONDS blames a slow machine: it skips. With
 * one of the variables it has failed.
 */
bool storm_was_short(bool seen);
#define STORM_WAS_SHORT	"too slow to see enough in 15 s: set PERF_STORM_LIMIT"

/* --- A task that execs --- */

/* When told to, it execs a program that never sleeps. -1 on failure. */
struct execer {
	pid_t	pid;
	int	go, out;
};

int execer_start(struct execer *execer);
/* Returns when the program runs. */
int execer_exec(const struct execer *execer);
void execer_end(struct execer *execer);

/* --- The machine --- */

int pin_to_cpu(int cpu);
/* The n-th CPU that this process may use, or -1 */
int nth_cpu(int n);
int cpu_set_online(int cpu, bool online);
/* Takes all CPUs but this one offline, until cpus_give_back() */
int cpus_take_others(int cpu);
void cpus_give_back(void);
void spin_ns(__u64 ns);
/* How often this thread was switched out */
long switches(void);
void sleep_until_switched_out(void);
__u64 clock_ns(void);
/* The kernel's taint flags, as a number */
long long kernel_taint(void);

int read_file(const char *path, char *buf, size_t size);
/* The number that a file begins with */
long long read_number(const char *path);
/* From lines of the form "NAME VALUE"; -1 if there is none of that name */
long long file_value(const char *path, const char *name);
int write_file(const char *path, const char *text);

#endif /* _PERF_COMMON_H */
