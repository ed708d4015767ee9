/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of AUX area pause and resume share: groups of one AUX area
 * event and its gates, the records in the data area, and the stream that the
 * test PMU writes into the AUX area.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _AUX_COMMON_H
#define _AUX_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/perf_event.h>

#include "../../../../lib/test_perf_aux_uapi.h"

/*
 * For FIXTURE_SETUP(): the harness goes on with the test after a SKIP() there.
 * 255 is the status by which it knows a skipped test.
 */
#define SKIP_SETUP(fmt, ...) SKIP(_exit(255), fmt, ##__VA_ARGS__)

/*
 * Once per program: what it can't do without. @missing is NULL, or says what isn't
 * there. Asked before main(): the whole program is one skip then.
 */
#define PROGRAM_NEEDS(missing)						\
static void __attribute__((constructor)) program_needs(void)		\
{									\
	skip_program(missing);						\
}

void skip_program(const char *missing);
/* For programs that test with the test PMUs */
const char *lacks_test_pmus(void);

/* Of NMIs by hand: those that the gates of a group count, and AUX samplers */
#define TAG_RESUME	1
#define TAG_PAUSE	2
#define TAG_SAMPLE	3

/* --- Events --- */

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);
/* Open and close; 0 or the error. */
int perf_try_open(struct perf_event_attr *attr, int group_fd);
__u64 perf_id(int fd);
__u64 perf_count(int fd);
int perf_set_filter(int fd, const char *filter);

/* Type number of a PMU, or -1 if the kernel has none of that name. */
int pmu_type(const char *name);

/*
 * Set up an event of type @type that begins disabled. Every event of the tests
 * has the sample_type that struct perf_record stands for, and the same clock.
 */
void attr_init(struct perf_event_attr *attr, int type);

/* Sampling events that can be gates; the caller adds aux_pause or aux_resume. */
int attr_tracepoint(struct perf_event_attr *attr, const char *name);
void attr_nmi(struct perf_event_attr *attr, unsigned int interval,
	      unsigned int tag);
void attr_page_fault(struct perf_event_attr *attr, bool user);
/* Of eight bytes that are written, or of an instruction */
void attr_breakpoint(struct perf_event_attr *attr, const void *where, bool write);
/* @type: of the PMU kprobe or uprobe. @where: function or file */
void attr_probe(struct perf_event_attr *attr, int type, const char *where,
		__u64 offset);
/* Offset in the program's file of an address in the running program */
__u64 file_offset(const void *addr);

/* --- Groups --- */

struct aux_spec {
	const char	*pmu;		/* default: test_aux */
	pid_t		pid;
	int		cpu;
	bool		start_paused;
	bool		inherit;
	bool		no_map;
	bool		overwrite;
	bool		leader_removed_on_exec;
	unsigned int	period;		/* of the DATA packets; 0: default */
	__u64		config;		/* of other PMUs */
	bool		exclude_kernel;
	bool		exclude_user;
	unsigned int	data_pages;	/* default: 64 */
	unsigned int	aux_pages;	/* default: 64 */
	unsigned int	watermark;	/* default: half the area */
	struct perf_event_attr resume;	/* size 0: no such gate */
	struct perf_event_attr pause;
	const char	*resume_filter;	/* of a tracepoint */
	const char	*pause_filter;
};

struct aux_group {
	int		aux, resume, pause;
	__u64		aux_id, resume_id, pause_id;
	unsigned int	period;
	struct perf_event_mmap_page *page;
	unsigned char	*data, *area;
	size_t		data_size, area_size;
};

/* Opens, maps and leaves disabled; on failure nothing stays open. */
int aux_group_open(struct aux_group *group, const struct aux_spec *spec);
int aux_group_map(struct aux_group *group, const struct aux_spec *spec);
void aux_group_unmap(struct aux_group *group);
void aux_group_close(struct aux_group *group);
int aux_group_enable(const struct aux_group *group);
int aux_group_disable(const struct aux_group *group);
/* ->stop() and ->start() of the AUX event, while all the gates are active */
void aux_group_restart(const struct aux_group *group);
/* Back to what never was opened, for aux_group_close() */
void aux_group_init(struct aux_group *group);

/* More members. Gates have no output, samplers that of the group. */
int aux_group_add_gate(const struct aux_group *group, const struct aux_spec *spec,
		       const struct perf_event_attr *gate, bool resumes);
int aux_group_add_sampler(const struct aux_group *group,
			  const struct aux_spec *spec,
			  const struct perf_event_attr *sampler,
			  unsigned int size);
/* By a tracepoint: AT_RESUME and the like */
int aux_group_add_soft_gate(const struct aux_group *group,
			    const struct aux_spec *spec, const char *where,
			    bool resumes);
int aux_group_add_soft_sampler(const struct aux_group *group,
			       const struct aux_spec *spec, const char *where,
			       unsigned int size);
int aux_group_add_nmi_sampler(const struct aux_group *group,
			      const struct aux_spec *spec, unsigned int size);

/* --- Records of the data area --- */

struct perf_record {
	__u32	type;
	__u32	tid;
	__u32	cpu;
	__u64	id;
	__u64	time;
	__u64	offset, size, flags;	/* PERF_RECORD_AUX */
	__u64	lost;			/* PERF_RECORD_LOST */
	__u64	sampled;		/* bytes of AUX data in a sample */
	bool	intact;			/* that is: packets without a gap */
	struct test_perf_aux_packet newest;
};

struct perf_records {
	struct perf_record	*rec;
	size_t			nr;
};

/* Appends what is new. */
int perf_records_read(struct perf_records *records, struct aux_group *group);
size_t perf_records_count(const struct perf_records *records, __u32 type,
			  __u64 id);
/* The newest sample of the event, or NULL */
const struct perf_record *perf_records_newest(const struct perf_records *records,
					      __u64 id);
void perf_records_free(struct perf_records *records);

/* --- The test PMU's stream --- */

/*
 * The time in which tracing was on. The test PMU closes and opens it again in
 * order to hand out a full buffer or to take a sample: such pieces are joined.
 */
struct aux_window {
	__u64	start, stop;
	__u64	packets;
	__u32	tid;
	__u16	cpu;
	__u8	opened_by, closed_by;	/* TEST_PERF_AUX_BY_* */
};

struct aux_trace {
	struct aux_window	*win;
	size_t			nr;
	__u64			packets;
	__u64			next_seq;
	__u64			expect;		/* time of the next DATA */
	bool			open;
	bool			resync;		/* begins in mid-stream */
	char			error[160];
};

/*
 * Append the new packets and check each: intact, no gap, the right time,
 * START, DATA and STOP in the right order. What is wrong goes into ->error.
 */
int aux_trace_read(struct aux_trace *trace, struct aux_group *group);
/* The same for an overwritten area: from its oldest to its newest packet. */
int aux_trace_read_overwrite(struct aux_trace *trace, struct aux_group *group);
void aux_trace_free(struct aux_trace *trace);

/*
 * Is every window inside a region that the gates' samples opened and closed,
 * and has each region its window? Gates must not nest here. Returns the number
 * of regions, or -1 with ->error set.
 */
long aux_trace_match(struct aux_trace *trace, const struct perf_records *records,
		     const struct aux_group *group, bool paused);

/* --- Accounting of the test PMUs --- */

struct aux_actions {
	unsigned long long requested, carried, superseded;
	int paused, pending;
};

int aux_actions_read(const struct aux_group *group, struct aux_actions *act);
long long aux_stat(const char *name);
long long nmi_stat(const char *name);
int aux_stats_reset(void);
int nmi_at(const char *points);
int nmi_fire(unsigned int count, unsigned int tag);
/* Has the kernel open a counter of its own. Returns 0 or the error. */
int try_kernel_counter(unsigned int aux_action);

int load_module(const char *module);
/* Users of the module, or -1; without any it is 0. */
int module_users(const char *module);
/* -1: there are still users after ten seconds */
int module_wait_unused(const char *module);

/* --- Storms: tests that wait for rare races --- */

/*
 * A storm that @begin was the beginning of (clock_ns()) is over when it has seen what
 * it is about, and in any case after the time that a test farm has for it. With
 * PERF_STORM_SECONDS in the environment it is over after so many seconds.
 */
#define STORM_SECONDS	15
bool storm_is_over(__u64 begin, bool seen);
#define STORM_TIMEOUT	(24 * 3600)

/*
 * Not to have seen enough in little time is the fault of a slow machine, a reason to
 * skip. A storm that could take its time has failed.
 */
bool storm_was_short(bool seen);
#define STORM_WAS_SHORT	"too slow to see enough in 15 s: set PERF_STORM_SECONDS"

/* --- The rest --- */

/* Events are throttled beyond this rate. Returns the rate so far, or -1. */
int set_max_sample_rate(int rate);
/* None of the tests is that fast. */
#define RATE_UNLIMITED	10000000

/* Rare system calls: other tasks on the CPU don't disturb. */
#define AT_RESUME	"syscalls/sys_enter_sched_get_priority_max"
#define AT_PAUSE	"syscalls/sys_enter_sched_get_priority_min"
#define AT_SAMPLE	"syscalls/sys_enter_sched_getscheduler"

bool has_soft_places(void);
void soft_resume(void);
void soft_pause(void);
void soft_sample(void);

int pin_to_cpu(int cpu);
/* The n-th CPU that this process may use, or -1 */
int nth_cpu(int n);
int cpu_set_online(int cpu, bool online);
void spin_ns(__u64 ns);
__u64 clock_ns(void);
/* Places for uprobes, here so that they are not inlined where they are called */
void marker_resume(void);
void marker_pause(void);

int read_file(const char *path, char *buf, size_t size);
/* From lines of the form "NAME VALUE"; -1 if there is none of that name */
long long file_value(const char *path, const char *name);
int write_file(const char *path, const char *text);

#endif /* _AUX_COMMON_H */
